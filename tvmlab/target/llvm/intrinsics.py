"""Pure functions: LLVM intrinsics where they become instructions, libm for scalars, polynomials for vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...core import dtype as dt
from ...core.error import BuildError
from .dot import dot4
from .numeric import Num, helper, suffix
from .vecmath import VECTOR

# name here -> LLVM intrinsic of floats
ROUNDING = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "round", "nearbyint": "rint", "sqrt": "sqrt",
            "fabs": "fabs", "abs": "fabs", "copysign": "copysign", "fma": "fma"}  # fmt: skip
LIBM = frozenset({
    "exp", "exp2", "exp10", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin",
    "acos", "atan", "asinh", "acosh", "atanh", "erf", "pow", "fmod", "atan2", "hypot", "nextafter", "ldexp", "expm1",
    "cbrt", "erfc",
})  # fmt: skip
PURE = " nounwind willreturn memory(none)"


def emit_pure(c: Any, name: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> str:
    """The call `name(args)`, whose result has type `dtype`."""
    special = SPECIAL.get(name)
    if special is not None:
        return special(c, dtype, list(args), list(dtypes))
    if name in ("pow", "fmod") and dt.is_int(dtype):
        raise BuildError(
            "maths-dtype", f"`{name}` works on floats, not on {dtype}", legal=["cast the arguments to float32"]
        )
    if name not in ROUNDING and name not in LIBM and name not in ("sigmoid", "rsqrt"):
        raise BuildError(
            "unknown-function", f"the function `{name}` is not known to the target llvm",
            legal=sorted({*ROUNDING, *LIBM, *SPECIAL, "sigmoid", "rsqrt"}),
        )  # fmt: skip
    element = dt.element(dtype)
    if dt.is_int(element):
        return _of_integer(c, name, dtype, list(args))
    if element == "float16":
        return _through_single(c, name, dtype, args, dtypes)
    if name in ROUNDING:
        return intrinsic(c, ROUNDING[name], dtype, args)
    if name == "rsqrt":
        return (Num(c, args[0], dtype).of(1.0) / Num(c, unary(c, "sqrt", dtype, args[0]), dtype)).text
    n = dt.lanes(dtype)
    poly = VECTOR.get((name, dt.bits(dtype))) if n > 1 else None
    if poly is not None:
        return helper(c, f"tvmlab.{name}", poly, [(args[0], dtype)], dtype)
    if name == "sigmoid":
        x = Num(c, args[0], dtype)
        e = Num(c, emit_pure(c, "exp", dtype, [(x.of(0.0) - x).text], [dtype]), dtype)
        return (x.of(1.0) / (e + 1.0)).text
    return _libm(c, name, dtype, args, dtypes)


def unary(c: Any, name: str, dtype: str, x: str) -> str:
    return emit_pure(c, name, dtype, [x], [dtype])


def intrinsic(c: Any, name: str, dtype: str, args: Sequence[str]) -> str:
    """An overloaded LLVM intrinsic whose arguments all have the result's type."""
    t = c.m.type(dtype)
    f = c.m.declare(f"llvm.{name}.{suffix(dtype)}", t, [t] * len(args))
    made: str = c.op(f"call {t} {f}({', '.join(f'{t} {a}' for a in args)})")
    return made


def _of_integer(c: Any, name: str, dtype: str, args: list[str]) -> str:
    """Rounding an integer changes nothing; its absolute value is `abs`; the rest needs a cast."""
    if name in ("floor", "ceil", "trunc", "round", "nearbyint"):
        return args[0]
    if name in ("abs", "fabs"):
        if not dt.is_signed(dtype):
            return args[0]
        t = c.m.type(dtype)
        f = c.m.declare(f"llvm.abs.{suffix(dtype)}", t, [t, "i1"])
        return c.op(f"call {t} {f}({t} {args[0]}, i1 false)")
    raise BuildError("maths-dtype", f"`{name}` works on floats, not on {dtype}", legal=["cast the argument to float32"])


