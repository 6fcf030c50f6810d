"""Scalar programs as plain Python text: what the Python-speaking targets share.

    for i in range(1024):
        C[i] = A[i] + np.float32(1.0)

A printed integer may be *wide*: Numba computes int32 arithmetic in int64. Three ways to print keep it exact:

    loose   right modulo 2**bits (enough for a store, which truncates, and for + - *)
    value   the right number, of a type that may be wider (enough for comparisons, divisions, conversions)
    typed   the right number, of exactly the expression's dtype

Index arithmetic (loop bounds, subscripts, guards) never wraps, so `index` prints it as it is written.
"""

from __future__ import annotations

import builtins
import keyword
import struct
from collections.abc import Callable
from typing import Any

from ..core import dtype as dt
from ..core.error import BuildError
from ..core.intrin import C_FUNCTIONS
from ..core.node import (
    Alloc,
    AllReduce,
    Attr,
    Barrier,
    Bin,
    Call,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    LetStmt,
    Load,
    Not,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
    While,
)  # fmt: skip
from ..core.text import ATOM, PRECEDENCE, Names, show
from ..core.walk import constant, substitute
from .pymath import COMPOSED, HELPERS, MATH

RESERVED = (
    tuple(dir(builtins)) + tuple(keyword.kwlist) + ("np", "math", "numba", "njit", "prange", "ir", "types", "operator")
)
WRAPS = frozenset({"+", "-", "*", "<<", "//", "truncdiv"})
TERNARY, UNARY = 0, 11


