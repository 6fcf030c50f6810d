"""softmax and log_softmax along one axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvmlab import te, tune

from . import _gpu, _shared, _space
from .reduction import real_axes

SHAPES = {
    "ResNet-18's classes": {"shape": (1, 1000)},
    "a batch of classes": {"shape": (256, 1000)},
    "attention": {"shape": (12, 128, 128)},
}
SMALL = [
    {"shape": (5, 37)},
    {"shape": (1, 1)},
    {"shape": (3, 5, 19), "axis": 1},
    {"shape": (2, 3, 70), "dtype": "float64"},
    {"shape": (5, 37), "log": True},
    {"shape": (3, 5, 19), "axis": 0, "log": True},
]


def _folded(x: Any, axis: int, reducer: Any, value: Callable[..., Any], name: str) -> Any:
    """`reducer` over `value(index)` along the axis; one dimension less."""
    k = te.reduce_axis((0, x.shape[axis]), name="k")
    shape = [n for d, n in enumerate(x.shape) if d != axis]
    element = lambda *i: reducer(value(*i[:axis], k.var, *i[axis:]), axis=k)
    return te.compute(shape, element, name=name, tag="comm_reduce")


def _without(index: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    return index[:axis] + index[axis + 1 :]


def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x - max) / sum(exp(x - max)) along the axis."""
    (axis,) = real_axes(len(x.shape), axis)
    top = _folded(x, axis, te.max, x, "T_softmax_maxelem")
    attrs = {"axis": axis}
    e = te.compute(x.shape, lambda *i: te.exp(x(*i) - top(*_without(i, axis))), name="T_softmax_exp")
    total = _folded(x, axis, te.sum, e, "T_softmax_expsum")
    element = lambda *i: e(*i) / total(*_without(i, axis))
    return te.compute(x.shape, element, name="T_softmax_norm", tag="softmax_output", attrs=attrs)


fast_softmax = softmax  # exp of vectors is fast here


def log_softmax(x: Any, axis: int = -1) -> Any:
    """x - max - log(sum(exp(x - max))) along the axis."""
    (axis,) = real_axes(len(x.shape), axis)
    top = _folded(x, axis, te.max, x, "T_softmax_maxelem")
    attrs = {"axis": axis}
    power = lambda *i: te.exp(x(*i) - top(*_without(i, axis)))
    total = _folded(x, axis, te.sum, power, "T_softmax_expsum")
    logs = te.compute(total.shape, lambda *i: te.log(total(*i)), name="T_softmax_log")
    element = lambda *i: x(*i) - top(*_without(i, axis)) - logs(*_without(i, axis))
    return te.compute(x.shape, element, name="T_log_softmax", tag="log_softmax_output", attrs=attrs)


def declare(shape: Any, axis: int = -1, log: bool = False, dtype: str = "float32") -> list[Any]:
    x = te.placeholder(shape, dtype, name="x")
    return [x, (log_softmax if log else softmax)(x, axis)]


def reference(x: Any, /, axis: int = -1, log: bool = False, **shape: Any) -> Any:
    import numpy as np

    moved = x - x.max(axis=axis, keepdims=True)
    total = np.exp(moved).sum(axis=axis, keepdims=True)
    return moved - np.log(total) if log else np.exp(moved) / total


def schedule_softmax(s: Any, op: Any) -> None:
    """Row by row: the largest element, the powers, their sum and the quotients, while the row is in the cache."""
    row_by_row(s, op, **by_hand(op))


def by_hand(op: Any) -> dict[str, Any]:
    """The choices of the hand schedule."""
    return {"place": "row", "rows": 1, "vectors": 1, "sums": 1, "powers": "kept",
            "parallel": _shared.worth_threads(op)}  # fmt: skip


@tune.template("kernels.softmax")
def tuned(shape: Any, axis: int = -1, log: bool = False, dtype: str = "float32") -> tuple[Any, list[Any]]:
    """The search template: the choices of `row_by_row`. Point 0 is the hand schedule, `schedule_softmax`."""
    x, out = declare(shape, axis, log, dtype)
    along = _along_rows(out.op)
    wide = _shared.constant(out.shape[-1]) // _shared.LANES
    several = along and len(shape) > 1
    cfg = tune.get_config()
    cfg.add_flop((4 if log else 5) * _shared.work(out.op))  # a comparison, two sums, an exponential, a quotient
    choices: dict[str, list[Any]] = {
        "place": ["row", "root"] if along else ["row"],
        "rows": [1, *[n for n in (2, 4, 8) if several and n <= _shared.constant(shape[-2])]],
        "vectors": [1, *[v for v in (2, 4, 8) if v <= wide]],
        "sums": [1, *[v for v in (2, 4, 8) if along and 2 * v <= wide]],
        "powers": ["kept"] if log else ["kept", "again"],
        "parallel": _space.threads(_shared.work(out.op)),
    }
    s = te.create_schedule(out.op)
    row_by_row(s, out.op, **_space.choose(cfg, choices, by_hand(out.op)))
    return s, [x, out]


