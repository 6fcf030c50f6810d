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
