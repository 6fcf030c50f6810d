"""Exported programs: the card beside the file (`<path>.json`: signature and target), and loading the file again."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..core.error import LabError
from ..core.text import identifier
from ..target import cabi
from ..target.base import Compiled, Target
from . import bundle
from .array import addresses
from .signature import BufferSpec, Signature

FORMAT = 1


class LoadError(LabError, ValueError):
    """A file that is no exported program."""


@dataclass(frozen=True)
class Card:
    """`symbol`: the function's name in the file. `status`: it returns an int, 0 for success.

    `numbers`: the types in which a C function takes the scalars and then the sizes.
    """

    signature: Signature
    target: Target
    symbol: str
    status: bool
    numbers: tuple[str, ...]


def card_path(path: str | Path) -> Path:
    return Path(f"{path}.json")


def write_card(path: str | Path, signature: Signature, target: Target, extra: dict[str, Any]) -> None:
    """Write what a call of the exported file has to know."""
    card = {
        "tvmlab": FORMAT,
        "target": asdict(target),
        "symbol": extra.get("symbol", identifier(signature.name)),
        "status": bool(extra.get("status", False)),
        "numbers": extra.get("numbers", signature.numbers),
        "signature": signature.to_json(),
    }
    card_path(path).write_text(json.dumps(card, indent=1) + "\n")


def read(path: str | Path) -> tuple[Signature, Target, Compiled]:
    """The signature, the target and the callable of an exported file."""
    path = Path(path)
    if path.suffix == ".tar" and path.exists():
        path = bundle.unpack(path)
    loaders = {".py": _python, ".so": _shared, ".dylib": _shared, ".dll": _shared, ".o": _object}
    if path.suffix in TEXTS:
        raise _is_text(path)
    if path.suffix not in loaders:
        raise LoadError("unknown-export", f"cannot load {path.name}: unknown kind of file", legal=[*loaders, ".tar"])
    if not path.exists():
        raise LoadError("no-file", f"there is no file {path}")
    card = _card(path)
    if path.suffix == ".py":
        card = replace(card, signature=card.signature.unflattened())
    return card.signature, card.target, loaders[path.suffix](path, card)


TEXTS = (".cl", ".cu", ".metal")  # of kernels; those of Numba's CUDA are .py


def _is_text(path: Path) -> LoadError:
    return LoadError(
        "kernel-text", f"cannot load {path.name}: the text of kernels alone, without what launches them, is no program",
        hint="build the schedule again: tvmlab.build(s, args, target); pickle.dump(module, file) keeps a module",
    )  # fmt: skip


def _card(path: Path) -> Card:
    beside = card_path(path)
    if not beside.exists():
        raise LoadError("no-card", f"{path.name} needs {beside.name} beside it, which `export` wrote with it")
    return card_of(beside.name, beside.read_text())


def card_of(name: str, text: str | bytes) -> Card:
    """What the text of a card says; it may be anybody's."""
    try:
        data = json.loads(text)
        if data["tvmlab"] != FORMAT:
            raise LoadError("card-format", f"{name} is of format {data['tvmlab']}, this version reads {FORMAT}")
        signature, target = Signature.from_json(data["signature"]), Target(**data["target"])
        return Card(signature, target, str(data["symbol"]), bool(data["status"]), tuple(data["numbers"]))
    except LoadError:
        raise
    except (ValueError, KeyError, TypeError) as e:
        raise LoadError("bad-card", f"{name} does not describe an exported program: {e}") from e


# ---------------------------------------------------------------- Python


def _python(path: Path, card: Card) -> Compiled:
    """A file that defines the function `symbol(*params)`, which finds the sizes by itself."""
    spec = importlib.util.spec_from_file_location(f"tvmlab_export_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function = getattr(module, card.symbol, None)
    if function is None and "cuda.jit" in path.read_text():
        raise _is_text(path)
    if function is None:
        raise LoadError("no-symbol", f"{path.name} defines no function `{card.symbol}`")

    takes_array = [isinstance(p, BufferSpec) for p in card.signature.params]

    def call(arrays: Sequence[Any], scalars: Sequence[Any]) -> None:
        memory, numbers = iter(arrays), iter(scalars)
        function(*[next(memory) if is_array else next(numbers) for is_array in takes_array])

    return Compiled(call, path.read_text())


# ---------------------------------------------------------------- machine code


def _shared(path: Path, card: Card) -> Compiled:
    """A library with the C function `symbol(buffers..., scalars..., sizes...)`."""
    try:
        function = getattr(ctypes.CDLL(str(path.resolve())), card.symbol)
    except (OSError, AttributeError) as e:
        raise LoadError("no-symbol", f"cannot load `{card.symbol}` from {path.name}: {e}") from e
    return foreign(function, card, _header(path))


def foreign(function: Any, card: Card, source: str = "") -> Compiled:
    """A C function as something a module calls: the buffers' addresses, then the numbers."""
    pointers = len(card.signature.buffers)
    function.argtypes = [ctypes.c_void_p] * pointers + [cabi.C_TYPES[t] for t in card.numbers]
    function.restype = ctypes.c_int if card.status else None
    raw = cabi.halves_as_bits(function, [None] * pointers + [*card.numbers])
    if card.status:
        raw = _checking(raw, card.signature.name)

    def call(arrays: Sequence[Any], scalars: Sequence[Any]) -> None:
        raw(*addresses(arrays), *scalars)

    return Compiled(call, source, extra={"raw": raw})


def _checking(function: Callable[..., Any], name: str) -> Callable[..., None]:
    def call(*args: Any) -> None:
        code = function(*args)
        if code:
            raise LabError("run-failed", f"{name} failed with status {code}")

    return call


def _header(path: Path) -> str:
    header = path.with_suffix(".h")
    return header.read_text() if header.exists() else ""


def _object(path: Path, card: Card) -> Compiled:
    """An object file, linked into a library by the C compiler, if there is one."""
    linker = cabi.compiler()
    if linker is None:
        raise LoadError("no-linker", f"{path.name} has to be linked, and there is no C compiler", legal=[".so", ".py"])
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / f"{path.stem}.so"
        if problem := cabi.link_shared(linker, path, library):
            raise LoadError("link-failed", f"cannot link {path.name}: {problem}")
        loaded = _shared(library, card)
    return Compiled(loaded.call, _header(path), extra=loaded.extra)
