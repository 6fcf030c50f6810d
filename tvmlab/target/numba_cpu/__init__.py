"""Programs as Python source for Numba: text that runs wherever numpy and numba do."""

from __future__ import annotations

import ast
import builtins
import hashlib
import linecache
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

import numpy as np

from ...core import dtype as dt
from ...core.error import BuildError
from ...core.node import Buffer, Store, Var
from ...core.program import Function, Program
from ...core.walk import walk
from ..base import Compiled, Target, TargetKind
from . import cache
from .expand import expand
from .machine import compiling_for
from .pool import checked_threads, in_parallel
from .printer import NumbaPrinter, has_vectors
from .text import module_text, pieces

T = TypeVar("T")

_compiled: dict[str, Compiled] = {}


def source(program: Program, target: Target) -> str:
    """A whole module: imports, vocabulary, kernel, and the function that takes arrays."""
    return _write(program).text


@dataclass(frozen=True)
class Written:
    """A module's source, the name of the function people call, and whether it has parallel loops."""

    text: str
    entry: str
    parallel: bool


def _write(program: Program) -> Written:
    if len(program.functions) != 1:
        names = ", ".join(f.name for f in program.functions)
        raise BuildError("several-functions", f"the target `numba` runs programs of one function; this one has {names}")
    fn = program.entry
    body = expand(fn.body)
    p = NumbaPrinter(
        direct=has_vectors(body), contract=dict(fn.attrs).get("fp", "contract") == "contract", buffers=fn.buffers
    )
    entry = p.names(fn)
    p.names.taken.add(f"{entry}_kernel")
    for x in (*fn.params, *fn.sizes):
        p.names(x)
    p.block(body)
    return Written(module_text(fn, p, entry, p.made, p.parallel, p.contract), entry, p.parallel)


def compile(program: Program, target: Target) -> Compiled:
    """Machine code for the program, made now; equal sources are compiled once per process."""
    written = _write(program)
    fn = program.entry
    key = hashlib.sha256(f"{target}\n{written.text}\n{_signature_text(fn)}".encode()).hexdigest()
    if key not in _compiled:
        _compiled[key] = _compile(fn, written, key, target)
    return _compiled[key]


def _signature_text(fn: Function) -> str:
    return str([x.dtype for x in (*fn.params, *fn.sizes)])


def _compile(fn: Function, written: Written, key: str, target: Target) -> Compiled:
    kernel = _load(written, key)
    stored = cache.make(kernel, _signature(fn), written.text, target)
    kernel.disable_compile()
    threads = [target.threads]

    @lru_cache(maxsize=1)
    def readable() -> Any:
        """A kernel that can be inspected: one from the disk has no text."""
        if not stored:
            return kernel
        fresh = _load(written, key)
        with compiling_for(target):
            fresh.compile(_signature(fn))
        return fresh

    return Compiled(
        call=_caller(fn, kernel, written.parallel, threads),
        source=written.text,
        ir=lambda: "\n".join(readable().inspect_llvm().values()),
        asm=lambda: "\n".join(readable().inspect_asm().values()),
        extra={
            "kernel": kernel,
            "stored": stored,
            "symbol": written.entry,
            "export": lambda path: export(written, Path(path)),
            "ending": ".py",
            "set_num_threads": lambda n: threads.__setitem__(0, checked_threads(n)),
        },
    )


def export(written: Written, path: Path) -> None:
    """Write the module's source: Python, whatever else the name asks for is not made here."""
    if path.suffix != ".py":
        raise BuildError(
            "export-kind",
            f"cannot export to `{path.name}`: the target `numba` writes Python",
            legal=[".py"],
            hint="for a library or an object file that C can link, build for the target llvm",
        )
    path.write_text(written.text)


