"""Normalisation of every channel by mean and variance: given ones (inference), or those of the batch (training)."""

from __future__ import annotations

from typing import Any

from tvmlab import te

from . import _shared

SHAPES = {
    "after C2": {"shape": (1, 64, 56, 56)},
    "after C12": {"shape": (1, 512, 7, 7)},
    "after D3": {"shape": (1, 128, 56, 56)},
}
SMALL = [
    {"shape": (2, 5, 7, 19)},
    {"shape": (3, 37), "axis": 1, "epsilon": 0.01},
    {"shape": (2, 4, 3, 18), "axis": 3},
    {"shape": (2, 5, 3, 4), "training": True, "momentum": 0.3},
]


def batch_norm_inference(
    data: Any, gamma: Any, beta: Any, mean: Any, var: Any, axis: int = 1, epsilon: float = 1e-5
) -> Any:
    """(data - mean) / sqrt(var + epsilon) * gamma + beta, as one factor and one summand for each channel."""
    c = data.shape[axis]
    small = te.const(epsilon, data.dtype)
    scale = te.compute((c,), lambda i: gamma[i] / te.sqrt(var[i] + small), name="scale")
    shift = te.compute((c,), lambda i: beta[i] - mean[i] * scale[i], name="shift")
    element = lambda *i: data(*i) * scale[i[axis]] + shift[i[axis]]
    return te.compute(data.shape, element, name="T_batch_norm", tag="broadcast")


def batch_norm(
    data: Any,
    gamma: Any,
    beta: Any,
    moving_mean: Any,
    moving_var: Any,
    axis: int | None = None,
    epsilon: float | None = None,
    center: bool | None = None,
    scale: bool | None = None,
    training: bool | None = None,
    momentum: float | None = None,
) -> list[Any]:
    """[normalised data, mean, variance]: the moving ones as given, or (training) moved on by those of this batch.

    `center=False` leaves out beta, `scale=False` gamma.
    """
    axis = 1 if axis is None else axis
    epsilon = 1e-5 if epsilon is None else epsilon
    if scale is False:
        gamma = te.compute(gamma.shape, lambda i: te.const(1, data.dtype), name="gamma", tag="elemwise")
    if center is False:
        beta = te.compute(beta.shape, lambda i: te.const(0, data.dtype), name="beta", tag="elemwise")
    if not training:
        out = batch_norm_inference(data, gamma, beta, moving_mean, moving_var, axis, epsilon)
        return [out, moving_mean, moving_var]
    mean, var = moments(data, axis)
    out = batch_norm_inference(data, gamma, beta, mean, var, axis, epsilon)
    m = te.const(0.1 if momentum is None else momentum, data.dtype)
    return [out, _moved(moving_mean, mean, m, "moving_mean"), _moved(moving_var, var, m, "moving_var")]


def _moved(old: Any, new: Any, momentum: Any, name: str) -> Any:
    one = te.const(1, old.dtype)
    return te.compute(old.shape, lambda i: old[i] * (one - momentum) + new[i] * momentum, name=name, tag="elemwise")


def moments(data: Any, axis: int) -> tuple[Any, Any]:
    """Mean and variance of every channel."""
    from .reduction import sum as total

    others = [d for d in range(len(data.shape)) if d != axis % len(data.shape)]
    count: Any = te.const(1, data.dtype)
    for d in others:
        count = count * data.shape[d].astype(data.dtype)
    sums = total(data, others)
    mean = te.compute(sums.shape, lambda i: sums[i] / count, name="mean", tag="elemwise")
    square = lambda *i: (data(*i) - mean[i[axis]]) * (data(*i) - mean[i[axis]])
    squares = total(te.compute(data.shape, square, name="squares", tag="elemwise"), others)
    return mean, te.compute(sums.shape, lambda i: squares[i] / count, name="var", tag="elemwise")


def declare(
    shape: Any,
    axis: int = 1,
    epsilon: float = 1e-5,
    training: bool = False,
    momentum: float = 0.1,
    dtype: str = "float32",
) -> list[Any]:
    data = te.placeholder(shape, dtype, name="data")
    names = ("gamma", "beta", "moving_mean", "moving_var")
    channel = gamma, beta, mean, var = [te.placeholder((shape[axis],), dtype, name=n) for n in names]
    out = batch_norm(data, gamma, beta, mean, var, axis, epsilon, training=training, momentum=momentum)
    return [data, *channel, *(out if training else out[:1])]


def reference(
    data: Any,
    gamma: Any,
    beta: Any,
    mean: Any,
    var: Any,
    /,
    axis: int = 1,
    epsilon: float = 1e-5,
    training: bool = False,
    momentum: float = 0.1,
    **shape: Any,
) -> Any:
    import numpy as np

    column = [1] * data.ndim
    column[axis] = -1
    over = tuple(d for d in range(data.ndim) if d != axis)
    moved = [mean * (1 - momentum) + data.mean(over) * momentum, var * (1 - momentum) + data.var(over) * momentum]
    if training:
        mean, var = data.mean(over), data.var(over)
    with np.errstate(invalid="ignore"):
        whole = (data - mean.reshape(column)) / np.sqrt(var.reshape(column) + epsilon)
    out = whole * gamma.reshape(column) + beta.reshape(column)
    return [out, *moved] if training else out


def schedule_cpu(outs: Any) -> Any:
    """The factors of the channels first; then the data, outer loops in parallel, the last in vectors."""
    from .reduction import schedule_reduction

    return _shared.schedule(outs, schedule_reduction, lambda op: op.tag == "comm_reduce")
