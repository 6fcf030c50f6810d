"""Expressions as Python text, by type: (text, precedence)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.intrin import C_FUNCTIONS
from ...core.node import Bin, Call, Cast, Const, Expr, Let, Load, Not, Select, Var
from ...core.text import ATOM, PRECEDENCE
from ...core.walk import substitute
from .maths import COMPOSED, HELPERS, MATH

if TYPE_CHECKING:
    from .printer import PyPrinter

TERNARY, UNARY = 0, 11
INTEGER_HELPERS = {
    "truncdiv": "truncdiv", "truncmod": "truncmod", "<<": "shift_left", ">>": "shift_right", "//": "floordiv",
}  # fmt: skip
Printed = tuple[str, int]


def pure_index(e: Expr) -> bool:
    """Built from variables and constants only: what a guard or a subscript is made of."""
    if isinstance(e, Bin):
        return e.op not in ("/",) and pure_index(e.a) and pure_index(e.b)
    if isinstance(e, Cast):
        return dt.is_int(e.dtype) and pure_index(e.value)
    return isinstance(e, (Var, Const)) and dt.is_int(e.dtype)


def _const(p: PyPrinter, e: Const) -> Printed:
    if e.dtype == "handle":
        return repr(e.value), ATOM
    text = p.number(e.value, e.dtype)
    return text, UNARY if text.startswith("-") else ATOM


def _binary(p: PyPrinter, e: Bin) -> Printed:
    if e.dtype == "bool" and e.op not in ("and", "or"):
        operand = p.index if pure_index(e.a) and pure_index(e.b) else p.value
    else:
        exact = e.op in ("//", "%", "<<", ">>", "min", "max", "truncdiv", "truncmod")
        operand = p.value if exact or (dt.is_int(e.dtype) and width(e) > 63) else p.loose
    text, own = operation(p, e, operand)
    return (p.rounded(text, e.dtype), ATOM) if e.dtype == "float16" else (text, own)


def width(e: Expr) -> int:
    """Bits that signed arithmetic on unwrapped operands may need; Numba has 64 (of int64 itself: `unsigned`)."""
    bits = dt.bits(e.dtype)
    if bits == 64 or not isinstance(e, Bin) or not dt.is_signed(e.dtype):
        return min(bits, 63)
    if e.op in ("+", "-"):
        return max(width(e.a), width(e.b)) + 1
    return width(e.a) + width(e.b) if e.op == "*" else bits


def operation(p: PyPrinter, e: Bin, operand: Callable[[Expr, int], str]) -> Printed:
    """`a op b`; with `p.index` as the printer of operands, of numbers that meet no corner case."""
    if dt.is_float(e.dtype) and e.op in ("//", "truncdiv"):
        quotient = p.rounded(f"{operand(e.a, 10)} / {operand(e.b, 11)}", e.dtype)
        return f"{'np.floor' if e.op == '//' else 'np.trunc'}({quotient})", ATOM
    form = _float_form(e.op) if dt.is_float(e.dtype) else _integer_form(p, e, operand == p.index)
    if form:
        return form.format(operand(e.a, 0), operand(e.b, 0)), ATOM
    op = {"truncdiv": "//", "truncmod": "%"}.get(e.op, e.op)  # what is left of them has no sign
    level = PRECEDENCE[op]
    if op == "+" and isinstance(e.b, Const) and dt.is_signed(e.b.dtype) and e.b.value < 0:
        return f"{operand(e.a, level)} - {-e.b.value}", level
    left = level + 1 if level == 4 else level
    right = level if op in ("+", "and", "or") and not dt.is_float(e.dtype) else level + 1
    first, lazy = operand(e.a, left), op in ("and", "or")
    p.lazy += lazy
    second = operand(e.b, right)
    p.lazy -= lazy
    gap = "" if level == 10 and dt.is_int(e.dtype) else " "
    return f"{first}{gap}{op}{gap}{second}", level


def _float_form(op: str) -> str:
    """An operator that Python writes as a function, of {0} and {1}; "" for the others.

    Python's max(b, a) is `a if a > b else b`, which is what `max` of programs means for NaN.
    """
    return {"min": "min({1}, {0})", "max": "max({1}, {0})", "truncmod": "np.fmod({0}, {1})"}.get(op, "")


def _integer_form(p: PyPrinter, e: Bin, plain: bool) -> str:
    """The same for integers, where a shift or a division may also need a helper for the cases Python sees otherwise."""
    if e.op in ("min", "max"):
        return f"{e.op}({{0}}, {{1}})"
    corner = not (plain or isinstance(e.b, Const))
    needed = {
        "truncdiv": dt.is_signed(e.dtype), "truncmod": dt.is_signed(e.dtype), "<<": corner, ">>": corner,
        "//": corner and e.dtype == "int64",
    }  # fmt: skip
    return f"{p.helper(INTEGER_HELPERS[e.op])}({{0}}, {{1}})" if needed.get(e.op) else ""


def _cast(p: PyPrinter, e: Cast) -> Printed:
    text = p.value(e.value)
    if e.dtype == "float16":
        if e.value.dtype == "float16":
            return text, 0
        if e.value.dtype != "float32":
            text = f"{p.helper('to_odd') if e.value.dtype == 'float64' else 'np.float32'}({text})"
        return p.rounded(text, e.dtype), ATOM
    if e.dtype == "float32" and e.value.dtype == "float16":
        return text, 0
    return f"{p.scalar_type(e.dtype)}({text})", ATOM


def _ternary(p: PyPrinter, cond: Expr, then: Expr, other: Expr) -> Printed:
    c = p.condition(cond, TERNARY + 1)
    return f"{p.lazily(then, TERNARY + 1)} if {c} else {p.lazily(other)}", TERNARY


def _call(p: PyPrinter, e: Call) -> Printed:
    if e.kind == "extern":
        e = Call(libm_name(p, e), e.args, e.dtype)
    if e.kind == "packed":
        raise p.refuse(
            e,
            "packed-call",
            f"cannot call the Python function `{e.name}` from compiled code",
            legal=["target llvm", "target interp"],
        )
    if e.name == "if_then_else":
        return _ternary(p, *e.args)
    if e.name == "likely":
        return p.loose(e.args[0]), 0
    if e.name == "reinterpret":
        return p.reinterpret(e), ATOM  # type: ignore[attr-defined]
    if e.name in COMPOSED:
        return p.loose(COMPOSED[e.name](*e.args), ATOM), ATOM
    if e.name == "bitwise_not":
        return f"~{p.loose(e.args[0], UNARY)}", UNARY
    return p.rounded(_function(p, e, e.name), e.dtype), ATOM


def _function(p: PyPrinter, e: Call, name: str) -> str:
    arguments = [p.typed(a) if name in ("popcount", "clz") else p.value(a) for a in e.args]
    if name in MATH:
        return MATH[name].format(*arguments)
    if name in HELPERS:
        return f"{p.helper(HELPERS[name])}({', '.join(arguments)})"
    raise p.refuse(e, "unknown-function", f"has no function `{name}`", legal=sorted({*MATH, *HELPERS, *COMPOSED}))


def libm_name(p: PyPrinter, e: Call) -> str:
    """`expf`, `sin` ...: the C library's mathematics are the same functions here."""
    name = C_FUNCTIONS.get(e.name)
    if name is None or not all(dt.is_float(a.dtype) or dt.is_int(a.dtype) for a in e.args):
        raise p.refuse(
            e,
            "extern-call",
            f"cannot call the C function `{e.name}`",
            legal=["target llvm", "target interp", "the functions of libm"],
        )
    return name


def _let(p: PyPrinter, e: Let) -> Printed:
    """A statement before this one where the value is needed anyway; put in place where it may not be evaluated."""
    if p.lazy:
        return p.loose(substitute(e.body, {e.var: e.value})), 0
    p.emit(f"{p.names(e.var)} = {p.typed(e.value)}")
    return p.loose(e.body), 0


EXPR: dict[type, Callable[[Any, Any], Printed]] = {
    Var: lambda p, e: (p.names(e), ATOM),
    Const: _const,
    Bin: _binary,
    Not: lambda p, e: (f"not {p.condition(e.a, 3)}", 3),
    Cast: _cast,
    Select: lambda p, e: _ternary(p, e.cond, e.then, e.other),
    Call: _call,
    Load: lambda p, e: (p.load(e), ATOM),
    Let: _let,
}
