"""The printer of Python text: state, names, elements of buffers; what a target may do in its own way is a method."""

from __future__ import annotations

import builtins
import keyword
from typing import Any

from ...core import dtype as dt
from ...core.error import BuildError
from ...core.node import Alloc, Bin, Call, Cast, Const, Expr, For, Load, Select, Stmt, Store
from ...core.program import loop_name
from ...core.text import PRECEDENCE, Names, headline, show
from ...core.walk import constant
from .exprs import EXPR, operation
from .stmts import STMT

RESERVED = (
    tuple(dir(builtins)) + tuple(keyword.kwlist) + ("np", "math", "numba", "njit", "prange", "ir", "types", "operator")
)
WRAPS = frozenset({"+", "-", "*", "<<", "//", "truncdiv"})


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
            text, own = operation(self, e, self.index)
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
            return f"np.float32({_float_text(dt.rounded(value, dtype))})"
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
                f"the target `{self.target}` has no threads of its own: axis {loop_name(s)} is bound to "
                f"{s.thread or s.kind}",
                where=[*self.place, "    " * len(self.place) + headline(s)],
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
