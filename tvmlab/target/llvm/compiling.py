"""A program -> something that runs: IR text, object code (from the cache when it is there), the entry to call."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ...core import affine
from ...core import dtype as dt
from ...core.error import BuildError
from ...core.node import For, Stmt, Store, Var
from ...core.program import Function, Program
from ...core.walk import children
from ..base import Compiled, Target
from ..cabi import C_TYPES, halves_as_bits
from . import cache, export, imports, jit
from .builder import Module
from .emit import FAILED, NO_MEMORY, emit_module, refused, signature, symbol_of
from .launchers import IN_PROCESS
from .packed import PACKED, Callbacks
from .parallel import Threads

FP = {"contract": "contract ", "strict": "", "fast": "fast "}  # the function attribute `fp`


def source(program: Program, target: Target) -> str:
    """The LLVM IR text of a program."""
    return generate(program, target).text(IN_PROCESS)


def generate(program: Program, target: Target) -> Module:
    """The program as a module of IR text."""
    problem = refused(program)
    if problem is not None:
        raise problem
    mode = dict(program.entry.attrs).get("fp", "contract")
    if mode not in FP:
        raise BuildError("fp-mode", f"the attribute fp of `{program.entry.name}` is `{mode}`", legal=sorted(FP))
    made = jit.settings(target)
    module = emit_module(program, Module(jit.machine(made), FP[mode]))
    if texts := imports.collect(program):
        brought = imports.defined(imports.parsed(texts, made))
        module.externs = {k: v for k, v in module.externs.items() if k not in brought}
        module.link = lambda text: imports.linked(text, texts, made)
    return module


def compile(program: Program, target: Target) -> Compiled:
    """`extra`: raw(*addresses, *numbers) the bare call; export(path); set_num_threads(n) if there are parallel loops;
    optimised() the IR after LLVM's passes; object the machine code; cached whether it came from the cache.
    """
    made, fn = jit.settings(target), program.entry
    module = generate(program, target)
    text = module.text(IN_PROCESS)
    work = effort(program)
    extra: dict[str, Any] = {
        "export": lambda path: extra.update(symbol=export.export(program, target, path)),
        "optimised": lambda: jit.optimised(text, made, work),
        "symbol": symbol_of(fn),
        "status": True,
    }
    why = jit.runnable(made)
    if why:
        return Compiled(_refuse(fn.name, why), text, lambda: text, lambda: jit.assembly(text, made, work), extra)
    symbols = resolve(module, fn.name)
    callbacks, threads = None, None
    if module.sites:
        callbacks = Callbacks(module.sites)
        symbols[PACKED] = callbacks.address
    if module.parallel:
        threads = Threads(target.threads)
        symbols.update(threads.symbols())
        extra["set_num_threads"] = threads.set
    code, extra["cached"] = cache.through(cache.key(text, made, work), lambda: jit.compile_object(text, made, work))
    library = jit.link(code, (symbol_of(fn),), symbols)
    raw, call = make_calls(fn, library, module.fails, callbacks, threads)
    extra.update(object=code, raw=raw)
    return Compiled(call, text, lambda: text, lambda: jit.assembly(text, made, work), extra)


def resolve(module: Module, name: str) -> dict[str, int]:
    """The addresses of the C functions a program calls; one that nobody defines is an error now, not a crash later."""
    found = {}
    for symbol, where in module.externs.items():
        address = jit.address_of(symbol)
        if not address:
            raise BuildError(
                "unknown-symbol",
                f"`{name}` calls the C function `{symbol}`, which no library of this process defines",
                where=[where],
                hint="load the library that has it first:  llvmlite.binding.load_library_permanently(path)\n"
                '  or bring its code along:  s[stage].pragma(axis, "import_llvm", text)',
            )
        found[symbol] = address
    return found


def effort(program: Program) -> str:
    """What of LLVM's passes the program needs, see `jit.optimise`."""
    return "loops" if any(_has_scalar_loop(fn.body)[1] for fn in program.functions) else "vectors"


def _has_scalar_loop(s: Any) -> tuple[bool, bool]:
    """(has loops, has one that LLVM will see as an innermost one and that it might vectorise)"""
    if type(s) is For and s.kind != "unrolled":
        loops, scalar = _has_scalar_loop(s.body)
        return True, scalar if loops else _is_scalar(s)
    found = [_has_scalar_loop(x) for x in children(s) if isinstance(x, Stmt)]
    return any(f[0] for f in found), any(f[1] for f in found)


def _is_scalar(loop: For) -> bool:
    """No vectors are stored, nor are there only stores to places that lie apart (a copy that transposes)."""
    stores = [x for x in statements(loop.body) if type(x) is Store]
    return not any(map(_stores_vector, stores)) and not (stores and all(_scatters(x, loop.var) for x in stores))


def _scatters(s: Store, v: Var) -> bool:
    """Do neighbouring iterations store to places that are not neighbours?"""
    return len(s.indices) == 1 and abs(affine.lin(s.indices[0], affine.NOTHING).terms.get(v, 0)) > 1


def statements(s: Stmt) -> Iterator[Stmt]:
    yield s
    for x in children(s):
        if isinstance(x, Stmt):
            yield from statements(x)


def _stores_vector(s: Stmt) -> bool:
    return type(s) is Store and (dt.lanes(s.value.dtype) > 1 or any(dt.lanes(i.dtype) > 1 for i in s.indices))


# ---------------------------------------------------------------- calling


def _refuse(name: str, why: str) -> Callable[[Sequence[Any], Sequence[Any]], None]:
    def call(arrays: Sequence[Any], scalars: Sequence[Any]) -> None:
        raise BuildError(
            "not-here", f"`{name}` cannot run here: {why}", hint="its .asm and .source are there to be read"
        )

    return call


def make_calls(
    fn: Function, library: Any, fails: bool, callbacks: Callbacks | None, threads: Threads | None
) -> tuple[Any, Any]:
    """(raw(*addresses, *numbers), call(arrays, numbers)). Both raise what goes wrong, and keep alive what they need."""
    dtypes = [p.dtype if isinstance(p, Var) else None for p, _ in signature(fn)]
    passed = [ctypes.c_void_p if d is None else C_TYPES[d] for d in dtypes]
    # no result where nothing can fail: one check less per call
    entry = ctypes.CFUNCTYPE(ctypes.c_int32 if fails else None, *passed)(library[symbol_of(fn)])
    entry.alive = (library, callbacks, threads)  # type: ignore[attr-defined]
    if fails:
        entry.errcheck = _checker(fn.name, callbacks)  # type: ignore[assignment]
    raw = halves_as_bits(entry, dtypes)

    def call(arrays: Sequence[Any], scalars: Sequence[Any]) -> None:
        raw(*[a.ctypes.data for a in arrays], *scalars)

    return raw, call


def _checker(name: str, callbacks: Callbacks | None) -> Callable[..., None]:
    def check(code: int, function: Any, args: Any) -> None:
        if code == 0:
            return
        if code == FAILED and callbacks is not None:
            callbacks.raise_error()
        if code == NO_MEMORY:
            raise MemoryError(f"`{name}`: the system gave no memory for a temporary")
        raise RuntimeError(f"`{name}` failed with code {code}")

    return check
