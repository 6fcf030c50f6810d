"""Order: sort, argsort, topk, searchsorted; and running sums and products.

Sorting counts, for every element, how many come before it: n * n comparisons in vectors, which is quicker than it
sounds up to some thousands of elements, and an ordinary expression that every target and schedule understands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlab import te, tir

from . import _shared
from .reduction import real_axes

SHAPES = {"five best classes": {"op": "topk", "shape": (1, 1000), "how": {"k": 5}}}
SMALL = [
    {"op": "sort", "shape": (3, 19), "how": {}},
    {"op": "argsort", "shape": (7, 3), "how": {"axis": 0, "dtype": "int32"}},
    {"op": "argsort", "shape": (3, 19), "how": {"is_ascend": False, "dtype": "int32"}},
    {"op": "topk", "shape": (3, 19), "how": {"k": 4}},
    {"op": "cumsum", "shape": (5, 7), "how": {"axis": 1}},
    {"op": "cumsum", "shape": (3, 5), "how": {}},
    {"op": "cumprod", "shape": (5, 3), "how": {"axis": 0, "exclusive": True}},
    {"op": "searchsorted", "shape": (9,), "values": (17,), "how": {}},
    {"op": "searchsorted", "shape": (9,), "values": (17,), "how": {"right": True}},
]


def _moved(index: tuple[Any, ...], axis: int, value: Any) -> list[Any]:
    return [value if d == axis else i for d, i in enumerate(index)]


def ranks(data: Any, axis: int, ascending: bool) -> Any:
    """How many elements along the axis come before this one; of equals the first comes first."""
    k = te.reduce_axis((0, data.shape[axis]), name="k")

    def element(*i: Any) -> Any:
        other, mine = data(*_moved(i, axis, k.var)), data(*i)
        before = other < mine if ascending else other > mine
        tie = te.all(tir.EQ(other, mine), k.var < i[axis])
        return te.sum(te.any(before, tie).astype("int32"), axis=k)

    return te.compute(data.shape, element, name="rank", tag="comm_reduce")


def argsort(data: Any, valid_count: Any = None, axis: int = -1, is_ascend: bool = True, dtype: str = "float32") -> Any:
    """The indices that sort the data along the axis; equals keep their order."""
    if valid_count is not None:
        raise ValueError("argsort: valid_count is not there; give a slice of the valid elements")
    (at,) = real_axes(len(data.shape), axis)
    rank = ranks(data, at, bool(is_ascend))
    k = te.reduce_axis((0, data.shape[at]), name="k")

    def element(*i: Any) -> Any:
        found = tir.EQ(rank(*_moved(i, at, k.var)), i[at])
        return te.sum(tir.Select(found, k.var.astype(dtype), te.const(0, dtype)), axis=k)

    return te.compute(data.shape, element, name="argsort", tag="comm_reduce")


def sort(data: Any, axis: int = -1, is_ascend: bool = True) -> Any:
    """The data in order along the axis."""
    (at,) = real_axes(len(data.shape), axis)
    order = argsort(data, None, at, is_ascend, "int32")
    return te.compute(data.shape, lambda *i: data(*_moved(i, at, order(*i))), name="sort", tag="injective")


def topk(
    data: Any, k: Any = 1, axis: int = -1, ret_type: str = "both", is_ascend: bool = False, dtype: str = "int64"
) -> Any:
    """The k largest elements along the axis (smallest: `is_ascend`) and where they are; all of them for k < 1."""
    (at,) = real_axes(len(data.shape), axis)
    order = argsort(data, None, at, is_ascend, dtype)
    shape = [k if d == at and k >= 1 else n for d, n in enumerate(data.shape)]
    values = te.compute(shape, lambda *i: data(*_moved(i, at, order(*i))), name="topk_values", tag="injective")
    places = te.compute(shape, lambda *i: order(*i), name="topk_indices", tag="injective")
    made = {"both": [values, places], "values": values, "indices": places}
    if ret_type not in made:
        raise ValueError(f"the ret_type of topk is both, values or indices, not {ret_type!r}")
    return made[ret_type]


def searchsorted(sorted_sequence: Any, values: Any, right: bool = False, out_dtype: str = "int64") -> Any:
    """Where each value would go into the sorted sequence (along its last dimension): before equals, or after."""
    one_row = len(sorted_sequence.shape) == 1
    k = te.reduce_axis((0, sorted_sequence.shape[-1]), name="k")

    def element(*i: Any) -> Any:
        item = sorted_sequence(k.var) if one_row else sorted_sequence(*i[:-1], k.var)
        before = item <= values(*i) if right else item < values(*i)
        return te.sum(before.astype(out_dtype), axis=k)

    return te.compute(values.shape, element, name="searchsorted", tag="comm_reduce")


def invert_permutation(data: Any) -> Any:
    """Where in `data` each number stands."""
    k = te.reduce_axis((0, data.shape[0]), name="k")
    zero = te.const(0, data.dtype)
    element = lambda i: te.sum(tir.Select(data[k].equal(i), k.var.astype(data.dtype), zero), axis=k)
    return te.compute(data.shape, element, name="invert_permutation", tag="comm_reduce")


def scanop(
    data: Any,
    binop: Callable[[Any, Any], Any],
    identity_value: Any,
    op_name: str,
    axis: Any = None,
    dtype: str | None = None,
    exclusive: bool | None = None,
) -> Any:
    """Element t: `binop` over those up to t along the axis (up to t - 1: exclusive); flattened without an axis."""
    dtype = dtype or data.dtype
    if axis is None:
        from .transform import reshape

        data, axis = reshape(data, (-1,)), 0
    (at,) = real_axes(len(data.shape), axis)
    others = [n for d, n in enumerate(data.shape) if d != at]
    n = data.shape[at]
    read = lambda t, i: data(*i[:at], t, *i[at:]).astype(dtype)
    start = te.compute((1, *others), lambda t, *i: read(0, i), name=f"{op_name}_first")
    state = te.placeholder((n, *others), dtype, name=f"{op_name}_state")
    update = te.compute((n, *others), lambda t, *i: binop(state(t - 1, *i), read(t, i)), name=f"{op_name}_next")
    total = te.scan(start, update, state, inputs=[data], name=op_name)
    place = lambda i, t: total(t, *i[:at], *i[at + 1 :])
    if not exclusive:
        return te.compute(data.shape, lambda *i: place(i, i[at]), name=f"T_{op_name}", tag="injective")
    first = te.const(identity_value, dtype)
    element = lambda *i: te.if_then_else(i[at] > 0, place(i, te.max(i[at] - 1, 0)), first)
    return te.compute(data.shape, element, name=f"T_{op_name}", tag="injective")


def cumsum(data: Any, axis: Any = None, dtype: str | None = None, exclusive: bool | None = None) -> Any:
    """Running sums."""
    return scanop(data, lambda x, y: x + y, 0, "cumsum", axis, dtype, exclusive)


def cumprod(data: Any, axis: Any = None, dtype: str | None = None, exclusive: bool | None = None) -> Any:
    """Running products."""
    return scanop(data, lambda x, y: x * y, 1, "cumprod", axis, dtype, exclusive)


def declare(op: str, shape: Any, how: Any, values: Any = None, dtype: str = "float32") -> list[Any]:
    xs = [te.placeholder(shape, dtype, name="data")]
    xs += [te.placeholder(values, dtype, name="values")] if values else []
    out = globals()[op](*xs, **how)
    return [*xs, *(out if isinstance(out, list) else [out])]


def reference(*xs: Any, op: str, how: Any, **shape: Any) -> Any:
    from . import _numpy

    return getattr(_numpy, op)(*xs, **how)


def schedule_cpu(outs: Any) -> Any:
    """The counts run around a vector of elements; the outer dimensions in parallel."""
    return _shared.schedule(outs, _shared.rows, lambda op: op.tag == "comm_reduce")
