"""The checks that primitives share, with the errors a person reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

from ..core import dtype as dt
from ..core.error import LabError, ScheduleError, ScheduleTypeError, ScheduleValueError
from ..core.node import DATA, KIND_NAMES, ORDERED, REDUCE, THREAD, Expr, IterVar
from ..core.text import show
from ..core.walk import constant
from .state import Stage, State, is_compute, is_input

WORDS = {DATA: "data", REDUCE: "reduction", ORDERED: "scan", THREAD: "thread"}


def describe(axis: IterVar) -> str:
    """`i.inner (32)`"""
    return f"{axis.name} ({show(axis.dom.extent)})" if axis.dom is not None else axis.name


def loop_lines(stage: Stage, guilty: Sequence[IterVar] = (), why: str = "") -> list[str]:
    """The stage's loops, one a line, the guilty ones marked."""
    lines = []
    for depth, a in enumerate(stage.leaves):
        extent = show(a.dom.extent) if a.dom is not None else "?"
        text = "  " * depth + f"for {a.name} in {extent}"
        lines.append(f"{text:<34} <- {why}" if a in guilty and why else text)
    return lines


def need(ok: Any, error: LabError) -> None:
    if not ok:
        raise error


def need_leaf(state: State, stage: Stage, axis: Any, verb: str) -> None:
    """`axis` must be one of the stage's current loops."""
    if not isinstance(axis, IterVar):
        raise ScheduleTypeError(
            "not-an-axis",
            f"cannot {verb} {axis!r} in stage {stage.name}: it is a {type(axis).__name__}, not an axis",
            legal=[describe(a) for a in stage.leaves],
        )
    if axis in stage.leaves:
        return
    if axis in stage.axes:
        raise ScheduleError(
            "not-a-leaf",
            f"cannot {verb} `{axis.name}` in stage {stage.name}: {_fate(stage, axis)}",
            where=loop_lines(stage),
            legal=[describe(a) for a in stage.leaves],
            hint="use the axes that the earlier step returned",
        )
    owner = state.owner(axis)
    home = f"it is an axis of stage {owner.name}" if owner else "it is no axis of this schedule"
    if axis.iter_type == THREAD:
        home = "it is a thread axis, which other axes are bound to"
    raise ScheduleError(
        "foreign-axis",
        f"cannot {verb} `{axis.name}` in stage {stage.name}: {home}",
        where=loop_lines(stage),
        legal=[describe(a) for a in stage.leaves],
        hint=f"after cache_write or rfactor use s[{stage.name}].op.axis and s[{stage.name}].op.reduce_axis",
    )


def _fate(stage: Stage, axis: IterVar) -> str:
    for r in stage.relations:
        kind = type(r).__name__
        if kind == "Split" and r.parent is axis:  # type: ignore[union-attr]
            return f"it was split into `{r.outer.name}` and `{r.inner.name}`"  # type: ignore[union-attr]
        if kind == "Fuse" and axis in (r.outer, r.inner):  # type: ignore[union-attr]
            return f"it was fused into `{r.fused.name}`"  # type: ignore[union-attr]
        if kind == "Transform" and axis in r.originals:  # type: ignore[union-attr]
            return "its loops follow the new layout now"
    return "it is not a loop of the stage any more"


def need_kind(stage: Stage, axis: IterVar, allowed: Sequence[int], verb: str, why: str, hint: str = "") -> None:
    """The axis must have one of these types."""
    if axis.iter_type in allowed:
        return
    legal = [describe(a) for a in stage.leaves if a.iter_type in allowed]
    raise ScheduleError(
        f"{verb.split()[0]}-{WORDS.get(axis.iter_type, KIND_NAMES[axis.iter_type].lower())}",
        f"cannot {verb} `{axis.name}` in stage {stage.name}",
        where=loop_lines(stage, [axis], why),
        legal=legal,
        hint=hint,
    )


def need_integer(stage: Stage, axis: IterVar, value: Any, what: str) -> None:
    if not dt.is_int(value.dtype) if isinstance(value, Expr) else not isinstance(value, SupportsIndex):
        message = f"{what} for `{axis.name}` in stage {stage.name} must be an integer, not {value!r}"
        raise ScheduleTypeError("not-an-integer", message)


def need_positive(stage: Stage, axis: IterVar, value: Any, what: str) -> None:
    need_integer(stage, axis, value, what)
    number = value if isinstance(value, int) else constant(value)
    if number is not None and number <= 0:
        raise ScheduleValueError(
            "not-positive",
            f"cannot split `{axis.name}` in stage {stage.name}: {what} must be positive, not {number}",
        )


def need_compute(stage: Stage, verb: str) -> None:
    if not is_compute(stage):
        what = "an input" if is_input(stage) else f"a {stage.op.kind}"
        raise ScheduleError("not-a-compute", f"cannot {verb} {stage.name}: it is {what}, not a te.compute")


def need_movable(state: State, stage: Stage, verb: str) -> None:
    """A stage that a scan runs, or an input, cannot be placed elsewhere."""
    if stage.attach.kind == "scan":
        scan = state.stages[stage.attach.stage].name
        raise ScheduleError(
            "scan-update", f"cannot {verb} {stage.name}: it is the update of {scan}, which runs it in its own loop"
        )
    if is_input(stage):
        raise ScheduleError("input-stage", f"cannot {verb} {stage.name}: it is an input, nothing computes it")
