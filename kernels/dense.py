"""A fully connected layer: every row of the data times every row of the weights, with a bias or without."""

from __future__ import annotations

from typing import Any

from tvmlab import te

from . import _checks, _shared

SHAPES = {
    "ResNet-18's classifier": {"batch": 1, "in_dim": 512, "out_dim": 1000},
    "DQN's hidden layer": {"batch": 1, "in_dim": 3136, "out_dim": 512},
    "LSTM's gates": {"batch": 1, "in_dim": 650, "out_dim": 4 * 650},
}
SMALL = [
    {"batch": 1, "in_dim": 37, "out_dim": 5},
    {"batch": 3, "in_dim": 64, "out_dim": 19, "bias": True},
    {"batch": 5, "in_dim": 7, "out_dim": 2, "bias": True, "dtype": "float64"},
]


def dense(data: Any, weight: Any, bias: Any = None, out_dtype: str | None = None, **hints: Any) -> Any:
    """data (batch, in), weight (out, in), bias (out) -> (batch, out)."""
    _checks.need_dims("dense", "data", data, "batch in")
    _checks.need_dims("dense", "weight", weight, "out in")
    batch, in_dim = data.shape
    out_dim, taken = weight.shape
    _checks.need_equal("dense", "data's inputs (dimension 1)", in_dim, "weight's inputs (dimension 1)", taken)
    if bias is not None:
        _checks.need_dims("dense", "bias", bias, "out")
        _checks.need_equal("dense", "weight's outputs (dimension 0)", out_dim, "bias (dimension 0)", bias.shape[0])
    dtype = out_dtype or data.dtype
    k = te.reduce_axis((0, in_dim), name="k")
    element = lambda i, j: te.sum(data[i, k].astype(dtype) * weight[j, k].astype(dtype), axis=k)
    product = te.compute((batch, out_dim), element, name="T_dense", tag="dense")
    if bias is None:
        return product
    with_bias = lambda i, j: product[i, j] + bias[j].astype(dtype)
    return te.compute((batch, out_dim), with_bias, name="T_bias", tag="broadcast")


def declare(batch: int, in_dim: int, out_dim: int, bias: bool = False, dtype: str = "float32") -> list[Any]:
    data = te.placeholder((batch, in_dim), dtype, name="data")
    weight = te.placeholder((out_dim, in_dim), dtype, name="weight")
    b = te.placeholder((out_dim,), dtype, name="bias") if bias else None
    given = [data, weight] if b is None else [data, weight, b]
    return [*given, dense(data, weight, b)]


def reference(data: Any, weight: Any, bias: Any = 0, /, **shape: Any) -> Any:
    return data @ weight.T + (bias if shape.get("bias") else 0)


def schedule_dense(s: Any, op: Any) -> None:
    """Both sides lie along k: 16 partial sums side by side, and their sum at the end, for each output."""
    stage = s[op]
    (k,) = stage.op.reduce_axis
    if _shared.constant(k.dom.extent, 1024) < 2 * _shared.LANES:
        _shared.rows(s, op)
        return
    _, lanes = stage.split(k, factor=_shared.LANES)
    partial = s.rfactor(op.output(0), lanes)
    part = s[partial]
    first, i, j = part.op.axis
    part.reorder(i, *part.op.reduce_axis, j, first)
    part.unroll(j)
    part.vectorize(first)
    i, j = stage.op.axis
    jo, _ = stage.split(j, factor=4)  # neighbouring outputs share the row of the data; their sums do not wait in turn
    part.compute_at(stage, _shared.in_parallel(stage, [i, jo], at_least=1 << 20, op=op))


def schedule_cpu(outs: Any) -> Any:
    return _shared.schedule(outs, schedule_dense, lambda op: op.tag == "dense")
