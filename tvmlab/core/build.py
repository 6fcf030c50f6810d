"""Building expressions: conversion of Python values, data-type promotion, constant folding, the operators."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from . import dtype as dt
from . import foreign as _foreign  # noqa: F401  (gives expressions more methods)
from .error import ExpressionError, TVMError
from .node import ARITH, COMPARE, LOGIC, Bin, Broadcast, Call, Cast, Const, Expr, IterVar, Not, Operand, Select


def _truncdiv(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


FOLD: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "//": operator.floordiv, "%": operator.mod,
    "/": operator.truediv, "min": min, "max": max, "==": operator.eq, "!=": operator.ne, "<": operator.lt,
    "<=": operator.le, ">": operator.gt, ">=": operator.ge, "and": lambda a, b: bool(a and b),
    "or": lambda a, b: bool(a or b), "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift,
    "truncdiv": _truncdiv, "truncmod": lambda a, b: a - _truncdiv(a, b) * b,
}  # fmt: skip
DIVISIONS = frozenset({"/", "//", "%", "truncdiv", "truncmod"})
BITS = frozenset({"&", "|", "^", "<<", ">>"})
COUNTS = DIVISIONS | {"+", "-", "*"}  # of bools these are counts: int32
INTEGER = BITS | DIVISIONS - {"/"}


def const(value: Any, dtype: str | None = None) -> Const:
    """A constant; without a dtype an int is int32 (int64 where it does not fit), a float float32, a bool bool."""
    if isinstance(value, Const):
        value, dtype = value.value, dtype or value.dtype
    if dtype is None:
        dtype = _dtype_of(value)
    dtype = dt.canonical(dtype)
    if dt.lanes(dtype) > 1:
        return Broadcast(const(value, dt.element(dtype)), dt.lanes(dtype))  # type: ignore[return-value]
    if dt.is_float(dtype):
        return Const(float(value), dtype)
    if dt.is_bool(dtype):
        return Const(bool(value), dtype)
    if dtype == "handle":
        return Const(value, dtype)
    return Const(wrap(int(value), dtype), dtype)


def wrap(value: int, dtype: str) -> int:
    """`value` as the integer type holds it (two's complement)."""
    lo, hi = dt.limits(dtype)
    if lo <= value <= hi:
        return value
    size = dt.bits(dtype)
    value &= (1 << size) - 1
    return value - (1 << size) if dt.is_signed(dtype) and value >> (size - 1) else value


def _dtype_of(value: Any) -> str:
    if hasattr(value, "dtype"):
        return str(value.dtype)
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            message = f"{value} does not fit any integer type"
            raise ExpressionError("number-too-large", message, hint="write it as a float if that is meant")
        return "int32" if -(2**31) <= value < 2**31 else "int64" if value < 2**63 else "uint64"
    if isinstance(value, float):
        return "float32"
    if isinstance(value, str):
        return "handle"
    raise TypeError(f"cannot make an expression of {value!r} ({type(value).__name__})")


def text(value: Any, what: str) -> str:
    """`value`, which must be a string: `what` it is for."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {value!r}")
    return value


def to_expr(value: Any, dtype: str | None = None) -> Expr:
    """Anything a person may write where an expression is meant: numbers, axes, rank-0 tensors, tensor elements."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, IterVar):
        return value.var
    if hasattr(value, "as_expr"):
        made: Expr = value.as_expr()
        return made
    return const(value.item() if hasattr(value, "item") else value, dtype or _dtype_of(value))


def is_const(e: Any, value: Any = None) -> bool:
    return isinstance(e, Const) and (value is None or e.value == value)


def cast(value: Any, dtype: str) -> Expr:
    """`value` as `dtype`; floats become integers by truncation."""
    e, dtype = to_expr(value), dt.canonical(dtype)
    if e.dtype == dtype:
        return e
    count = dt.lanes(dtype)
    if count > 1 and dt.lanes(e.dtype) == 1:
        return Broadcast(cast(e, dt.element(dtype)), count)
    if isinstance(e, Const) and e.dtype != "handle":
        return const(bool(e.value) if dt.is_bool(dtype) else e.value, dtype)
    return Cast(e, dtype)


def matched(a: Expr, b: Expr) -> tuple[Expr, Expr]:
    """Both sides in their common dtype."""
    if a.dtype == b.dtype:
        return a, b
    common = dt.promote(a.dtype, b.dtype)
    return cast(a, common), cast(b, common)


def binary(op: str, left: Any, right: Any) -> Expr:
    a, b = to_expr(left), to_expr(right)
    if op in LOGIC:
        return _logic(op, a, b)
    a, b = matched(a, b)
    if op in COUNTS and dt.is_bool(a.dtype):
        wide = dt.vector("int32", dt.lanes(a.dtype))
        a, b = cast(a, wide), cast(b, wide)
    element = dt.element(a.dtype)
    if op in INTEGER and dt.is_float(element):
        instead = {"%": "; for floats there is te.fmod", "//": "; for floats there is te.floor(a / b)"}.get(op, "")
        raise TVMError(f"`{op}` works on integers, not on {a.dtype}{instead}")
    if op == "/" and not dt.is_float(element):
        raise TVMError(
            f"`/` of two integers is ambiguous in {Bin(op, a, b, a.dtype)!r} ({a!r} and {b!r} are {a.dtype}): use `//` "
            "(floor), te.truncdiv (towards zero), or cast one side to a float"
        )
    if op in DIVISIONS and is_const(b, 0) and not dt.is_float(element):
        raise TVMError(f"division by zero: {a!r} {op} 0")
    if op in ("<<", ">>") and isinstance(b, Const) and not 0 <= b.value < dt.bits(element):
        raise TVMError(f"a shift of {element} must be by 0 to {dt.bits(element) - 1} bits, not by {b.value}")
    folded = _fold(op, a, b)
    if folded is not None:
        return folded
    result = dt.vector("bool", dt.lanes(a.dtype)) if op in COMPARE else a.dtype
    return Bin(op, a, b, result)


def _logic(op: str, a: Expr, b: Expr) -> Expr:
    a, b = as_bool(a), as_bool(b)
    count = max(dt.lanes(a.dtype), dt.lanes(b.dtype))
    a, b = cast(a, dt.vector("bool", count)), cast(b, dt.vector("bool", count))
    neutral = op == "and"
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Const):
            return y if bool(x.value) is neutral else x
    return Bin(op, a, b, a.dtype)


