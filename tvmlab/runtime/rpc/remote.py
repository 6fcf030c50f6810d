"""What a session's machine holds, as it looks from here: its device, arrays, programs and functions."""

from __future__ import annotations

import json
import tarfile
import tempfile
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core import dtype as dt
from ...core.error import CallError, MissingName
from .. import bundle, measure
from .. import load as loading
from ..array import Array, NDArray, _same_shape
from ..bind import Bound, bind, refuse_names
from ..device import Device, DeviceError
from ..module import ENTRY
from ..signature import BufferSpec
from .protocol import ARGUMENTS, Kind, RPCError, Writer

if TYPE_CHECKING:
    from .client import Session

# the data type of a number -> how it is passed; float16, which C does not have, as its bits
PASSED = {
    "bool": "b", "float16": "h", "float32": "f", "float64": "d", "handle": "q",
    **{f"{u}int{n}": c for u in ("", "u") for n, c in ((8, "b"), (16, "h"), (32, "i"), (64, "q"))},
}  # fmt: skip
FLUSHER = "cache_flush_cpu_non_first_arg"


@dataclass(frozen=True, repr=False)
class RemoteDevice(Device):
    """The processor of a session's machine."""

    session: Any = None

    @property
    def kind(self) -> str:
        return f"remote {super().kind}"  # what runs here does not run there

    @property
    def exist(self) -> bool:
        return bool(self.session.alive)

    def require(self) -> RemoteDevice:
        return self

    def __repr__(self) -> str:
        return f"remote[{self.session.number}]:cpu({self.device_id})"


class RemoteArray(NDArray):
    """An array in the memory of another machine. Here is only its shape: memory that is never touched."""

    __slots__ = ("_finalizer", "_there", "number", "session")

    def __init__(self, data: Array, device: RemoteDevice, dtype: str = "") -> None:
        self._there = data
        self._describe(data, device, dtype)
        self.session: Session = device.session
        self.number = self.session.ask(Kind.ALLOC, Writer().number("<Q", data.nbytes)).number("<Q")
        self._finalizer = weakref.finalize(self, self.session.forget, self.number)

    @property
    def data(self) -> Array:  # type: ignore[override]
        """A copy of its contents."""
        return self.seen()

    @property
    def mirror(self) -> Array:
        """As it lies there. What is in it means nothing."""
        return self._there

    def seen(self) -> Array:
        made = np.empty(self._there.shape, self._there.dtype)
        flat = made.reshape(-1).view(np.uint8).data
        for at, piece in self.session.pieces(flat):
            said = self.session.ask(Kind.READ, Writer().number("<QQI", self.number, at, len(piece)))
            piece[:] = said.rest(len(piece))
        return made

    def numpy(self) -> Array:
        return self.seen()

    asnumpy = numpy

    def changed(self, whole: bool = True) -> Array:
        raise DeviceError("remote-memory", f"the memory of an array on {self.device} is not here", hint="a[:] = values")

    def _put(self, source: Any) -> None:
        _same_shape(source.shape, self._there.shape)
        flat = np.ascontiguousarray(source, self._there.dtype).reshape(-1).view(np.uint8).data
        for at, piece in self.session.pieces(flat):
            self.session.ask(Kind.WRITE, Writer().number("<QQ", self.number, at).raw(piece))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("an array of another machine cannot be seen without a copy")
        return self.seen().astype(dtype or self._there.dtype, copy=False)

    def __dlpack__(self, **options: Any) -> Any:
        raise BufferError("an array of another machine is not in this one's memory: a.numpy() is a copy that is")

    to_dlpack = __dlpack_device__ = __dlpack__

    def __reduce__(self) -> Any:
        raise TypeError("an array of another machine cannot be pickled: a.numpy() is a copy that can")


# ---------------------------------------------------------------- programs


def load(session: Session, name: str) -> RemoteModule:
    """The program in an uploaded file; its card tells how it is called."""
    if name.endswith(".tar"):
        name = _unpacked(session, name)
    if name.endswith((".o", ".py")):
        raise RPCError(
            "not-loadable", f"cannot load {name} there: a program for another machine is a shared library",
            hint='link it here: contrib.cc.create_shared("f.so", ["f.o"], cc="aarch64-linux-gnu-gcc")'
            if name.endswith(".o") else "build it for llvm, and export it to f.so",
        )  # fmt: skip
    files = session.listdir()
    if name not in files:
        raise RPCError("no-file", f"there is no file {name} in this session", legal=files, hint="remote.upload(path)")
    if f"{name}.json" not in files:
        raise RPCError(
            "no-card", f"{name} needs {name}.json beside it, which `export` wrote with it",
            hint="remote.upload(path) takes both",
        )  # fmt: skip
    card = loading.card_of(f"{name}.json", bytes(session.download(f"{name}.json")))
    number = session.ask(Kind.LOAD, Writer().text(name)).number("<I")
    if not has(session, number, card.symbol):
        raise RPCError("no-symbol", f"{name} has no function `{card.symbol}`, which its card names")
    return RemoteModule(session, number, card)


