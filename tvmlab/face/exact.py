"""Where the analysis cannot decide: the program is run on the checking interpreter, if it is small enough.

The interpreter reports every race and every access outside a shape. For a program of fixed sizes whose accesses do not
depend on data, one run without a report is a proof. For others it is an example, and is called one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..core.affine import simplify
from ..core.node import Buffer, Call, Evaluate, For, If, Load, Stmt, Store, Var, While
from ..core.program import Function, Program
from ..core.walk import children, constant, substitute, walk

CLEAR, CLASH, EXAMPLE, TOO_BIG = "clear", "clash", "example", ""
MOST = 20_000  # iterations: a few hundredths of a second
SIZES = (5, 3, 7, 4, 6, 2)  # of what is known only when called, in turn; odd on purpose


def trial(program: Program) -> tuple[str, str]:
    """(clear, ""), (clash, what), (example, what was tried) or ("", "") where it is too big to try."""
    fn = program.entry
    free = [*(p for p in fn.params if isinstance(p, Var)), *fn.sizes]
    sizes = {v: SIZES[k % len(SIZES)] for k, v in enumerate(free)}
    count = iterations(fn.body, sizes)
    shapes = [_shape(b, sizes) for b in fn.buffers]
    if count is None or count > MOST or None in shapes or len(program.functions) > 1 or _calls_out(fn.body):
        return TOO_BIG, ""
    fault = _run(fn, shapes, sizes)
    if fault is not None:
        return (CLASH, fault) if not _by_data(fn.body) else (EXAMPLE, f"On an example: {fault}")
    if not sizes and not _by_data(fn.body):
        return CLEAR, ""
    where = ", ".join(f"{v.name} = {n}" for v, n in sizes.items())
    return EXAMPLE, f"No clash was found on an example ({where or 'random indices'}; {count} iterations)."


def _run(fn: Function, shapes: list[Any], sizes: Mapping[Any, int]) -> str | None:
    """What the interpreter reports; None where it runs through."""
    from ..target.interp import InterpError, run

    rng = np.random.default_rng(0)
    least = min((n for shape in shapes for n in shape), default=1)
    pairs = zip(fn.buffers, shapes, strict=True)
    arrays = [rng.integers(0, max(least, 1), shape).astype(b.dtype) for b, shape in pairs]
    try:
        run(fn, arrays, list(sizes.values()))
    except InterpError as e:
        at = next((line for line in e.where if line.startswith("at ")), "")
        return e.message + (f", {at}" if at else "")
    return None


def iterations(s: Stmt, sizes: Mapping[Any, int]) -> int | None:
    """How often statements run, at most; None where that is not known."""
    if isinstance(s, For):
        n = _value(s.extent, sizes)
        inside = None if n is None or n < 0 else iterations(s.body, sizes)
        return None if inside is None or n is None else n * inside
    if isinstance(s, While):
        return None
    if isinstance(s, (Store, Evaluate)):
        return 1
    total = 0
    for c in children(s):
        n = iterations(c, sizes) if isinstance(c, Stmt) else 0
        if n is None:
            return None
        total += n
    return max(total, 1)


def _shape(b: Buffer, sizes: Mapping[Any, int]) -> tuple[int, ...] | None:
    found = [_value(e, sizes) for e in b.shape]
    return None if b.strides is not None or None in found else tuple(n for n in found if n is not None)


def _value(e: Any, sizes: Mapping[Any, int]) -> int | None:
    from ..core.build import const

    return constant(simplify(substitute(e, {v: const(n, v.dtype) for v, n in sizes.items()})) if sizes else e)


def _calls_out(body: Stmt) -> bool:
    """Does the program call functions of the person's? Asking must not run them."""
    return any(isinstance(x, Call) and x.kind not in ("pure", "intrin") for x in walk(body))


def _by_data(body: Stmt) -> bool:
    """Does what is accessed, or whether it is, depend on what memory holds?"""
    for x in walk(body):
        parts: tuple[Any, ...] = ()
        if isinstance(x, (Load, Store)):
            parts = (*x.indices, *((x.mask,) if x.mask is not None else ()))
        elif isinstance(x, If):
            parts = (x.cond,)
        elif isinstance(x, For):
            parts = (x.extent,)
        elif isinstance(x, Call) and x.name == "if_then_else":
            parts = x.args[:1]
        if any(isinstance(y, Load) for p in parts for y in walk(p)):
            return True
    return False