def as_bool(e: Any) -> Expr:
    e = to_expr(e)
    return e if dt.is_bool(e.dtype) else binary("!=", e, cast(0, dt.element(e.dtype)))


def _fold(op: str, a: Expr, b: Expr) -> Expr | None:
    """Constants, and for integers the neutral elements: x+0, x-0, x*1, x*0, x//1, x%1."""
    ca, cb = isinstance(a, Const), isinstance(b, Const)
    if ca and cb:
        return _fold_constants(op, a, b)  # type: ignore[arg-type]
    if not dt.is_int(a.dtype):
        return None
    if cb:
        v = b.value  # type: ignore[attr-defined]
        if (v == 0 and op in "+-") or (v == 1 and op in ("*", "//", "truncdiv")):
            return a
        if (v == 0 and op == "*") or (v == 1 and op in ("%", "truncmod")):
            return Const(0, a.dtype)
    if ca:
        v = a.value  # type: ignore[attr-defined]
        if (v == 0 and op == "+") or (v == 1 and op == "*"):
            return b
        if v == 0 and op in ("*", "//", "%", "truncdiv", "truncmod"):
            return Const(0, a.dtype)
    return None


def _fold_constants(op: str, a: Const, b: Const) -> Expr | None:
    if a.dtype == "handle":
        return None
    if op == "/" and b.value == 0:
        return None
    try:
        value = FOLD[op](a.value, b.value)
    except (OverflowError, ZeroDivisionError, ValueError):
        return None
    return const(value, "bool" if op in COMPARE else a.dtype)


def negate(value: Any) -> Expr:
    e = to_expr(value)
    if isinstance(e, Const):
        return const(-e.value, e.dtype)
    if dt.is_bool(e.dtype):
        e = cast(e, dt.vector("int32", dt.lanes(e.dtype)))
    return binary("*", e, const(-1, e.dtype)) if dt.is_int(e.dtype) else binary("*", e, const(-1.0, e.dtype))


def invert(value: Any) -> Expr:
    """Bitwise not of an integer, logical not of a bool."""
    e = to_expr(value)
    if dt.is_bool(e.dtype):
        return not_(e)
    if dt.is_float(e.dtype):
        raise TVMError(f"`~` works on integers, not on {e.dtype}")
    return const(~e.value, e.dtype) if isinstance(e, Const) else Call("bitwise_not", (e,), e.dtype)


def not_(value: Any) -> Expr:
    e = as_bool(value)
    if isinstance(e, Const):
        return const(not e.value, "bool")
    return e.a if isinstance(e, Not) else Not(e)


