"""Largest element and mean of windows: pooling over any layout, global and adaptive pooling."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tvmlab import te

from . import _shared

SHAPES = {
    "ResNet-18's first pool": {"shape": (1, 64, 112, 112), "kernel": 3, "stride": 2, "padding": 1, "kind": "max"},
    "ResNet-18's last pool": {"shape": (1, 512, 7, 7), "kind": "avg"},
    "MobileNet's last pool": {"shape": (1, 1024, 7, 7), "kind": "avg"},
}
SMALL = [
    {"shape": (1, 3, 9, 19), "kernel": 2, "stride": 2, "kind": "max"},
    {"shape": (2, 2, 10, 37), "kernel": 3, "stride": (2, 1), "padding": (1, 0, 2, 1), "kind": "max"},
    {"shape": (1, 3, 9, 19), "kernel": (3, 2), "padding": 1, "kind": "avg"},
    {"shape": (1, 3, 9, 19), "kernel": 3, "stride": 2, "padding": 1, "kind": "avg", "count_include_pad": False},
    {"shape": (1, 9, 11, 5), "kernel": 2, "stride": 2, "ceil_mode": True, "kind": "max", "layout": "NHWC"},
    {"shape": (2, 3, 20), "kernel": 3, "dilation": 2, "kind": "avg", "layout": "NCW"},
    {"shape": (1, 2, 5, 6, 7), "kernel": 2, "stride": 2, "kind": "max", "layout": "NCDHW"},
    {"shape": (2, 5, 7, 9), "kind": "max"},
    {"shape": (2, 5, 7, 9), "kind": "avg"},
    {"shape": (2, 5, 7, 9), "kind": "avg", "output_size": (3, 4)},
    {"shape": (1, 3, 8, 6), "kind": "max", "output_size": (4, 3)},
    {"shape": (1, 7, 5, 3), "kind": "max", "output_size": 2, "layout": "NHWC"},
]


def spatial(layout: str) -> list[int]:
    """Where D, H and W (or those there are) stand in a layout: NCHW -> [2, 3]; NCHW16c too."""
    letters = [c for c in layout if c.isalpha()]
    if any(c.lower() in letters for c in "DHW"):
        raise ValueError(f"layout {layout}: D, H and W cannot be split for pooling")
    return [letters.index(c) for c in "DHW" if c in letters]


def pool(
    data: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    pool_type: str,
    ceil_mode: bool = False,
    layout: str = "NCHW",
    count_include_pad: bool = True,
    dilation: Any = 1,
) -> Any:
    """The largest element ("max") or the mean ("avg") of windows over the spatial dimensions.

    `ceil_mode`: also windows that begin inside and end outside. `count_include_pad`: the mean counts padding as zeros.
    """
    where = spatial(layout)
    n = len(where)
    kernel, stride, dilation = (_shared.as_tuple(v, n) for v in (kernel, stride, dilation))
    window = [_shared.dilated(k, d) for k, d in zip(kernel, dilation)]
    before, after = _shared.pads(padding, window)
    if ceil_mode:
        after = [a + s - 1 for a, s in zip(after, stride)]
    shape = list(data.shape)
    for d, b, a, w, s in zip(where, before, after, window, stride):
        shape[d] = _shared.out_extent(data.shape[d], b, a, w, s)
    over = [te.reduce_axis((0, k), name=f"r{q}") for k, q in zip(kernel, "dhw"[-n:])]
    source = _padded(data, where, before, after, pool_type)

    def read(i: Sequence[Any]) -> Any:
        index = list(i)
        for d, r, s, step in zip(where, over, stride, dilation):
            index[d] = i[d] * s + r.var * step
        return source(*index)

    if pool_type == "max":
        element = lambda *i: te.max(read(i), axis=over)
        return te.compute(shape, element, name="pool_max", tag="pool_max")
    if pool_type != "avg":
        raise ValueError(f"pool_type is max or avg, not {pool_type!r}")
    total = te.compute(shape, lambda *i: te.sum(read(i), axis=over), name="pool_sum", tag="pool_sum")

    def mean(*i: Any) -> Any:
        count: Any = te.const(1)
        for d, k, s, step, b in zip(where, kernel, stride, dilation, before):
            count = count * (k if count_include_pad else _inside(i[d] * s - b, k, step, data.shape[d]))
        return total(*i) / te.max(count, 1).astype(data.dtype)

    return te.compute(shape, mean, name="pool_avg", tag="elemwise")


def _padded(data: Any, where: list[int], before: list[Any], after: list[Any], pool_type: str) -> Any:
    if all(_shared.constant(x, 1) == 0 for x in (*before, *after)):
        return data
    around = [[0] * len(data.shape) for _ in range(2)]
    for d, b, a in zip(where, before, after):
        around[0][d], around[1][d] = b, a
    value = te.min_value(data.dtype) if pool_type == "max" else te.const(0, data.dtype)
    shape = [x + y + z for x, y, z in zip(around[0], data.shape, around[1])]
    element = lambda *i: _shared.pad_element(data, i, around[0], value, around[1])
    return te.compute(shape, element, name="pad_temp", tag="injective,pad")


def _inside(first: Any, count: Any, step: Any, size: Any) -> Any:
    """How many of first, first + step, ... lie in 0..size."""
    skipped = te.max((0 - first + step - 1) // step, 0)
    end = te.min(te.max((size - first + step - 1) // step, 0), count)
    return te.max(end - skipped, 0)


def pool1d(
    data: Any, kernel: Any, stride: Any, dilation: Any = 1, padding: Any = 0, pool_type: str = "max",
    ceil_mode: bool = False, layout: str = "NCW", count_include_pad: bool = True,
) -> Any:  # fmt: skip
    return pool(data, kernel, stride, padding, pool_type, ceil_mode, layout, count_include_pad, dilation)


def pool2d(
    data: Any, kernel: Any, stride: Any, dilation: Any = 1, padding: Any = 0, pool_type: str = "max",
    ceil_mode: bool = False, layout: str = "NCHW", count_include_pad: bool = True,
) -> Any:  # fmt: skip
    return pool(data, kernel, stride, padding, pool_type, ceil_mode, layout, count_include_pad, dilation)


def pool3d(
    data: Any, kernel: Any, stride: Any, dilation: Any = 1, padding: Any = 0, pool_type: str = "max",
    ceil_mode: bool = False, layout: str = "NCDHW", count_include_pad: bool = True,
) -> Any:  # fmt: skip
    return pool(data, kernel, stride, padding, pool_type, ceil_mode, layout, count_include_pad, dilation)


def adaptive_pool(data: Any, output_size: Any, pool_type: str, layout: str = "NCHW") -> Any:
    """Windows that divide each spatial dimension into `output_size` parts; they overlap where it does not divide."""
    where = spatial(layout)
    sizes = _shared.as_tuple(output_size, len(where))
    shape = list(data.shape)
    for d, out in zip(where, sizes):
        shape[d] = te.const(out) if isinstance(out, int) else out
    over = [
        te.reduce_axis((0, _widest(data.shape[d], out)), name=f"r{q}")
        for d, out, q in zip(where, sizes, "dhw"[-len(where) :])
    ]

    def bounds(i: Sequence[Any], d: int, out: Any) -> tuple[Any, Any]:
        size = data.shape[d]
        return i[d] * size // out, ((i[d] + 1) * size + out - 1) // out

    def fold(reducer: Any, i: Sequence[Any]) -> Any:
        index, inside = list(i), []
        for d, out, r in zip(where, sizes, over):
            begin, end = bounds(i, d, out)
            even = _shared.constant(data.shape[d]) and _shared.constant(data.shape[d]) % out == 0
            inside += [] if even else [begin + r.var < end]
            index[d] = begin + r.var
        return reducer(data(*index), axis=over, where=te.all(*inside) if inside else None)

    if pool_type == "max":
        element = lambda *i: fold(te.max, i)
        return te.compute(shape, element, name="adaptive_pool_max", tag="adaptive_pool_max")
    if pool_type != "avg":
        raise ValueError(f"pool_type is max or avg, not {pool_type!r}")
    total = te.compute(shape, lambda *i: fold(te.sum, i), name="adaptive_pool_sum", tag="adaptive_pool_sum")

    def mean(*i: Any) -> Any:
        count: Any = te.const(1)
        for d, out in zip(where, sizes):
            begin, end = bounds(i, d, out)
            count = count * (end - begin)
        return total(*i) / count.astype(data.dtype)

    return te.compute(shape, mean, name="adaptive_pool_avg", tag="elemwise")


def _widest(size: Any, out: Any) -> Any:
    """The longest of the windows."""
    n = _shared.constant(size)
    if not n or not isinstance(out, int):
        return (size + out - 1) // out + 1
    # A window begins at i*n/out; what is cut off there is a multiple of their common divisor, below out.
    return (2 * out - math.gcd(n, out) + n - 1) // out


def adaptive_pool3d(data: Any, output_size: Any, pool_type: str, layout: str = "NCDHW") -> Any:
    return adaptive_pool(data, output_size, pool_type, layout)


def global_pool(data: Any, pool_type: str, layout: str = "NCHW") -> Any:
    """One window over all of it."""
    return adaptive_pool(data, 1, pool_type, layout)


def declare(
    shape: Any,
    kind: str,
    kernel: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    output_size: Any = 1,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> list[Any]:
    """Without a kernel: adaptive pooling to `output_size`, that is global pooling unless that is given."""
    x = te.placeholder(shape, dtype, name="data")
    if kernel is None:
        return [x, adaptive_pool(x, output_size, kind, layout)]
    return [x, pool(x, kernel, stride, padding, kind, ceil_mode, layout, count_include_pad, dilation)]


def reference(x: Any, /, shape: Any, kind: str, kernel: Any = None, layout: str = "NCHW", **how: Any) -> Any:
    """Window by window."""
    import numpy as np

    where = spatial(layout)
    wide, starts, ends = _windows(np, x, where, kernel, kind, **how)
    out = list(x.shape)
    for d, s in zip(where, starts):
        out[d] = len(s)
    made = np.empty(out, x.dtype)
    for at in np.ndindex(*[len(s) for s in starts]):
        cut: list[Any] = [slice(None)] * x.ndim
        to: list[Any] = [slice(None)] * x.ndim
        for d, k, s, e in zip(where, at, starts, ends):
            step = how.get("dilation", 1)
            cut[d], to[d] = slice(s[k], e[k], step), slice(k, k + 1)
        part = wide[tuple(cut)]
        fold = np.max if kind == "max" else np.mean if how.get("count_include_pad", True) else np.nanmean
        made[tuple(to)] = fold(part, axis=tuple(where), keepdims=True)
    return made


def _windows(
    np: Any, x: Any, where: list[int], kernel: Any, kind: str, stride: Any = 1, padding: Any = 0, dilation: int = 1,
    ceil_mode: bool = False, count_include_pad: bool = True, output_size: Any = 1,
) -> tuple[Any, list[Any], list[Any]]:  # fmt: skip
    """The padded array, and where the windows begin and end in each spatial dimension."""
    n = len(where)
    if kernel is None:
        pairs = [(x.shape[d], o) for d, o in zip(where, _shared.as_tuple(output_size, n))]
        starts = [[i * size // o for i in range(o)] for size, o in pairs]
        return x, starts, [[-(-(i + 1) * size // o) for i in range(o)] for size, o in pairs]
    stride, kernel = _shared.as_tuple(stride, n), _shared.as_tuple(kernel, n)
    window = [(k - 1) * dilation + 1 for k in kernel]
    before, after = _shared.pads(padding, window)
    after = [a + s - 1 if ceil_mode else a for a, s in zip(after, stride)]
    widths = [(0, 0)] * x.ndim
    for d, b, a in zip(where, before, after):
        widths[d] = (b, a)
    value = -np.inf if kind == "max" else 0 if count_include_pad else np.nan
    wide = np.pad(x, widths, constant_values=value)
    starts = [list(range(0, wide.shape[d] - w + 1, s)) for d, w, s in zip(where, window, stride)]
    return wide, starts, [[b + w for b in s] for s, w in zip(starts, window)]


def schedule_cpu(outs: Any) -> Any:
    """The window runs around a vector of neighbouring outputs; the outer dimensions in parallel."""
    tags = ("pool_max", "pool_sum", "adaptive_pool_max", "adaptive_pool_sum")
    return _shared.schedule(outs, _shared.rows, lambda op: op.tag in tags)
