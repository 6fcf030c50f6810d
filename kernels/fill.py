"""Tensors made of numbers: one number everywhere, or equally spaced ones."""

from __future__ import annotations

from math import ceil
from typing import Any

from tvmlab import te

from . import _shared

SHAPES = {"zeros of an LSTM's state": {"op": "full", "how": {"shape": (1, 650), "dtype": "float32", "fill_value": 0}}}
SMALL = [
    {"op": "full", "how": {"shape": (5, 19), "dtype": "float64", "fill_value": 2.5}},
    {"op": "arange", "how": {"start": 7}},
    {"op": "arange", "how": {"start": 2, "stop": 20, "step": 3, "dtype": "int32"}},
    {"op": "arange", "how": {"start": 1.0, "stop": -2.2, "step": -0.5}},
]


def full(shape: Any, dtype: str, fill_value: Any) -> Any:
    """The number everywhere."""
    value = te.const(fill_value, dtype) if isinstance(fill_value, (int, float)) else fill_value.astype(dtype)
    return te.compute(shape, lambda *i: value, name="T_full", tag="elemwise")


def full_like(x: Any, fill_value: Any) -> Any:
    """The number everywhere, in the shape and dtype of another tensor."""
    return full(x.shape, x.dtype, fill_value)


def zeros_like(x: Any) -> Any:
    return full_like(x, 0)


def ones_like(x: Any) -> Any:
    return full_like(x, 1)


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "float32") -> Any:
    """start, start + step, ... up to stop (exclusive); from 0 to `start` without a stop."""
    if stop is None:
        start, stop = 0, start
    first, end, by = (_shared.constant(v, v) for v in (start, stop, step))
    if all(isinstance(v, (int, float)) for v in (first, end, by)):
        count: Any = max(0, ceil((end - first) / by))
    else:
        count = (stop - start + step - 1) // step
    a, d = te.const(first, dtype), te.const(by, dtype)
    return te.compute((count,), lambda i: a + i.astype(dtype) * d, name="T_arange", tag="injective")


def declare(op: str, how: Any) -> list[Any]:
    return [globals()[op](**how)]


def reference(op: str, how: Any) -> Any:
    import numpy as np

    if op == "arange":
        return np.arange(how["start"], how.get("stop"), how.get("step", 1), dtype=how.get("dtype", "float32"))
    return np.full(**how)


def schedule_cpu(outs: Any) -> Any:
    return _shared.schedule(outs, lambda s, op: None, lambda op: False)
