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


def depth_to_space(x: Any, block_size: int) -> Any:
    n, c, h, w = x.shape
    b = block_size
    blocks = x.reshape(n, b, b, c // (b * b), h, w)
    return blocks.transpose(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)


def space_to_depth(x: Any, block_size: int) -> Any:
    n, c, h, w = x.shape
    b = block_size
    blocks = x.reshape(n, c, h // b, b, w // b, b)
    return blocks.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


def take(x: Any, indices: Any, axis: Any = None, mode: str = "clip") -> Any:
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
