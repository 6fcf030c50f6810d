"""Tensors rearranged: other shapes, orders of dimensions, pieces, repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvmlab import te, tir
from tvmlab.error import ShapeError

from . import _checks, _gpu, _shared
from .reduction import real_axes

SHAPES = {
    "NCHW to NHWC": {"op": "transpose", "shape": (1, 64, 56, 56), "how": {"axes": (0, 2, 3, 1)}},
    "flatten before DQN's hidden layer": {"op": "reshape", "shape": (1, 64, 7, 7), "how": {"newshape": (1, 3136)}},
}
SMALL = [
    {"op": "transpose", "shape": (3, 5, 19), "how": {"axes": (2, 0, 1)}},
    {"op": "transpose", "shape": (5, 19), "how": {}},
    {"op": "reshape", "shape": (6, 10), "how": {"newshape": (4, -1)}},
    {"op": "expand_dims", "shape": (5, 7), "how": {"axis": 1, "num_newaxis": 2}},
    {"op": "squeeze", "shape": (1, 5, 1, 7), "how": {"axis": 2}},
    {"op": "squeeze", "shape": (1, 5, 1, 7), "how": {}},
    {"op": "flip", "shape": (5, 19), "how": {"axis": -1}},
    {"op": "repeat", "shape": (3, 5), "how": {"repeats": 3, "axis": 1}},
    {"op": "tile", "shape": (3, 5), "how": {"reps": (2, 1, 3)}},
    {"op": "strided_slice", "shape": (9, 20), "how": {"begin": (1, -1), "end": (8, -18), "strides": (2, -3)}},
    {"op": "strided_slice", "shape": (9, 20), "how": {"begin": (3,), "end": (5,), "axes": (1,)}},
    {"op": "split", "shape": (5, 12), "how": {"indices_or_sections": 3, "axis": 1}},
    {"op": "split", "shape": (5, 12), "how": {"indices_or_sections": (2, 7), "axis": -1}},
    {"op": "concatenate", "shape": (5, 7), "inputs": 3, "how": {"axis": 1}},
    {"op": "stack", "shape": (5, 7), "inputs": 2, "how": {"axis": 1}},
    {"op": "layout_transform", "shape": (1, 32, 3, 5), "how": {"src_layout": "NCHW", "dst_layout": "NCHW16c"}},
    {"op": "layout_transform", "shape": (1, 2, 3, 5, 4), "how": {"src_layout": "NCHW4c", "dst_layout": "NHWC"}},
    {"op": "flatten", "shape": (2, 3, 5), "how": {}},
    {"op": "trilu", "shape": (5, 7), "how": {"k": 1, "upper": True}},
]


def _compute(shape: Any, element: Any, name: str) -> Any:
    return te.compute(shape, element, name=f"T_{name}", tag="injective")


# ---------------------------------------------------------------- shapes


def transpose(a: Any, axes: Any = None) -> Any:
    """Dimension d of the result is dimension axes[d] of `a`; reversed without axes."""
    n = len(a.shape)
    order = [d % n for d in (range(n - 1, -1, -1) if axes is None else axes)]
    if sorted(order) != list(range(n)):
        raise ValueError(f"the axes of transpose must be each of 0..{n - 1} once, not {list(axes)}")
    element = lambda *i: a(*[i[order.index(d)] for d in range(n)])
    return _compute([a.shape[d] for d in order], element, "transpose")


def flat_index(index: Sequence[Any], shape: Sequence[Any]) -> Any:
    """The place of an element in row-major order."""
    at: Any = te.const(0)
    for i, n in zip(index, shape):
        at = at * n + i
    return at


def split_index(at: Any, shape: Sequence[Any]) -> list[Any]:
    """The index of the element at a place in row-major order."""
    index = []
    for d in range(len(shape) - 1, -1, -1):
        index.append(at % shape[d] if d else at)
        at = at // shape[d]
    return index[::-1]


def _size(shape: Sequence[Any]) -> Any:
    size: Any = te.const(1)
    for n in shape:
        size = size * n
    return size


def reshape(a: Any, newshape: Any) -> Any:
    """The same elements in row-major order; one extent may be -1: what remains."""
    new = list(newshape) if isinstance(newshape, (list, tuple)) else [newshape]
    if any(_shared.constant(n) == -1 for n in new):
        at = next(d for d, n in enumerate(new) if _shared.constant(n) == -1)
        new[at] = _size(a.shape) // _size([n for d, n in enumerate(new) if d != at])
    old_size, new_size = _shared.constant(_size(a.shape)), _shared.constant(_size(new))
    if old_size and new_size and old_size != new_size:
        raise ValueError(f"{old_size} elements do not fit the shape {[_shared.constant(n) or n for n in new]}")
    element = lambda *i: a(*split_index(flat_index(i, new), a.shape))
    return _compute(new, element, "reshape")


def flatten(data: Any) -> Any:
    """(batch, ...) -> (batch, everything else)"""
    return reshape(data, (data.shape[0], _size(data.shape[1:])))


def expand_dims(a: Any, axis: int, num_newaxis: int = 1) -> Any:
    """New dimensions of extent one, from `axis` on."""
    at = axis + len(a.shape) + 1 if axis < 0 else axis
    shape = [*a.shape[:at], *[1] * num_newaxis, *a.shape[at:]]
    return _compute(shape, lambda *i: a(*i[:at], *i[at + num_newaxis :]), "expand_dims")


def expand_like(a: Any, shape_like: Any, axis: Any) -> Any:
    """`a` repeated along new dimensions `axis` to the shape of another tensor."""
    new = real_axes(len(shape_like.shape), axis)
    element = lambda *i: a(*[x for d, x in enumerate(i) if d not in new])
    return _compute(shape_like.shape, element, "expand_like")


def squeeze(a: Any, axis: Any = None) -> Any:
    """Without dimensions of extent one: those given, or all."""
    n = len(a.shape)
    ones = [d for d in range(n) if _shared.constant(a.shape[d]) == 1]
    gone = ones if axis is None else real_axes(n, axis)
    if not set(gone) <= set(ones):
        raise ValueError(f"squeeze: dimensions {sorted(set(gone) - set(ones))} do not have extent one")

    def element(*i: Any) -> Any:
        rest = iter(i)
        return a(*[0 if d in gone else next(rest) for d in range(n)])

    return _compute([a.shape[d] for d in range(n) if d not in gone], element, "squeeze")


def flip(a: Any, axis: int = 0) -> Any:
    """Last element first, along the axis."""
    (at,) = real_axes(len(a.shape), axis)
    element = lambda *i: a(*[a.shape[d] - 1 - x if d == at else x for d, x in enumerate(i)])
    return _compute(a.shape, element, "flip")


def repeat(a: Any, repeats: int, axis: int) -> Any:
    """Every element several times in a row: [x, y] -> [x, x, y, y]"""
    (at,) = real_axes(len(a.shape), axis)
    shape = [n * repeats if d == at else n for d, n in enumerate(a.shape)]
    element = lambda *i: a(*[x // repeats if d == at else x for d, x in enumerate(i)])
    return _compute(shape, element, "repeat")


def tile(a: Any, reps: Any) -> Any:
    """The whole several times: [x, y] -> [x, y, x, y]; `reps` for each dimension, the last ones in line."""
    reps = list(reps) if isinstance(reps, (list, tuple)) else [reps]
    n = max(len(reps), len(a.shape))
    reps, old = [1] * (n - len(reps)) + reps, [1] * (n - len(a.shape)) + list(a.shape)
    lead = n - len(a.shape)
    element = lambda *i: a(*[x % m for x, m in zip(i[lead:], a.shape)])
    return _compute([r * m for r, m in zip(reps, old)], element, "tile")


def shape(array: Any, dtype: str = "int32") -> Any:
    """The extents, as a tensor."""
    dims = [n.astype(dtype) for n in array.shape]

    def element(i: Any) -> Any:
        value = dims[0]
        for d, n in enumerate(dims[1:], 1):
            value = tir.Select(i.equal(d), n, value)
        return value

    return te.compute((len(dims),), element, name="T_shape", tag="injective")


def ndarray_size(array: Any, dtype: str = "int32") -> Any:
    """The number of elements, as a tensor of rank 0."""
    return te.compute((), lambda: _size(array.shape).astype(dtype), name="ndarray_size", tag="injective")


# ---------------------------------------------------------------- pieces


def strided_slice(
    a: Any, begin: Any, end: Any = None, strides: Any = None, axes: Any = None, slice_mode: str = "end"
) -> Any:
    """a[begin:end:strides], as Python slices, of the dimensions `axes`. Mode "size": `end` counts elements."""
    begin = [_shared.constant(b, b) for b in begin]
    where = list(range(len(begin))) if axes is None else real_axes_in_order(len(a.shape), axes)
    strides = [1] * len(begin) if strides is None else list(strides) + [1] * (len(begin) - len(strides))
    end = [None] * len(begin) if end is None else [_shared.constant(e, e) for e in end]
    if slice_mode == "size":
        end = [None if e == -1 else b + e for b, e in zip(begin, end)]
    dims, first, step = list(a.shape), [0] * len(a.shape), [1] * len(a.shape)
    for d, b, e, s in zip(where, begin, end, strides):
        n = _shared.constant(a.shape[d])
        if not n:
            raise ValueError(f"strided_slice: dimension {d} of {a.name} has no constant extent")
        cut = range(*slice(b, e, s).indices(n))
        dims[d], first[d], step[d] = len(cut), cut.start, cut.step
    element = lambda *i: a(*[x * s + b for x, b, s in zip(i, first, step)])
    return _compute(dims, element, "strided_slice")


def real_axes_in_order(ndim: int, axes: Any) -> list[int]:
    return [real_axes(ndim, a)[0] for a in axes]


def strided_set(a: Any, v: Any, begin: Any, end: Any, strides: Any = None) -> Any:
    """`a` with a[begin:end:strides] = v; numbers, or tensors of them."""
    if isinstance(begin, te.Tensor):
        n = _shared.constant(begin.shape[0])
        cuts = [*zip(*_cuts(a, n, begin, end, strides))]
    else:
        n = len(begin)
        steps = [1] * n if strides is None else strides
        found = [range(*slice(*cut).indices(_shared.constant(m))) for *cut, m in zip(begin, end, steps, a.shape)]
        cuts = [(c.start, len(c), c.step) for c in found]

    def element(*i: Any) -> Any:
        steps = [te.floordiv(x - b, s) for x, (b, _, s) in zip(i, cuts)]
        inside = [te.all((b + q * s).equal(x), q >= 0, q < m) for x, q, (b, m, s) in zip(i, steps, cuts)]
        places = [te.max(te.min(q, m - 1), 0) for q, m in zip(steps, v.shape)]
        return te.if_then_else(te.all(*inside), v(*places, *i[n:]), a(*i))

    return _compute(a.shape, element, "strided_set")


def _cuts(a: Any, n: int, begin: Any, end: Any, strides: Any) -> list[list[Any]]:
    """(first element, how many, step) of Python slices whose bounds are data, each computed once."""
    sizes = shape(a)

    def stage(f: Any, name: str) -> Any:
        return te.compute((n,), f, name=name, tag="slice_bounds")

    step = stage(lambda d: te.const(1) if strides is None else strides[d].astype("int32"), "step")

    def clipped(bound: Any, d: Any) -> Any:
        low = tir.Select(step[d] < 0, te.const(-1), te.const(0))
        value = bound[d].astype("int32")
        return te.max(te.min(tir.Select(value < 0, value + sizes[d], value), sizes[d] + low), low)

    first, last = stage(lambda d: clipped(begin, d), "first"), stage(lambda d: clipped(end, d), "last")
    over = stage(lambda d: last[d] - first[d] + step[d] - tir.Select(step[d] < 0, te.const(-1), te.const(1)), "over")
    count = stage(lambda d: te.max(te.floordiv(over[d], step[d]), 0), "count")
    return [[t[d] for d in range(n)] for t in (first, count, step)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Pieces along the axis: so many equal ones, or cut at these indices."""
    (at,) = real_axes(len(ary.shape), axis)
    n = _shared.constant(ary.shape[at])
    if isinstance(indices_or_sections, int):
        if n % indices_or_sections:
            raise ValueError(f"an axis of {n} cannot be split into {indices_or_sections} equal pieces")
        size = n // indices_or_sections
        cuts = list(range(size, n, size))
    else:
        cuts = [_shared.constant(c) for c in indices_or_sections]
    return [_piece(ary, at, b, e) for b, e in zip([0, *cuts], [*cuts, n])]


