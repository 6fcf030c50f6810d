"""Which integers an expression can be: where no overflow is possible, C needs no unsigned arithmetic."""

from __future__ import annotations

from typing import Any

from ...core import dtype as dt
from ...core.node import Bin, Call, Cast, Const, Expr, For, Select, Var

Span = tuple[int, int]


def limits(dtype: str) -> Span:
    low, high = dt.limits(dt.element(dtype))
    return int(low), int(high)


def within(inner: Span, outer: Span) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


class Ranges:
    """Spans of the variables in force; each variable is bound once, so what is found of an expression stays true.

    `exact`: index arithmetic, which by contract never leaves its type; else what overflows may be anything.
    """

    def __init__(self) -> None:
        self.of: dict[Any, Span] = {}
        self.found: dict[tuple[Any, bool], Span] = {}

    def bind(self, v: Any, span: Span) -> None:
        self.of[v] = span

    def loop(self, s: For) -> None:
        """A loop's variable lies between its first value and the largest last one."""
        lo, extent = self.span(s.lo, True), self.span(s.extent, True)
        self.bind(s.var, (lo[0], max(lo[0], min(limits(s.var.dtype)[1], lo[1] + extent[1] - 1))))

    def nonneg(self, e: Expr) -> bool:
        return self.span(e, True)[0] >= 0

    def span(self, e: Expr, exact: bool = False) -> Span:
        key = (e, exact)
        found = self.found.get(key)
        if found is None:
            found = self.found[key] = self._span(e, exact)
        return found

    def _span(self, e: Expr, exact: bool) -> Span:
        if not (dt.is_int(e.dtype) or dt.is_bool(e.dtype)):
            return (0, 0)  # nobody asks
        if isinstance(e, Const):
            return int(e.value), int(e.value)
        if isinstance(e, Var):
            low, high = limits(e.dtype)
            return self.of.get(e, (0 if e.nonneg else low, high))
        if isinstance(e, Bin) and dt.is_int(e.dtype):
            return self._inside(self.result(e, exact), e.dtype, exact)
        if isinstance(e, Cast) and not dt.is_float(e.value.dtype):
            return self._inside(self.span(e.value, exact), e.dtype, exact)
        if isinstance(e, Select) or (isinstance(e, Call) and e.name == "if_then_else"):
            then, other = (e.then, e.other) if isinstance(e, Select) else e.args[1:]
            a, b = self.span(then, exact), self.span(other, exact)
            return min(a[0], b[0]), max(a[1], b[1])
        return limits(e.dtype)

    def _inside(self, span: Span, dtype: str, exact: bool) -> Span:
        """What is left of a span in the type: all of it, the common part (index arithmetic), or nothing is known."""
        full = limits(dtype)
        if within(span, full):
            return span
        low, high = max(span[0], full[0]), min(span[1], full[1])
        return (low, high) if exact and low <= high else full

    def result(self, e: Bin, exact: bool = False) -> Span:
        """Of the operation on integers without bounds."""
        a, b = self.span(e.a, exact), self.span(e.b, exact)
        if e.op in ("+", "-", "*"):
            return combined(e.op, a, b)
        if e.op in ("min", "max"):
            f = min if e.op == "min" else max
            return f(a[0], b[0]), f(a[1], b[1])
        return _divided(e.op, a, b) or limits(e.dtype)


def combined(op: str, a: Span, b: Span) -> Span:
    """Of a sum, a difference or a product."""
    if op == "+":
        return a[0] + b[0], a[1] + b[1]
    if op == "-":
        return a[0] - b[1], a[1] - b[0]
    corners = [x * y for x in a for y in b]
    return min(corners), max(corners)


def _divided(op: str, a: Span, b: Span) -> Span | None:
    """Quotients and remainders by a positive divisor, `&` with a mask, `>>` by a number; None of the others."""
    if op in ("//", "truncdiv") and b[0] > 0 and (op == "//" or a[0] >= 0):
        corners = [x // y for x in a for y in b]
        return min(corners), max(corners)
    if op in ("%", "truncmod") and b[0] > 0 and (op == "%" or a[0] >= 0):
        return (0, min(a[1], b[1] - 1)) if a[0] >= 0 else (0, b[1] - 1)
    if op == "&" and b[0] >= 0:
        return 0, b[1]
    if op == ">>" and b[0] == b[1] and 0 <= b[0] < 64:
        return a[0] >> b[0], a[1] >> b[0]
    return None
