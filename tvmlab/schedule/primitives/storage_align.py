from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...core.error import ScheduleError
from ...core.node import IterVar
from ..guard import describe, need_integer, need_positive
from ..state import State
from . import StageIndex


def storage_align(state: State, stage: StageIndex, axis: IterVar, factor: int, offset: int = 0) -> tuple[State, None]:
    """Pad the result's memory so that the stride of this dimension is `offset` modulo `factor` (in elements).

        B = alloc((32, 32))          ->     B = alloc((32, 32), strides=(33, 1))     # factor 32, offset 1

    Only padding is added, no loop changes. Refused: an axis that is no dimension of the stage's result.
    """
    s = state.stages[stage]
    if axis not in s.op.axis:
        raise ScheduleError(
            "not-a-dimension",
            f"cannot align `{axis.name}` in stage {s.name}: it is no dimension of its result",
            legal=[describe(a) for a in s.op.axis],
        )
    need_positive(s, axis, factor, "the factor")
    need_integer(s, axis, offset, "the offset")
    align: dict[Any, tuple[int, int]] = {**s.align, axis: (int(factor), int(offset))}
    return state.with_stage(replace(s, align=align)), None
