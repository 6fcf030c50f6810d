"""The printer of one kernel: state, names, numbers, memory."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from ...core import dtype as dt
from ...core.error import BuildError
from ...core.node import Bin, Buffer, Cast, Const, Expr, Load, Stmt
from ...core.text import ATOM, Names, identifier, show
from ...core.walk import walk
from ..pylike.exprs import pure_index
from . import exprs, helpers
from .checked import Watch
from .dialect import Dialect
from .maths import TERNARY, UNARY, Printed
from .ranges import Ranges

OTHERS = re.compile(  # macros and types that headers and compilers bring: M_PI, CL_VERSION, __global, image2d_t
    r"^(M|FLT|DBL|HALF|HUGE|U?INT\d*|U?LONG|S?CHAR|UCHAR|U?SHRT|CLK?|FP|CUDA)_[A-Z0-9_]+$|^_[A-Z_]|_t$"
    r"|^(read_only|write_only|read_write|pipe|complex|imaginary|uniform|unix|linux|EOF|NDEBUG|cl_khr_\w+|half_\w+)$"
)


class CNames(Names):
    """Names that C takes: letters beyond ASCII become their numbers, what may be a macro or a type ends in `_`."""

    def __call__(self, thing: Any) -> str:
        if thing not in self.of and (c := c_name(identifier(thing.name))) != identifier(thing.name):
            return self.spelled(thing, c)
        return super().__call__(thing)

    def spelled(self, thing: Any, text: str) -> str:
        self.of[thing] = name = super().__call__(type("Named", (), {"name": text})())
        if isinstance(thing, Buffer):
            self.of.setdefault(thing.data, name)
        return name


def c_name(name: str) -> str:
    """An identifier of Python as one of C."""
    return f"{ascii_name(name)}_" if OTHERS.search(name) else ascii_name(name)


def ascii_name(name: str) -> str:
    return "".join([c if c.isascii() else f"_u{ord(c):04x}" for c in name])


class CPrinter:
    """Prints statements into `lines`; `wanted` collects the helpers that the text calls, as (what, dtype).

    `memory`: handles of the buffers that exist here. `lazy`: inside a part that may not be evaluated, or is evaluated
    again and again.
    """

    def __init__(self, dialect: Dialect, taken: frozenset[str] = frozenset()) -> None:
        self.d = dialect
        self.names = CNames(tuple(taken or dialect.reserved() | helpers.names()))
        self.ranges = Ranges()
        self.lines: list[str] = []
        self.loops: list[str] = []  # of each line, the loop it is of, as a person knows it
        self.around: list[str] = []  # those around the statement
        self.wanted: set[tuple[str, str]] = set()
        self.used: set[str] = set()  # element dtypes
        self.memory: set[Any] = set()
        self.depth = self.lazy = 0
        self.place: list[str] = []  # the loops around, for errors
        self.vectors: dict[Any, Buffer] = {}  # a vector variable -> the array of its lanes
        self.threads: dict[str, tuple[str, Expr]] = {}  # thread tag -> the name of the own index, how many are launched
        self.data: set[Any] = set()  # variables that stand for more than index arithmetic
        self.wide: set[Any] = set()  # handles of memory that vectors are read from or written to
        self.tiled: set[Any] = set()  # handles of memory that tiles are copied from or to
        self.tiles: dict[Any, tuple[str, ...]] = {}  # handle of a fragment -> what its note says
        self.watch: Watch | None = None  # checks indices, where that is asked for
        self.exchanged = False  # may threads of a block see each other's global writes?

    # ------------------------------------------------------------ expressions

    def printed(self, e: Expr) -> Printed:
        if dt.lanes(e.dtype) > 1:
            raise self.refuse(e, "vector-value", f"has no vector `{show(e)}` here")
        rule = exprs.EXPR.get(type(e))
        if rule is None:
            raise self.refuse(e, "expression", f"cannot print a {type(e).__name__}")
        return rule(self, e)

    def value(self, e: Expr, level: int = 0) -> str:
        text, own = self.printed(e)
        return f"({text})" if own < level else text

    def index(self, e: Expr, level: int = 0, wide: bool = False) -> str:
        text, own = exprs.index(self, e, wide)
        return f"({text})" if own < level else text

    def pure_index(self, e: Expr) -> bool:
        """Arithmetic on loops and sizes; what was computed from memory may overflow, also under a name."""
        return pure_index(e) and not (self.data and any(x in self.data for x in walk(e)))

    def lazily(self, e: Expr, level: int = 0) -> str:
        self.lazy += 1
        text = self.value(e, level)
        self.lazy -= 1
        return text

    def ternary(self, cond: Expr, then: Expr, other: Expr) -> Printed:
        c = self.value(cond, TERNARY + 1)
        return f"{c} ? {self.lazily(then, TERNARY + 1)} : {self.lazily(other, TERNARY + 1)}", TERNARY

    def helper(self, what: str, dtype: str) -> str:
        self.wanted.add((what, dtype))
        return helpers.name(what, dtype)

    def narrowed(self, text: str, dtype: str, own: int) -> Printed:
        return f"({self.type_of(dtype)}){text if own >= UNARY else f'({text})'}", UNARY

    def rounded(self, text: str, dtype: str, own: int) -> Printed:
        if dtype == "float16" and self.d.half == "float":
            return f"{self.helper('round_half', dtype)}({text})", ATOM
        return text, own

    def exactly(self, text: str, e: Expr, word: str) -> str:
        """The text as C's type `word`, which overloaded functions choose by."""
        if isinstance(e, Const):
            return self.number(e.value, word)
        return text if e.dtype == word or word == "int64" else f"({self.d.types[word]})({text})"

    def register(self, dtype: str) -> str:
        """The dtype that a value of `dtype` has outside of memory."""
        return "float32" if dtype == "float16" and self.d.half == "float" else dtype

    def type_of(self, dtype: str, e: Any = None) -> str:
        """The name of a value's type; one that the language lacks is refused."""
        found = self.d.types.get(self.register(dtype))
        if found is None:
            raise self.refuse(
                e, "no-dtype", f"has no {dtype}", legal=[t for t in self.d.types if t != "bool"]
            )  # fmt: skip
        self.used.add(dtype)
        return found

    def number(self, value: Any, dtype: str) -> str:
        if dtype == "bool":
            return "true" if value else "false"
        if dt.is_float(dtype):
            return self._float(float(value), dtype)
        bits, suffix = dt.bits(dtype), "u" if dtype in ("uint32", "uint64") else ""
        if bits == 64:
            suffix += self.d.int64_suffix
        if dtype in ("int32", "int64") and value == -(1 << (bits - 1)):
            return f"({value + 1}{suffix} - 1)"
        return f"{value}{suffix}"

    def _float(self, value: float, dtype: str) -> str:
        kind = self.register(dtype)
        self.type_of(dtype)
        if dtype != "float64":
            value = dt.rounded(value, dtype)
        if not math.isfinite(value):
            word = "nan" if value != value else "inf" if value > 0 else "-inf"
            return self.d.numbers[f"{word}:{kind}"]
        text = repr(value) if kind == "float64" else f"{np.float32(value)!s}f"
        return self.d.numbers["float16"].format(text) if kind == "float16" else text

    # ------------------------------------------------------------ memory

    def array(self, b: Any) -> str:
        if b.data not in self.memory:
            raise BuildError("lost-buffer", f"the buffer `{b.name}` is used where it does not exist", where=self.place)
        return self.names(b.data)

    def subscript(self, b: Buffer, index: Expr, level: int = 0, writes: bool = False, lanes: int = 1) -> str:
        """Offsets of 64 bits where the buffer has, or may have, more elements than an int counts."""
        if self.watch is not None and (text := self.watch.subscript(b, index, writes, lanes)):
            return text
        size = b.size
        return self.index(index, level, b.scope == "global" and (size is None or size >= 2**31))

    def pointer(self, b: Buffer, index: Expr, writes: bool = False, lanes: int = 1) -> str:
        name, at = self.array(b), self.subscript(b, index, 9, writes, lanes)
        return name if at == "0" else f"{name} + {at}"

    def holds_halves(self, b: Buffer) -> bool:
        """Does the memory hold what only vload_half reads? Local arrays hold floats instead."""
        return b.dtype == "float16" and self.d.half == "float" and b.scope != "local"

    def half_pointer(self, b: Buffer) -> str:
        """Shared memory of halves is declared as what the language has: 16 bits."""
        if b.scope == "global":
            return self.array(b)
        return f"({self.d.spaces.get(b.scope, '')}half*){self.array(b)}"

    def load(self, e: Load) -> Printed:
        b = e.buffer
        if e.mask is not None:
            plain = Load(b, e.indices, e.dtype)
            return self.ternary(e.mask, plain, Const(0 if not dt.is_float(e.dtype) else 0.0, e.dtype))
        if self.holds_halves(b):
            self.type_of(b.dtype, e)
            return f"vload_half({self.subscript(b, e.indices[0])}, {self.half_pointer(b)})", ATOM
        text = f"{self.array(b)}[{self.subscript(b, e.indices[0])}]"
        return (f"{text} != 0", exprs.LEVEL["!="]) if dt.is_bool(e.dtype) else (text, ATOM)

    def store(self, b: Buffer, index: Expr, text: str) -> None:
        if self.holds_halves(b):
            self.emit(f"vstore_half({text}, {self.subscript(b, index, writes=True)}, {self.half_pointer(b)});")
        else:
            self.emit(f"{self.array(b)}[{self.subscript(b, index, writes=True)}] = {text};")

    def stored(self, b: Buffer, v: Expr) -> str:
        """A value for memory, which rounds a float to a half itself."""
        if not self.holds_halves(b):
            return self.value(v)
        if isinstance(v, Cast) and v.value.dtype == "float32":
            return self.value(v.value)
        if isinstance(v, Bin) and v.op in ("+", "-", "*", "/"):
            level = exprs.LEVEL[v.op]
            return exprs.operator(v.op, self.value(v.a, level), self.value(v.b, level + 1))[0]
        return self.value(v)

    def memory_type(self, b: Buffer) -> str:
        if dt.is_bool(b.dtype):
            return self.d.types["uint8"]
        name = self.type_of(b.dtype)
        if not self.holds_halves(b):
            return name
        return "half" if b.scope == "global" else self.d.types["uint16"]

    def size(self, b: Buffer) -> int:
        """How many elements: memory inside a kernel has a size that is known when it is compiled."""
        if b.size is None:
            extents = ", ".join(map(show, b.owner.shape))
            raise self.refuse(
                None, "kernel-memory",
                f"needs a number for the size of `{b.name}` in {b.scope} memory; it is ({extents})",
                hint=f"attach stage {b.name} to an axis that was split by a number: then the part of {b.name} that is "
                "needed inside has a constant size",
            )  # fmt: skip
        return b.size

    def alignment(self, b: Buffer) -> str:
        """What vectors need of an array, where they need anything."""
        if b.data in self.tiled:
            return f"{self.d.fragments['align']} "
        return f"{self.d.align} " if self.d.align and b.data in self.wide else ""

    # ------------------------------------------------------------ statements

    def declare(self, b: Buffer) -> str:
        """The name of memory that begins to exist."""
        self.memory.add(b.data)
        return self.names(b)

    def emit(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)
        self.loops.append(self.around[-1] if self.around else "")

    def stmt(self, s: Stmt) -> None:
        from .stmts import STMT

        rule = STMT.get(type(s))
        if rule is None:
            raise self.refuse(s, "statement", f"cannot print a {type(s).__name__}")
        rule(self, s)

    def block(self, s: Stmt) -> None:
        """The statement inside the braces that are open."""
        self.depth += 1
        self.stmt(s)
        self.depth -= 1

    def define(self, v: Any, value: Expr) -> None:
        """`const int x = ...;`"""
        pure = self.pure_index(value)
        text = self.index(value) if pure else self.value(value)
        if not pure:
            self.data.add(v)
        if dt.is_int(v.dtype):
            self.ranges.bind(v, self.ranges.span(value, pure))
        self.emit(f"const {self.type_of(v.dtype, value)} {self.names(v)} = {text};")

    def refuse(self, n: Any, rule: str, why: str, **more: Any) -> BuildError:
        there = [] if n is None else ["    " * len(self.place) + line for line in show(n).splitlines()[:1]]
        return BuildError(rule, f"the target `{self.d.name}` {why}", where=[*self.place, *there], **more)
