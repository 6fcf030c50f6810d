"""Functions of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlab import te, tir

from . import _shared

SHAPES = {
    "relu of C2's output": {"op": "relu", "shape": (1, 64, 56, 56)},
    "sigmoid of an LSTM's gates": {"op": "sigmoid", "shape": (1, 4 * 650)},
    "tanh of DCGAN's image": {"op": "tanh", "shape": (1, 3, 64, 64)},
}
FLOATS = """exp tanh tan cos cosh sin sinh acos acosh asin asinh atan atanh erf log log2 log10 sqrt rsqrt sigmoid
    isnan isfinite isinf""".split()
ANY = "identity negative abs sign floor ceil trunc round relu".split()
SMALL = [{"op": op, "shape": (5, 19)} for op in (*FLOATS, *ANY)]
SMALL += [{"op": op, "shape": (3, 2, 7), "dtype": "int32"} for op in (*ANY, "bitwise_not")]
SMALL += [{"op": "logical_not", "shape": (37,), "dtype": "bool"}, {"op": "exp", "shape": (4, 9), "dtype": "float64"}]


def elementwise(f: Callable[[Any], Any], name: str = "", about: str = "") -> Callable[[Any], Any]:
    """A function of a tensor from one of an element."""
    name = name or f.__name__

    def apply(x: Any) -> Any:
        return te.compute(x.shape, lambda *i: f(x(*i)), name=f"T_{name}", tag="elemwise")

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = about or f"{name} of every element."
    return apply


exp, tanh, tan, cos, cosh, sin = (elementwise(f) for f in (te.exp, te.tanh, te.tan, te.cos, te.cosh, te.sin))
sinh, acos, acosh, asin, asinh = (elementwise(f) for f in (te.sinh, te.acos, te.acosh, te.asin, te.asinh))
atan, atanh, erf, log, log2 = (elementwise(f) for f in (te.atan, te.atanh, te.erf, te.log, te.log2))
log10, sqrt, rsqrt, sigmoid = (elementwise(f) for f in (te.log10, te.sqrt, te.rsqrt, te.sigmoid))
isnan, isfinite, isinf = (elementwise(f) for f in (te.isnan, te.isfinite, te.isinf))
floor, ceil, trunc, abs, round = (elementwise(f) for f in (te.floor, te.ceil, te.trunc, te.abs, te.round))  # noqa: A001
identity = elementwise(lambda x: x, "identity", "A copy.")
negative = elementwise(lambda x: -x, "negative", "-x")
bitwise_not = elementwise(lambda x: ~x, "bitwise_not", "All bits inverted.")
logical_not = elementwise(tir.Not, "logical_not", "Is it false, or zero?")
relu = elementwise(lambda x: te.max(x, te.const(0, x.dtype)), "relu", "max(x, 0)")
fast_exp, fast_tanh, fast_erf = exp, tanh, erf  # vectors of the precise ones are fast here


def _sign(x: Any) -> Any:
    one = te.const(1, x.dtype)
    zero = te.const(0, x.dtype)
    below = zero if x.dtype.startswith("uint") else te.const(-1, x.dtype)
    return tir.Select(x > zero, one, tir.Select(x < zero, below, zero))


sign = elementwise(_sign, "sign", "-1, 0 or 1")


def leaky_relu(x: Any, alpha: float = 0.01) -> Any:
    """x where positive, else alpha * x"""
    slope = te.const(alpha, x.dtype)
    element = lambda v: tir.Select(v > te.const(0, x.dtype), v, v * slope)
    return elementwise(element, "leaky_relu")(x)


def prelu(x: Any, slope: Any, axis: int = 1) -> Any:
    """x where positive, else slope[c] * x with c the index along `axis`"""
    element = lambda *i: tir.Select(x(*i) > te.const(0, x.dtype), x(*i), x(*i) * slope(i[axis]))
    return te.compute(x.shape, element, name="T_prelu", tag="broadcast")


def clip(x: Any, a_min: Any, a_max: Any) -> Any:
    """min(max(x, a_min), a_max)"""
    low, high = (tir.cast(te.const(v) if isinstance(v, (int, float)) else v, x.dtype) for v in (a_min, a_max))
    return elementwise(lambda v: te.max(te.min(v, high), low), "clip")(x)


def cast(x: Any, dtype: str, span: Any = None) -> Any:
    """The elements in another dtype; floats become integers by truncation. A scalar expression is cast as it is."""
    if not isinstance(x, te.Tensor):
        return tir.cast(x, dtype)
    return elementwise(lambda v: v.astype(dtype), "cast")(x)


def reinterpret(x: Any, dtype: str) -> Any:
    """The same bits as another dtype."""
    return elementwise(lambda v: te.reinterpret(dtype, v), "reinterpret")(x)


def fixed_point_multiply(x: Any, multiplier: int, shift: int) -> Any:
    """x times the fixed-point number `multiplier * 2 ** (shift - 31)`, rounded; int32."""
    element = lambda v: tir.q_multiply_shift(v, te.const(multiplier, "int32"), te.const(31), te.const(shift))
    return elementwise(element, "fixed_point_multiply")(x)


def ceil_log2(x: Any) -> Any:
    """The exponent of the smallest power of two that is not below x (an integer, or a tensor of them)."""
    if not isinstance(x, te.Tensor):
        return tir.cast(te.ceil(te.log2(tir.cast(x, "float32"))), x.dtype)
    return elementwise(lambda v: te.ceil(te.log2(v.astype("float32"))).astype(x.dtype), "ceil_log2")(x)


def elemwise_sum(xs: Any) -> Any:
    """The sum of tensors of one shape."""

    def total(*i: Any) -> Any:
        value = xs[0](*i)
        for x in xs[1:]:
            value = value + x(*i)
        return value

    return te.compute(xs[0].shape, total, name="T_elemwise_sum", tag="elemwise")


def declare(op: str, shape: Any, dtype: str = "float32") -> list[Any]:
    x = te.placeholder(shape, dtype, name="x")
    return [x, globals()[op](x)]


def reference(x: Any, /, op: str, **shape: Any) -> Any:
    import numpy as np

    with np.errstate(all="ignore"):
        return _numpy(np, op)(x).astype(np.bool_ if op.startswith("is") else x.dtype)


def _numpy(np: Any, op: str) -> Callable[[Any], Any]:
    if op == "erf":
        from scipy.special import erf as special

        return special
    own = {
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "identity": np.copy,
        "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
        "relu": lambda x: np.maximum(x, 0),
    }
    return own.get(op) or getattr(np, op)


def schedule_cpu(outs: Any) -> Any:
    """The outer loops in parallel, the last in vectors; what only elementwise functions read is computed in place."""
    return _shared.schedule(outs, lambda s, op: None, lambda op: False)