def has(session: Session, module: int, symbol: str) -> bool:
    """Has that library a function, or a variable, of that name?"""
    return bool(session.ask(Kind.HAS, Writer().number("<I", module).text(symbol)).number("<B"))


def _unpacked(session: Session, name: str) -> str:
    """The library in a `.tar`, and its card, uploaded beside it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "given.tar"
        path.write_bytes(session.download(name))
        try:
            library = bundle.unpack(path)
        except (tarfile.TarError, OSError, EOFError) as e:
            raise RPCError("not-loadable", f"{name} is no tar file that can be unpacked: {e}") from e
        if library.suffix != ".so" or not library.is_file():
            raise RPCError("not-loadable", f"{name} holds no shared library", hint="build for llvm, export to f.so")
        session.upload(library, f"{name}.so")
    return f"{name}.so"


class RemoteModule:
    """A program on another machine: called with arrays of the same session, timed there."""

    def __init__(self, session: Session, number: int, card: loading.Card) -> None:
        self.session, self.number, self.card = session, number, card
        self.signature, self.target = card.signature, card.target

    def __call__(self, *args: Any, **named: Any) -> None:
        refuse_names(self.signature, named)
        self._run(self._arguments(args), 1)

    @property
    def entry_name(self) -> str:
        return self.signature.name

    @property
    def entry_func(self) -> Callable[..., None]:
        return self.__call__

    @property
    def type_key(self) -> str:
        return "rpc"

    def get_function(self, name: str, query_imports: bool = False) -> Callable[..., None]:
        """The function of that name. A module here has one."""
        if name not in (self.entry_name, ENTRY):
            raise MissingName("unknown-function", f"this module has no function `{name}`", legal=[self.entry_name])
        return self.__call__

    __getitem__ = get_function

    def implements_function(self, name: str, query_imports: bool = False) -> bool:
        return name in (self.entry_name, ENTRY)

    @property
    def has_threads(self) -> bool:
        """Has it parallel loops?"""
        return has(self.session, self.number, f"{self.card.symbol}_threads")

    def set_num_threads(self, n: int) -> None:
        """How many threads parallel loops use from now on."""
        if not isinstance(n, int) or n < 1:
            raise RPCError("thread-count", f"the number of threads must be at least 1, got {n}")
        if not self.has_threads:
            raise RPCError("one-thread", f"{self.entry_name} has no parallel loops: it runs on one thread")
        name = f"{self.card.symbol}_threads"
        self.session.ask(Kind.THREADS, Writer().number("<I", self.number).text(name).number("<i", n))

    # ------------------------------------------------------------ calls

    def _arguments(self, args: Sequence[Any]) -> Writer:
        """What of a CALL says its arguments, all checked."""
        specs = self.signature.params
        for i, (spec, a) in enumerate(zip(specs, args)):
            if isinstance(spec, BufferSpec):
                self._own(i, spec, a)
        self._apart(args)
        bound = bind(self.signature, _here(args), "cpu")
        self._unchanged(bound)
        numbers = [a.number for a in args if isinstance(a, RemoteArray)]
        made = Writer().number("<H", len(numbers) + len(self.card.numbers))
        for number in numbers:
            made.number("<BQ", ord("A"), number)
        for dtype, value in zip(self.card.numbers, bound.numbers, strict=True):
            kind, raw = _passed(dtype, value)
            made.number("<B", ord(kind)).number(ARGUMENTS[kind], raw)
        return made

    def _own(self, i: int, spec: BufferSpec, a: Any) -> None:
        if isinstance(a, RemoteArray) and a.session is self.session:
            return
        here = f"remote[{self.session.number}]"
        if isinstance(a, RemoteArray):
            message = f"is on {a.device}, the module is of another session, {here}"
        elif isinstance(a, (np.ndarray, NDArray)):
            message = f"is here, the module runs on {here}"
        else:
            message = f": expected an array on {here}, got {type(a).__name__}"
        raise CallError(
            "argument-device", f"argument {i} ({spec.name}) {message}".replace(") :", "):"),
            hint=f"nd.array({spec.name}, remote.cpu()) puts a copy there; .numpy() of that one gives it back",
        )  # fmt: skip

    def _apart(self, args: Sequence[Any]) -> None:
        written = [id(a) for spec, a in zip(self.signature.params, args) if getattr(spec, "written", False)]
        for i, (spec, a) in enumerate(zip(self.signature.params, args)):
            if id(a) in written and sum(x is a for x in args) > 1 and isinstance(a, RemoteArray):
                raise CallError(
                    "argument-overlap", f"argument {i} ({spec.name}) is given twice, and the program writes it",
                    hint="give it an array of its own",
                )  # fmt: skip

    def _unchanged(self, bound: Bound) -> None:
        if bound.copied:
            raise CallError("argument-strides", "the program wants another layout than arrays of a session have")

    def _run(self, arguments: Writer, runs: int) -> float:
        body = Writer().number("<I", self.number).text(self.card.symbol).number("<B", self.card.status)
        body.number("<I", runs)
        body.parts += arguments.parts
        return float(self.session.ask(Kind.CALL, body).number("<d"))

    # ------------------------------------------------------------ timing

    def clock(self, *args: Any) -> measure.Clock:
        """`clock(n)` runs it `n` times there, and gives the seconds by that machine's clock."""
        arguments = self._arguments(args)
        return lambda number: self._run(arguments, number)

    def time_evaluator(
        self, func_name: str, dev: Device | None = None, number: int = 10, repeat: int = 1, min_repeat_ms: float = 0,
        limit_zero_time_iterations: int = 100, cooldown_interval_ms: float = 0, repeats_to_cooldown: int = 1,
        cache_flush_bytes: int = 0, f_preproc: str = "", ctx: Device | None = None,
    ) -> Callable[..., measure.BenchmarkResult]:  # fmt: skip
        """As of a module that is here: one run to warm up, then `repeat` times `number` runs, timed there."""
        self.get_function(func_name)
        dev = dev or ctx or self.session.cpu()
        if getattr(dev, "session", None) is not self.session:
            raise DeviceError("device-kind", f"this module runs on {self.session.cpu()}, not on {dev}")
        if f_preproc not in ("", FLUSHER):
            raise RPCError("f-preproc", f"`{f_preproc}` cannot run before a repeat there", legal=[repr(FLUSHER)])
        if not isinstance(cache_flush_bytes, int) or not 0 <= cache_flush_bytes < 1 << 63:
            raise RPCError("amount", f"cache_flush_bytes is a number of bytes, not {cache_flush_bytes!r}")
        plan = measure.Timing(
            number, repeat, min_repeat_ms, limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown
        )
        flush = max(cache_flush_bytes, 2 * measure.CACHE_BYTES if f_preproc else 0)

        def evaluate(*args: Any, **named: Any) -> measure.BenchmarkResult:
            refuse_names(self.signature, named)
            run = self.clock(*args)

            def clock(runs: int) -> float:
                self.flush(flush)
                return run(runs)

            return measure.run_by(clock if flush else run, plan)

        return evaluate

    def flush(self, size: int = 2 * measure.CACHE_BYTES) -> None:
        """Stream through so many bytes there: caches hold nothing of before."""
        self.session.ask(Kind.FLUSH, Writer().number("<Q", size))

    def __repr__(self) -> str:
        return f"<rpc module {self.signature} for {self.target} on remote[{self.session.number}]>"


