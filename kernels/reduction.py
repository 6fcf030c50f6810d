"""Sums and other folds over some axes of a tensor; indices of the largest and smallest elements."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from tvmlab import te, tir, tune
from tvmlab.error import MissingName

from . import _gpu, _shared, _space

FOLDS = ["sum", "prod", "max", "min", "all", "any"]

SHAPES = {
    "softmax's denominator": {"op": "sum", "shape": (1024, 1024), "axis": 1},
    "channel means of C12": {"op": "sum", "shape": (1, 512, 7, 7), "axis": (2, 3)},
    "a whole tensor": {"op": "max", "shape": (1024, 1024), "axis": None},
}
SMALL = [
    {"op": "sum", "shape": (5, 37), "axis": 1},
    {"op": "sum", "shape": (3, 5, 19), "axis": (0, 1), "keepdims": True},
    {"op": "max", "shape": (37, 5), "axis": 0},
    {"op": "min", "shape": (3, 4, 70), "axis": (-1,)},
    {"op": "prod", "shape": (3, 4), "axis": None, "dtype": "int32"},
    {"op": "sum", "shape": (129,), "axis": None, "dtype": "float64"},
    {"op": "all", "shape": (5, 3), "axis": 1, "dtype": "bool"},
    {"op": "any", "shape": (5, 3), "axis": 0, "dtype": "bool"},
    {"op": "argmax", "shape": (5, 37), "axis": 1},
    {"op": "argmin", "shape": (3, 20, 2), "axis": 1, "keepdims": True},
    {"op": "argmax", "shape": (3, 5), "axis": None},
]


def real_axes(ndim: int, axis: Any) -> list[int]:
    """The axes as sorted numbers from 0; None is all of them."""
    if axis is None:
        return list(range(ndim))
    given = [axis] if isinstance(axis, int) or not isinstance(axis, Sequence) else list(axis)
    made = [_shared.constant(a) for a in given]
    for a in made:
        if not -ndim <= a < ndim:
            raise ValueError(f"axis {a} of a tensor of {ndim} dimensions: it must be from {-ndim} to {ndim - 1}")
    return sorted({a % ndim for a in made})


def _kept(shape: Any, axes: list[int], keepdims: bool) -> list[Any]:
    if keepdims:
        return [1 if d in axes else n for d, n in enumerate(shape)]
    return [n for d, n in enumerate(shape) if d not in axes]


def _full_index(index: Sequence[Any], over: dict[int, Any], ndim: int, keepdims: bool) -> list[Any]:
    """The index into the input: reduce axes `over` where it is folded, the output's index elsewhere."""
    rest = iter([i for d, i in enumerate(index) if d not in over] if keepdims else index)
    return [over[d] if d in over else next(rest) for d in range(ndim)]


def _axes(data: Any, axes: list[int]) -> dict[int, Any]:
    return {d: te.reduce_axis((0, data.shape[d]), name=f"k{d}") for d in axes}


def fold(data: Any, reducer: Any, axis: Any, keepdims: bool, name: str) -> Any:
    """One value for all elements along the axes."""
    ndim = len(data.shape)
    axes = real_axes(ndim, axis)
    over = _axes(data, axes)
    element = lambda *i: reducer(data(*_full_index(i, over, ndim, keepdims)), axis=list(over.values()))
    return te.compute(_kept(data.shape, axes, keepdims), element, name=name, tag="comm_reduce")


