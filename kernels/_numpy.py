"""NumPy for what NumPy has no function of the same form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def plain(op: str) -> Callable[..., Any]:
    """NumPy's own function of that name."""
    return getattr(np, op)


def reshape(x: Any, newshape: Any) -> Any:
    return x.reshape(newshape)


def expand_dims(x: Any, axis: int, num_newaxis: int = 1) -> Any:
    return np.expand_dims(x, tuple(range(axis, axis + num_newaxis)))


def strided_slice(x: Any, begin: Any, end: Any, strides: Any = None, axes: Any = None) -> Any:
    cut = [slice(None)] * x.ndim
    for d, b, e, s in zip(axes or range(len(begin)), begin, end, strides or [1] * len(begin)):
        cut[d] = slice(b, e, s)
    return x[tuple(cut)]


def split(x: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return np.split(x, indices_or_sections, axis)


def flatten(x: Any) -> Any:
    return x.reshape(len(x), -1)


def trilu(x: Any, k: int, upper: bool) -> Any:
    return np.triu(x, k) if upper else np.tril(x, k)


def layout_transform(x: Any, src_layout: str, dst_layout: str) -> Any:
    """Split everything, move, join: every dimension as (outer, inner)."""
    from .transform import parsed

    source, target = parsed(src_layout), parsed(dst_layout)
    whole = {c: n * dict(source).get(c.lower(), 1) for (c, _), n in zip(source, x.shape) if c.isupper()}
    order = [[c for c, _ in source].index(c) for c in whole_order(source)]
    joined = x.transpose(order).reshape([whole[c] for c in whole])
    inner = dict(target)
    parts, names = [], []
    for c, n in whole.items():
        f = inner.get(c.lower(), 1)
        parts += [n // f, f]
        names += [c, c.lower()]
    moved = joined.reshape(parts)
    last = [names.index(c) for c, _ in target]
    rest = [k for k in range(len(names)) if k not in last]  # extents of one
    return moved.transpose(*last, *rest).reshape([moved.shape[k] for k in last])


def whole_order(source: Any) -> list[str]:
    """The letters with every inner one right behind its outer one."""
    letters = [c for c, _ in source]
    return [x for c in letters if c.isupper() for x in (c, c.lower()) if x in letters]


def depth_to_space(x: Any, block_size: int, mode: str = "DCR") -> Any:
    n, c, h, w = x.shape
    b, rest = block_size, x.shape[1] // block_size**2
    if mode == "DCR":
        return x.reshape(n, b, b, rest, h, w).transpose(0, 3, 4, 1, 5, 2).reshape(n, rest, h * b, w * b)
    return x.reshape(n, rest, b, b, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, rest, h * b, w * b)


def space_to_depth(x: Any, block_size: int) -> Any:
    n, c, h, w = x.shape
    b = block_size
    blocks = x.reshape(n, c, h // b, b, w // b, b)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


def take(x: Any, indices: Any, axis: Any = None, mode: Any = "clip") -> Any:
    return np.take(x, indices, axis, mode=mode)


def gather(x: Any, indices: Any, axis: int) -> Any:
    return np.take_along_axis(x, indices, axis)


def gather_nd(x: Any, indices: Any) -> Any:
    return x[tuple(indices)]


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int) -> Any:
    made = np.where(indices[..., None] == np.arange(depth), np.float32(on_value), np.float32(off_value))
    return np.moveaxis(made, -1, axis)


def where(condition: Any, x: Any, y: Any) -> Any:
    return np.where(condition != 0, x, y)


def sequence_mask(x: Any, length: Any, mask_value: float, axis: int) -> Any:
    made = x.copy()
    for b, n in enumerate(length):
        made[(slice(n, None), b) if axis == 0 else (b, slice(n, None))] = mask_value
    return made


def reverse_sequence(x: Any, lengths: Any, seq_axis: int, batch_axis: int) -> Any:
    made = np.moveaxis(x.copy(), (batch_axis, seq_axis), (0, 1))
    for b, n in enumerate(lengths):
        made[b, :n] = made[b, :n][::-1].copy()
    return np.moveaxis(made, (0, 1), (batch_axis, seq_axis))


def unravel_index(indices: Any, shape: Any) -> Any:
    return np.stack(np.unravel_index(indices, shape)).astype(indices.dtype)


def _normalised(x: Any, over: Any, epsilon: float) -> Any:
    return (x - x.mean(over, keepdims=True)) / np.sqrt(x.var(over, keepdims=True) + epsilon)


def _along(v: Any, ndim: int, axes: Any) -> Any:
    """`v` shaped so that it broadcasts along these axes."""
    axes = [a % ndim for a in (axes if isinstance(axes, tuple) else (axes,))]
    rest = iter(v.shape)
    return v.reshape([next(rest) if d in axes else 1 for d in range(ndim)])


def layer_norm(x: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    return _normalised(x, axis, epsilon) * _along(gamma, x.ndim, axis) + _along(beta, x.ndim, axis)


def rms_norm(x: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    size = np.sqrt((x * x).mean(axis, keepdims=True) + epsilon)
    return x / size * _along(gamma, x.ndim, axis) + _along(beta, x.ndim, axis)


def instance_norm(x: Any, gamma: Any, beta: Any, axis: Any, epsilon: float = 1e-5) -> Any:
    return _normalised(x, axis, epsilon) * _along(gamma, x.ndim, 1) + _along(beta, x.ndim, 1)


def group_norm(
    x: Any, gamma: Any, beta: Any, num_groups: int, channel_axis: int, axes: Any, epsilon: float = 1e-5
) -> Any:
    groups = x.reshape(len(x), num_groups, -1)
    whole = _normalised(groups, 2, epsilon).reshape(x.shape)
    return whole * _along(gamma, x.ndim, 1) + _along(beta, x.ndim, 1)


def lrn(x: Any, size: int, axis: int = 1, alpha: float = 1e-4, beta: float = 0.75, bias: float = 2) -> Any:
    widths = [(size // 2,) * 2 if d == axis else (0, 0) for d in range(x.ndim)]
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(x, widths), size, axis)
    return x / (bias + alpha / size * (windows**2).sum(-1)) ** beta


def conv(
    x: Any, k: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, data_layout: str = "NCHW"
) -> Any:
    """Every window as a view, then one product of them with the weights, in the layout NC..., OI..."""
    from ._shared import as_tuple, pads
    from .convolution import KERNEL_LAYOUT

    spatial = [c for c in data_layout if c in "DHW"]
    x = x.transpose([data_layout.index(c) for c in ("N", "C", *spatial)])
    k = k.transpose([KERNEL_LAYOUT[data_layout].index(c) for c in ("O", "I", *spatial)])
    n = len(spatial)
    strides, dilations = as_tuple(stride, n), as_tuple(dilation, n)
    window = [(w - 1) * d + 1 for w, d in zip(k.shape[2:], dilations)]
    before, after = pads(padding, window)
    wide = np.pad(x, ((0, 0), (0, 0), *zip(before, after)))
    views = np.lib.stride_tricks.sliding_window_view(wide, window, axis=tuple(range(2, 2 + n)))
    steps = [slice(None), slice(None), *[slice(None, None, s) for s in (*strides, *dilations)]]
    views = views[tuple(steps)]
    axes = [1, *range(2 + n, 2 + 2 * n)], list(range(1, 2 + n))
    parts = zip(np.split(views, groups, 1), np.split(k, groups, 0))
    made = np.concatenate([np.moveaxis(np.tensordot(v, w, axes), -1, 1) for v, w in parts], 1)
    return made.transpose([["N", "C", *spatial].index(c) for c in data_layout])


def conv_transpose(x: Any, k: Any, stride: Any = 1, padding: Any = 0, output_padding: Any = 0, groups: int = 1) -> Any:
    """Every input element adds its multiple of the kernel."""
    from ._shared import as_tuple, pads

    n = x.ndim - 2
    strides, more = as_tuple(stride, n), as_tuple(output_padding, n)
    before, after = pads(padding, k.shape[2:])
    full = [(size - 1) * s + w + m for size, s, w, m in zip(x.shape[2:], strides, k.shape[2:], more)]
    made = np.zeros((x.shape[0], k.shape[1] * groups, *full), x.dtype)
    parts = zip(np.split(x, groups, 1), np.split(k, groups, 0), np.split(made, groups, 1))
    for data, weight, out in parts:
        for at in np.ndindex(*x.shape[2:]):
            to = tuple(slice(p * s, p * s + w) for p, s, w in zip(at, strides, k.shape[2:]))
            out[(slice(None), slice(None), *to)] += np.tensordot(data[(slice(None), slice(None), *at)], weight, 1)
    return made[(slice(None), slice(None), *[slice(b, m - a) for b, a, m in zip(before, after, full)])]


def argsort(x: Any, axis: int = -1, is_ascend: bool = True, dtype: str = "float32") -> Any:
    return np.argsort(x if is_ascend else -x, axis, kind="stable").astype(dtype)


def sort(x: Any, axis: int = -1) -> Any:
    return np.sort(x, axis)


def topk(x: Any, k: int) -> Any:
    at = argsort(x, is_ascend=False, dtype="int64")[..., :k]
    return [np.take_along_axis(x, at, -1), at]


def cumsum(x: Any, axis: Any = None, exclusive: bool = False) -> Any:
    return np.cumsum(x, axis)


def cumprod(x: Any, axis: int, exclusive: bool = False) -> Any:
    made = np.cumprod(x, axis)
    if not exclusive:
        return made
    last = [slice(None)] * x.ndim
    last[axis] = slice(0, -1)
    first = np.ones_like(np.take(x, [0], axis))
    return np.concatenate([first, made[tuple(last)]], axis)


def searchsorted(x: Any, values: Any, right: bool = False) -> Any:
    """What counting gives, also for a sequence that is not sorted."""
    before = x <= values[..., None] if right else x < values[..., None]
    return before.sum(-1)


def space_to_batch_nd(x: Any, block_shape: Any, before: Any, after: Any) -> Any:
    n = len(block_shape)
    wide = np.pad(x, [(0, 0), *zip(before, after), *[(0, 0)] * (x.ndim - n - 1)])
    parts = [
        wide[(slice(None), *[slice(k, None, b) for k, b in zip(at, block_shape)])] for at in np.ndindex(*block_shape)
    ]
    return np.concatenate(parts)


def batch_to_space_nd(x: Any, block_shape: Any, before: Any, after: Any) -> Any:
    n, count = len(block_shape), int(np.prod(block_shape))
    dims = [len(x) // count, *[m * b for m, b in zip(x.shape[1:], block_shape)], *x.shape[n + 1 :]]
    made = np.empty(dims, x.dtype)
    for at, part in zip(np.ndindex(*block_shape), np.split(x, count)):
        made[(slice(None), *[slice(k, None, b) for k, b in zip(at, block_shape)])] = part
    return made[(slice(None), *[slice(b, m - a) for b, a, m in zip(before, after, dims[1:])])]


def l2_normalize(x: Any, eps: float, axis: Any) -> Any:
    return x / np.sqrt(np.maximum((x * x).sum(axis, keepdims=True), np.float32(eps)))
