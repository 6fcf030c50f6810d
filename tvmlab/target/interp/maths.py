"""The functions programs call, on scalars (Python numbers, NumPy scalars of float16 and float32) and on vectors.

Floats are computed in double precision and rounded once to the result's dtype.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...core import dtype as dt
from ...core.build import wrap
from .memory import numpy_type

Value = Any


def _round_half_away(x: Value) -> Value:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), whole)


FLOAT1: dict[str, Callable[..., Value]] = {
    "exp": np.exp, "exp2": np.exp2, "exp10": lambda x: np.power(10.0, x), "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1.0 / np.sqrt(x), "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]), "sigmoid": lambda x: 1.0 / (1.0 + np.exp(-x)),
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": _round_half_away, "nearbyint": np.rint,
    "fabs": np.fabs, "abs": np.fabs,
}  # fmt: skip
FLOAT2: dict[str, Callable[..., Value]] = {
    "pow": np.power, "fmod": np.fmod, "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign,
}  # fmt: skip
TESTS: dict[str, Callable[..., Value]] = {"isnan": np.isnan, "isfinite": np.isfinite, "isinf": np.isinf}
WHOLE = frozenset({"floor", "ceil", "trunc", "round", "nearbyint"})  # nothing to do for integers
def _double(x: Value) -> Value:
    return x.astype(np.float64) if isinstance(x, np.ndarray) else np.float64(x)


@cache
def finish(dtype: str) -> Callable[[Value], Value]:
    """Round a double (or an array of them) to `dtype`, in the form the generated code computes with."""
    kind, vector = numpy_type(dtype), dt.lanes(dtype) > 1
    if vector:
        return lambda x: np.asarray(x).astype(kind)
    if dt.is_float(dtype):
        return float if dt.bits(dtype) == 64 else kind.type
    return bool if dt.is_bool(dtype) else lambda x: wrap(int(x), dtype)


@cache
def cast(source: str, dtype: str) -> Callable[[Value], Value]:
    """Conversion of a value: floats become integers by truncation, integers wrap."""
    kind = numpy_type(dtype)
    if dt.lanes(dtype) > 1:
        return lambda x: x.astype(kind)
    if dt.is_bool(dtype):
        return lambda x: bool(x != 0)
    if dt.is_float(dtype):
        if dt.bits(dtype) == 64:
            return float
        if dt.is_int(source) and dt.bits(source) == 64:  # by way of a double it would round twice
            whole = np.int64 if dt.is_signed(source) else np.uint64
            return lambda x: whole(x).astype(kind)
        return kind.type
    if dt.is_float(source):
        return lambda x: wrap(int(x), dtype) if math.isfinite(x) else 0
    return lambda x: wrap(int(x), dtype)


def truncdiv(a: Value, b: Value) -> Value:
    if isinstance(a, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if a.dtype.kind == "f":
        return np.trunc(a / b)
    return (a - np.fmod(a, b)) // b


def truncmod(a: Value, b: Value) -> Value:
    return a - truncdiv(a, b) * b if isinstance(a, int) else np.fmod(a, b)


def float_binary(op: str, dtype: str) -> Callable[[Value, Value], Value]:
    """Division and remainder of floats, with the infinities and NaNs of IEEE."""
    table: dict[str, Callable[..., Value]] = {
        "/": np.divide, "//": np.floor_divide, "%": np.mod, "truncdiv": lambda a, b: np.trunc(np.divide(a, b)),
        "truncmod": np.fmod,
    }  # fmt: skip
    f = table[op]
    return (lambda a, b: float(f(a, b))) if dtype == "float64" else f


def smaller(a: Value, b: Value) -> Value:
    """`a if a < b else b`, also for vectors: of a NaN and a number, the second."""
    return np.where(a < b, a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else a if a < b else b


def larger(a: Value, b: Value) -> Value:
    return np.where(a > b, a, b) if isinstance(a, np.ndarray) or isinstance(b, np.ndarray) else a if a > b else b


# ---------------------------------------------------------------- integers


def _each(f: Callable[..., int], dtype: str) -> Callable[..., Value]:
    """`f` on Python integers, for scalars and lane by lane, wrapped to `dtype`."""
    element, kind = dt.element(dtype), numpy_type(dtype)
    if dt.lanes(dtype) == 1:
        return lambda *args: wrap(f(*map(int, args)), element)

    def on_lanes(*args: Value) -> Value:
        columns = np.broadcast_arrays(*args)
        return np.array([wrap(f(*map(int, lane)), element) for lane in zip(*columns)], kind)

    return on_lanes


def _q_multiply_shift(x: int, y: int, q: int, s: int) -> int:
    """The product of two numbers with q fraction bits, times 2**-s, rounded half up."""
    total = q + max(s, 0)
    product = (x << max(-s, 0)) * y
    return (product + (1 << (total - 1))) >> total if total > 0 else product


def _integer(name: str, source: str) -> Callable[..., int] | None:
    bits = dt.bits(source) if dt.is_int(source) else 64
    mask = (1 << bits) - 1
    table: dict[str, Callable[..., int]] = {
        "popcount": lambda x: (x & mask).bit_count(), "clz": lambda x: bits - (x & mask).bit_length(),
        "bitwise_not": lambda x: ~x, "abs": abs, "fabs": abs, "q_multiply_shift": _q_multiply_shift,
        "pow": lambda x, n: x**n if n >= 0 else 0,
    }  # fmt: skip
    return table.get(name)


def _reinterpret(source: str, dtype: str) -> Callable[[Value], Value]:
    kind, target, done = numpy_type(source), numpy_type(dtype), finish(dtype)
    if dt.lanes(dtype) > 1:
        return lambda x: x.astype(kind).view(target)
    return lambda x: done(np.array([x], kind).view(target)[0].item())


def _dot4(dtype: str) -> Callable[[Value, Value, Value], Value]:
    """c + the sum of each four products; four bytes alone meet every lane of c. The sum wraps."""
    kind, vector = numpy_type(dtype), dt.lanes(dtype) > 1

    def dot(c: Value, a: Value, b: Value) -> Value:
        fours = [x.astype(np.int64).reshape(-1, 4) for x in (a, b)]
        total = c + (fours[0] * fours[1]).sum(axis=1)
        return total.astype(kind) if vector else wrap(int(total[0]), dtype)

    return dot


NAMES = frozenset({
    *FLOAT1, *FLOAT2, *TESTS, "nextafter", "ldexp", "popcount", "clz", "bitwise_not", "q_multiply_shift", "reinterpret",
    "dot4",
})  # fmt: skip


@cache
def function(name: str, dtype: str, sources: tuple[str, ...]) -> Callable[..., Value] | None:
    """The function of that name on arguments of those dtypes, or None where there is none."""
    source = sources[0] if sources else ""
    if name == "reinterpret":
        return _reinterpret(source, dtype)
    if name == "dot4":
        return _dot4(dtype)
    if dt.is_int(dtype) and not dt.is_float(source) and (whole := _integer(name, source)):
        return _each(whole, dtype)
    if name in WHOLE and dt.is_int(source):
        return lambda x: x
    done = finish(dtype)
    if name in TESTS:
        test = TESTS[name]
        return lambda x: done(test(x))
    if name in FLOAT1:
        one = FLOAT1[name]
        return lambda x: done(one(_double(x)))
    if name in FLOAT2:
        two = FLOAT2[name]
        return lambda x, y: done(two(_double(x), _double(y)))
    if name == "ldexp":
        return lambda x, n: done(np.ldexp(_double(x), np.asarray(n, np.int64).astype(np.int32)))
    if name == "nextafter":  # the neighbour depends on the dtype, so it is not computed in double
        kind = numpy_type(dtype)
        return lambda x, y: done(np.nextafter(np.asarray(x, kind), np.asarray(y, kind))[()])
    return None
