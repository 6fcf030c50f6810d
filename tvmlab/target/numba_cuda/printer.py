"""Prints a kernel's body for Numba CUDA. The text must mean the same on a GPU and in the simulator, which runs Python.

    threadIdx_x = cuda.threadIdx.x
    A_shared = cuda.shared.array(128, numba.float32)
    A_shared[threadIdx_x] = A[cuda.blockIdx.x*64 + threadIdx_x]
    cuda.syncthreads()

Two kinds of integers. *Indices* (`index`) are Python's: exact, as index arithmetic never wraps. *Values* (all others)
are numbers of exactly their type, `np.int32(i)`, in which Numba and NumPy wrap alike. Variables hold the first kind.
float16 lies in memory only: it is computed in float32 and rounded after each operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...core import dtype as dt
from ...core.intrin import C_FUNCTIONS
from ...core.node import (
    Alloc,
    Barrier,
    Bin,
    Call,
    Cast,
    Const,
    Expr,
    For,
    Let,
    LetStmt,
    Load,
    Not,
    Select,
    Stmt,
    Store,
    Var,
)
from ...core.program import loop_name
from ...core.text import ATOM, PRECEDENCE, briefly
from ...core.walk import constant, replace, same, substitute
from ..pylike import EXPR, Printed, PyPrinter, libm_name, pure_index
from ..pylike.exprs import TERNARY
from ..pylike.maths import COMPOSED
from ..pylike.stmts import STMT
from .text import helpers

# Functions of floats, as Numba CUDA knows them; `{0}` and `{1}` are the arguments.
MATH: dict[str, str] = {
    **{n: f"math.{n}({{0}})" for n in (
        "exp exp2 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf isnan "
        "isinf isfinite").split()},
    **{n: f"math.{n}({{0}}, {{1}})" for n in "pow fmod atan2 hypot copysign ldexp".split()},
    "fabs": "abs({0})", "abs": "abs({0})",
}  # fmt: skip
WHOLE = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "nearbyint": "nearest", "round": "round_away"}
BITS = {"popcount": "popcount", "clz": "leading_zeros"}
DIVISIONS = {"//": "floordiv", "%": "modulo", "truncdiv": "truncdiv", "truncmod": "truncmod"}
SHIFTS = {"<<": "shift_left", ">>": "shift_right"}
MEMORY = {"shared": "cuda.shared.array", "local": "cuda.local.array"}


class CudaPrinter(PyPrinter):
    """`launch`: how many of each thread axis the kernel is launched with. `loops`: of each line, the loop it is in."""

    target = "cuda"

    def __init__(self, launch: Mapping[str, Expr], buffers: tuple[Any, ...] = ()) -> None:
        super().__init__(("cuda", "numba", *helpers()), buffers)
        self.launch = launch
        self.loops: list[str] = []
        self.around: list[str] = []

    def emit(self, text: str) -> None:
        super().emit(text)
        self.loops.append(self.around[-1] if self.around else "")

    # ------------------------------------------------------------ values

    def loose(self, e: Expr, level: int = 0) -> str:
        text, own = VALUE[type(e)](self, e)
        return f"({text})" if own < level else text

    value = typed = loose

    def rounded(self, text: str, dtype: str) -> str:
        """A result of exactly the type."""
        if dtype == "float16":
            return f"np.float32(np.float16({text}))"
        return text if dt.is_bool(dtype) else f"{self.scalar_type(dtype)}({text})"

    def number(self, value: Any, dtype: str) -> str:
        if dtype == "float64" or dt.is_int(dtype):
            return f"np.{dtype}({super().number(value, 'float64') if dtype == 'float64' else value})"
        return super().number(value, dtype)

    def load(self, e: Load) -> str:
        text = self.element(e.buffer, e.indices[0])
        if e.buffer.dtype == "float16":
            text = f"np.float32({text})"
        if e.mask is None:
            return text
        return f"({text} if {self.lazily(e.mask, 1)} else {self.number(0, e.buffer.dtype)})"

    # ------------------------------------------------------------ indices

    def index(self, e: Expr, level: int = 0) -> str:
        text, own = self._index(e)
        return f"({text})" if own < level else text

    def _index(self, e: Expr) -> Printed:
        if isinstance(e, Const):
            return str(int(e.value)), ATOM if e.value >= 0 else 11
        if isinstance(e, Var):
            return self.names(e), ATOM
        if isinstance(e, Cast) and dt.is_int(e.value.dtype) and _holds(e.dtype, e.value.dtype):
            return self._index(e.value)
        if isinstance(e, Bin) and dt.is_int(e.dtype):
            return self._index_operation(e)
        if isinstance(e, Select) or (isinstance(e, Call) and e.name == "if_then_else"):
            cond, then, other = e.args if isinstance(e, Call) else (e.cond, e.then, e.other)
            self.lazy += 1
            text = f"{self.index(then, 1)} if {self.condition(cond, 1)} else {self.index(other)}"
            self.lazy -= 1
            return text, TERNARY
        return f"int({self.loose(e)})", ATOM

    def _index_operation(self, e: Bin) -> Printed:
        a, b = self.index, self.index
        if e.op in ("min", "max"):
            return f"{e.op}({a(e.a)}, {b(e.b)})", ATOM
        if e.op in DIVISIONS and not _safe(e):
            return f"{self.helper(self.division(e))}({a(e.a)}, {b(e.b)})", ATOM
        if e.op in SHIFTS and not isinstance(e.b, Const):
            return f"{self.helper(SHIFTS[e.op])}({a(e.a)}, {b(e.b)}, {dt.bits(e.dtype)})", ATOM
        op = {"truncdiv": "//", "truncmod": "%"}.get(e.op, e.op)
        level = PRECEDENCE[op]
        if op == "+" and isinstance(e.b, Const) and e.b.value < 0:
            return f"{a(e.a, level)} - {-e.b.value}", level
        gap = "" if level == 10 else " "
        return f"{a(e.a, level)}{gap}{op}{gap}{b(e.b, level + (op != '+'))}", level

    def division(self, e: Bin) -> str:
        """Which helper divides: without a sign, towards zero is down."""
        op = e.op if dt.is_signed(e.dtype) else {"truncdiv": "//", "truncmod": "%"}.get(e.op, e.op)
        return DIVISIONS[op]

    # ------------------------------------------------------------ statements

    def stmt(self, s: Stmt) -> None:
        own = STATEMENT.get(type(s))
        if own is None:
            STMT[type(s)](self, s)
        else:
            own(self, s)

    def store(self, s: Store) -> None:
        if s.mask is None:
            super().store(s)
            return
        self.emit(f"if {self.condition(s.mask)}:")
        self.depth += 1
        super().store(replace(s, mask=None))
        self.depth -= 1

    def stored(self, v: Expr) -> str:
        return f"np.float16({self.loose(v)})" if v.dtype == "float16" else self.loose(v)

    def alloc(self, s: Alloc) -> None:
        b = s.buffer
        made = MEMORY.get(b.scope)
        if made is None:
            raise self.refuse(
                b, "scope", f"has no memory of scope {b.scope} in a kernel: `{b.name}`", legal=["shared", "local"]
            )
        if dt.lanes(b.dtype) > 1:
            raise self.refuse(b, "vector-memory", f"has no memory of vectors: `{b.name}` holds {b.dtype}")
        size = b.size
        if size is None:
            raise self.refuse(b, "dynamic-memory", f"needs the size of `{b.name}` ({b.scope}) as a number")
        kind = "boolean" if dt.is_bool(b.dtype) else "types.float16" if b.dtype == "float16" else b.dtype
        self.emit(f"{self.names(b)} = {made}({max(size, 1)}, numba.{kind})")
        self.stmt(s.body)


def _holds(wide: str, narrow: str) -> bool:
    """Does every value of `narrow` fit into `wide`?"""
    (lo, hi), (lo2, hi2) = dt.limits(wide), dt.limits(narrow)
    return lo <= lo2 and hi2 <= hi


def _safe(e: Bin) -> bool:
    """A division that Python's own operator does: by a number that is not 0, and down or of what has no sign."""
    by_number = isinstance(e.b, Const) and e.b.value != 0
    return by_number and (e.op in ("//", "%") or not dt.is_signed(e.dtype))


