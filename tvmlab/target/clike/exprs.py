"""Scalar expressions as C text, by type: (text, precedence).

The text's value is the expression's, whatever C promotes it to; integers of 32 and 64 bits and floats have exactly
their type. Sums and products that may overflow are computed without sign, where C lets them wrap:

    a + b*c     ->   (int)((unsigned int)a + (unsigned int)b * c)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core import dtype as dt
from ...core.node import COMPARE, Bin, Cast, Const, Expr, Let, Load, Not, Select, Var
from ...core.text import ATOM
from ...core.walk import substitute
from . import maths
from .helpers import computed
from .maths import UNARY, Printed
from .ranges import Span, combined, limits, within

if TYPE_CHECKING:
    from .printer import CPrinter

# C's own: comparisons bind tighter than `&`
LEVEL = {
    "or": 1, "and": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7, "<<": 8, ">>": 8,
    "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
C_OP = {"and": "&&", "or": "||"}
DIVISIONS = {"//": "floordiv", "%": "floormod", "truncdiv": "truncdiv", "truncmod": "truncmod"}
SUMS = ("+", "-", "*")
SHIFTS = {"<<": "shl", ">>": "shr"}


def _const(p: CPrinter, e: Const) -> Printed:
    text = p.number(e.value, e.dtype)
    return text, UNARY if text.startswith("-") else ATOM


def _binary(p: CPrinter, e: Bin) -> Printed:
    if e.op in ("and", "or"):
        return _logic(p, e)
    if e.op in COMPARE:
        side = p.index if p.pure_index(e.a) and p.pure_index(e.b) else p.value
        return operator(e.op, side(e.a, LEVEL[e.op] + 1), side(e.b, LEVEL[e.op] + 1))
    if dt.is_float(e.dtype):
        return _float(p, e)
    if e.op in DIVISIONS:
        return _division(p, e)
    if e.op in SHIFTS:
        return _shift(p, e)
    if e.op in ("min", "max"):
        word = "int32" if dt.bits(e.dtype) < 32 else e.dtype
        sides = [p.exactly(p.value(x), x, word) for x in (e.a, e.b)]
        return f"{e.op}({sides[0]}, {sides[1]})", ATOM
    if e.op in ("&", "|", "^"):  # parentheses wherever operators meet: few know these levels
        return operator(e.op, p.value(e.a, UNARY), p.value(e.b, UNARY))
    return _sum(p, e)


def operator(op: str, left: str, right: str, tight: bool = False) -> Printed:
    level = LEVEL[op]
    gap = "" if tight and level == 10 else " "  # index arithmetic is set tight: i*32 + j
    if op == "+" and right.startswith("-") and right[1:].isdigit():
        return f"{left} - {right[1:]}", level
    if op == "-" and right.startswith("-"):
        right = f"({right})"
    return f"{left}{gap}{C_OP.get(op, op)}{gap}{right}", level


def _logic(p: CPrinter, e: Bin) -> Printed:
    level = LEVEL[e.op]
    first = p.value(e.a, level if _same(e.a, e.op) else UNARY if _other_logic(e.a, e.op) else level)
    return operator(e.op, first, p.lazily(e.b, UNARY if _other_logic(e.b, e.op) else level))


def _same(e: Expr, op: str) -> bool:
    return isinstance(e, Bin) and e.op == op


def _other_logic(e: Expr, op: str) -> bool:
    return isinstance(e, Bin) and e.op in ("and", "or") and e.op != op


# ---------------------------------------------------------------- integers


def _sum(p: CPrinter, e: Bin) -> Printed:
    """`+`, `-`, `*`: as they are where C's type holds the result, else without sign, where they wrap."""
    word = computed(e.dtype)
    exact = limits(word) if not dt.is_signed(word) else _unwrapped(p, e, limits(word))
    if exact is not None:
        text, own = _plain(p, e)
        return (text, own) if word == e.dtype or within(exact, limits(e.dtype)) else p.narrowed(text, e.dtype, own)
    unsigned = p.d.types[f"u{word}"]
    return f"({p.type_of(e.dtype, e)})({_modular(p, e, unsigned)})", UNARY


def _unwrapped(p: CPrinter, e: Expr, word: Span) -> Span | None:
    """What sums and products can be if nothing in between is made to fit; None if C's type may not hold it."""
    if not (isinstance(e, Bin) and e.op in SUMS):
        return p.ranges.span(e)
    a, b = _unwrapped(p, e.a, word), _unwrapped(p, e.b, word)
    found = None if a is None or b is None else combined(e.op, a, b)
    return found if found is not None and within(found, word) else None


