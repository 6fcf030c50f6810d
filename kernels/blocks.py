"""Blocks of pixels as channels or as batches, and back."""

from __future__ import annotations

from typing import Any

from tvmlab import te

from . import _shared
from .pad import pad
from .transform import transpose

SHAPES = {"super-resolution by 3": {"op": "depth_to_space", "shape": (1, 9, 224, 224), "how": {"block_size": 3}}}
SMALL = [
    {"op": "depth_to_space", "shape": (1, 12, 3, 5), "how": {"block_size": 2}},
    {"op": "depth_to_space", "shape": (1, 12, 3, 5), "how": {"block_size": 2, "mode": "CDR"}},
    {"op": "space_to_depth", "shape": (1, 3, 4, 6), "how": {"block_size": 2}},
    {
        "op": "space_to_batch_nd",
        "shape": (2, 3, 5, 4),
        "how": {"block_shape": (2, 3), "before": (0, 1), "after": (1, 0)},
    },
    {
        "op": "batch_to_space_nd",
        "shape": (12, 3, 2, 4),
        "how": {"block_shape": (2, 3), "before": (1, 0), "after": (0, 2)},
    },
]


def _compute(shape: Any, element: Any, name: str) -> Any:
    return te.compute(shape, element, name=f"T_{name}", tag="injective")


def depth_to_space(data: Any, block_size: int, layout: str = "NCHW", mode: str = "DCR") -> Any:
    """Blocks of channels become blocks of pixels; DCR: the block is outside the channel, CDR: inside."""
    b = block_size
    if layout == "NHWC":
        moved = depth_to_space(transpose(data, (0, 3, 1, 2)), b, "NCHW", mode)
        return transpose(moved, (0, 2, 3, 1))
    n, c, h, w = data.shape
    c = c // (b * b)

    def element(q: Any, f: Any, y: Any, x: Any) -> Any:
        block = y % b * b + x % b
        return data(q, block * c + f if mode == "DCR" else f * (b * b) + block, y // b, x // b)

    return _compute((n, c, h * b, w * b), element, "depth_to_space")


def space_to_depth(data: Any, block_size: int, layout: str = "NCHW") -> Any:
    """Blocks of pixels become channels."""
    b = block_size
    if layout == "NHWC":
        return transpose(space_to_depth(transpose(data, (0, 3, 1, 2)), b), (0, 2, 3, 1))
    n, c, h, w = data.shape

    def element(q: Any, f: Any, y: Any, x: Any) -> Any:
        block = f // c
        return data(q, f % c, y * b + block // b, x * b + block % b)

    return _compute((n, c * b * b, h // b, w // b), element, "space_to_depth")


def space_to_batch_nd(data: Any, block_shape: Any, pad_before: Any, pad_after: Any, pad_value: float = 0.0) -> Any:
    """Each place of a block of pixels becomes a batch; dimensions 1 to len(block_shape) are cut into blocks."""
    n, rest = len(block_shape), len(data.shape) - len(block_shape) - 1
    wide = pad(data, [0, *pad_before, *[0] * rest], [0, *pad_after, *[0] * rest], pad_value)
    batch, count = data.shape[0], 1
    for b in block_shape:
        count *= b
    dims = [batch * count, *[m // b for m, b in zip(wide.shape[1:], block_shape)], *data.shape[n + 1 :]]

    def element(q: Any, *i: Any) -> Any:
        block, at = q // batch, list(i)
        for d in range(n - 1, -1, -1):
            at[d] = i[d] * block_shape[d] + block % block_shape[d]
            block = block // block_shape[d]
        return wide(q % batch, *at)

    return _compute(dims, element, "space_to_batch_nd")


def batch_to_space_nd(data: Any, block_shape: Any, crop_begin_list: Any, crop_end_list: Any) -> Any:
    """The way back, without the elements that were padding."""
    n, count = len(block_shape), 1
    for b in block_shape:
        count *= b
    batch = data.shape[0] // count
    cuts = zip(data.shape[1:], block_shape, crop_begin_list, crop_end_list)
    dims = [batch, *[m * b - first - last for m, b, first, last in cuts], *data.shape[n + 1 :]]

    def element(q: Any, *i: Any) -> Any:
        block: Any = te.const(0)
        at = list(i)
        for d, (b, first) in enumerate(zip(block_shape, crop_begin_list)):
            place = i[d] + first
            block = block * b + place % b
            at[d] = place // b
        return data(block * batch + q, *at)

    return _compute(dims, element, "batch_to_space_nd")


def declare(op: str, shape: Any, how: Any, dtype: str = "float32") -> list[Any]:
    x = te.placeholder(shape, dtype, name="data")
    if op.endswith("nd"):
        return [x, globals()[op](x, how["block_shape"], how["before"], how["after"])]
    return [x, globals()[op](x, **how)]


def reference(x: Any, /, op: str, how: Any, **shape: Any) -> Any:
    from . import _numpy

    return getattr(_numpy, op)(x, **how)


def schedule_cpu(outs: Any) -> Any:
    return _shared.schedule(outs, lambda s, op: None, lambda op: False)