def _piece(a: Any, axis: int, begin: int, end: int) -> Any:
    dims = [end - begin if d == axis else n for d, n in enumerate(a.shape)]
    return _compute(dims, lambda *i: a(*[x + begin if d == axis else x for d, x in enumerate(i)]), "split")


def concatenate(a_tuple: Any, axis: int = 0) -> Any:
    """One after the other along the axis."""
    parts = list(a_tuple)
    if not parts:
        raise ShapeError("operator-shapes", "concatenate: there are no tensors to join")
    (at,) = real_axes(len(parts[0].shape), axis)
    for number, p in enumerate(parts[1:], 1):
        _checks.need_dims("concatenate", f"tensor {number}", p, " ".join(f"n{d}" for d in range(len(parts[0].shape))))
        for d, (m, n) in enumerate(zip(parts[0].shape, p.shape)):
            if d != at:
                _checks.need_equal("concatenate", f"tensor 0 along dimension {d}", m, f"tensor {number}", n)
    starts: list[Any] = [te.const(0)]
    for p in parts:
        starts.append(starts[-1] + p.shape[at])
    dims = [starts[-1] if d == at else n for d, n in enumerate(parts[0].shape)]

    def element(*i: Any) -> Any:
        read = lambda p, start: p(*[x - start if d == at else x for d, x in enumerate(i)])
        value = read(parts[-1], starts[-2])
        for p, start, end in reversed(list(zip(parts[:-1], starts, starts[1:]))):
            value = te.if_then_else(i[at] < end, read(p, start), value)
        return value

    return _compute(dims, element, "concat")