# ---------------------------------------------------------------- values, by type


def _var(p: CudaPrinter, e: Var) -> Printed:
    name = p.names(e)
    return (f"np.{e.dtype}({name})" if dt.is_int(e.dtype) else name), ATOM


def _binary(p: CudaPrinter, e: Bin) -> Printed:
    if e.op in ("and", "or"):
        level = PRECEDENCE[e.op]
        first = p.loose(e.a, level)
        p.lazy += 1
        second = p.loose(e.b, level + 1)
        p.lazy -= 1
        return f"{first} {e.op} {second}", level
    if e.dtype == "bool":
        side = p.index if pure_index(e.a) and pure_index(e.b) else p.loose
        level = PRECEDENCE[e.op]
        return f"{side(e.a, level + 1)} {e.op} {side(e.b, level + 1)}", level
    a, b = e.a, e.b
    if e.op in ("min", "max"):
        name = p.helper("smaller" if e.op == "min" else "larger")
        return f"{name}({p.loose(a)}, {p.loose(b)})", ATOM
    text, own = _float(p, e) if dt.is_float(e.dtype) else _integer(p, e)
    exact = e.dtype in ("float32", "float64") and e.op in "+-*/"  # of operands of exactly the type
    return (text, own) if exact else (p.rounded(text, e.dtype), ATOM)


