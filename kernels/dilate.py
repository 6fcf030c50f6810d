"""Room between the elements of a tensor."""

from __future__ import annotations

from typing import Any

from tvmlab import te

from . import _shared

SHAPES = {"DCGAN's second layer": {"shape": (1, 512, 8, 8), "strides": (1, 1, 2, 2)}}
SMALL = [
    {"shape": (5, 7), "strides": (2, 3)},
    {"shape": (2, 3, 19), "strides": (1, 2, 1), "value": -1.5},
    {"shape": (1, 1), "strides": (4, 4)},
]


def dilate(data: Any, strides: Any, dilation_value: Any = 0.0, name: str = "DilatedInput") -> Any:
    """Elements of `data`, `strides` apart, with `dilation_value` between them."""
    n = len(data.shape)
    if len(strides) != n:
        raise ValueError(f"the input has {n} dimensions, strides has {len(strides)} numbers")
    shape = [_shared.dilated(extent, stride) for extent, stride in zip(data.shape, strides)]
    spread = [d for d in range(n) if _shared.constant(strides[d]) != 1]

    def element(*i: Any) -> Any:
        source = [i[d] // strides[d] if d in spread else i[d] for d in range(n)]
        if not spread:
            return data(*source)
        on_grid = te.all(*[(i[d] % strides[d]).equal(0) for d in spread])
        return te.if_then_else(on_grid, data(*source), te.const(dilation_value, data.dtype))

    return te.compute(shape, element, name=name, tag="injective,dilate")


def declare(shape: Any, strides: Any, value: float = 0.0, dtype: str = "float32") -> list[Any]:
    x = te.placeholder(shape, dtype, name="x")
    return [x, dilate(x, strides, value)]


def reference(x: Any, /, strides: Any, value: float = 0.0, **shape: Any) -> Any:
    import numpy as np

    out = np.full([(n - 1) * s + 1 for n, s in zip(x.shape, strides)], value, x.dtype)
    out[tuple(slice(None, None, s) for s in strides)] = x
    return out


def schedule_cpu(outs: Any) -> Any:
    return _shared.schedule(outs, lambda s, op: None, lambda op: False)
