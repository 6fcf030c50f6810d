from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...core.error import ScheduleError, ScheduleTypeError
from ...core.node import IterVar
from ...core.walk import constant
from ..guard import article, describe, named, need_integer, need_movable, need_positive
from ..state import Stage, State, Transform
from . import StageIndex


def dimensions_of(s: Stage) -> tuple[IterVar, ...]:
    """The axis of each dimension of the stage's memory: after transform_layout, those that it returned."""
    return next((r.transformed for r in s.relations if isinstance(r, Transform)), s.op.axis)


def storage_align(state: State, stage: StageIndex, axis: IterVar, factor: int, offset: int = 0) -> tuple[State, None]:
    """Pad the result's memory so that the stride of this dimension is `offset` modulo `factor` (in elements).

        B = alloc((32, 32))          ->     B = alloc((32, 32), strides=(33, 1))     # factor 32, offset 1

    Only padding is added, no loop changes. Refused: an axis that is no dimension of the stage's result, an
    input, a factor that is not positive.
    """
    s = state.stages[stage]
    need_movable(state, s, "align")
    if not isinstance(axis, IterVar):
        kind = article(type(axis).__name__)
        raise ScheduleTypeError("not-an-axis", f"cannot align {axis!r} in stage {s.name}: it is {kind}, not an axis")
    dimensions = dimensions_of(s)
    if axis not in dimensions:
        raise ScheduleError(
            "not-a-dimension",
            f"cannot align {named(state, axis)} in stage {s.name}: it is no dimension of its result",
            legal=[describe(state, a) for a in dimensions],
        )
    what = f"cannot align {named(state, axis)} in stage {s.name}:"
    sizes = constant(need_positive(factor, f"{what} the factor")), constant(need_integer(offset, f"{what} the offset"))
    if sizes[0] is None or sizes[1] is None:
        message = f"{what} factor and offset must be constants, not {factor!r}, {offset!r}"
        raise ScheduleTypeError("not-an-integer", message)
    align: dict[Any, tuple[int, int]] = {**s.align, axis: (sizes[0], sizes[1])}
    return state.with_stage(replace(s, align=align)), None