def row_by_row(
    s: Any, op: Any, *, place: str, rows: int, vectors: int, sums: int, powers: str, parallel: bool
) -> None:
    """The parts of a softmax.

    `place`: for a row at a time, or for all of them. `rows`: so many at a time. `vectors`: of elements. `sums`: vectors
    of partial results side by side. `powers`: kept, or computed again for the quotients.
    """
    parts = _parts(op)
    if powers == "again":
        parts = [p for p in parts if p.reduce_axis or len(p.axis) < len(op.axis) or s[p].compute_inline()]
    if not _along_rows(op):
        for part in (*parts, op):
            _shared.rows(s, part, vectors=vectors, parallel=parallel)
        return
    *lead, last = s[op].op.axis
    inside: list[Any] = []
    if rows > 1:
        lead[-1], block = s[op].split(lead[-1], factor=rows)
        inside = [block]
    s[op].reorder(*lead, *inside, last)
    outer = _shared.in_parallel(s[op], lead, at_least=1 << 20, parallel=parallel)
    _vector(s[op], last, vectors)
    for part in reversed(parts):
        stages = [s[part]]
        if part.reduce_axis:
            long_enough = _shared.constant(part.reduce_axis[0].dom.extent, 1024) >= 2 * _shared.LANES
            stages += _shared.side_by_side(s, part, sums) if long_enough else []
        elif len(part.axis) == len(op.axis):
            _vector(s[part], s[part].op.axis[-1], vectors)
        for stage in stages:
            if place == "row":
                stage.compute_at(s[op], outer)


def _along_rows(op: Any) -> bool:
    """Is the axis the last of several dimensions?"""
    return bool(op.attrs["axis"] == len(op.axis) - 1 and len(op.axis) > 1)


def _parts(op: Any) -> list[Any]:
    """The stages of one softmax before its output, producers first."""
    return [p for p in _shared.operations([op.output(0)])[:-1] if p.name.startswith("T_softmax_")]


def _vector(stage: Any, axis: Any, vectors: int) -> None:
    _, inner = stage.split(axis, factor=vectors * _shared.LANES)
    _shared.in_vectors(stage, inner, vectors)


def schedule_cpu(outs: Any) -> Any:
    mine: set[Any] = set()
    for op in _shared.operations(_shared.as_outputs(outs)):
        if op.tag in ("softmax_output", "log_softmax_output"):
            mine |= {op, *_parts(op)}
    plan = lambda s, op: schedule_softmax(s, op) if op.tag.endswith("softmax_output") else None
    return _shared.schedule(outs, plan, lambda op: op in mine)


# ---------------------------------------------------------------- GPUs


def schedule_gpu(outs: Any) -> Any:
    mine: set[Any] = set()
    for op in _shared.operations(_shared.as_outputs(outs)):
        if op.tag in ("softmax_output", "log_softmax_output"):
            mine |= {op, *_parts(op)}
    plan = lambda s, op: by_blocks(s, op) if op.tag.endswith("softmax_output") else None
    return _gpu.schedule(outs, plan, lambda op: op in mine)


def by_blocks(s: Any, op: Any) -> None:
    """A block for each row: its threads fold the row together, and compute the powers once, into shared memory.

    Along another axis than the last a thread has a row of its own: neighbours read side by side.
    """
    parts, axis = _parts(op), op.attrs["axis"]
    data = list(s[op].op.axis)
    rest = [a for d, a in enumerate(data) if d != axis]
    length = _shared.constant(data[axis].dom.extent, 1 << 20)
    together = axis == len(data) - 1 and length > 1
    s[op].reorder(*rest, data[axis])
    block = s[op].fuse(*rest)
    if not together:
        block, thread = s[op].split(block, factor=_gpu.BLOCK)
        _gpu.bind(s[op], block, "blockIdx.x")
        _gpu.bind(s[op], thread, "threadIdx.x")
        for part in parts:
            s[part].compute_at(s[op], thread)
            s[part].set_scope("local")
        return
    threads = _gpu.threads_along(length)
    _gpu.bind(s[op], block, "blockIdx.x")
    _gpu.in_turn(s[op], data[axis], threads)
    for part in parts:
        if len(part.axis) == len(data) and length * _gpu.BYTES > _gpu.SHARED:
            s[part].compute_inline()  # a row that does not fit: its powers are computed twice
            continue
        s[part].compute_at(s[op], block)
        s[part].set_scope("shared")
        if part.reduce_axis:
            _gpu.in_turn(s[part], part.reduce_axis[0], threads)
        elif len(part.axis) == len(data):
            _gpu.in_turn(s[part], part.axis[-1], threads)
