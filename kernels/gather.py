"""Elements chosen by index or by condition."""

from __future__ import annotations

from typing import Any

from tvmlab import te, tir

from . import _shared
from .broadcast import common_shape, stretched_read
from .reduction import real_axes

SHAPES = {
    "word vectors": {"op": "take", "data": (10000, 650), "indices": (35,), "how": {"axis": 0}},
    "labels": {"op": "one_hot", "indices": (256,), "how": {"on_value": 1, "off_value": 0, "depth": 1000, "axis": -1}},
}
SMALL = [
    {"op": "take", "data": (5, 7), "indices": (3, 2), "how": {"axis": 1}},
    {"op": "take", "data": (5, 7), "indices": (11,), "how": {"axis": None}},
    {"op": "take", "data": (5, 7), "indices": (3,), "how": {"axis": 0, "mode": "wrap"}},
    {"op": "gather", "data": (5, 9), "indices": (5, 4), "how": {"axis": 1}},
    {"op": "gather_nd", "data": (9, 10, 3), "indices": (2, 17), "how": {}},
    {"op": "one_hot", "indices": (3, 5), "how": {"on_value": 2, "off_value": -1, "depth": 6, "axis": -1}},
    {"op": "one_hot", "indices": (3, 5), "how": {"on_value": 1, "off_value": 0, "depth": 6, "axis": 0}},
    {"op": "where", "data": (5, 19), "indices": (5, 19), "how": {}},
    {"op": "sequence_mask", "data": (9, 3, 5), "indices": (3,), "how": {"mask_value": -1, "axis": 0}},
    {"op": "reverse_sequence", "data": (9, 3, 5), "indices": (3,), "how": {"seq_axis": 0, "batch_axis": 1}},
    {"op": "unravel_index", "indices": (17,), "how": {"shape": (2, 3, 4)}},
]


def _compute(shape: Any, element: Any, name: str) -> Any:
    return te.compute(shape, element, name=f"T_{name}", tag="injective")


def _bounded(index: Any, extent: Any, mode: str) -> Any:
    """An index out of range: the nearest one (clip), counted round (wrap), or a promise that there is none (fast)."""
    if mode == "clip":
        return te.min(te.max(index, 0), extent - 1)
    if mode == "wrap":
        return index % extent
    if mode == "fast":
        return index
    raise ValueError(f"the mode of take is clip, wrap or fast, not {mode!r}")


def take(a: Any, indices: Any, axis: Any = None, batch_dims: int = 0, mode: str = "clip") -> Any:
    """The slices of `a` at the indices along the axis; elements of the flattened `a` without an axis."""
    if axis is None:
        from .transform import flat_index, split_index

        size = flat_index([n - 1 for n in a.shape], a.shape) + 1
        element = lambda *i: a(*split_index(_bounded(indices(*i), size, mode), a.shape))
        return _compute(indices.shape, element, "take")
    (at,) = real_axes(len(a.shape), axis)
    batch = batch_dims + len(indices.shape) if batch_dims < 0 else batch_dims
    span = len(indices.shape) - batch
    shape = [*a.shape[:at], *indices.shape[batch:], *a.shape[at + 1 :]]

    def element_of(*i: Any) -> Any:
        chosen = indices(*i[:batch], *i[at : at + span])
        return a(*i[:at], _bounded(chosen, a.shape[at], mode), *i[at + span :])

    return _compute(shape, element_of, "take")


def gather(data: Any, axis: int, indices: Any) -> Any:
    """Element (i, indices[i, j], k) for every (i, j, k) of the indices: one index along `axis` for each element."""
    (at,) = real_axes(len(data.shape), axis)
    element = lambda *i: data(*i[:at], indices(*i), *i[at + 1 :])
    return _compute(indices.shape, element, "gather")


