"""Elements written to places that are data: one loop over the updates, in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlab import te, tir

from . import _shared
from .reduction import real_axes
from .transform import flat_index, split_index

SHAPES = {
    "gradient of word vectors": {"op": "scatter_nd", "data": (10000, 650), "indices": (1, 35), "how": {"mode": "add"}}
}
SMALL = [
    {"op": "scatter_nd", "data": (9, 4, 3), "indices": (1, 7), "how": {"mode": "add"}},
    {"op": "scatter_nd", "data": (9, 10), "indices": (2, 5), "how": {"mode": "update"}},
    {"op": "scatter_elements", "data": (9, 5), "indices": (4, 3), "how": {"axis": 0}},
    {"op": "scatter_elements", "data": (3, 9), "indices": (3, 6), "how": {"axis": 1, "reduction": "add"}},
    {"op": "scatter_elements", "data": (3, 9), "indices": (2, 6), "how": {"axis": -1, "reduction": "max"}},
]
COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "min": te.min,
    "max": te.max,
}


def _size(shape: Any) -> Any:
    return flat_index([n - 1 for n in shape], shape) + 1


def _combiner(how: str) -> Callable[[Any, Any], Any]:
    if how not in COMBINE:
        raise ValueError(f"updates are combined by one of {', '.join(COMBINE)}, not {how!r}")
    return COMBINE[how]


def _scatter(data: Any, indices: Any, updates: Any, place: Callable[[Any, Any], Any], how: str, name: str) -> Any:
    """A copy of the data, then for each update n: out[place(indices, n)] = combine(that, update n)."""
    combine = _combiner(how)

    def body(ins: Any, outs: Any) -> Any:
        ib = tir.ir_builder.create()
        old, at, new = (ib.buffer_ptr(b) for b in ins)
        out = ib.buffer_ptr(outs[0])
        with ib.for_range(0, _size(data.shape), name="i") as i:
            out[i] = old[i]
        with ib.for_range(0, _size(updates.shape), name="n") as n:
            target = place(at, n)
            out[target] = combine(out[target], new[n])
        return ib.get()

    return te.extern([data.shape], [data, indices, updates], body, dtype=data.dtype, name=name, tag="scatter")


def scatter_nd(data: Any, indices: Any, updates: Any, mode: str = "update") -> Any:
    """`data` with updates: indices[:, j...] is the index (into the first dimensions) of the slice updates[j...]."""
    depth = _shared.constant(indices.shape[0])
    count, slice_shape = _size(indices.shape[1:]), data.shape[depth:]
    width = _size(slice_shape) if len(slice_shape) else te.const(1)

    def place(at: Any, n: Any) -> Any:
        index = [at[d * count + n // width].astype("int32") for d in range(depth)]
        return flat_index(index, data.shape[:depth]) * width + n % width

    return _scatter(data, indices, updates, place, mode, "scatter_nd")


def scatter_elements(data: Any, indices: Any, updates: Any, axis: int = 0, reduction: str = "update") -> Any:
    """`data` with updates[i, j, ...] at the same place, but index indices[i, j, ...] along the axis."""
    (along,) = real_axes(len(data.shape), axis)

    def place(at: Any, n: Any) -> Any:
        index = split_index(n, updates.shape)
        index[along] = at[n].astype("int32")
        return flat_index(index, data.shape)

    return _scatter(data, indices, updates, place, reduction, "scatter_elements")


def declare(op: str, data: Any, indices: Any, how: Any, dtype: str = "float32") -> list[Any]:
    x, at = te.placeholder(data, dtype, name="data"), te.placeholder(indices, "int32", name="indices")
    shape = (*indices[1:], *data[indices[0] :]) if op == "scatter_nd" else indices
    updates = te.placeholder(shape, dtype, name="updates")
    return [x, at, updates, globals()[op](x, at, updates, **how)]


def reference(x: Any, at: Any, updates: Any, /, op: str, how: Any, **shape: Any) -> Any:
    """Update by update, in order."""
    import numpy as np

    made = x.copy()
    fold: dict[str, Any] = {
        "update": lambda a, b: b, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum,
    }  # fmt: skip
    combine = fold[how.get("mode", how.get("reduction", "update"))]
    for n in np.ndindex(*(at.shape[1:] if op == "scatter_nd" else at.shape)):
        if op == "scatter_nd":
            place: Any = tuple(at[(slice(None), *n)])
        else:
            moved: list[Any] = list(n)
            moved[how["axis"]] = at[n]
            place = tuple(moved)
        made[place] = combine(made[place], updates[n])
    return made


def schedule_cpu(outs: Any) -> Any:
    """The updates run in order, one after the other."""
    return _shared.schedule(outs, lambda s, op: None, lambda op: False)
