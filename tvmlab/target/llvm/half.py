"""float16: native where the CPU converts in hardware, else held as float32 and converted by bit arithmetic.

Without F16C, LLVM calls conversion helpers that an in-process compiler lacks. There a float16 in a register is a
float that float16 can represent (`rounded` after each operation makes it so: one rounding in float32 and one more
give the same as a single one for + - * / and sqrt), and in memory a 16-bit integer.
"""

from __future__ import annotations

from typing import Any

from ...core import dtype as dt
from .numeric import Num, helper


def rounded(c: Any, dtype: str, x: str) -> str:
    """The result of an operation on `dtype`, rounded to it."""
    if c.m.machine.half or dt.element(dtype) != "float16":
        return x
    return unpack(c, pack(c, x, dtype), dtype)


def pack(c: Any, x: str, dtype: str) -> str:
    """float16 in a register -> in memory."""
    if c.m.machine.half:
        return x
    n = dt.lanes(dtype)
    return helper(c, "tvmlab.half.pack", _pack, [(x, dt.vector("float32", n))], dt.vector("int16", n))


def unpack(c: Any, x: str, dtype: str) -> str:
    """float16 in memory -> in a register."""
    if c.m.machine.half:
        return x
    n = dt.lanes(dtype)
    return helper(c, "tvmlab.half.unpack", _unpack, [(x, dt.vector("int16", n))], dt.vector("float32", n))


def convert(c: Any, x: str, source: str, target: str) -> str:
    """Between float16 and any other type, through float32."""
    n, native = dt.lanes(source), c.m.machine.half
    single = dt.vector("float32", n)
    if dt.element(source) == "float16":
        wide = c.op(f"fpext {c.m.type(source)} {x} to {c.m.type(single)}") if native else x
        return c.convert(wide, single, target)
    if dt.element(source) == "float64":
        x = helper(c, "tvmlab.half.odd", _round_to_odd, [(x, source)], single)
    else:
        x = c.convert(x, source, single)
    return c.op(f"fptrunc {c.m.type(single)} {x} to {c.m.type(target)}") if native else rounded(c, target, x)


def _pack(x: Num) -> Num:
    """Round to nearest even: normal numbers by integer rounding, small ones by adding 0.5, whose last bit is 2**-24."""
    bits = x.bits()
    sign = bits & 0x80000000
    a = bits ^ sign
    odd = a.shifted_right(13) & 1
    normal = (a + odd + (0xFFF - (112 << 23))).shifted_right(13)
    small = (a.as_float() + 0.5).bits() - 0x3F000000
    r = (a < 0x38800000).where(small, normal)
    r = (a >= 0x47800000).where(r.of(0x7C00), r)
    r = (a > 0x7F800000).where(r.of(0x7E00), r)
    return (r | sign.shifted_right(16)).cast("int16")


def _unpack(x: Num) -> Num:
    """Shift into place and scale by 2**112, which also makes small numbers normal; infinities and NaNs get all ones."""
    bits = x.cast("int32")
    sign, a = bits & 0x8000, bits & 0x7FFF
    scaled = ((a << 13).as_float() * 2.0**112).bits()
    scaled = (a >= 0x7C00).where((a << 13) | 0x7F800000, scaled)
    return (scaled | (sign << 16)).as_float()


def _round_to_odd(x: Num) -> Num:
    """float64 -> float32 with an odd last bit when inexact, so that rounding again to float16 is right."""
    near = x.cast("float32")
    back = near.cast("float64")
    inexact = back.ordered_ne(x)
    bits = near.bits()
    down = (back.abs() > x.abs()).where(bits - 1, bits)
    return inexact.where(down | 1, bits).as_float()