def _operator(p: CudaPrinter, op: str, a: Expr, b: Expr) -> Printed:
    level = PRECEDENCE[op]
    return f"{p.loose(a, level)} {op} {p.loose(b, level + 1)}", level


def _float(p: CudaPrinter, e: Bin) -> Printed:
    if e.op in ("//", "truncdiv"):
        quotient = p.rounded(_operator(p, "/", e.a, e.b)[0], e.dtype)
        return f"{p.helper('floor' if e.op == '//' else 'trunc')}({quotient})", ATOM
    if e.op == "truncmod":
        return f"math.fmod({p.loose(e.a)}, {p.loose(e.b)})", ATOM
    return _operator(p, e.op, e.a, e.b)


def _integer(p: CudaPrinter, e: Bin) -> Printed:
    if e.op in DIVISIONS and not _safe(e):
        return f"{p.helper(p.division(e))}({p.loose(e.a)}, {p.loose(e.b)})", ATOM
    if e.op in SHIFTS and not isinstance(e.b, Const):
        return f"{p.helper(SHIFTS[e.op])}({p.loose(e.a)}, {p.loose(e.b)}, {dt.bits(e.dtype)})", ATOM
    return _operator(p, {"truncdiv": "//", "truncmod": "%"}.get(e.op, e.op), e.a, e.b)


def _cast(p: CudaPrinter, e: Cast) -> Printed:
    source, target = e.value.dtype, e.dtype
    if source == target:
        return VALUE[type(e.value)](p, e.value)  # type: ignore[no-any-return]
    if dt.is_bool(target):
        return f"{p.loose(e.value, 5)} != 0", PRECEDENCE["!="]
    if not dt.is_int(target):
        return p.rounded(p.loose(e.value), target), ATOM
    if dt.is_float(source) and target == "uint64":
        return f"{p.helper('whole_uint64')}({p.loose(e.value)})", ATOM
    if dt.is_float(source):
        text = f"{p.helper('whole')}({p.loose(e.value)})"
        return (f"np.{target}({text})" if target == "int64" else f"{p.helper(f'to_{target}')}({text})"), ATOM
    if dt.is_bool(source) or _holds(target, source):
        inner = p.index(e.value) if isinstance(e.value, Var) else p.loose(e.value)
        return f"np.{target}({inner})", ATOM
    return f"{p.helper(f'to_{target}')}({p.loose(e.value)})", ATOM


def _ternary(p: CudaPrinter, cond: Expr, then: Expr, other: Expr) -> Printed:
    return f"{p.lazily(then, 1)} if {p.condition(cond, 1)} else {p.lazily(other)}", TERNARY


def _call(p: CudaPrinter, e: Call) -> Printed:
    if e.kind in ("extern", "packed") and e.name not in C_FUNCTIONS:
        return EXPR[Call](p, e)  # which refuses it
    name = libm_name(p, e) if e.kind == "extern" else e.name
    if name == "if_then_else":
        return _ternary(p, *e.args)
    if name == "likely":
        return VALUE[type(e.args[0])](p, e.args[0])  # type: ignore[no-any-return]
    if name in COMPOSED:
        made = COMPOSED[name](*e.args)
        return VALUE[type(made)](p, made)  # type: ignore[no-any-return]
    if name == "bitwise_not":
        return p.rounded(f"~{p.loose(e.args[0], 11)}", e.dtype), ATOM
    return p.rounded(_function(p, e, name), e.dtype), ATOM