def _plain(p: CPrinter, e: Expr) -> Printed:
    if not (isinstance(e, Bin) and e.op in SUMS):
        return p.printed(e)
    level = LEVEL[e.op]
    a, own = _plain(p, e.a)
    b, other = _plain(p, e.b)
    return operator(e.op, f"({a})" if own < level else a, f"({b})" if other < level + 1 else b, True)


def _modular(p: CPrinter, e: Expr, unsigned: str, level: int = 0, right: bool = False) -> str:
    """Right modulo 2**bits, of the unsigned type; what stands right of an unsigned number becomes one by itself."""
    if isinstance(e, Bin) and e.op in SUMS:
        own = LEVEL[e.op]
        a, b = _modular(p, e.a, unsigned, own), _modular(p, e.b, unsigned, own + 1, True)
        text, own = operator(e.op, a, b, True)
        return f"({text})" if own < level else text
    if right and not isinstance(e, Bin):
        return p.value(e, level)
    return f"({unsigned}){p.value(e, UNARY)}"


def _division(p: CPrinter, e: Bin) -> Printed:
    """Of a divisor that is a number C divides as it should, where signs do not matter; else a helper does."""
    b = e.b.value if isinstance(e.b, Const) else 0
    trunc = e.op.startswith("trunc") or p.ranges.span(e.a)[0] >= 0
    if b > 0 and trunc or (b < -1 and e.op.startswith("trunc")):
        op = "/" if e.op in ("//", "truncdiv") else "%"
        return operator(op, p.value(e.a, 10), p.value(e.b, 11), True)
    return _helped(p, e, DIVISIONS[e.op], ("//", "truncdiv"))


def _shift(p: CPrinter, e: Bin) -> Printed:
    """A shift by the width or more leaves nothing, or (of `>>`) the sign."""
    by = e.b.value if isinstance(e.b, Const) else -1
    if not 0 <= by < dt.bits(e.dtype):
        return _helped(p, e, SHIFTS[e.op], ("<<",))
    if e.op == ">>":
        return operator(">>", p.value(e.a, UNARY), str(by))
    word = computed(e.dtype)
    if not dt.is_signed(word):
        return operator("<<", p.value(e.a, UNARY), str(by))
    unsigned = p.d.types[f"u{word}"]
    return f"({p.type_of(e.dtype, e)})(({unsigned}){p.value(e.a, UNARY)} << {by})", UNARY


def _helped(p: CPrinter, e: Bin, what: str, narrow: tuple[str, ...]) -> Printed:
    text = f"{p.helper(what, e.dtype)}({p.value(e.a)}, {p.value(e.b)})"
    small = dt.bits(e.dtype) < 32 and e.op in narrow
    return p.narrowed(text, e.dtype, ATOM) if small else (text, ATOM)


# ---------------------------------------------------------------- index arithmetic, which never overflows


def index(p: CPrinter, e: Expr, wide: bool) -> Printed:
    """`wide`: int32 arithmetic is done in 64 bits, for buffers that may have more elements than an int counts."""
    if isinstance(e, Const):
        return p.printed(e)
    if isinstance(e, Bin) and dt.is_int(e.dtype):
        return _index_binary(p, e, wide)
    if isinstance(e, Cast) and dt.is_int(e.value.dtype) and dt.is_int(e.dtype):
        if wide and dt.bits(e.dtype) >= 32 and dt.is_signed(e.dtype):
            return index(p, e.value, True)
        if e.dtype == "int64" and dt.is_signed(e.value.dtype):
            return f"({p.d.types['int64']}){p.index(e.value, UNARY)}", UNARY
    text, own = p.printed(e)
    if wide and dt.bits(e.dtype) < 64:
        return f"({p.d.types['int64']}){text if own >= UNARY else f'({text})'}", UNARY
    return text, own