def select(cond: Any, then: Any, other: Any) -> Expr:
    """`then` where `cond` holds, else `other`; both may be evaluated."""
    c, (a, b) = as_bool(cond), matched(to_expr(then), to_expr(other))
    if isinstance(c, Const):
        return a if c.value else b
    return Select(c, a, b)


def if_then_else(cond: Any, then: Any, other: Any) -> Expr:
    """Like `select`, but only the chosen side is evaluated: it may guard a read."""
    c = to_expr(cond)
    if dt.lanes(c.dtype) != 1 or not (dt.is_bool(c.dtype) or dt.is_int(c.dtype)):
        raise TVMError(f"the condition of if_then_else must be a scalar bool, not {c.dtype}")
    a, b = matched(to_expr(then), to_expr(other))
    c = as_bool(c)
    if isinstance(c, Const):
        return a if c.value else b
    return Call("if_then_else", (c, a, b), a.dtype)


def all_(*conditions: Any) -> Expr:
    """All of the conditions hold: `te.all(i > 0, i < n)`."""
    return _fold_conditions("and", conditions)


def any_(*conditions: Any) -> Expr:
    """At least one of the conditions holds: `te.any(i < 1, i >= n)`."""
    return _fold_conditions("or", conditions)


def _fold_conditions(op: str, conditions: tuple[Any, ...]) -> Expr:
    if not conditions:
        raise ValueError("any/all need at least one condition")
    result = as_bool(conditions[0])
    for c in conditions[1:]:
        result = binary(op, result, c)
    return result


class ExpressionTruthError(ExpressionError, ValueError):
    """The classic API raises ValueError here."""


def truth(value: Any) -> bool:
    """`a == b` is true where both are the same object, so that lists can hold expressions; else nothing has a truth."""
    e = to_expr(value)
    if isinstance(e, Bin) and e.op in ("==", "!="):
        return (e.a is e.b) == (e.op == "==")
    if isinstance(e, Const):
        return bool(e.value)
    raise ExpressionTruthError(
        "expression-truth",
        "an expression has no truth value yet: `and`, `or`, `not` and `if` of Python cannot work on it",
        where=[repr(e)],
        legal=["te.all(a, b)", "te.any(a, b)", "tir.Not(a)", "te.if_then_else(cond, a, b)"],
        hint="for max(a, b) and min(a, b) write te.max(a, b) and te.min(a, b); for 2 < i < 5 te.all(2 < i, i < 5)",
    )


def _equality(op: str) -> Callable[[Any, Any], Any]:
    def compare(self: Any, other: Any) -> Any:
        if self is other:
            return const(op == "==", "bool")
        if not isinstance(other, (Operand, int, float)) and not hasattr(other, "as_expr"):
            return NotImplemented
        try:
            a, b = matched(to_expr(self), to_expr(other))
        except TypeError:
            return op == "!="
        return _fold(op, a, b) or Bin(op, a, b, dt.vector("bool", dt.lanes(a.dtype)))

    return compare


def install_operators() -> None:
    """Give `node.Operand` its Python operators."""
    names = {
        "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "and": "&", "or": "|",
        "xor": "^", "lshift": "<<", "rshift": ">>",
    }  # fmt: skip
    for name, op in names.items():
        setattr(Operand, f"__{name}__", _method(op))
        setattr(Operand, f"__r{name}__", _method(op, swapped=True))
    for name, op in {"lt": "<", "le": "<=", "gt": ">", "ge": ">="}.items():
        setattr(Operand, f"__{name}__", _method(op))
    methods: dict[str, Any] = {
        "__eq__": _equality("=="), "__ne__": _equality("!="), "__bool__": truth, "__neg__": negate,
        "__invert__": invert, "astype": cast, "equal": _method("=="),
    }  # fmt: skip
    for name, method in methods.items():
        setattr(Operand, name, method)


def _method(op: str, swapped: bool = False) -> Callable[[Any, Any], Any]:
    """`&` and `|` of two bools are logical, as in NumPy."""

    def apply(self: Any, other: Any) -> Any:
        if not isinstance(other, (Operand, int, float)) and not (hasattr(other, "as_expr") or hasattr(other, "item")):
            return NotImplemented
        if getattr(other, "takes_arithmetic", False):  # a whole tensor: its own methods answer
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        if op in ("&", "|"):
            ea, eb = to_expr(a), to_expr(b)
            if dt.is_bool(ea.dtype) and dt.is_bool(eb.dtype):
                return binary("and" if op == "&" else "or", ea, eb)
        return binary(op, a, b)

    return apply


assert set(FOLD) == ARITH | COMPARE | LOGIC
install_operators()
