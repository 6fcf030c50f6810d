"""The mathematical functions of programs, as Python and Numba know them."""

from __future__ import annotations

from collections.abc import Callable

from ...core.build import binary, cast, negate
from ...core.node import Call, Expr

# Functions of one or two numbers, as Numba and Python know them; `{0}` and `{1}` are the arguments.
MATH: dict[str, str] = {
    "exp": "math.exp({0})", "exp2": "np.exp2({0})", "log": "math.log({0})", "log2": "math.log2({0})",
    "log10": "math.log10({0})", "log1p": "math.log1p({0})", "sqrt": "math.sqrt({0})", "sin": "math.sin({0})",
    "cos": "math.cos({0})", "tan": "math.tan({0})", "sinh": "math.sinh({0})", "cosh": "math.cosh({0})",
    "tanh": "math.tanh({0})", "asin": "math.asin({0})", "acos": "math.acos({0})", "atan": "math.atan({0})",
    "asinh": "math.asinh({0})", "acosh": "math.acosh({0})", "atanh": "math.atanh({0})", "erf": "math.erf({0})",
    "floor": "np.floor({0})", "ceil": "np.ceil({0})", "trunc": "np.trunc({0})", "nearbyint": "np.rint({0})",
    "fabs": "abs({0})", "abs": "abs({0})", "isnan": "math.isnan({0})", "isinf": "math.isinf({0})",
    "isfinite": "math.isfinite({0})", "pow": "math.pow({0}, {1})", "fmod": "np.fmod({0}, {1})",
    "atan2": "math.atan2({0}, {1})", "hypot": "math.hypot({0}, {1})", "copysign": "math.copysign({0}, {1})",
    "nextafter": "np.nextafter({0}, {1})", "ldexp": "math.ldexp({0}, {1})",
}  # fmt: skip
# Those that Python has no function for: a function of the prelude, of the same name but for the ones renamed here.
HELPERS = {"round": "round_away", "popcount": "popcount", "clz": "leading_zeros"}


def _sigmoid(x: Expr) -> Expr:
    one = cast(1.0, x.dtype)
    return one / (one + Call("exp", (negate(x),), x.dtype))


def _q_multiply_shift(x: Expr, y: Expr, q: Expr, shift: Expr) -> Expr:
    """x * y * 2**-shift, rounded: numbers with `q` bits after the point."""
    wide = x.dtype.replace("int32", "int64")
    q, shift = cast(q, wide), cast(shift, wide)
    right = q + binary("max", shift, cast(0, wide))
    product = (cast(x, wide) << binary("max", negate(shift), cast(0, wide))) * cast(y, wide)
    return cast((product + (cast(1, wide) << (right - 1))) >> right, x.dtype)


# Functions that are said with others.
COMPOSED: dict[str, Callable[..., Expr]] = {
    "sigmoid": _sigmoid,
    "rsqrt": lambda x: cast(1.0, x.dtype) / Call("sqrt", (x,), x.dtype),
    "exp10": lambda x: Call("pow", (cast(10.0, x.dtype), x), x.dtype),
    "q_multiply_shift": _q_multiply_shift,
}
