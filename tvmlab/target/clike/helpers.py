"""Small functions that the text gets only where it calls them: what C's operators leave undefined or do otherwise.

A helper is named `<what>_<dtype>`; `{T}` is its type, `{U}` the unsigned one of the same width, `{B}` its bits.
Integers of fewer than 32 bits use those of int32: C computes with int.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...core import dtype as dt
from .dialect import Dialect

SIGNED = {
    "floordiv": """\
{F} {T} floordiv_{D}({T} a, {T} b) {{
    if (b == 0) return 0;
    if (b == -1) return ({T})(0 - ({U})a);
    {T} q = a / b;
    return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}}""",
    "floormod": """\
{F} {T} floormod_{D}({T} a, {T} b) {{
    if (b == 0 || b == -1) return 0;
    {T} r = a % b;
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}}""",
    "truncdiv": """\
{F} {T} truncdiv_{D}({T} a, {T} b) {{
    if (b == 0) return 0;
    return b == -1 ? ({T})(0 - ({U})a) : a / b;
}}""",
    "truncmod": """\
{F} {T} truncmod_{D}({T} a, {T} b) {{
    return b == 0 || b == -1 ? 0 : a % b;
}}""",
    "dot4": """\
{F} {T} dot4_{D}({T} c, {T} a0, {T} a1, {T} a2, {T} a3, {T} b0, {T} b1, {T} b2, {T} b3) {{
    return ({T})(({U})c + ({U})(a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3));
}}""",
    "shl": """\
{F} {T} shl_{D}({T} a, {T} n) {{
    return n < 0 || n >= {B} ? 0 : ({T})(({U})a << n);
}}""",
    "shr": """\
{F} {T} shr_{D}({T} a, {T} n) {{
    return n < 0 || n >= {B} ? (a < 0 ? -1 : 0) : a >> n;
}}""",
}
_DIVIDE = "{F} {T} {W}_{D}({T} a, {T} b) {{\n    return b == 0 ? 0 : a %s b;\n}}"
_SHIFT = "{F} {T} {W}_{D}({T} a, {T} n) {{\n    return n >= {B} ? 0 : a %s n;\n}}"
UNSIGNED = {
    "floordiv": _DIVIDE % "/", "floormod": _DIVIDE % "%", "truncdiv": _DIVIDE % "/", "truncmod": _DIVIDE % "%",
    "shl": _SHIFT % "<<", "shr": _SHIFT % ">>",
}  # fmt: skip
_FLOAT = {
    "min": "{F} {T} min_{D}({T} a, {T} b) {{\n    return a < b ? a : b;\n}}",
    "max": "{F} {T} max_{D}({T} a, {T} b) {{\n    return a > b ? a : b;\n}}",
    "floormod": """\
{F} {T} floormod_{D}({T} a, {T} b) {{
    {T} r = fmod(a, b);
    if (r == 0) return copysign(r, b);
    return (r < 0) != (b < 0) ? r + b : r;
}}""",
}
# What a language may lack, in float32. erf: near zero a + a*P(a*a), further out 1 - exp(-t + t*Q(t)).
_FLOAT32 = {
    "erf": """\
{F} {T} erf_{D}({T} a) {{
    {T} t = fabs(a), s = a * a, r;
    if (!(t > 0.927734375f)) {{
        r = ((((-5.96761703e-4f * s + 4.99119423e-3f) * s - 2.67681349e-2f) * s + 1.12819925e-1f) * s - 3.76125336e-1f);
        return a + a * (r * s + 1.28379166e-1f);
    }}
    t = t < 4.0f ? t : 4.0f;
    r = ((-1.72853470e-5f * t + 3.83197126e-4f) * t - 3.88396438e-3f) * t + 2.42546219e-2f;
    r = (((r * t - 1.06777877e-1f) * t - 6.34846687e-1f) * t - 1.28717512e-1f) * t - t;
    return copysign(1.0f - exp(r), a);
}}""",
    "log1p": """\
{F} {T} log1p_{D}({T} a) {{
    {T} u = 1.0f + a;
    if (u == 1.0f || isinf(u)) return a;
    return log(u) * (a / (u - 1.0f));
}}""",
    "hypot": """\
{F} {T} hypot_{D}({T} a, {T} b) {{
    a = fabs(a); b = fabs(b);
    if (isinf(a) || isinf(b)) return INFINITY;
    {T} big = a > b ? a : b, small = a > b ? b : a;
    if (isnan(a) || isnan(b) || big == 0.0f) return a + b;
    small /= big;
    return big * sqrt(1.0f + small * small);
}}""",
    "nextafter": """\
{F} {T} nextafter_{D}({T} a, {T} b) {{
    if (isnan(a) || isnan(b)) return a + b;
    if (a == b) return b;
    if (a == 0.0f) return copysign(as_type<float>(1), b);
    return as_type<float>(as_type<int>(a) + ((b > a) == (a > 0.0f) ? 1 : -1));
}}""",
}
# float16 where only memory has it: a float rounded to the nearest half; a double first to a float that cannot be a tie.
_HALF = {
    "round_half": """\
{F} float round_half(float x) {{
    ushort h;
    vstore_half(x, 0, (half*)&h);
    return vload_half(0, (const half*)&h);
}}""",
    "round_odd": """\
{F} float round_odd(double x) {{
    float f = (float)x;
    if (isinf(f) || isnan(f) || (double)f == x) return f;
    int bits = as_int(f);
    if (fabs((double)f) > fabs(x)) bits -= 1;
    return as_float(bits | 1);
}}""",
    "half_bits": """\
{F} ushort half_bits(float x) {{
    ushort h;
    vstore_half(x, 0, (half*)&h);
    return h;
}}""",
    "half_of": """\
{F} float half_of(ushort h) {{
    return vload_half(0, (const half*)&h);
}}""",
}
ALL = frozenset({*SIGNED, *UNSIGNED, *_FLOAT, *_FLOAT32})


def computed(dtype: str) -> str:
    """The type in which C does the arithmetic of `dtype`."""
    return "int32" if dt.is_int(dtype) and dt.bits(dtype) < 32 else dtype


def name(what: str, dtype: str) -> str:
    return what if what in _HALF else f"{what}_{computed(dtype)}"


def names() -> frozenset[str]:
    """Every name a helper may have."""
    kinds = ("int32", "int64", "uint32", "uint64", "float16", "float32", "float64")
    return frozenset({f"{w}_{k}" for w in ALL for k in kinds} | set(_HALF))


def text(d: Dialect, wanted: Iterable[tuple[str, str]]) -> list[str]:
    """The definitions of (what, dtype), each once."""
    found = {name(w, t): _one(d, w, computed(t)) for w, t in sorted(set(wanted))}
    return [part for _, part in sorted(found.items())]


def _one(d: Dialect, what: str, dtype: str) -> str:
    if what in _HALF:
        return _HALF[what].format(F=d.function)
    if dt.is_float(dtype):
        table = _FLOAT if what in _FLOAT else _FLOAT32
    else:
        table = SIGNED if dt.is_signed(dtype) else UNSIGNED
    unsigned = d.types.get(f"uint{dt.bits(dtype)}", "")
    return table[what].format(F=d.function, T=d.types[dtype], U=unsigned, D=dtype, B=dt.bits(dtype), W=what)
