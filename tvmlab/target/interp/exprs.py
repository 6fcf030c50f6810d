"""Expressions as Python text.

Integers are Python integers that wrap after each operation, except inside indices, where arithmetic is exact by
contract. float16 and float32 are NumPy scalars, float64 is Python's float, vectors are NumPy arrays.
Everything is evaluated, both sides of `and`, `or` and `select` too; only `if_then_else` is lazy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import dtype as dt
from ...core.node import (
    ARITH,
    COMPARE,
    Bin,
    Broadcast,
    Call,
    Cast,
    Const,
    Expr,
    Let,
    Load,
    Not,
    Ramp,
    Reduce,
    Select,
    Var,
)  # fmt: skip
from . import kernels, maths
from .access import read
from .calls import call
from .memory import numpy_type
from .writer import Writer


def wrapped(text: str, dtype: str) -> str:
    """An integer text wrapped to its dtype. NumPy wraps vectors itself."""
    bits = dt.bits(dtype)
    mask, half = (1 << bits) - 1, 1 << (bits - 1)
    return f"(({text}) + {half} & {mask}) - {half}" if dt.is_signed(dtype) else f"({text}) & {mask}"


def scalar_int(dtype: str) -> bool:
    return dt.is_int(dtype) and dt.lanes(dtype) == 1


def _as_index(w: Writer, e: Expr, text: str, exact: bool) -> str:
    return f"as_index({text})" if exact and dt.lanes(e.dtype) > 1 else text


def _var(w: Writer, e: Var, exact: bool) -> str:
    return _as_index(w, e, w.variable(e), exact)


def _const(w: Writer, e: Const, exact: bool) -> str:
    if e.dtype == "handle":
        return repr(e.value)
    if not dt.is_float(e.dtype):
        return str(bool(e.value)) if dt.is_bool(e.dtype) else f"({e.value})" if e.value < 0 else str(int(e.value))
    with np.errstate(all="ignore"):
        made = maths.finish(e.dtype)(e.value)
    return w.constant(made, (e.dtype, repr(e.value)))


def _bin(w: Writer, e: Bin, exact: bool) -> str:
    side = w.index if exact and dt.is_int(e.a.dtype) else w.value
    a, b = side(e.a), side(e.b)
    lanes = dt.lanes(e.a.dtype)
    if e.op in ("and", "or"):
        return f"({a} {'&' if e.op == 'and' else '|'} {b})"
    if e.op in COMPARE:
        return f"({a} {e.op} {b})"
    if dt.is_float(e.dtype):
        w.block.flops += lanes
        return _float(w, e, a, b)
    if e.op in ("min", "max"):
        return _extreme(w, e.op, a, b, lanes)
    if e.op in ("//", "%", "truncdiv", "truncmod"):
        text = _divide(w, e, a, b)
    elif e.op in ("<<", ">>") and not isinstance(e.b, Const):
        text = f"R.shift({e.op!r}, {a}, {b}, {dt.bits(e.dtype)}, {w.at()})"
    else:
        text = f"{a} {e.op} {b}"
    overflows = e.op in ("+", "-", "*", "<<", "//", "truncdiv") and not (e.op == "//" and _positive(e.b))
    if overflows and not exact and scalar_int(e.dtype):
        text = wrapped(text, e.dtype)
    return f"({text})"


def _divide(w: Writer, e: Bin, a: str, b: str) -> str:
    """Division of integers: by zero it gives zero, as masked-off lanes do."""
    name = {"//": "floordiv", "%": "floormod"}.get(e.op, e.op)
    if dt.lanes(e.dtype) > 1:
        return f"R.divide({name}, {a}, {b}, {w.at()})"
    known = isinstance(e.b, Const) and e.b.value != 0
    b = b if known else w.atom(b)
    text = f"{name}({a}, {b})" if e.op.startswith("trunc") else f"{a} {e.op} {b}"
    return text if known else f"({text} if {b} else R.by_zero({w.at()}))"


def _positive(e: Expr) -> bool:
    return isinstance(e, Const) and e.value > 0


def _float(w: Writer, e: Bin, a: str, b: str) -> str:
    if e.op in ("min", "max"):
        return _extreme(w, e.op, a, b, dt.lanes(e.dtype))
    if e.op in ("+", "-", "*") or (e.op == "/" and e.dtype != "float64"):
        return f"({a} {e.op} {b})"
    if e.op not in ARITH or e.op in ("&", "|", "^", "<<", ">>"):
        raise w.refuse("float-bits", f"`{e.op}` works on integers, not on {e.dtype}")
    return f"{w.constant(maths.float_binary(e.op, e.dtype), (e.op, e.dtype == 'float64'))}({a}, {b})"


def _extreme(w: Writer, op: str, a: str, b: str, lanes: int) -> str:
    if lanes > 1:
        return f"{'smaller' if op == 'min' else 'larger'}({a}, {b})"
    a, b = w.atom(a), w.atom(b)
    return f"({a} if {a} {'<' if op == 'min' else '>'} {b} else {b})"


def _not(w: Writer, e: Not, exact: bool) -> str:
    a = w.value(e.a)
    return f"(~{a})" if dt.lanes(e.dtype) > 1 else f"(not {a})"


def _cast(w: Writer, e: Cast, exact: bool) -> str:
    source, dtype = e.value.dtype, e.dtype
    if exact and scalar_int(dtype) and scalar_int(source) and _holds(dtype, source):
        return w.index(e.value)
    text = w.value(e.value)
    if scalar_int(dtype) and scalar_int(source) and _holds(dtype, source):
        return text
    f = w.constant(maths.cast(source, dtype), ("cast", source, dtype))
    return _as_index(w, e, f"{f}({text})", exact)


def _holds(wide: str, narrow: str) -> bool:
    """Does every value of `narrow` fit into `wide`?"""
    (lo, hi), (lo2, hi2) = dt.limits(wide), dt.limits(narrow)
    return lo <= lo2 and hi2 <= hi


def _select(w: Writer, e: Select, exact: bool) -> str:
    side = w.index if exact and dt.is_int(e.dtype) else w.value
    c, a, b = w.value(e.cond), side(e.then), side(e.other)
    if dt.lanes(e.dtype) > 1:
        return f"where({c}, {a}, {b})"
    a, b = w.atom(a), w.atom(b)
    return f"({a} if {c} else {b})"


def _call(w: Writer, e: Call, exact: bool) -> str:
    if e.name == "if_then_else":
        return _if_then_else(w, e, exact)
    if e.name == "likely":
        return EXPR[type(e.args[0])](w, e.args[0], exact)
    if e.name == "shuffle_xor":
        return kernels.shuffle(w, e)
    return _as_index(w, e, call(w, e), exact)


def _if_then_else(w: Writer, e: Call, exact: bool) -> str:
    """Scalar conditions choose what is evaluated; a vector condition picks lanes, as `select` does."""
    cond, then, other = e.args
    if dt.lanes(cond.dtype) > 1:
        return _select(w, Select(cond, then, other), exact)
    side = w.index if exact and dt.is_int(e.dtype) else w.value
    if w.crowded() and not kernels.syncs(e):
        params = w.arguments()
        return f"{w.outline(lambda: _if_then_else(w, e, exact), params)}({', '.join(params)})"
    c, result = w.value(cond), w.fresh("t")
    for head, branch in ((f"if {c}:", then), ("else:", other)):
        w.line(head)
        with w.indented(), w.counted():
            w.line(f"{result} = {side(branch)}")
    return result


def _let(w: Writer, e: Let, exact: bool) -> str:
    assert isinstance(e.var, Var)
    name = w.local(e.var)
    w.line(f"{name} = {w.value(e.value)}")
    with w.bound(e.var, name):
        return w.atom((w.index if exact else w.value)(e.body))


def _ramp(w: Writer, e: Ramp, exact: bool) -> str:
    text = f"({w.index(e.base)} + {w.index(e.stride)}*{w.steps(e.count)})"
    return text if exact else f"{text}.astype({_kind(w, e.dtype)})"


def _broadcast(w: Writer, e: Broadcast, exact: bool) -> str:
    if exact and dt.is_int(e.dtype):
        return w.index(e.value)  # NumPy spreads it where it meets a vector
    return f"full({e.count}, {w.value(e.value)}, {_kind(w, e.dtype)})"


def _kind(w: Writer, dtype: str) -> str:
    kind = numpy_type(dtype)
    return w.constant(kind, ("kind", str(kind)))


def _reduce(w: Writer, e: Reduce, exact: bool) -> str:
    raise w.refuse(
        "unlowered-reduction", f"a reduction ({e.combiner.name}) stands inside the loops: lower the program first"
    )


EXPR: dict[type, Callable[[Writer, Any, bool], str]] = {
    Var: _var, Const: _const, Bin: _bin, Not: _not, Cast: _cast, Select: _select, Call: _call, Reduce: _reduce,
    Load: lambda w, e, exact: _as_index(w, e, read(w, e), exact), Let: _let, Ramp: _ramp, Broadcast: _broadcast,
}  # fmt: skip

GLOBALS: dict[str, Any] = {
    "where": np.where, "full": np.full, "truncdiv": maths.truncdiv, "truncmod": maths.truncmod,
    "floordiv": np.floor_divide, "floormod": np.remainder, "smaller": maths.smaller, "larger": maths.larger,
    "one": lambda v: v[0] if v.dtype.char in "ef" else v[0].item(),
    "as_index": lambda x: x.astype(np.int64) if isinstance(x, np.ndarray) else x,
}  # fmt: skip
