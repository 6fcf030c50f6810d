"""Writing numeric helpers as Python arithmetic that emits LLVM IR: `x*x + 1.0` on a `Num` is two instructions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core import dtype as dt
from ...core.build import wrap
from .builder import Code


class Num:
    """A value under construction: operand, dtype, and the function it is emitted into."""

    __slots__ = ("code", "dtype", "text")

    def __init__(self, code: Any, text: str, dtype: str) -> None:
        self.code, self.text, self.dtype = code, text, dtype

    def of(self, value: Any) -> Num:
        """A constant of the same type."""
        if isinstance(value, Num):
            return value
        if dt.is_int(self.dtype):
            value = wrap(int(value), f"int{dt.bits(self.dtype)}")
        return Num(self.code, self.code.constant(value, self.dtype), self.dtype)

    def _op(self, text: str, dtype: str | None = None) -> Num:
        return Num(self.code, self.code.op(text), dtype or self.dtype)

    def _two(self, float_op: str, int_op: str, other: Any) -> Num:
        b, t = self.of(other), self.code.m.type(self.dtype)
        if dt.is_float(self.dtype):
            # never more than fusing: rounding by adding a large number must not be "simplified"
            flags = "contract " if self.code.m.fp and float_op != "fdiv" else ""
            return self._op(f"{float_op} {flags}{t} {self.text}, {b.text}")
        return self._op(f"{int_op} {t} {self.text}, {b.text}")

    def __add__(self, other: Any) -> Num:
        return self._two("fadd", "add", other)

    def __sub__(self, other: Any) -> Num:
        return self._two("fsub", "sub", other)

    def __mul__(self, other: Any) -> Num:
        return self._two("fmul", "mul", other)

    def __truediv__(self, other: Any) -> Num:
        return self._two("fdiv", "", other)

    def __and__(self, other: Any) -> Num:
        return self._two("", "and", other)

    def __or__(self, other: Any) -> Num:
        return self._two("", "or", other)

    def __xor__(self, other: Any) -> Num:
        return self._two("", "xor", other)

    def __lshift__(self, other: int) -> Num:
        return self._two("", "shl", other)

    def __rshift__(self, other: int) -> Num:
        return self._two("", "ashr", other)

    def shifted_right(self, count: int) -> Num:
        """Filled with zeros."""
        return self._two("", "lshr", count)

    def _compare(self, float_op: str, int_op: str, other: Any) -> Num:
        t, b = self.code.m.type(self.dtype), self.of(other)
        how = f"fcmp {float_op}" if dt.is_float(self.dtype) else f"icmp {int_op}"
        return self._op(f"{how} {t} {self.text}, {b.text}", dt.vector("bool", dt.lanes(self.dtype)))

    def __lt__(self, other: Any) -> Num:
        return self._compare("olt", "slt", other)

    def __gt__(self, other: Any) -> Num:
        return self._compare("ogt", "sgt", other)

    def __ge__(self, other: Any) -> Num:
        return self._compare("oge", "sge", other)

    def equals(self, other: Any) -> Num:
        return self._compare("oeq", "eq", other)

    def ordered_ne(self, other: Any) -> Num:
        """Different, and neither is a NaN."""
        return self._compare("one", "ne", other)

    def is_nan(self) -> Num:
        return self._compare("uno", "", self)

    def where(self, then: Num, other: Num) -> Num:
        """`then` where this bool holds, else `other`."""
        t, b = self.code.m.type(then.dtype), self.code.m.type(self.dtype)
        return self._op(f"select {b} {self.text}, {t} {then.text}, {t} {other.text}", then.dtype)

    def bits(self) -> Num:
        to = dt.vector(f"int{dt.bits(self.dtype)}", dt.lanes(self.dtype))
        return self._op(f"bitcast {self.code.m.type(self.dtype)} {self.text} to {self.code.m.type(to)}", to)

    def as_float(self) -> Num:
        to = dt.vector(f"float{dt.bits(self.dtype)}", dt.lanes(self.dtype))
        return self._op(f"bitcast {self.code.m.type(self.dtype)} {self.text} to {self.code.m.type(to)}", to)

    def cast(self, element: str) -> Num:
        """Another element type; integers widen without sign."""
        to = dt.vector(element, dt.lanes(self.dtype))
        a, b, floats = dt.bits(self.dtype), dt.bits(to), (dt.is_float(self.dtype), dt.is_float(to))
        how = {(True, True): "fpext" if b > a else "fptrunc", (False, True): "sitofp", (True, False): "fptosi",
               (False, False): "zext" if b > a else "trunc"}[floats]  # fmt: skip
        return self._op(f"{how} {self.code.m.type(self.dtype)} {self.text} to {self.code.m.type(to)}", to)

    def abs(self) -> Num:
        t = self.code.m.type(self.dtype)
        name = f"llvm.fabs.{suffix(self.dtype)}"
        return self._op(f"call {t} {self.code.m.declare(name, t, [t])}({t} {self.text})")

    def with_sign_of(self, other: Num) -> Num:
        t = self.code.m.type(self.dtype)
        f = self.code.m.declare(f"llvm.copysign.{suffix(self.dtype)}", t, [t, t])
        return self._op(f"call {t} {f}({t} {self.text}, {t} {other.text})")


def suffix(dtype: str) -> str:
    """`float32x16` -> `v16f32`."""
    stem, bits, lanes = dt.parse(dtype)
    element = f"{'f' if stem == 'float' else 'i'}{bits}"
    return element if lanes == 1 else f"v{lanes}{element}"


def horner(x: Num, coefficients: Sequence[float]) -> Num:
    """The polynomial with these coefficients, highest power first."""
    total = x.of(coefficients[0])
    for c in coefficients[1:]:
        total = total * x + c
    return total


def helper(c: Any, name: str, body: Callable[..., Num], args: Sequence[tuple[str, str]], result: str) -> str:
    """Call `body`, which is emitted once per module and type as an internal function; args are (operand, dtype)."""
    m = c.m
    full = f"{name}.{suffix(args[0][1])}"
    types = [m.type(d) for _, d in args]

    def make(full: str) -> str:
        code = Code(m)
        made = body(*[Num(code, f"%x{i}", d) for i, (_, d) in enumerate(args)])
        head = ", ".join(f"{t} %x{i}" for i, t in enumerate(types))
        lines = "\n".join(code.lines)
        return (
            f"define internal {m.type(result)} @{full}({head}) #2 {{\n{lines}\n  ret {m.type(result)} {made.text}\n}}"
        )

    f = m.helper(full, make)
    operands = ", ".join(f"{t} {x}" for t, (x, _) in zip(types, args, strict=True))
    made: str = c.op(f"call {m.type(result)} {f}({operands})")
    return made