class PyPrinter:
    """Prints statements into `lines`; `helpers` collects the names of prelude functions that the text uses."""

    target = "python"

    def __init__(self, taken: tuple[str, ...] = (), buffers: tuple[Any, ...] = ()) -> None:
        self.memory = set(buffers)  # what exists here: parameters, and allocations around
        self.names = Names(RESERVED + taken)
        self.lines: list[str] = []
        self.helpers: set[str] = set()
        self.depth = 0
        self.lazy = 0  # inside an expression part that may not be evaluated
        self.place: list[str] = []  # the loops around, for errors

    # ------------------------------------------------------------ expressions

    def helper(self, name: str) -> str:
        self.helpers.add(name)
        return name

    def loose(self, e: Expr, level: int = 0) -> str:
        text, own = EXPR[type(e)](self, e)
        return f"({text})" if own < level else text

    def value(self, e: Expr, level: int = 0) -> str:
        """Wrapped where the arithmetic may have left the range of the type."""
        if e.dtype == "int64" and isinstance(e, Bin) and e.op in ("+", "-", "*"):
            return f"np.int64({self.unsigned(e)})"
        if self.may_wrap(e):
            return f"{self.scalar_type(e.dtype)}({self.loose(e)})"
        return self.loose(e, level)

    def unsigned(self, e: Expr, level: int = 0) -> str:
        """int64 arithmetic as uint64: Numba's signed overflow is undefined, its unsigned one wraps."""
        if isinstance(e, Bin) and e.op in ("+", "-", "*"):
            own = PRECEDENCE[e.op]
            text = f"{self.unsigned(e.a, own)} {e.op} {self.unsigned(e.b, own + 1)}"
            return f"({text})" if own < level else text
        return f"np.uint64({self.value(e)})"

    def typed(self, e: Expr, level: int = 0) -> str:
        """Of exactly the type: what a vector lane or a bit pattern needs."""
        if scalar_int(e) and not isinstance(e, (Load, Cast)) and not _literal_is_typed(e):
            return f"{self.scalar_type(e.dtype)}({self.loose(e)})"
        return self.loose(e, level)

    def index(self, e: Expr, level: int = 0) -> str:
        """Integers that never wrap: conversions between them are left out."""
        if isinstance(e, Cast) and dt.is_int(e.dtype) and dt.is_int(e.value.dtype):
            return self.index(e.value, level)
        if isinstance(e, Bin) and dt.is_int(e.dtype):
            text, own = _bin(self, e, self.index)
            return f"({text})" if own < level else text
        if isinstance(e, Const) and dt.is_int(e.dtype):
            return f"({e.value})" if e.value < 0 and level > 0 else str(e.value)
        return self.loose(e, level)

    def condition(self, e: Expr, level: int = 0) -> str:
        """A scalar bool; comparisons of index arithmetic are printed as they are written."""
        return self.loose(e, level)

    def may_wrap(self, e: Expr) -> bool:
        if not scalar_int(e) or dt.bits(e.dtype) >= 64:
            return False
        if isinstance(e, Bin):
            if e.op in WRAPS:
                return True
            return e.op in ("&", "|", "^") and (self.may_wrap(e.a) or self.may_wrap(e.b))
        if isinstance(e, Call) and e.name == "if_then_else":
            return self.may_wrap(e.args[1]) or self.may_wrap(e.args[2])
        if isinstance(e, Select):
            return self.may_wrap(e.then) or self.may_wrap(e.other)
        return isinstance(e, Call) and e.name in ("bitwise_not", "abs")

    def scalar_type(self, dtype: str) -> str:
        return "np.bool_" if dtype == "bool" else "np.float32" if dtype == "float16" else f"np.{dtype}"

    def number(self, value: Any, dtype: str) -> str:
        """A constant whose Numba type does not widen what it meets."""
        if dtype == "bool":
            return str(bool(value))
        if dtype == "float64":
            return _float_text(value)
        if dtype == "float16":
            return f"np.float32({_float_text(_as_half(value))})"
        if dtype == "float32":
            return f"np.float32({_float_text(value)})"
        return f"np.{dtype}({value})" if dtype.startswith("uint") else str(value)

    def element(self, buffer: Any, index: Expr) -> str:
        """One element as it lies in memory."""
        return f"{self.array(buffer)}[{self.index(index)}]"

    def array(self, buffer: Any) -> str:
        """The name of a buffer, which must exist here."""
        if buffer not in self.memory:
            raise BuildError(
                "lost-buffer", f"the buffer `{buffer.name}` is used where it does not exist", where=self.place
            )
        return self.names(buffer)

    def load(self, e: Load) -> str:
        return self.element(e.buffer, e.indices[0])

    def rounded(self, text: str, dtype: str) -> str:
        """The result of an operation in `dtype`; float16 has no arithmetic of its own."""
        return text

    def lazily(self, e: Expr, level: int = 0) -> str:
        self.lazy += 1
        text = self.loose(e, level)
        self.lazy -= 1
        return text

    # ------------------------------------------------------------ statements

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def stmt(self, s: Stmt) -> None:
        STMT[type(s)](self, s)

    def block(self, s: Stmt) -> None:
        self.depth += 1
        before = len(self.lines)
        self.stmt(s)
        if len(self.lines) == before:
            self.emit("pass")
        self.depth -= 1

    def store(self, s: Store) -> None:
        target = self.element(s.buffer, s.indices[0])
        v = s.value
        again = isinstance(v, Bin) and v.op in ("+", "*") and isinstance(v.a, Load) and v.a.buffer is s.buffer
        if again and s.buffer.dtype not in ("float16", "int64") and self.element(s.buffer, v.a.indices[0]) == target:  # type: ignore[attr-defined]
            self.emit(f"{target} {v.op}= {self.loose(v.b)}")  # type: ignore[attr-defined]
        else:
            self.emit(f"{target} = {self.stored(v)}")

    def stored(self, v: Expr) -> str:
        return self.loose(v)

    def prefetch(self, pointer: Expr) -> None:
        """A hint, which Python cannot give."""

    def alloc(self, s: Alloc) -> None:
        b = s.buffer
        size = " * ".join(self.index(x, 10) for x in b.shape) or "1"
        self.emit(f"{self.names(b)} = np.empty({size}, {self.memory_type(b.dtype)})")
        self.stmt(s.body)

    def memory_type(self, dtype: str) -> str:
        return "np.bool_" if dtype == "bool" else "np.uint16" if dtype == "float16" else f"np.{dtype}"

    def for_head(self, s: For) -> str:
        """`for i in range(lo, hi)`; a subclass adds the parallel kind."""
        return f"for {self.names(s.var)} in {self.range_name(s)}({self.bounds(s)}):"

    def range_name(self, s: For) -> str:
        if s.kind in ("thread", "vthread"):
            raise BuildError(
                "thread-axis",
                f"the target `{self.target}` has no threads of its own: axis {s.origin.of(s.var.name) if s.origin is not None else f'`{s.var.name}`'} is bound to "
                f"{s.thread or s.kind}",
                where=[*self.place, "    " * len(self.place) + show(s).splitlines()[0]],
                legal=["s[T].parallel(axis)", "target interp, which runs thread axes"],
            )
        return "range"

    def bounds(self, s: For) -> str:
        if constant(s.lo) == 0:
            return self.index(s.extent)
        return f"{self.index(s.lo)}, {self.index(s.lo + s.extent)}"

    def refuse(self, e: Any, rule: str, why: str, **more: Any) -> BuildError:
        return BuildError(
            rule, f"the target `{self.target}` {why}", where=[*self.place, "    " * len(self.place) + show(e)], **more
        )