def _load(written: Written, key: str) -> Any:
    """Run the source's own part; its copy of the prelude is left out for the imported one, so that types are made once.

    The module has a name that can be looked up: stored machine code refers to it.
    """
    from .prelude import arithmetic, functions, vectors

    name, filename = f"tvmlab_numba_{key[:16]}", f"<tvmlab numba {key[:16]}>"
    linecache.cache[filename] = (len(written.text), None, written.text.splitlines(True), filename)
    tree = _parsed(written.text, filename)
    known = pieces()
    tree.body = [n for n in tree.body if not _in_prelude(n, known)]
    module = sys.modules[name] = ModuleType(name)
    for part in (vectors, arithmetic, functions):
        vars(module).update({k: v for k, v in vars(part).items() if not k.startswith("__")})
    vars(module)["__file__"] = filename
    exec(_limited(lambda: builtins.compile(tree, filename, "exec")), vars(module))
    return getattr(module, f"{written.entry}_kernel")


def _parsed(text: str, filename: str) -> ast.Module:
    return _limited(lambda: ast.parse(text, filename))


def _limited(f: Callable[[], T]) -> T:
    """Python's own limits on a source: 20 nested loops, 200 nested parentheses."""
    try:
        return f()
    except (SyntaxError, MemoryError) as e:
        raise BuildError(
            "python-limit", f"this program is nested too deep for Python source: {getattr(e, 'msg', 'out of memory')}",
            legal=["the target llvm"], hint="fuse loops, or give parts of a long expression a te.compute of their own",
        ) from None  # fmt: skip


def _in_prelude(n: ast.stmt, known: Any) -> bool:
    if isinstance(n, (ast.FunctionDef, ast.ClassDef)):
        return n.name in known
    if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name):
        return n.targets[0].id in known
    return isinstance(n, ast.Expr)


def _signature(fn: Function) -> tuple[Any, ...]:
    from numba import types

    written = {x.buffer for x in walk(fn.body) if isinstance(x, Store)}

    def of(x: Buffer | Var) -> Any:
        half = types.float32 if isinstance(x, Var) else types.uint16
        element = {"bool": types.boolean, "float16": half}.get(x.dtype) or getattr(types, x.dtype)
        if isinstance(x, Var):
            return element
        return types.Array(element, 1, "C", readonly=x not in written)

    return (*[of(x) for x in fn.params], *[types.int64 for _ in fn.sizes])


def _caller(
    fn: Function, kernel: Any, parallel: bool, threads: list[int]
) -> Callable[[Sequence[Any], Sequence[Any]], None]:
    """`call(arrays, scalars)`: buffers and numbers in the order of the parameters, then the sizes."""
    kinds = ["number" if isinstance(x, Var) else "half" if x.dtype == "float16" else "array" for x in fn.params]
    convert = [_number_type(x.dtype) for x in fn.params if isinstance(x, Var)] + [int] * len(fn.sizes)

    def mixed(arrays: Sequence[Any], numbers: Sequence[Any]) -> None:
        memory, given = iter(arrays), iter([c(n) for c, n in zip(convert, numbers, strict=True)])
        arguments = []
        for kind in kinds:
            flat = next(given) if kind == "number" else next(memory).reshape(-1)
            arguments.append(flat.view(np.uint16) if kind == "half" else flat)
        kernel(*arguments, *given)

    def plain(arrays: Sequence[Any], numbers: Sequence[Any]) -> None:
        kernel(*[a if a.ndim == 1 else a.reshape(-1) for a in arrays], *numbers)

    call = plain if set(kinds) <= {"array"} else mixed
    return in_parallel(call, threads) if parallel else call


def _number_type(dtype: str) -> Any:
    if dtype == "float16":
        return lambda x: np.float32(np.float16(x))
    return getattr(np, "bool_" if dt.is_bool(dtype) else dtype)


TARGET = TargetKind(
    name="numba",
    about="Python source for Numba: readable, and runs with numpy and numba alone",
    source=source,
    compile=compile,
    scopes=frozenset({"global", "local"}),
    title="Python (Numba)",
    syntax="python",
)
