"""What several operators need: padding arguments, and the parts that most CPU schedules share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tvmlab import te, tir

LANES = 16  # floats in a vector of the widest CPUs; narrower ones use several registers
ELEMENTWISE = ("elemwise", "broadcast", "injective")  # tags of what may be computed inside its reader


# ---------------------------------------------------------------- arguments


def as_tuple(value: Any, n: int) -> tuple[Any, ...]:
    """One number for all `n` dimensions, or one for each."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,) * n


def pads(padding: Any, kernel: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Padding before and after each spatial dimension: a number, one per dimension, both sides, "SAME" or "VALID".

    `kernel`: the extents of the (dilated) window. SAME is that of stride 1; an odd one goes before.
    """
    n = len(kernel)
    if isinstance(padding, str):
        if padding.upper() not in ("SAME", "VALID"):
            raise ValueError(f"padding must be numbers, SAME or VALID, not {padding!r}")
        total = [k - 1 if padding.upper() == "SAME" else 0 for k in kernel]
        before = [(t + 1) // 2 for t in total]
        return before, [t - b for t, b in zip(total, before)]
    given = as_tuple(padding, n)
    if len(given) not in (n, 2 * n):
        raise ValueError(f"padding of {n} dimensions has {n} or {2 * n} numbers, not {len(given)}")
    return list(given[:n]), list(given[-n:])


def dilated(extent: Any, dilation: Any) -> Any:
    """How far a window reaches whose elements lie `dilation` apart."""
    return (extent - 1) * dilation + 1


def out_extent(size: Any, before: Any, after: Any, window: Any, stride: Any) -> Any:
    """How many windows fit."""
    return (size + before + after - window) // stride + 1


def constant(extent: Any, otherwise: int = 0) -> int:
    """The extent as a Python int; `otherwise` when it is symbolic."""
    value = getattr(extent, "value", extent)
    return value if isinstance(value, int) else otherwise


# ---------------------------------------------------------------- schedules


def as_outputs(outs: Any) -> list[te.Tensor]:
    return list(outs) if isinstance(outs, (list, tuple)) else [outs]


def operations(outs: Sequence[te.Tensor]) -> list[te.Operation]:
    """Every operation that the outputs need, producers first."""
    order: dict[te.Operation, None] = {}

    def visit(op: te.Operation) -> None:
        if op not in order:
            for t in op.input_tensors:
                visit(t.op)
            order[op] = None

    for t in outs:
        visit(t.op)
    return list(order)


def is_elementwise(op: te.Operation) -> bool:
    """Computed from its inputs without a sum: it may be inlined into its readers."""
    return isinstance(op, te.ComputeOp) and not op.reduce_axis and len(op.outputs) == 1 and op.tag in ELEMENTWISE


def schedule(outs: Any, plan: Callable[[Any, te.Operation], None], wanted: Callable[[te.Operation], bool]) -> Any:
    """A schedule in which `plan(s, op)` takes care of the operations `wanted`; the rest is inlined or goes by rows."""
    tensors = as_outputs(outs)
    s = te.create_schedule([t.op for t in tensors])
    ends = {t.op for t in tensors}
    order = operations(tensors)
    mine = [op for op in order if wanted(op)]
    for op in order:
        if op in mine or not isinstance(op, te.ComputeOp):
            continue
        if op not in ends and worth_repeating(op, [r for r in order if op in [t.op for t in r.input_tensors]]):
            s[op].compute_inline()
        else:
            rows(s, op)
    for op in mine:
        plan(s, op)
    return s


def worth_repeating(op: te.Operation, readers: Sequence[te.Operation]) -> bool:
    """Is it elementwise, and are its readers such that they need each element only a few times?"""
    once = all(is_elementwise(r) or r.tag.startswith("comm_reduce") for r in readers)
    return is_elementwise(op) and once and all(work(r) <= 4 * work(op) for r in readers)


def rows(
    s: Any, op: te.Operation, beside: int | None = None, vectors: int = 1, parallel: bool | None = None
) -> None:
    """The outer loops in parallel, the last one that has several iterations in vectors; sums run around the vector.

    `beside`: the number of an axis of which four iterations go side by side, since they read the same vector or the
    same number; only if four divides it. `vectors`: so many at a time. `parallel`: see `in_parallel`.
    """
    stage = s[op]
    axes = list(stage.op.axis)
    if not axes:
        return
    last = next((k for k in reversed(range(len(axes))) if constant(axes[k].dom.extent, LANES) > 1), 0)
    outer, lanes = stage.split(axes[last], factor=vectors * LANES)
    inside = axes[last + 1 :]  # loops of one iteration
    lead = axes[:last]
    if beside is not None and beside < last and constant(lead[beside].dom.extent, 1) % 4 == 0:
        lead[beside], four = stage.split(lead[beside], factor=4)
        stage.unroll(four)
        inside.append(four)
    stage.reorder(*lead, outer, *stage.op.reduce_axis, *inside, lanes)
    in_vectors(stage, lanes, vectors)
    in_parallel(stage, lead or [outer], parallel=parallel)


def in_vectors(stage: Any, axis: Any, vectors: int) -> None:
    """A loop over so many vectors: one after the other in the text."""
    if vectors > 1:
        several, axis = stage.split(axis, factor=LANES)
        stage.unroll(several)
    stage.vectorize(axis)


WORTH_THREADS = 1 << 15  # elements visited: what takes less (some microseconds) is over before another core has begun


def work(op: te.Operation) -> int:
    """How many elements the operation visits; very many when a dimension is symbolic."""
    total = 1
    for a in (*op.axis, *op.reduce_axis):
        total *= constant(a.extent, 1 << 20)
    return total


def side_by_side(s: Any, op: te.Operation, vectors: int = 1) -> list[Any]:
    """So many vectors of partial results along the last axis that is folded, then one vector of theirs, then the
    result: a fold of single elements would wait for each. Gives the stages of the partial results."""
    found = []
    for count in (vectors, 1) if vectors > 1 else (1,):
        _, lanes = s[op].split(s[op].op.reduce_axis[-1], factor=count * LANES)
        part = s[s.rfactor(op.output(0), lanes)]
        first, *rest = part.op.axis  # the new axis is in front; the loops that are folded run outside of it
        part.reorder(*rest, *part.op.reduce_axis, first)
        in_vectors(part, first, count)
        found.append(part)
    return found


def worth_threads(op: te.Operation) -> bool:
    return work(op) >= WORTH_THREADS


def in_parallel(
    stage: Any, axes: Iterable[Any], at_least: int = 64, op: Any = None, parallel: bool | None = None
) -> Any:
    """As many of the outer axes, fused, as it takes to have work for every core; gives that axis.

    Little work stays with one thread: the work of `op`, which is the operation before rfactor took its sums apart;
    unless `parallel` says otherwise.
    """
    outer, *rest = axes
    count = constant(outer.dom.extent, at_least)
    for axis in rest:
        if count >= at_least:
            break
        count *= constant(axis.dom.extent, at_least)
        outer = stage.fuse(outer, axis)
    if worth_threads(op or stage.op) if parallel is None else parallel:
        stage.parallel(outer)
    return outer


def pad_element(data: te.Tensor, index: Sequence[Any], before: Sequence[Any], value: Any, after: Sequence[Any]) -> Any:
    """Element `index` of `data` with elements of `value` before and after each dimension."""
    moved, inside = [], []
    for i, b, a, n in zip(index, before, after, data.shape):
        at_start, at_end = constant(b, -1) == 0, constant(a, -1) == 0
        moved.append(i if at_start else i - b)
        inside += [] if at_start else [i >= b]
        inside += [] if at_end else [i < n + b]
    fill = value.astype(data.dtype) if isinstance(value, te.Tensor | tir.PrimExpr) else te.const(value, data.dtype)
    return tir.if_then_else(te.all(*inside), data(*moved), fill) if inside else data(*moved)


def padded(x: Any, shape: Sequence[int], name: str) -> Any:
    """The tensor with zeros behind it in each dimension, of that shape; itself where it has the shape."""
    before = [d.value for d in x.shape]
    if before == list(shape):
        return x
    after = [b - a for a, b in zip(before, shape)]
    return te.compute(shape, lambda *at: pad_element(x, at, [0] * len(shape), te.const(0, x.dtype), after), name=name)