def _function(p: CudaPrinter, e: Call, name: str) -> str:
    arguments = [p.loose(a) for a in e.args]
    source = e.args[0].dtype if e.args else ""
    if dt.is_int(source) and name in ("abs", "fabs", "pow"):
        return f"{p.helper('power' if name == 'pow' else 'absolute')}({', '.join(arguments)})"
    if name in WHOLE:
        return arguments[0] if dt.is_int(source) else f"{p.helper(WHOLE[name])}({arguments[0]})"
    if name in BITS:
        return f"{p.helper(BITS[name])}({arguments[0]}, {dt.bits(source)})"
    if name in MATH:
        return MATH[name].format(*arguments)
    legal = sorted({*MATH, *WHOLE, *BITS, *COMPOSED})
    raise p.refuse(e, "unknown-function", f"has no function `{name}`", legal=legal)


def _let(p: CudaPrinter, e: Let) -> Printed:
    """A statement before this one where the value is needed anyway; put in place where it may not be evaluated."""
    if p.lazy:
        return p.loose(substitute(e.body, {e.var: e.value}), ATOM), ATOM
    _assign(p, e.var, e.value)
    return p.loose(e.body, ATOM), ATOM


VALUE: dict[type, Callable[[Any, Any], Printed]] = {
    **EXPR,
    Var: _var,
    Const: lambda p, e: (p.number(e.value, e.dtype), ATOM) if e.dtype != "handle" else (repr(e.value), ATOM),
    Bin: _binary,
    Not: lambda p, e: (f"not {p.condition(e.a, 3)}", 3),
    Cast: _cast,
    Select: lambda p, e: _ternary(p, e.cond, e.then, e.other),
    Call: _call,
    Load: lambda p, e: (p.load(e), ATOM),
    Let: _let,
}


# ---------------------------------------------------------------- statements, by type


def _assign(p: CudaPrinter, var: Any, value: Expr) -> None:
    text = p.index(value) if dt.is_int(value.dtype) else p.loose(value)
    p.emit(f"{p.names(var)} = {text}")


def _let_stmt(p: CudaPrinter, s: LetStmt) -> None:
    _assign(p, s.var, s.value)
    p.stmt(s.body)


def _for(p: CudaPrinter, s: For) -> None:
    p.around.append(loop_name(s))
    if s.kind == "thread":
        _thread(p, s)
    else:
        STMT[For](p, s)
    p.around.pop()


def _thread(p: CudaPrinter, s: For) -> None:
    """The thread's own index; where more threads are launched than the loop asks for, the others stay out."""
    own, name = f"cuda.{s.thread}", p.names(s.var)
    at = own if constant(s.lo) == 0 else f"{p.index(s.lo)} + {own}"
    p.emit(f"{name} = {at}")
    p.place.append("    " * len(p.place) + f"{name} = {at}")
    launched = p.launch.get(s.thread)
    if launched is not None and same(launched, s.extent):
        p.stmt(s.body)
    else:
        p.emit(f"if {own} < {p.index(s.extent, 5)}:")
        p.block(s.body)
    p.place.pop()
    p.names.release(s.var)


def _barrier(p: CudaPrinter, s: Barrier) -> None:
    scope = "warp" if s.scope.startswith("warp") else s.scope
    waits = {"shared": "cuda.syncthreads()", "warp": "cuda.syncwarp()"}.get(scope)
    if waits is None:
        raise p.refuse(
            s, "global-barrier", "cannot let blocks wait for each other",
            legal=['barrier("shared")', 'barrier("warp")'], hint="to order blocks, end the kernel and start another",
        )  # fmt: skip
    p.emit(f"{waits}  # {why}" if (why := briefly(s)) else waits)


STATEMENT: dict[type, Callable[[Any, Any], None]] = {For: _for, LetStmt: _let_stmt, Barrier: _barrier}
