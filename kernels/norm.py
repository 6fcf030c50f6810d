"""Normalisation of each sample by itself: layer, instance, group and RMS norm; local response normalisation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlab import te

from . import _shared
from .reduction import real_axes, schedule_reduction
from .reduction import sum as total

SHAPES = {
    "layer norm of a transformer": {"op": "layer_norm", "shape": (128, 768), "how": {"axis": -1}},
    "AlexNet's first LRN": {"op": "lrn", "shape": (1, 96, 55, 55), "how": {"size": 5}},
}
SMALL = [
    {"op": "layer_norm", "shape": (3, 5, 37), "how": {"axis": -1}},
    {"op": "layer_norm", "shape": (3, 5, 7), "how": {"axis": (1, 2), "epsilon": 0.01}},
    {"op": "rms_norm", "shape": (5, 37), "how": {"axis": -1}},
    {"op": "instance_norm", "shape": (2, 3, 5, 19), "how": {"axis": (2, 3)}},
    {"op": "group_norm", "shape": (2, 6, 5, 3), "how": {"num_groups": 2, "channel_axis": 1, "axes": (2, 3)}},
    {"op": "l2_normalize", "shape": (3, 5, 19), "how": {"eps": 0.5, "axis": (0, 2)}},
    {"op": "lrn", "shape": (1, 7, 3, 19), "how": {"size": 5, "alpha": 0.1}},
    {"op": "lrn", "shape": (1, 5, 3, 9), "how": {"size": 3, "axis": 3}},
]


def _moments(data: Any, axes: list[int]) -> tuple[Any, Any]:
    """(sum, sum of squares) over the axes: one pass over the data for both sums."""
    over = {d: te.reduce_axis((0, data.shape[d]), name=f"k{d}") for d in axes}
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] + y[1]), lambda a, b: (te.const(0, a), te.const(0, b)), "sums"
    )

    def element(*i: Any) -> Any:
        rest = iter(i)
        value = data(*[over[d].var if d in over else next(rest) for d in range(len(data.shape))])
        return both((value, value * value), axis=list(over.values()))

    dims = [n for d, n in enumerate(data.shape) if d not in over]
    sums, squares = te.compute(dims, element, name="sums", tag="comm_reduce_pair")
    return sums, squares


def _count(data: Any, axes: Sequence[int]) -> Any:
    count: Any = te.const(1)
    for d in axes:
        count = count * data.shape[d]
    return count.astype(data.dtype)


def _normalised(data: Any, axes: list[int], scale: Any, shift: Any, where: Any, epsilon: float, name: str) -> Any:
    """(data - mean) / sqrt(variance + epsilon) * scale + shift; `where(i)`: the index into scale and shift."""
    sums, squares = _moments(data, axes)
    count, small = _count(data, axes), te.const(epsilon, data.dtype)
    mean = te.compute(sums.shape, lambda *i: sums(*i) / count, name="mean", tag="elemwise_stage")
    variance = lambda *i: te.rsqrt(squares(*i) / count - mean(*i) * mean(*i) + small)
    factor = te.compute(sums.shape, variance, name="factor", tag="elemwise_stage")

    def element(*i: Any) -> Any:
        kept = [x for d, x in enumerate(i) if d not in axes]
        value = (data(*i) - mean(*kept)) * factor(*kept)
        value = value if scale is None else value * scale(*where(i))
        return value if shift is None else value + shift(*where(i))

    return te.compute(data.shape, element, name=name, tag="injective")


def layer_norm(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    """Over the axes, each sample by itself; gamma and beta have the shape of the axes."""
    axes = real_axes(len(data.shape), axis)
    return _normalised(data, axes, gamma, beta, lambda i: [i[d] for d in axes], epsilon, "T_layer_norm")


def instance_norm(data: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5, channel_axis: int = 1) -> Any:
    """Over the axes, each sample and channel by itself; gamma and beta are per channel."""
    axes = real_axes(len(data.shape), axis)
    return _normalised(data, axes, gamma, beta, lambda i: [i[channel_axis]], epsilon, "T_instance_norm")


def group_norm(
    data: Any, gamma: Any, beta: Any, num_groups: int, channel_axis: int, axes: Any, epsilon: float = 1e-5
) -> Any:
    """Over the axes and the channels of a group; gamma and beta are per channel."""
    (c,) = real_axes(len(data.shape), channel_axis)
    inside = [d + (d > c) for d in real_axes(len(data.shape), axes) if d != c]
    size = data.shape[c] // num_groups
    dims = [*data.shape[:c], num_groups, size, *data.shape[c + 1 :]]
    grouped = te.compute(
        dims, lambda *i: data(*i[:c], i[c] * size + i[c + 1], *i[c + 2 :]), name="groups", tag="injective"
    )
    where = lambda i: [i[c] * size + i[c + 1]]
    made = _normalised(grouped, sorted([c + 1, *inside]), gamma, beta, where, epsilon, "normalised")
    element = lambda *i: made(*i[:c], i[c] // size, i[c] % size, *i[c + 1 :])
    return te.compute(data.shape, element, name="T_group_norm", tag="injective")


def rms_norm(data: Any, weight: Any, bias: Any = None, axis: Any = -1, epsilon: float = 1e-5) -> Any:
    """data / sqrt(mean of squares + epsilon) * weight (+ bias)"""
    axes = real_axes(len(data.shape), axis)
    over = {d: te.reduce_axis((0, data.shape[d]), name=f"k{d}") for d in axes}

    def square(*i: Any) -> Any:
        rest = iter(i)
        value = data(*[over[d].var if d in over else next(rest) for d in range(len(data.shape))])
        return te.sum(value * value, axis=list(over.values()))

    dims = [n for d, n in enumerate(data.shape) if d not in over]
    squares = te.compute(dims, square, name="squares", tag="comm_reduce")
    count, small = _count(data, axes), te.const(epsilon, data.dtype)
    factor = te.compute(dims, lambda *i: te.rsqrt(squares(*i) / count + small), name="factor", tag="elemwise_stage")

    def element(*i: Any) -> Any:
        at = [i[d] for d in axes]
        value = data(*i) * factor(*[x for d, x in enumerate(i) if d not in axes]) * weight(*at)
        return value if bias is None else value + bias(*at)

    return te.compute(data.shape, element, name="T_rms_norm", tag="injective")


def lrn(data: Any, size: int, axis: int = 1, alpha: float = 1e-4, beta: float = 0.75, bias: float = 2) -> Any:
    """data / (bias + alpha / size * sum of squares of `size` neighbours along the axis) ** beta"""
    if size % 2 == 0:
        raise ValueError(f"lrn: the window must be odd, not {size}")
    (at,) = real_axes(len(data.shape), axis)
    before = [size // 2 if d == at else 0 for d in range(len(data.shape))]
    wide = [n + 2 * b for n, b in zip(data.shape, before)]
    source = te.compute(
        wide, lambda *i: _shared.pad_element(data, i, before, 0, before), name="pad_data", tag="injective,pad"
    )
    r = te.reduce_axis((0, size), name="rxs")

    def square(*i: Any) -> Any:
        value = source(*[x + r.var if d == at else x for d, x in enumerate(i)])
        return te.sum(value * value, axis=r)

    squares = te.compute(data.shape, square, name="sqr_sum", tag="sqr_sum")
    a, b, c = (te.const(v, data.dtype) for v in (alpha / size, beta, bias))
    element = lambda *i: data(*i) / te.power(c + a * squares(*i), b)
    return te.compute(data.shape, element, name="T_lrn", tag="broadcast")


def l2_normalize(data: Any, eps: float, axis: Any = None) -> Any:
    """data / sqrt(max(sum of squares along the axis, eps))"""
    axes = real_axes(len(data.shape), axis)
    squares = total(te.compute(data.shape, lambda *i: data(*i) * data(*i), name="squares", tag="elemwise"), axes, True)
    small = te.const(eps, data.dtype)
    at = lambda i: [0 if d in axes else x for d, x in enumerate(i)]
    element = lambda *i: data(*i) / te.sqrt(te.max(squares(*at(i)), small))
    return te.compute(data.shape, element, name="T_l2_normalize", tag="broadcast")


def declare(op: str, shape: Any, how: Any, dtype: str = "float32") -> list[Any]:
    x = te.placeholder(shape, dtype, name="data")
    if op in ("lrn", "l2_normalize"):
        return [x, globals()[op](x, **how)]
    over = real_axes(len(shape), how["axis"]) if op in ("layer_norm", "rms_norm") else [1]
    gamma, beta = (te.placeholder([shape[d] for d in over], dtype, name=n) for n in ("gamma", "beta"))
    return [x, gamma, beta, globals()[op](x, gamma, beta, **how)]


def reference(*xs: Any, op: str, how: Any, **shape: Any) -> Any:
    from . import _numpy

    return getattr(_numpy, op)(*xs, **how)


def schedule_norm(s: Any, op: Any) -> None:
    if op.tag == "comm_reduce":
        schedule_reduction(s, op)
    else:
        _shared.rows(s, op)


def schedule_cpu(outs: Any) -> Any:
    """Sums row by row, then the data; the outer loops in parallel, the last in vectors."""
    return _shared.schedule(outs, schedule_norm, lambda op: op.tag in ("comm_reduce", "comm_reduce_pair", "sqr_sum"))
