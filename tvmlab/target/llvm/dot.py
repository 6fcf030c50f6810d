"""`dot4`: four products of bytes into each int32 lane, in one instruction where the machine has it.

    vpdpbusd   x86-64 with AVX-512 VNNI (16, 8, 4 lanes) or AVX-VNNI (8, 4): uint8 times int8, sums do not saturate
    sdot ...   AArch64 with dotprod (int8 times int8, uint8 times uint8) or i8mm (uint8 times int8): 4 lanes

Elsewhere the bytes are widened: products of two fit 16 bits each, pairs of them are added in 32 (`pmaddwd` on x86-64).
The instruction of AVX2 and SSSE3 that adds pairs of products in 16 bits saturates, so it is never used.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from ...core import dtype as dt

REGISTER = {16: "zmm", 8: "ymm", 4: "xmm"}
NEON = {"us": "usdot", "ss": "sdot", "uu": "udot"}
ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
ASKED = {"x86_64": [("us", 16), ("us", 8), ("us", 4)], "aarch64": [("us", 4), ("ss", 4), ("uu", 4)]}


class Dot(NamedTuple):
    """An instruction: the signs of its operands (u or s), int32 lanes, the LLVM intrinsic."""

    signs: str
    lanes: int
    name: str


# ---------------------------------------------------------------- what a machine has


def probe(arch: str) -> str:
    """Functions of plain vector code that LLVM turns into the instruction, if the machine it compiles for has it."""
    return "".join(_probe(signs, lanes) for signs, lanes in ASKED.get(arch, ()))


def _probe(signs: str, lanes: int) -> str:
    n = 4 * lanes
    left, right = ("zext" if s == "u" else "sext" for s in signs)
    return f"""
