"""A program -> something that runs: IR text, object code (from the cache when it is there), the entry to call."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from ...core import dtype as dt
from ...core.error import BuildError, CallError, TVMError
from ...core.node import For, Var
from ...core.program import Program
from ...core.walk import walk
from ..base import Compiled, Target
from . import jit
from .builder import Module
from .emit import emit_module, refused, signature

FP = {"contract": "contract ", "strict": "", "fast": "fast "}


def source(program: Program, target: Target) -> str:
    """The LLVM IR text of a program."""
    return generate(program, target).text()


def generate(program: Program, target: Target) -> Module:
    problem = refused(program)
    if problem is not None:
        raise problem
    mode = dict(program.entry.attrs).get("fp", "contract")
    if mode not in FP:
        raise BuildError("fp-mode", f"the attribute fp is `{mode}`", legal=sorted(FP))
    return emit_module(program, Module(jit.machine(jit.settings(target)), FP[mode]))


def compile(program: Program, target: Target) -> Compiled:
    made = jit.settings(target)
    module = generate(program, target)
    text = module.text()
    scalar = wants_vectoriser(program)
    ir, asm = (lambda: text), (lambda: jit.assembly(text, made, scalar))
    why = jit.runnable(made)
    if why:
        return Compiled(_refuse(program.entry.name, why), text, ir, asm)
    code = jit.compile_object(text, made, scalar)
    library = jit.link(code, (program.entry.name,), {})
    call = make_call(program, library)
    return Compiled(call, text, ir, asm, {"object": code, "library": library})


def wants_vectoriser(program: Program) -> bool:
    """Are there innermost loops without vectors, for LLVM to vectorise as it can?"""
    return any(
        type(s) is For and not any(type(x) is For and x is not s for x in walk(s)) and not _has_vectors(s)
        for fn in program.functions
        for s in walk(fn.body)
    )


def _has_vectors(s: For) -> bool:
    return any(dt.lanes(x.dtype) > 1 for x in walk(s) if hasattr(x, "dtype"))


def _refuse(name: str, why: str) -> Any:
    def call(arrays: Sequence[Any], scalars: Sequence[Any]) -> None:
        raise BuildError("not-here", f"`{name}` cannot run here: {why}", hint="its .asm and .source are available")

    return call


def make_call(program: Program, library: Any) -> Any:
    fn = program.entry
    kinds = [_ctype(t) for _, t in signature(fn)]
    entry = ctypes.CFUNCTYPE(ctypes.c_int32, *kinds)(library[fn.name])

    def call(arrays: Sequence[Any], scalars: Sequence[Any], library: Any = library) -> None:
        code = entry(*[a.ctypes.data for a in arrays], *scalars)
        if code:
            fail(fn.name, code)

    return call


def _ctype(t: str) -> Any:
    return {"ptr": ctypes.c_void_p, "i64": ctypes.c_int64, "double": ctypes.c_double}[t]


def fail(name: str, code: int) -> None:
    if code == -2:
        raise MemoryError(f"`{name}`: the system gave no memory for a temporary")
    raise TVMError(f"`{name}` failed with code {code}")


__all__ = ["CallError", "Var", "compile", "source"]