def _here(args: Sequence[Any]) -> list[Any]:
    """Arrays as memory of their shape, which is not looked into."""
    return [a.mirror if isinstance(a, RemoteArray) else a for a in args]


def _passed(dtype: str, value: Any) -> tuple[str, Any]:
    kind = PASSED[dtype]
    if dtype == "float16":
        return kind, int(np.float16(value).view(np.uint16))
    if kind in "fd":
        return kind, float(value)
    whole = int(value)
    return kind, whole - (1 << 64) if whole >= 1 << 63 else whole


# ---------------------------------------------------------------- functions


class RemoteFunction:
    """A packed function of the server: numbers, text, and arrays of the session go there; a number or text comes back.
    """

    def __init__(self, session: Session, name: str) -> None:
        self.session, self.name = session, name

    def __call__(self, *args: Any) -> Any:
        text = json.dumps({"name": self.name, "args": [self._plain(a) for a in args]})
        said = bytes(self.session.ask(Kind.FUNCTION, Writer().raw(text.encode())).rest())
        try:
            return json.loads(said)
        except ValueError as e:
            raise self.session.nonsense(f"a result that is no JSON: {e}") from e

    def _plain(self, a: Any) -> Any:
        if isinstance(a, RemoteArray) and a.session is self.session:
            return {"array": a.number, "dtype": dt.element(a.dtype), "shape": list(a.mirror.shape)}
        if isinstance(a, (int, float, str, bool, type(None))):
            return a
        if isinstance(a, np.generic):
            return a.item()
        raise CallError(
            "argument-kind", f"`{self.name}` of another machine takes numbers, text and arrays of the session, "
            f"not a {type(a).__name__}",
        )  # fmt: skip