def _index_binary(p: CPrinter, e: Bin, wide: bool) -> Printed:
    word = "int64" if wide else e.dtype
    if e.op in ("min", "max"):
        sides = [p.exactly(p.index(x, 0, wide), x, word) for x in (e.a, e.b)]
        return f"{e.op}({sides[0]}, {sides[1]})", ATOM
    if e.op in DIVISIONS:
        if p.ranges.nonneg(e.a) and p.ranges.span(e.b, True)[0] > 0:
            op = "/" if e.op in ("//", "truncdiv") else "%"
            return operator(op, p.index(e.a, 10, wide), p.index(e.b, 11), True)
        return f"{p.helper(DIVISIONS[e.op], word)}({p.index(e.a, 0, wide)}, {p.index(e.b, 0, wide)})", ATOM
    if e.op not in ("+", "-", "*"):
        return p.printed(e)
    level = LEVEL[e.op]
    leaf = isinstance(e.b, (Var, Const)) and not isinstance(e.a, Const)  # the other side is wide already
    right = p.index(e.b, level if e.op == "+" else level + 1, wide and not leaf)
    return operator(e.op, p.index(e.a, level, wide), right, True)


# ---------------------------------------------------------------- floats


def _float(p: CPrinter, e: Bin) -> Printed:
    if e.op in ("min", "max"):
        return f"{p.helper(e.op, p.register(e.dtype))}({p.value(e.a)}, {p.value(e.b)})", ATOM
    if e.op in ("+", "-", "*", "/"):
        level = LEVEL[e.op]
        text, own = operator(e.op, p.value(e.a, level), p.value(e.b, level + 1))
        return p.rounded(text, e.dtype, own)
    if e.dtype == "float16":
        wide = Bin(e.op, Cast(e.a, "float32"), Cast(e.b, "float32"), "float32")
        return p.printed(Cast(wide, "float16"))
    if e.op in ("//", "truncdiv"):
        whole = maths.Call("floor" if e.op == "//" else "trunc", (Bin("/", e.a, e.b, e.dtype),), e.dtype)
        return p.printed(whole)
    if e.op == "truncmod":
        return p.printed(maths.Call("fmod", (e.a, e.b), e.dtype))
    if e.op == "%":
        return f"{p.helper('floormod', e.dtype)}({p.value(e.a)}, {p.value(e.b)})", ATOM
    raise p.refuse(e, "float-bits", f"`{e.op}` works on integers, not on {e.dtype}")


# ---------------------------------------------------------------- the rest


def _cast(p: CPrinter, e: Cast) -> Printed:
    source, to = e.value.dtype, e.dtype
    if dt.is_bool(to):
        return p.value(e.value, LEVEL["!="] + 1) + f" != {p.number(0, source)}", LEVEL["!="]
    text = p.value(e.value, UNARY)
    if "float16" in (source, to) and p.d.half == "float":
        return _cast_half(p, e, text)
    if dt.is_float(source) and dt.is_int(to) and dt.bits(to) < 32:
        text = f"(int){text}"  # of numbers beyond a small integer C says nothing
    return f"({p.type_of(to, e)}){text}", UNARY


def _cast_half(p: CPrinter, e: Cast, text: str) -> Printed:
    """Values of float16 are floats here."""
    source, to = e.value.dtype, e.dtype
    if to != "float16":
        if to == "float32":
            return p.printed(e.value)
        return f"({p.type_of(to, e)}){'(int)' if dt.is_int(to) and dt.bits(to) < 32 else ''}{text}", UNARY
    if source == "float64":
        text = f"{p.helper('round_odd', 'float16')}({p.value(e.value)})"
    elif source != "float32":
        text = f"(float){text}"
    else:
        text = p.value(e.value)
    return f"{p.helper('round_half', 'float16')}({text})", ATOM


def _let(p: CPrinter, e: Let) -> Printed:
    """A statement before this one where the value is needed anyway; put in place where it may not be evaluated."""
    if p.lazy or dt.lanes(e.var.dtype) > 1:
        return p.printed(substitute(e.body, {e.var: e.value}))
    v = Var(e.var.name, e.var.dtype)  # type: ignore[attr-defined]  # a new one: an expression may stand in two places
    p.define(v, e.value)
    return p.printed(substitute(e.body, {e.var: v}))


EXPR: dict[type, Callable[[Any, Any], Printed]] = {
    Var: lambda p, e: (p.names(e), ATOM),
    Const: _const,
    Bin: _binary,
    Not: lambda p, e: (f"!{p.value(e.a, UNARY)}", UNARY),
    Cast: _cast,
    Select: lambda p, e: p.ternary(e.cond, e.then, e.other),
    maths.Call: maths.call,
    Load: lambda p, e: p.load(e),
    Let: _let,
}