def _reduction(reducer: Any, name: str, about: str) -> Callable[..., Any]:
    def apply(data: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return fold(data, reducer, axis, keepdims, f"{data.op.name}_red")

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"{about} along `axis` (a number, several, or None for all)."
    return apply


_all = te.comm_reducer(te.all, lambda t: te.const(True, t), name="all")
_any = te.comm_reducer(te.any, lambda t: te.const(False, t), name="any")
sum = _reduction(te.sum, "sum", "The sum")  # noqa: A001
prod = _reduction(te.prod, "prod", "The product")
max = _reduction(te.max, "max", "The largest element")  # noqa: A001
min = _reduction(te.min, "min", "The smallest element")  # noqa: A001
all = _reduction(_all, "all", "Are all true")  # noqa: A001
any = _reduction(_any, "any", "Is one true")  # noqa: A001


def _arg_reducer(better: Callable[[Any, Any], Any], start: Callable[[str], Any], last: bool, name: str) -> Any:
    """Pairs (index, value); of equal values the first index wins, or the last. An index of -1 is no element."""

    def pick(x: Any, y: Any) -> Any:
        earlier = x[0] > y[0] if last else x[0] < y[0]
        tie = te.all(tir.EQ(x[1], y[1]), tir.GE(x[0], te.const(0, x[0].dtype)), te.any(earlier, y[0] < 0))
        left = te.any(better(x[1], y[1]), tie)
        return tir.Select(left, x[0], y[0]), tir.Select(left, x[1], y[1])

    return te.comm_reducer(pick, lambda t0, t1: (te.const(-1, t0), start(t1)), name=name)


def _arg(data: Any, axis: Any, keepdims: bool, reducer: Any, name: str, dtype: str) -> Any:
    ndim = len(data.shape)
    axes = real_axes(ndim, axis)
    over = _axes(data, axes)
    shape = _kept(data.shape, axes, keepdims)

    def pair(*i: Any) -> Any:
        position: Any = te.const(0, dtype)  # counted along the axes that are folded, the last one fastest
        for d in axes:
            position = position * tir.cast(data.shape[d], dtype) + over[d].var.astype(dtype)
        return reducer((position, data(*_full_index(i, over, ndim, keepdims))), axis=list(over.values()))

    found = te.compute(shape, pair, name=f"{data.op.name}_red_temp", tag="comm_reduce_idx")
    return te.compute(shape, lambda *i: found[0](*i), name=f"{data.op.name}_red", tag="elemwise")


def argmax(
    data: Any, axis: Any = None, keepdims: bool = False, select_last_index: bool = False, dtype: str = "int32"
) -> Any:
    """Where the largest element lies along `axis` (in a flattened tensor for None); the first one of equals."""
    reducer = _arg_reducer(lambda a, b: a > b, te.min_value, select_last_index, "argmax")
    return _arg(data, axis, keepdims, reducer, "argmax", dtype)


def argmin(
    data: Any, axis: Any = None, keepdims: bool = False, select_last_index: bool = False, dtype: str = "int32"
) -> Any:
    """Where the smallest element lies along `axis` (in a flattened tensor for None); the first one of equals."""
    reducer = _arg_reducer(lambda a, b: a < b, te.max_value, select_last_index, "argmin")
    return _arg(data, axis, keepdims, reducer, "argmin", dtype)


def collapse_sum(data: Any, target_shape: Any) -> Any:
    """The sum over what broadcasting `target_shape` to data's shape repeats."""
    lead = len(data.shape) - len(target_shape)
    ones = [lead + d for d, n in enumerate(target_shape) if _shared.constant(n) == 1]
    kept = sum(data, axis=list(range(lead)), keepdims=False) if lead else data
    ones = [d - lead for d in ones if _shared.constant(kept.shape[d - lead]) != 1]
    return sum(kept, axis=ones, keepdims=True) if ones else kept


def declare(op: str, shape: Any, axis: Any = None, keepdims: bool = False, dtype: str = "float32") -> list[Any]:
    x = te.placeholder(shape, dtype, name="x")
    return [x, globals()[op](x, axis, keepdims)]


def reference(x: Any, /, op: str, axis: Any = None, keepdims: bool = False, **shape: Any) -> Any:
    import numpy as np

    if op.startswith("arg"):
        return np.asarray(getattr(np, op)(x, axis=axis, keepdims=keepdims)).astype("int32")
    axis = tuple(axis) if isinstance(axis, (list, tuple)) else axis
    return np.asarray(getattr(np, op)(x, axis=axis, keepdims=keepdims)).astype(x.dtype)


def schedule_reduction(s: Any, op: Any) -> None:
    """Along the last dimension: 16 partial sums side by side, then their sum. Across it: 16 outputs side by side."""
    fold_rows(s, op, may_split(op), **by_hand(op))


def by_hand(op: Any) -> dict[str, Any]:
    """The choices of the hand schedule."""
    return {"vectors": 1, "parts": 1, "parallel": _shared.worth_threads(op)}


def may_split(op: Any) -> bool:
    """Do its sums run along the last dimension, far enough for vectors of them?"""
    *_, k = op.reduce_axis
    long_enough = _shared.constant(k.dom.extent, 1024) >= 2 * _shared.LANES
    return long_enough and len(op.outputs) == 1 and reads_along_last(op, k)


@tune.template("kernels.reduction")
def tuned(op: str, shape: Any, axis: Any = None, keepdims: bool = False, dtype: str = "float32") -> tuple[Any, Any]:
    """The search template: the choices of `fold_rows`. Point 0 is the hand schedule, `schedule_reduction`.

    Refused: argmax and argmin, which fold pairs.
    """
    if op.startswith("arg"):
        raise MissingName("reduction-template", f"there is no search template for {op}: it folds pairs", legal=FOLDS)
    x, out = declare(op, shape, axis, keepdims, dtype)
    fold = out.op
    along, first = may_split(fold), _shared.constant(fold.reduce_axis[0].dom.extent)
    widest = fold.reduce_axis[-1] if along else fold.axis[-1] if fold.axis else None
    most = _shared.constant(widest.dom.extent) // (2 * _shared.LANES) if widest is not None else 1
    alone = _shared.work(fold) == _length(fold)  # one result: its parts are what threads could share
    cfg = tune.get_config()
    cfg.add_flop(_shared.work(fold))
    choices: dict[str, list[Any]] = {
        "vectors": [1, *[v for v in (2, 4, 8, 16) if v <= most]],
        "parts": [1, *[n for n in (2, 4, 16, 64) if alone and 4 * n <= first]],
        "parallel": _space.threads(_shared.work(fold)),
    }
    s = te.create_schedule(fold)
    fold_rows(s, fold, along, **_space.choose(cfg, choices, by_hand(fold)))
    return s, [x, out]


def fold_rows(s: Any, op: Any, along: bool, *, vectors: int, parts: int, parallel: bool) -> None:
    """`along`: partial sums side by side, then their sum; else outputs side by side. `vectors` of either at a time.
    `parts`: so many along the first axis that is folded, which threads may share."""
    if parts > 1:
        first, *_ = s[op].op.reduce_axis
        part, _ = s[op].split(first, nparts=parts)
        op = s.rfactor(op.output(0), part).op
    if not along:
        _shared.rows(s, op, vectors=vectors, parallel=parallel)
        return
    partial = _shared.side_by_side(s, op, vectors)
    stage = s[op]
    axes = list(stage.op.axis)
    if not axes:
        return
    outer = _shared.in_parallel(stage, axes, op=op, parallel=parallel)
    inner = stage.leaf_iter_vars[-2]
    for part in partial:
        part.compute_at(stage, inner if inner.iter_type == outer.iter_type else outer)


def reads_along_last(op: Any, k: Any) -> bool:
    """Does the last reduce axis run along the last dimension of the input?"""
    (source,) = op.body[0].sources[:1]
    last = source.indices[-1] if isinstance(source, tir.ProducerLoad) else None
    return last is k.var


def schedule_cpu(outs: Any) -> Any:
    return _shared.schedule(outs, schedule_reduction, lambda op: op.tag in ("comm_reduce", "comm_reduce_idx"))


# ---------------------------------------------------------------- GPUs


def schedule_gpu(outs: Any) -> Any:
    return _gpu.schedule(outs, on_threads, lambda op: op.tag in ("comm_reduce", "comm_reduce_idx"))


def on_threads(s: Any, op: Any) -> None:
    """Along the last dimension, or with few outputs: a block for each output, whose threads add up together. Across it
    a thread for each output: neighbours read side by side."""
    *_, k = op.reduce_axis
    outputs = _shared.work(op) // builtins.max(_length(op), 1)
    together = reads_along_last(op, k) or outputs < 4 * _gpu.BLOCK
    if not together or _shared.constant(k.dom.extent, 1024) < 2:
        _gpu.flat(s[op])
        return
    _gpu.across(s, op, _gpu.threads_along(_shared.constant(k.dom.extent, 1024)))


def _length(op: Any) -> int:
    """How many elements are folded into one."""
    return math.prod(_shared.constant(a.dom.extent, 1 << 20) for a in op.reduce_axis)
