"""From a function to code, and from code, arrays and numbers to a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

import numpy as np

from ...core.deep import deep
from ...core.node import Buffer, Var
from ...core.program import Function, Program
from ...lowering import passes
from ...lowering.config import DEFAULT
from ...lowering.fragments import has_fragments
from .. import base
from . import exprs, maths, stmts, threads
from .machine import Machine, Stop
from .memory import numpy_type
from .report import InterpError, Report, Site
from .sharing import watched
from .writer import Block, Options, Writer


@dataclass(frozen=True)
class Code:
    """A function ready to run. `text` is the Python it became."""

    function: Function
    text: str
    code: CodeType
    sites: tuple[Site, ...]
    buffers: tuple[Buffer, ...]
    blocks: tuple[Block, ...]
    constants: dict[str, Any]
    options: Options
    threads: bool


@deep
def prepare(function: Function | Program, options: Options | None = None) -> Code:
    """Translate a function; refuse what cannot be run."""
    fn = _without_fragments(function.entry if isinstance(function, Program) else function)
    options = options or Options()
    w = Writer(options, watched(fn.params, fn.body) if options.races else frozenset(), exprs.EXPR)
    scalars = [p for p in fn.params if isinstance(p, Var)] + list(fn.sizes)
    for i, v in enumerate(scalars):
        w.names[v] = w.local(v)
        w.line(f"{w.names[v]} = scalars[{i}]")
        w.scope.append(w.names[v])
    for k, b in enumerate(fn.buffers):
        stmts.parameter(w, b, k)
    w.block = w.blocks[0]
    if options.count:
        w.line("N[0] += 1")
    stmts.statement(w, fn.body)
    text = "\n\n".join([*w.functions, "\n".join(["def main(scalars):", *w.out, " pass"])])
    threads_too = any(s.startswith("def") and "if 0: yield" in s for s in w.functions)
    return Code(
        fn, text, compile(text, f"<interp {fn.name}>", "exec"), tuple(w.sites), tuple(w.buffers), tuple(w.blocks),
        {**w.constants, **exprs.GLOBALS, **threads.GLOBALS}, options, threads_too,
    )  # fmt: skip


def _without_fragments(fn: Function) -> Function:
    """Tensor cores by the lanes of the warp; that takes flat memory."""
    if not has_fragments(fn.body):
        return fn
    flat = passes.get("flatten_storage")(Program((fn,)), DEFAULT)
    return passes.get("emulate_fragments")(flat, DEFAULT).entry


def run(
    function: Function | Program | Code,
    arrays: Sequence[Any] | Mapping[str, Any],
    scalars: Sequence[Any] | Mapping[str, Any] = (),
    check: bool = True,
    *,
    uninitialised: Sequence[str] = (),
    faults: int = 1,
    count: bool = False,
    strict: bool = False,
    packed: Mapping[str, Callable[..., Any]] | None = None,
) -> Report:
    """Run a function on NumPy arrays (in order, or by name), in place.

    `scalars`: for the scalar parameters, then for `sizes`; sizes left out are read off the arrays' shapes.
    `check=False`: only compute. `uninitialised`: parameters that start undefined (outputs). `faults`: 1 raises the
    first fault; more collects the first fault of up to that many places in the report, bad reads giving 0 and bad
    writes nothing. `strict`: also report what is harmless here: threads that store one and the same value without a
    barrier, integer division by zero (which gives 0) and shifts by more than the width. `packed`: functions that
    programs call by name, before those registered.
    """
    if isinstance(function, Code):
        code = function
    else:
        fn = function.entry if isinstance(function, Program) else function
        code = _prepared(fn, Options(check, check, check, count, frozenset(uninitialised)))
    given = _in_order(code.function, arrays)
    numbers = _scalars(code.function, given, scalars)
    counts = [0] * len(code.blocks)
    R = Machine(code.sites, code.buffers, given, limit=faults, packed=packed, strict=strict, exact_readers=code.threads)
    names = {**code.constants, "R": R, "N": counts}
    exec(code.code, names)
    with np.errstate(all="ignore"), suppress(Stop):
        names["main"](numbers)
    return _report(code, counts, R)


_prepared = lru_cache(maxsize=64)(prepare)


def _in_order(fn: Function, arrays: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    if isinstance(arrays, Mapping):
        missing = [b.name for b in fn.buffers if b.name not in arrays]
        if missing:
            raise InterpError("arguments", f"no array is given for {', '.join(missing)}")
        arrays = [arrays[b.name] for b in fn.buffers]
    if len(arrays) != len(fn.buffers):
        raise InterpError("arguments", f"{fn.name} takes {len(fn.buffers)} arrays, not {len(arrays)}")
    for b, a in zip(fn.buffers, arrays):
        want = numpy_type(b.dtype)
        if not isinstance(a, np.ndarray) or a.dtype != want:
            raise InterpError("arguments", f"argument {b.name} must be a NumPy array of {want}, not {_kind(a)}")
        if b.owner.strides is None and not a.flags.c_contiguous:
            hint = "pass np.ascontiguousarray(...)"
            raise InterpError("arguments", f"argument {b.name} must lie in memory row by row, without gaps", hint=hint)
    return list(arrays)


def _kind(a: Any) -> str:
    return f"one of {a.dtype}" if isinstance(a, np.ndarray) else type(a).__name__


def _scalars(fn: Function, arrays: Sequence[Any], given: Sequence[Any] | Mapping[str, Any]) -> list[Any]:
    """Numbers for the scalar parameters and sizes, in the form the code computes with."""
    wanted = [p for p in fn.params if isinstance(p, Var)] + list(fn.sizes)
    if isinstance(given, Mapping):
        values = {v: given[v.name] for v in wanted if v.name in given}
    else:
        if len(given) > len(wanted):
            raise InterpError("arguments", f"{fn.name} takes {len(wanted)} numbers, not {len(given)}")
        values = dict(zip(wanted, given))
    sizes = set(fn.sizes)
    for v, n in _from_shapes(fn, arrays):
        if v in sizes:
            values.setdefault(v, n)
    missing = [v.name for v in wanted if v not in values]
    if missing:
        raise InterpError("arguments", f"no number is given for {', '.join(missing)}")
    return [_number(values[v], v.dtype) for v in wanted]


def _from_shapes(fn: Function, arrays: Sequence[Any]) -> list[tuple[Var, int]]:
    found: list[tuple[Var, int]] = []
    for b, a in zip(fn.buffers, arrays):
        owner = b.owner
        found += [(x, n) for x, n in zip(owner.shape, a.shape) if isinstance(x, Var)]
        found += [(x, n // a.itemsize) for x, n in zip(owner.strides or (), a.strides) if isinstance(x, Var)]
        if isinstance(owner.offset, Var):
            found.append((owner.offset, 0))
    return found


def _number(value: Any, dtype: str) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    return maths.cast("float64" if isinstance(value, float) else "int64", dtype)(value)


def _report(code: Code, counts: list[int], R: Machine) -> Report:
    loads: Counter[str] = Counter()
    stores: Counter[str] = Counter()
    loops: Counter[str] = Counter()
    flops = 0
    for n, block in zip(counts, code.blocks):
        loads.update({name: n * k for name, k in block.loads.items()})
        stores.update({name: n * k for name, k in block.stores.items()})
        flops += n * block.flops
        if block.loop:
            loops[block.loop] += n
    return Report(list(R.faults.values()), dict(loads), dict(stores), dict(loops), flops)


def _compile(program: Program, target: base.Target) -> base.Compiled:
    code = prepare(program)

    def call(arrays: Sequence[Any], scalars: Sequence[Any]) -> None:
        run(code, arrays, scalars)

    return base.Compiled(call, str(program), extra={"code": code})


TARGET = base.TargetKind(
    name="interp",
    about="the reference interpreter: slow, and checks every access, race and barrier",
    source=lambda program, target: str(program),
    compile=_compile,
    threads=True,
    own_text=False,
    checks=True,
)
