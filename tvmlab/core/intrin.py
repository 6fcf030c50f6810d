"""The mathematical functions of programs: their names, what each takes and gives, and how they are built.

`PURE` is the table that targets implement: every `Call` of kind "pure" has a name from it. The functions below make
such calls, with the classic rules: floor, ceil, trunc and round of integers are the integers themselves, `abs` of an
unsigned one too; a function of floats refuses integers, since which float type was meant is a guess.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from . import dtype as dt
from .build import as_bool, binary, cast, const, invert, matched, negate, select, to_expr
from .error import ExpressionError, TVMError
from .node import Call, Const, Expr


class Intrin(NamedTuple):
    """`takes`: float, int, bool or any. `gives`: same (as the last argument), first, bool, int32, asked (for)."""

    arity: int
    takes: str
    gives: str
    about: str


class FunctionTypeError(ExpressionError, TypeError):
    """A mathematical function of something that it does not work on."""


_UNARY_FLOAT = {
    "exp": "e to the x", "exp2": "2 to the x", "exp10": "10 to the x",
    "log": "natural logarithm", "log2": "base-2 logarithm", "log10": "base-10 logarithm",
    "log1p": "log(1 + x), precise near 0",
    "sqrt": "square root", "rsqrt": "1 / sqrt(x)",
    "sin": "sine", "cos": "cosine", "tan": "tangent", "sinh": "hyperbolic sine", "cosh": "hyperbolic cosine",
    "tanh": "hyperbolic tangent", "asin": "inverse sine", "acos": "inverse cosine", "atan": "inverse tangent",
    "asinh": "inverse hyperbolic sine", "acosh": "inverse hyperbolic cosine", "atanh": "inverse hyperbolic tangent",
    "erf": "error function", "sigmoid": "1 / (1 + exp(-x))",
    "floor": "largest integer not above x", "ceil": "smallest integer not below x", "trunc": "x without its fraction",
    "round": "nearest integer, halves away from zero", "nearbyint": "nearest integer, halves to even",
    "fabs": "absolute value",
}  # fmt: skip
_BINARY_FLOAT = {
    "pow": "x to the y", "fmod": "remainder with the sign of x", "atan2": "angle of the point (second, first)",
    "hypot": "sqrt(x*x + y*y)", "copysign": "the size of x with the sign of y",
    "nextafter": "the float next to x on the way to y",
}  # fmt: skip

# the name of a pure Call -> what it takes and gives; vectors work lane by lane
PURE: dict[str, Intrin] = {
    **{name: Intrin(1, "float", "same", about) for name, about in _UNARY_FLOAT.items()},
    **{name: Intrin(2, "float", "same", about) for name, about in _BINARY_FLOAT.items()},
    "ldexp": Intrin(2, "float", "first", "x * 2**e; e is int32"),
    "isnan": Intrin(1, "float", "bool", "is it not a number"),
    "isinf": Intrin(1, "float", "bool", "is it an infinity"),
    "isfinite": Intrin(1, "float", "bool", "is it neither infinite nor not a number"),
    "popcount": Intrin(1, "int", "same", "how many bits are 1"),
    "clz": Intrin(1, "int", "int32", "how many leading bits are 0; the bit width for 0"),
    "bitwise_not": Intrin(1, "int", "same", "all bits inverted"),
    "if_then_else": Intrin(3, "any", "same", "args[1] if args[0] else args[2]; only the chosen one is evaluated"),
    "likely": Intrin(1, "bool", "same", "the condition itself, said to be almost always true"),
    "reinterpret": Intrin(1, "any", "asked", "the same bits as another type of equal width"),
    "dot4": Intrin(3, "int", "first", "c + a[0]*b[0] + ... + a[3]*b[3], four products of bytes into each int32 of c"),
}

# the C library's name -> ours: `expf`, `exp`; CUDA's `rsqrtf` too
C_FUNCTIONS: dict[str, str] = {
    f"{c}{suffix}": name
    for suffix in ("", "f")
    for c, name in (*((n, n) for n in PURE if PURE[n].takes == "float"), ("rint", "nearbyint"))
    if name not in ("sigmoid", "isnan", "isinf", "isfinite")
}

Value = Callable[[Any], Expr]
F = TypeVar("F", bound=Callable[..., Expr])


def _float_argument(name: str, value: Any) -> Expr:
    """A Python number becomes float32; an integer expression is refused."""
    e = to_expr(float(value)) if isinstance(value, int) else to_expr(value)
    if not dt.is_float(e.dtype):
        raise FunctionTypeError(
            "function-needs-float",
            f"{name} works on floats, not on {e.dtype}: {e!r}",
            hint='cast the argument: x.astype("float32")',
        )
    return e


def _int_argument(name: str, value: Any) -> Expr:
    e = to_expr(value)
    if not dt.is_int(e.dtype):
        raise FunctionTypeError("function-needs-int", f"{name} works on integers, not on {e.dtype}: {e!r}")
    return e


def _unary(name: str, shown: str = "") -> Value:
    shown = shown or name

    def f(x: Any) -> Expr:
        e = _float_argument(shown, x)
        return Call(name, (e,), e.dtype)

    return _named(f, shown, f"{PURE[name].about}; of a float")


def _named(f: F, name: str, about: str) -> F:
    f.__name__ = f.__qualname__ = name
    f.__doc__ = about[0].upper() + about[1:] + "."
    return f


exp, exp2, exp10 = _unary("exp"), _unary("exp2"), _unary("exp10")
log, log2, log10, log1p = _unary("log"), _unary("log2"), _unary("log10"), _unary("log1p")
sqrt, rsqrt = _unary("sqrt"), _unary("rsqrt")
sin, cos, tan = _unary("sin"), _unary("cos"), _unary("tan")
sinh, cosh, tanh = _unary("sinh"), _unary("cosh"), _unary("tanh")
asin, acos, atan = _unary("asin"), _unary("acos"), _unary("atan")
asinh, acosh, atanh = _unary("asinh"), _unary("acosh"), _unary("atanh")
erf, sigmoid = _unary("erf"), _unary("sigmoid")


# ---------------------------------------------------------------- rounding


def _half_away(x: float) -> float:
    whole = math.trunc(x)
    return whole + math.copysign(1, x) if abs(x - whole) >= 0.5 else whole


_ROUND: dict[str, Callable[[float], float]] = {
    "floor": math.floor, "ceil": math.ceil, "trunc": math.trunc, "round": _half_away, "nearbyint": round,
}  # fmt: skip


def _rounding(name: str) -> Value:
    def f(x: Any) -> Expr:
        e = to_expr(x)
        if dt.is_int(e.dtype) or dt.is_bool(e.dtype):
            return e
        if isinstance(e, Const) and math.isfinite(e.value):
            return const(math.copysign(_ROUND[name](e.value), e.value), e.dtype)
        return Call(name, (e,), e.dtype)

    return _named(f, name, f"{PURE[name].about}; an integer stays as it is")


floor, ceil, trunc = _rounding("floor"), _rounding("ceil"), _rounding("trunc")
round, nearbyint = _rounding("round"), _rounding("nearbyint")  # noqa: A001


def abs(x: Any) -> Expr:  # noqa: A001
    """Absolute value; an unsigned integer stays as it is."""
    e = to_expr(x)
    if isinstance(e, Const) and e.dtype != "handle":
        return const(e.value if e.value >= 0 else -e.value, e.dtype)
    if dt.is_float(e.dtype):
        return Call("fabs", (e,), e.dtype)
    if dt.is_signed(e.dtype):
        return select(binary(">=", e, cast(0, e.dtype)), e, negate(e))
    return e


def fabs(x: Any) -> Expr:
    """The name that C gives `abs` of a float."""
    return abs(_float_argument("fabs", x))


# ---------------------------------------------------------------- questions about floats


def _question(name: str, of_integers: bool, fold: Callable[[float], bool]) -> Value:
    def f(x: Any) -> Expr:
        e = to_expr(x)
        result = dt.vector("bool", dt.lanes(e.dtype))
        if not dt.is_float(e.dtype):
            return const(of_integers, result)
        return const(fold(e.value), "bool") if isinstance(e, Const) else Call(name, (e,), result)

    return _named(f, name, PURE[name].about + "; integers never are anything but finite")


isnan = _question("isnan", False, math.isnan)
isinf = _question("isinf", False, math.isinf)
isfinite = _question("isfinite", True, math.isfinite)


# ---------------------------------------------------------------- two arguments


def _binary(name: str, shown: str = "") -> Callable[[Any, Any], Expr]:
    shown = shown or name

    def f(x: Any, y: Any) -> Expr:
        a, b = matched(_or_number(x), _or_number(y))
        _float_argument(shown, a)
        return Call(name, (a, b), a.dtype)

    return _named(f, shown, f"{PURE[name].about}; of floats")


def _or_number(value: Any) -> Expr:
    return to_expr(float(value)) if isinstance(value, int) else to_expr(value)


power = _binary("pow", "power")
pow = power  # noqa: A001
fmod, atan2, hypot = _binary("fmod"), _binary("atan2"), _binary("hypot")
copysign = _binary("copysign")


def nextafter(x: Any, y: Any) -> Expr:
    """The float next to x on the way to y; of floats."""
    a, b = matched(_or_number(x), _or_number(y))
    _float_argument("nextafter", a)
    return _next_half(a, b) if dt.element(a.dtype) == "float16" else Call("nextafter", (a, b), a.dtype)


def _next_half(x: Expr, y: Expr) -> Expr:
    """float16 has no function in C: the neighbour is one step of the bits, read as an integer."""
    zero, bits = cast(0.0, x.dtype), dt.vector("int16", dt.lanes(x.dtype))
    away = binary("==", binary(">", y, x), binary(">", x, zero))
    moved = reinterpret(x.dtype, binary("+", reinterpret(bits, x), select(away, cast(1, bits), cast(-1, bits))))
    least = Call("copysign", (cast(2.0**-24, x.dtype), y), x.dtype)
    near = select(binary("==", x, zero), least, moved)
    strange = binary("or", isnan(x), isnan(y))
    return select(strange, binary("+", x, y), select(binary("==", x, y), y, near))


def ldexp(x: Any, exponent: Any) -> Expr:
    """`x * 2**exponent`; the exponent is an integer."""
    e = _float_argument("ldexp", x)
    by = cast(_int_argument("ldexp", exponent), dt.vector("int32", dt.lanes(e.dtype)))
    return Call("ldexp", (e, by), e.dtype)


# ---------------------------------------------------------------- integers


def popcount(x: Any) -> Expr:
    """How many bits are 1."""
    e = _int_argument("popcount", x)
    if isinstance(e, Const):
        return const((e.value % 2 ** dt.bits(e.dtype)).bit_count(), e.dtype)
    return Call("popcount", (e,), e.dtype)


def clz(x: Any) -> Expr:
    """How many leading bits are 0, as an int32; the bit width for 0."""
    e = _int_argument("clz", x)
    size = dt.bits(e.dtype)
    if isinstance(e, Const):
        return const(size - (e.value % 2**size).bit_length())
    return Call("clz", (e,), dt.vector("int32", dt.lanes(e.dtype)))


def shift_left(x: Any, by: Any) -> Expr:
    """`x << by`"""
    return binary("<<", x, by)


def shift_right(x: Any, by: Any) -> Expr:
    """`x >> by`; of a signed integer the sign is kept."""
    return binary(">>", x, by)


def bitwise_and(x: Any, y: Any) -> Expr:
    """`x & y`"""
    return to_expr(x) & to_expr(y)


def bitwise_or(x: Any, y: Any) -> Expr:
    """`x | y`"""
    return to_expr(x) | to_expr(y)


def bitwise_xor(x: Any, y: Any) -> Expr:
    """`x ^ y`"""
    return to_expr(x) ^ to_expr(y)


def bitwise_not(x: Any) -> Expr:
    """`~x`"""
    return invert(x)


def q_multiply_shift(x: Any, y: Any, q: Any, s: Any) -> Expr:
    """round(x * y * 2**s / 2**q): an int32 times a fixed-point number with `q` fractional bits; halves round up."""
    zero, shift = const(0), to_expr(s)
    left = binary("max", shift, zero)
    return _fixed_point(x, y, left, binary("max", negate(shift), zero), q)


def q_multiply_shift_per_axis(
    x: Any, y: Any, ls: Any, rs: Any, q: Any, is_lshift_required: Any, is_rshift_required: Any
) -> Expr:
    """`q_multiply_shift` with the left and the right shift given apart, and whether each is wanted."""
    return _fixed_point(x, y, select(is_lshift_required, ls, 0), select(is_rshift_required, rs, 0), q)


def _fixed_point(x: Any, y: Any, left: Any, right: Any, q: Any) -> Expr:
    """(x << left) * y >> (q + right) in 64 bits, rounded, back in 32."""
    a, b, up, down, bits = (_wide(v) for v in (x, y, left, right, q))
    total = binary("+", bits, down)
    half = binary("<<", cast(1, total.dtype), binary("-", total, 1))
    product = binary("*", a if isinstance(up, Const) and up.value == 0 else binary("<<", a, up), b)
    return cast(binary(">>", binary("+", product, half), total), dt.vector("int32", dt.lanes(product.dtype)))


def _wide(value: Any) -> Expr:
    e = _int_argument("q_multiply_shift", value)
    return cast(e, dt.vector("int64", dt.lanes(e.dtype)))


# ---------------------------------------------------------------- divisions of integers


def dot4(c: Any, a: Any, b: Any) -> Expr:
    """`c[i] + a[4*i]*b[4*i] + ... + a[4*i + 3]*b[4*i + 3]` for each lane i of c, exact but for int32's wrapping.

    c: int32 of n lanes; a and b: int8 or uint8 of 4*n lanes each, or of 4, which then meet every lane of c. It is an
    instruction where the machine has one for these signs (`vpdpbusd`: uint8 a, int8 b).
    """
    total, left, right = to_expr(c), to_expr(a), to_expr(b)
    n = dt.lanes(total.dtype)
    if dt.element(total.dtype) != "int32" or not all(_is_bytes(x, n) for x in (left, right)):
        raise FunctionTypeError(
            "dot4-types",
            f"dot4(c, a, b) adds products of bytes, four for each lane, to int32: it does not work on {total.dtype}, "
            f"{left.dtype}, {right.dtype}",
            legal=[f"int32x{n}, uint8x4, int8x{4 * n}" if n > 1 else "int32, uint8x4, int8x4"],
        )
    return Call("dot4", (total, left, right), total.dtype)


def _is_bytes(e: Expr, n: int) -> bool:
    return dt.element(e.dtype) in ("int8", "uint8") and dt.lanes(e.dtype) in (4, 4 * n)


def _division(name: str, op: str, about: str) -> Callable[[Any, Any], Expr]:
    def f(a: Any, b: Any) -> Expr:
        x, y = matched(to_expr(a), to_expr(b))
        return binary(op, _int_argument(name, x), y)

    return _named(f, name, about)


floordiv = _division("floordiv", "//", "quotient rounded towards minus infinity (what `//` makes)")
floormod = _division("floormod", "%", "remainder of floordiv, with the sign of b (what `%` makes)")
truncdiv = _division("truncdiv", "truncdiv", "quotient rounded towards zero, as C does")
truncmod = _division("truncmod", "truncmod", "remainder of truncdiv, with the sign of a, as C does")
indexdiv = _division("indexdiv", "//", "quotient of indices, which are not negative")
indexmod = _division("indexmod", "%", "remainder of indices, which are not negative")


def div(a: Any, b: Any) -> Expr:
    """Division as C has it: towards zero for integers, the plain quotient for floats."""
    x, y = matched(to_expr(a), to_expr(b))
    return binary("/" if dt.is_float(x.dtype) else "truncdiv", x, y)


def ceildiv(a: Any, b: Any) -> Expr:
    """Quotient rounded towards plus infinity (of a positive divisor)."""
    x, y = matched(_int_argument("ceildiv", a), to_expr(b))
    return binary("//", binary("-", binary("+", x, y), 1), y)


# ---------------------------------------------------------------- bits, limits, hints


def reinterpret(dtype: str, value: Any) -> Expr:
    """The same bits read as another data type of equal width."""
    e, dtype = to_expr(value), dt.canonical(dtype)
    have, want = dt.bits(e.dtype) * dt.lanes(e.dtype), dt.bits(dtype) * dt.lanes(dtype)
    if have != want:
        raise TVMError(f"reinterpret needs equal bit widths: {e.dtype} has {have} bits, {dtype} has {want}")
    return e if e.dtype == dtype else Call("reinterpret", (e,), dtype)


def likely(cond: Any) -> Expr:
    """The condition, said to be almost always true: loop partitioning takes it out of the hot part."""
    c = as_bool(cond)
    return c if isinstance(c, Const) else Call("likely", (c,), c.dtype)


def min_value(dtype: str) -> Const:
    """The smallest finite value of the data type."""
    return const(dt.limits(dt.canonical(dtype))[0], dtype)


def max_value(dtype: str) -> Const:
    """The largest finite value of the data type."""
    return const(dt.limits(dt.canonical(dtype))[1], dtype)


def infinity(dtype: str) -> Const:
    """Plus infinity of a float type."""
    if not dt.is_float(dt.canonical(dtype)):
        raise TVMError(f"only floats have an infinity, {dtype} has none; te.max_value({dtype!r}) is the largest value")
    return const(math.inf, dtype)