def scalar_int(e: Expr) -> bool:
    """Vectors have exactly their type; only Python's numbers grow."""
    return dt.is_int(e.dtype) and dt.lanes(e.dtype) == 1


def _literal_is_typed(e: Expr) -> bool:
    """Number literals are int64; unsigned ones are printed with their type."""
    return isinstance(e, Const) and (e.dtype == "int64" or e.dtype.startswith("uint"))


def _float_text(value: float) -> str:
    if value != value:
        return "np.nan"
    return {float("inf"): "np.inf", float("-inf"): "-np.inf"}.get(value) or repr(float(value))


def _as_half(value: float) -> float:
    try:
        return float(struct.unpack("e", struct.pack("e", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def pure_index(e: Expr) -> bool:
    """Built from variables and constants only: what a guard or a subscript is made of."""
    if isinstance(e, Bin):
        return e.op not in ("/",) and pure_index(e.a) and pure_index(e.b)
    if isinstance(e, Cast):
        return dt.is_int(e.dtype) and pure_index(e.value)
    return isinstance(e, (Var, Const)) and dt.is_int(e.dtype)


# ---------------------------------------------------------------- expressions, by type

Printed = tuple[str, int]


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
    text, own = _bin(p, e, operand)
    return (p.rounded(text, e.dtype), ATOM) if e.dtype == "float16" else (text, own)


def width(e: Expr) -> int:
    """Bits that signed arithmetic on unwrapped operands may need; Numba has 64 (of int64 itself: `unsigned`)."""
    bits = dt.bits(e.dtype)
    if bits == 64 or not isinstance(e, Bin) or not dt.is_signed(e.dtype):
        return min(bits, 63)
    if e.op in ("+", "-"):
        return max(width(e.a), width(e.b)) + 1
    return width(e.a) + width(e.b) if e.op == "*" else bits


def _bin(p: PyPrinter, e: Bin, operand: Callable[[Expr, int], str]) -> Printed:
    if e.op in FUNCTIONS or e.op in ("//", "<<", ">>"):
        found = _operation(p, e, operand)
        if found is not None:
            return found
    op = {"truncdiv": "//", "truncmod": "%"}.get(e.op, e.op)  # what is left of them has no sign
    level = PRECEDENCE[op]
    if op == "+" and isinstance(e.b, Const) and dt.is_signed(e.b.dtype) and e.b.value < 0:
        return f"{operand(e.a, level)} - {-e.b.value}", level
    left = level + 1 if level == 4 else level
    right = level if op in ("+", "and", "or") and not dt.is_float(e.dtype) else level + 1
    first = operand(e.a, left)
    if op in ("and", "or"):
        p.lazy += 1
    second = operand(e.b, right)
    if op in ("and", "or"):
        p.lazy -= 1
    gap = "" if level == 10 and dt.is_int(e.dtype) else " "
    return f"{first}{gap}{op}{gap}{second}", level


FUNCTIONS = frozenset({"min", "max", "truncdiv", "truncmod"})


def _operation(p: PyPrinter, e: Bin, operand: Callable[[Expr, int], str]) -> Printed | None:
    """Operators that Python writes as a function, or whose corner cases it sees differently."""
    a, b = operand(e.a, 0), operand(e.b, 0)
    if dt.is_float(e.dtype):
        # Python's max(b, a) is `a if a > b else b`, which is what `max` of programs means for NaN
        forms = {"min": "min({1}, {0})", "max": "max({1}, {0})", "truncmod": "np.fmod({0}, {1})"}
        if e.op in forms:
            return forms[e.op].format(a, b), ATOM
        if e.op not in ("//", "truncdiv"):
            return None
        quotient = p.rounded(f"{operand(e.a, 10)} / {operand(e.b, 11)}", e.dtype)
        return f"{'np.floor' if e.op == '//' else 'np.trunc'}({quotient})", ATOM
    if e.op in ("min", "max"):
        return f"{e.op}({a}, {b})", ATOM
    corner = not isinstance(e.b, Const) and operand != p.index
    helper = {"<<": "shift_left", ">>": "shift_right"}.get(e.op) if corner else None
    if e.op == "//" and corner and e.dtype == "int64":
        helper = "floordiv"
    if e.op in FUNCTIONS:
        helper = e.op if dt.is_signed(e.dtype) else None
    return None if helper is None else (f"{p.helper(helper)}({a}, {b})", ATOM)


def _cast(p: PyPrinter, e: Cast) -> Printed:
    text = p.value(e.value)
    if e.dtype == "float16":
        if e.value.dtype == "float16":
            return text, 0
        inner = {"float32": text, "float64": f"{p.helper('to_odd')}({text})"}.get(e.value.dtype, f"np.float32({text})")
        return p.rounded(inner, e.dtype), ATOM
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


# ---------------------------------------------------------------- statements, by type


def _alloc(p: PyPrinter, s: Alloc) -> None:
    p.memory.add(s.buffer)
    p.alloc(s)
    p.memory.discard(s.buffer)


def _for(p: PyPrinter, s: For) -> None:
    head = p.for_head(s)
    p.emit(head)
    p.place.append("    " * len(p.place) + head)
    p.block(s.body)
    p.place.pop()
    p.names.release(s.var)


def _while(p: PyPrinter, s: While) -> None:
    p.lazy += 1  # evaluated again and again: nothing may move before the loop
    head = f"while {p.condition(s.cond)}:"
    p.lazy -= 1
    p.emit(head)
    p.block(s.body)


def _if(p: PyPrinter, s: If) -> None:
    p.emit(f"if {p.condition(s.cond)}:")
    p.block(s.then)
    if s.other is not None:
        p.emit("else:")
        p.block(s.other)


def _seq(p: PyPrinter, s: Seq) -> None:
    for x in s.stmts:
        p.stmt(x)


def _let_stmt(p: PyPrinter, s: LetStmt) -> None:
    text = p.index(s.value) if pure_index(s.value) else p.typed(s.value)
    p.emit(f"{p.names(s.var)} = {text}")
    p.stmt(s.body)


def _evaluate(p: PyPrinter, s: Evaluate) -> None:
    if isinstance(s.value, Call) and s.value.name == "prefetch":
        p.prefetch(s.value.args[0])
    elif not isinstance(s.value, Const):
        p.emit(p.loose(s.value))


def _no_threads(p: PyPrinter, s: Barrier | AllReduce) -> None:
    raise p.refuse(s, "thread-statement", "has no threads that could meet here", legal=["target interp"])


STMT: dict[type, Callable[[Any, Any], None]] = {
    For: _for,
    While: _while,
    If: _if,
    Seq: _seq,
    Store: lambda p, s: p.store(s),
    Alloc: _alloc,
    LetStmt: _let_stmt,
    Attr: lambda p, s: p.stmt(s.body),
    Barrier: _no_threads,
    AllReduce: _no_threads,
    Evaluate: _evaluate,
}