define i32 @dot_{signs}_{lanes}(ptr %p, ptr %q) "min-legal-vector-width"="512" "prefer-vector-width"="512" {{
  %a = load <{n} x i8>, ptr %p
  %b = load <{n} x i8>, ptr %q
  %x = {left} <{n} x i8> %a to <{n} x i32>
  %y = {right} <{n} x i8> %b to <{n} x i32>
  %z = mul <{n} x i32> %x, %y
  %r = call i32 @llvm.vector.reduce.add.v{n}i32(<{n} x i32> %z)
  ret i32 %r
}}
"""


def found(arch: str, assembly: str) -> tuple[Dot, ...]:
    """The instructions in the assembly of the probe, the widest first."""
    made = []
    for signs, lanes in ASKED.get(arch, ()):
        body = re.search(rf"^_?dot_{signs}_{lanes}:(.*?)^\s+ret", assembly, re.DOTALL | re.MULTILINE)
        x86 = arch == "x86_64"
        wanted = rf"vpdpbusd.*%{REGISTER[lanes]}" if x86 else rf"\t{NEON[signs]}\tv"
        name = f"llvm.x86.avx512.vpdpbusd.{32 * lanes}" if x86 else f"llvm.aarch64.neon.{NEON[signs]}.v4i32.v16i8"
        if body and re.search(wanted, body[1]):
            made.append(Dot(signs, lanes, name))
    return tuple(made)


# ---------------------------------------------------------------- code


def dot4(c: Any, dtype: str, args: list[str], dtypes: list[str]) -> str:
    """dot4(total, a, b); see `core.intrin.dot4`."""
    total, *sides = args
    n = dt.lanes(dtype)
    operands = list(zip(sides, dtypes[1:], strict=True))
    signs = "".join("s" if dt.is_signed(d) else "u" for _, d in operands)
    if signs == "su":
        signs, operands = "us", operands[::-1]
    for dot in c.m.machine.dots():
        if dot.signs == signs and n % dot.lanes == 0:
            return _in_pieces(c, dot, total, operands, n)
    return _exact(c, total, [(_spread(c, x, d, n), d) for x, d in operands], n)


def _spread(c: Any, x: str, dtype: str, n: int) -> str:
    """Four bytes -> the same four for each of n lanes."""
    c.m.type(dt.vector("int8", 4 * n))
    if dt.lanes(dtype) == 4 * n:
        return x
    word = c.op(f"bitcast <4 x i8> {x} to i32")
    made: str = c.op(f"bitcast <{n} x i32> {c.splat('i32', word, n)} to <{4 * n} x i8>")
    return made


def _in_pieces(c: Any, dot: Dot, total: str, operands: list[tuple[str, str]], n: int) -> str:
    """The instruction on each part of `dot.lanes` lanes, and the parts side by side."""
    size, made = dot.lanes, "poison"
    if n == size:
        return _instruction(c, dot, total, [_spread(c, x, d, n) for x, d in operands])
    for first in range(0, n, size):
        lanes = range(first, first + size)
        sides = [_spread(c, *_piece(c, x, d, n, first, size), size) for x, d in operands]
        part = _instruction(c, dot, c.shuffle("i32", total, "poison", list(lanes), n), sides)
        wide = c.shuffle("i32", part, "poison", [i - first if i in lanes else 0 for i in range(n)], size)
        made = c.shuffle("i32", made, wide, [n + i if i in lanes else i for i in range(n)], n)
    return made


def _piece(c: Any, x: str, dtype: str, n: int, first: int, size: int) -> tuple[str, str]:
    """The bytes of lanes first, ..., first + size - 1, and their dtype; four for all lanes are those of a part too."""
    if dt.lanes(dtype) == 4:
        return x, dtype
    picks = list(range(4 * first, 4 * (first + size)))
    return c.shuffle("i8", x, "poison", picks, 4 * n), dt.vector(dt.element(dtype), 4 * size)


def _instruction(c: Any, dot: Dot, total: str, sides: list[str]) -> str:
    n = dot.lanes
    t, bytes_ = f"<{n} x i32>", f"<{4 * n} x i8>"
    if dot.name.startswith("llvm.x86") and c.m.machine.major < 22:  # until then it took the bytes as words
        sides, bytes_ = [c.op(f"bitcast {bytes_} {x} to {t}") for x in sides], t
    f = c.m.declare(dot.name, t, [t, bytes_, bytes_])
    made: str = c.op(f"call {t} {f}({t} {total}, {bytes_} {sides[0]}, {bytes_} {sides[1]})")
    return made


def _exact(c: Any, total: str, operands: list[tuple[str, str]], n: int) -> str:
    """Even and odd products added in 32 bits, and these sums by twos again."""
    halves = [_even_and_odd(c, "i16", _widened(c, x, d, 4 * n), 4 * n) for x, d in operands]
    t = _type(2 * n, "i32")
    products = []
    for a, b in zip(*halves, strict=True):
        x, y = (c.op(f"sext {_type(2 * n, 'i16')} {v} to {t}") for v in (a, b))
        products.append(c.op(f"mul nsw {t} {x}, {y}"))
    pairs = c.op(f"add nsw {t} {products[0]}, {products[1]}")
    if n == 1:
        first, second = (c.op(f"extractelement <2 x i32> {pairs}, i64 {k}") for k in range(2))
    else:
        first, second = _even_and_odd(c, "i32", pairs, 2 * n)
    both = c.op(f"add nsw {_type(n, 'i32')} {first}, {second}")
    made: str = c.op(f"add {_type(n, 'i32')} {total}, {both}")
    return made


def _type(n: int, element: str) -> str:
    return element if n == 1 else f"<{n} x {element}>"


def _widened(c: Any, x: str, dtype: str, n: int) -> str:
    """Bytes as 16 bits each; an unsigned one is below 256, so both kinds are signed numbers there."""
    made: str = c.op(f"{'sext' if dt.is_signed(dtype) else 'zext'} <{n} x i8> {x} to <{n} x i16>")
    return made


def _even_and_odd(c: Any, element: str, x: str, n: int) -> list[str]:
    return [c.shuffle(element, x, "poison", list(range(k, n, 2)), n) for k in range(2)]