def _through_single(c: Any, name: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> str:
    """float16 functions are computed in float32 and rounded."""
    n = dt.lanes(dtype)
    single = dt.vector("float32", n)
    wide = [c.convert(a, d, single) if dt.is_float(d) else a for a, d in zip(args, dtypes, strict=True)]
    kinds = [single if dt.is_float(d) else d for d in dtypes]
    return c.convert(emit_pure(c, name, single, wide, kinds), single, dtype)


def _libm(c: Any, name: str, dtype: str, args: Sequence[str], dtypes: Sequence[str]) -> str:
    """The C library's function, for each lane."""
    symbol = "__exp10" if name == "exp10" and c.m.machine.darwin else name
    symbol += "f" if dt.bits(dtype) == 32 else ""
    element, n = dt.element(dtype), dt.lanes(dtype)
    t = c.m.type(element)
    kinds = [t if dt.is_float(d) else "i32" for d in dtypes]
    operands = [
        a if dt.is_float(d) else c.convert(a, d, dt.vector("int32", n)) for a, d in zip(args, dtypes, strict=True)
    ]
    f = c.m.declare(symbol, t, kinds, PURE)
    if n == 1:
        return c.op(f"call {t} {f}({', '.join(f'{k} {a}' for k, a in zip(kinds, operands, strict=True))})")
    return per_lane(c, f, t, kinds, operands, n)


def per_lane(c: Any, f: str, t: str, kinds: Sequence[str], operands: Sequence[str], n: int) -> str:
    """Call a scalar function on each lane of its vector operands."""
    made = "poison"
    for lane in range(n):
        parts = [
            f"{k} {c.op(f'extractelement <{n} x {k}> {a}, i64 {lane}')}" for k, a in zip(kinds, operands, strict=True)
        ]
        r = c.op(f"call {t} {f}({', '.join(parts)})")
        made = c.op(f"insertelement <{n} x {t}> {made}, {t} {r}, i64 {lane}")
    return made


# ---------------------------------------------------------------- functions with forms of their own


def _number(c: Any, args: list[str], dtypes: list[str]) -> Num | None:
    """The float argument; None when it is an integer."""
    d = dtypes[0]
    if not dt.is_float(d):
        return None
    single = dt.vector("float32", dt.lanes(d))
    return Num(c, c.convert(args[0], d, single), single) if dt.element(d) == "float16" else Num(c, args[0], d)


def _isnan(c: Any, dtype: str, args: list[str], dtypes: list[str]) -> str:
    x = _number(c, args, dtypes)
    return str(c.constant(False, dtype)) if x is None else x.is_nan().text


def _isinf(c: Any, dtype: str, args: list[str], dtypes: list[str]) -> str:
    x = _number(c, args, dtypes)
    return str(c.constant(False, dtype)) if x is None else x.abs().equals(math.inf).text


def _isfinite(c: Any, dtype: str, args: list[str], dtypes: list[str]) -> str:
    x = _number(c, args, dtypes)
    return str(c.constant(True, dtype)) if x is None else (x.abs() < math.inf).text


def _popcount(c: Any, dtype: str, args: list[str], dtypes: list[str]) -> str:
    return c.convert(intrinsic(c, "ctpop", dtypes[0], args), dtypes[0], dtype)


def _clz(c: Any, dtype: str, args: list[str], dtypes: list[str]) -> str:
    t = c.m.type(dtypes[0])
    f = c.m.declare(f"llvm.ctlz.{suffix(dtypes[0])}", t, [t, "i1"])
    return c.convert(c.op(f"call {t} {f}({t} {args[0]}, i1 false)"), dtypes[0], dtype)


def _bitwise_not(c: Any, dtype: str, args: list[str], dtypes: list[str]) -> str:
    return c.op(f"xor {c.m.type(dtype)} {args[0]}, {c.constant(-1, dtype)}")


def _reinterpret(c: Any, dtype: str, args: list[str], dtypes: list[str]) -> str:
    """The same bits, as another type of the same size."""
    if "handle" in (dtype, dtypes[0]):
        return c.convert(args[0], dtypes[0], dtype)
    raw = c.to_store(args[0], dtypes[0])
    a, b = c.m.stored(dtypes[0]), c.m.stored(dtype)
    if dt.bits(dtypes[0]) * dt.lanes(dtypes[0]) != dt.bits(dtype) * dt.lanes(dtype):
        raise BuildError("reinterpret-size", f"reinterpret needs types of one size, not {dtypes[0]} and {dtype}")
    return c.loaded(raw if a == b else c.op(f"bitcast {a} {raw} to {b}"), dtype)


def _q_multiply_shift(c: Any, dtype: str, args: list[str], dtypes: list[str]) -> str:
    """round(x * y * 2**s / 2**q) for fixed-point y with q fractional bits, halves away from minus infinity."""
    if not all(a.lstrip("-").isdigit() for a in (_scalar(args[2]), _scalar(args[3]))):
        raise BuildError("q-multiply-shift", "q_multiply_shift needs constant q and s")
    n, q, s = dt.lanes(dtype), int(_scalar(args[2])), int(_scalar(args[3]))
    wide = dt.vector("int64", n)
    x, y = (Num(c, c.convert(a, d, wide), wide) for a, d in zip(args[:2], dtypes[:2], strict=True))
    right = q + max(-s, 0)
    product = (x << max(s, 0)) * y
    made = (product + (1 << right - 1)) >> right if right else product
    return c.convert(made.text, wide, dtype)


def _scalar(operand: str) -> str:
    """The number in a constant operand, vectors of one number included."""
    if operand == "zeroinitializer":
        return "0"
    return operand[1:-1].split(", ")[0].split()[-1] if operand[0] == "<" else operand


SPECIAL: dict[str, Any] = {
    "isnan": _isnan, "isinf": _isinf, "isfinite": _isfinite, "popcount": _popcount, "clz": _clz,
    "bitwise_not": _bitwise_not, "reinterpret": _reinterpret, "q_multiply_shift": _q_multiply_shift, "dot4": dot4,
}  # fmt: skip