def gather_nd(a: Any, indices: Any, batch_dims: int = 0) -> Any:
    """indices[:, j...] is an index into the first dimensions of `a`; what it leaves out comes whole."""
    depth = _shared.constant(indices.shape[0])
    rest = len(indices.shape) - 1
    shape = [*indices.shape[1:], *a.shape[batch_dims + depth :]]

    def element(*i: Any) -> Any:
        chosen = [indices(d, *i[:rest]) for d in range(depth)]
        return a(*i[:batch_dims], *chosen, *i[rest:])

    return _compute(shape, element, "gather_nd")


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds (is not zero), else y; shapes stretched as in NumPy."""
    shape = common_shape(common_shape(condition.shape, x.shape), y.shape)
    read = lambda t, i: stretched_read(t, i, shape)
    element = lambda *i: tir.Select(read(condition, i).astype("bool"), read(x, i), read(y, i))
    return te.compute(shape, element, name="T_where", tag="broadcast")


def one_hot(indices: Any, on_value: Any, off_value: Any, depth: int, axis: int = -1, dtype: str = "float32") -> Any:
    """A new dimension of `depth`, with `on_value` at the index and `off_value` elsewhere."""
    at = axis + len(indices.shape) + 1 if axis < 0 else axis
    on, off = (v if isinstance(v, tir.PrimExpr) else te.const(v, dtype) for v in (on_value, off_value))
    shape = [*indices.shape[:at], depth, *indices.shape[at:]]
    element = lambda *i: tir.Select(indices(*i[:at], *i[at + 1 :]).equal(i[at]), on.astype(dtype), off.astype(dtype))
    return _compute(shape, element, "one_hot")


def sequence_mask(data: Any, valid_length: Any, mask_value: float = 0, axis: int = 0) -> Any:
    """Steps from valid_length[batch] on hold `mask_value`. Time along `axis` (0 or 1), the batch along the other."""
    value = te.const(mask_value, data.dtype)
    element = lambda *i: tir.Select(i[axis] >= valid_length[i[1 - axis]], value, data(*i))
    return _compute(data.shape, element, "sequence_mask")


def reverse_sequence(a: Any, seq_lengths: Any, seq_axis: int = 1, batch_axis: int = 0) -> Any:
    """The first seq_lengths[batch] elements along `seq_axis` in reverse."""

    def element(*i: Any) -> Any:
        n = seq_lengths[i[batch_axis]].astype("int32")
        t = i[seq_axis]
        moved = list(i)
        moved[seq_axis] = te.if_then_else(te.any(n <= 1, n <= t), t, te.max(n - 1 - t, 0))
        return a(*moved)

    return _compute(a.shape, element, "reverse_sequence")


def unravel_index(indices: Any, shape: Any) -> Any:
    """Row d: the d-th coordinate of every flat index into `shape` (numbers, or a tensor of them)."""
    from .transform import split_index

    dims = [shape[d] for d in range(_shared.constant(shape.shape[0]))] if isinstance(shape, te.Tensor) else list(shape)

    def element(d: Any, *i: Any) -> Any:
        parts = split_index(indices(*i), dims)
        value = parts[0]
        for k, p in enumerate(parts[1:], 1):
            value = tir.Select(d.equal(k), p, value)
        return value

    return _compute((len(dims), *indices.shape), element, "unravel_index")


def adv_index(data: Any, indices: Any) -> Any:
    """data[i0, i1, ...] with tensors of indices, as NumPy has it."""
    shape: Any = indices[0].shape
    for t in indices[1:]:
        shape = common_shape(shape, t.shape)
    rest = len(shape)
    element = lambda *i: data(*[stretched_read(t, i[:rest], shape) for t in indices], *i[rest:])
    return _compute([*shape, *data.shape[len(indices) :]], element, "adv_index")


def matrix_set_diag(data: Any, diagonal: Any, k: int = 0, align: str = "RIGHT_LEFT") -> Any:
    """`data` with its k-th diagonal replaced."""
    if not isinstance(k, int):
        raise ValueError("matrix_set_diag takes one diagonal: k is a number")

    def element(*i: Any) -> Any:
        *batch, row, column = i
        on = (column - row).equal(k)
        return te.if_then_else(on, diagonal(*batch, te.min(row, column)), data(*i))

    return _compute(data.shape, element, "matrix_set_diag")


def meshgrid(a_tuple: Any, indexing: str = "ij") -> list[Any]:
    """One tensor for each vector, its values along that dimension of the grid."""
    order = list(range(len(a_tuple)))
    if indexing == "xy" and len(order) > 1:
        order[0], order[1] = 1, 0
    shape = [a_tuple[d].shape[0] for d in order]
    made = []
    for k, vector in enumerate(a_tuple):
        element = lambda *i, vector=vector, k=k: vector[i[order.index(k)]]
        made.append(_compute(shape, _starred(element), "meshgrid"))
    return made


def _starred(f: Any) -> Any:
    return lambda *i: f(*i)


def declare(op: str, how: Any, data: Any = None, indices: Any = None, dtype: str = "float32") -> list[Any]:
    i = te.placeholder(indices, "int32", name="indices")
    if data is None:
        return [i, globals()[op](i, **how)]
    x = te.placeholder(data, dtype, name="data")
    if op == "where":
        y = te.placeholder(data, dtype, name="y")
        return [i, x, y, where(i, x, y)]
    out = gather(x, how["axis"], i) if op == "gather" else globals()[op](x, i, **how)
    return [x, i, out]


def reference(*xs: Any, op: str, how: Any, **shape: Any) -> Any:
    from . import _numpy

    f = getattr(_numpy, op, None) or _numpy.plain(op)
    return f(*xs, **how)


def schedule_cpu(outs: Any) -> Any:
    """The outer loops in parallel, the last in vectors; what only elementwise functions read is computed in place."""
    return _shared.schedule(outs, lambda s, op: None, lambda op: False)