def stack(a: Any, axis: int = 0) -> Any:
    """Side by side along a new dimension. `a`: tensors of one shape."""
    parts = list(a)
    at = axis + len(parts[0].shape) + 1 if axis < 0 else axis
    dims = [*parts[0].shape[:at], len(parts), *parts[0].shape[at:]]

    def element(*i: Any) -> Any:
        rest = (*i[:at], *i[at + 1 :])
        value = parts[-1](*rest)
        for k in range(len(parts) - 2, -1, -1):
            value = te.if_then_else(i[at].equal(k), parts[k](*rest), value)
        return value

    return _compute(dims, element, "stack")


def sliding_window(data: Any, axis: int, window_shape: Any, strides: Any) -> Any:
    """Every window over the dimensions from `axis` on, as dimensions of its own at the end."""
    size, strides = list(window_shape), list(strides)
    moving = range(axis, axis + len(size))
    counts = [(data.shape[d] - w) // s + 1 for d, w, s in zip(moving, size, strides)]
    dims = [*data.shape[:axis], *counts, *data.shape[axis + len(size) :], *size]

    def element(*i: Any) -> Any:
        inside = i[len(i) - len(size) :]
        return data(
            *[i[d] * strides[d - axis] + inside[d - axis] if d in moving else i[d] for d in range(len(data.shape))]
        )

    return _compute(dims, element, "sliding_window")


def fifo_buffer(data: Any, buffer: Any, axis: int) -> Any:
    """The buffer moved on along the axis by the length of the data, which comes in at the end."""
    (at,) = real_axes(len(buffer.shape), axis)
    new, kept = data.shape[at], buffer.shape[at] - data.shape[at]
    moved = lambda i, by: [x + by if d == at else x for d, x in enumerate(i)]
    element = lambda *i: te.if_then_else(i[at] < kept, buffer(*moved(i, new)), data(*moved(i, -kept)))
    return _compute(buffer.shape, element, "fifo_buffer")


def trilu(data: Any, k: Any, upper: bool) -> Any:
    """The part above (or below) the k-th diagonal; zeros elsewhere."""

    def element(*i: Any) -> Any:
        *_, row, column = i
        keep = row + k <= column if upper else row + k >= column
        return tir.Select(keep, data(*i), te.const(0, data.dtype))

    return _compute(data.shape, element, "trilu")


# ---------------------------------------------------------------- layouts


def parsed(layout: str) -> list[tuple[str, int]]:
    """NCHW16c -> [(N, 0), (C, 0), (H, 0), (W, 0), (c, 16)]"""
    made, number = [], ""
    for c in layout:
        if c.isdigit():
            number += c
        else:
            made.append((c, int(number or 0)))
            number = ""
    return made


def layout_transform(array: Any, src_layout: str, dst_layout: str, schedule_rule: str = "None") -> Any:
    """Dimensions in another order, and split or joined: NCHW -> NCHW16c."""
    source, target = parsed(src_layout), parsed(dst_layout)
    if {c.upper() for c, _ in source} != {c.upper() for c, _ in target} or len(source) != len(array.shape):
        raise ValueError(
            f"a tensor of {len(array.shape)} dimensions cannot go from layout {src_layout} to {dst_layout}"
        )
    if any(c.islower() and not f for c, f in (*source, *target)):
        raise ValueError(f"a small letter needs its size in front, as in NCHW16c: {src_layout} to {dst_layout}")
    inner_to, inner_from = dict(target), dict(source)
    whole = {}
    for (c, _), n in zip(source, array.shape):
        if c.isupper():
            whole[c] = n * inner_from.get(c.lower(), 1)
    dims = [f if f else _outer(whole[c], inner_to.get(c.lower(), 1)) for c, f in target]

    def element(*i: Any) -> Any:
        at = {c: x for (c, _), x in zip(target, i)}
        place = {c: at[c] * inner_to.get(c.lower(), 1) + at.get(c.lower(), 0) for c in whole}
        index = []
        for c, f in source:
            size = inner_from.get(c.lower(), 1)
            index.append(place[c.upper()] % f if f else place[c] // size if size != 1 else place[c])
        return array(*index)

    return _compute(dims, element, "layout_trans")


def _outer(extent: Any, factor: int) -> Any:
    if _shared.constant(extent) % factor:
        raise ValueError(f"a dimension of {_shared.constant(extent)} cannot be split by {factor}")
    return extent // factor


# ---------------------------------------------------------------- the gallery's names


def declare(op: str, shape: Any, how: Any, inputs: int = 0, dtype: str = "float32") -> list[Any]:
    """`inputs`: how many tensors of the shape the operator takes as a list."""
    xs = [te.placeholder(shape, dtype, name=f"x{k}") for k in range(inputs or 1)]
    out = globals()[op](xs if inputs else xs[0], **how)
    return [*xs, *(out if isinstance(out, list) else [out])]


def reference(*xs: Any, op: str, how: Any, **shape: Any) -> Any:
    from . import _numpy

    f = getattr(_numpy, op, None) or _numpy.plain(op)
    return f(xs if shape.get("inputs") else xs[0], **how)


def schedule_cpu(outs: Any) -> Any:
    """The outer loops in parallel, the last in vectors; what only elementwise functions read is computed in place."""
    return _shared.schedule(outs, lambda s, op: None, lambda op: False)


def schedule_gpu(outs: Any) -> Any:
    """A thread for each element; of a permutation that moves the last dimension, by tiles in shared memory, so that
    both reading and writing go along rows."""
    return _gpu.schedule(outs, by_tiles, lambda op: op.name == "T_transpose" and _moved(op) is not None)


def _moved(op: Any) -> Any:
    """The output dimension that runs along the input's rows, if it is another than the last; None otherwise."""
    (load,) = op.body
    last = load.indices[-1]
    at = next((d for d, a in enumerate(op.axis) if a.var is last), None)
    return at if at is not None and at != len(op.axis) - 1 else None


def by_tiles(s: Any, op: Any, tile: int = 32, rows: int = 8) -> None:
    """Tiles of tile x tile: read along the input's rows, written along the output's; one column of padding keeps the
    32 banks of shared memory apart."""
    (source,) = op.input_tensors
    stage, at = s[op], _moved(op)
    copy = s.cache_read(source, "shared", [op.output(0)])
    axes = list(stage.op.axis)
    across, along = axes[at], axes[-1]
    by, ai = stage.split(across, factor=tile)
    bx, tx = stage.split(along, factor=tile)
    part, ty = stage.split(ai, factor=rows)
    rest = [a for d, a in enumerate(axes) if d not in (at, len(axes) - 1)]
    stage.reorder(*rest, by, bx, part, ty, tx)
    if rest:
        _gpu.bind(stage, stage.fuse(*rest), "blockIdx.z")
    for axis, tag in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        _gpu.bind(stage, axis, tag)
    s[copy].compute_at(stage, bx)
    stored = list(s[copy].op.axis)
    _, tx = s[copy].split(stored[-1], factor=tile)
    _, ty = s[copy].split(s[copy].fuse(*stored[:-1]), factor=rows)
    _gpu.bind(s[copy], ty, "threadIdx.y")
    _gpu.bind(s[copy], tx, "threadIdx.x")
    if len(stored) > 1:
        s[copy].storage_align(stored[-2], tile, 1)
