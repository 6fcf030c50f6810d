from __future__ import annotations

from typing import Any

from ...core.error import ScheduleTypeError
from ...core.node import IterVar
from ...expr.tensor import Tensor
from ..guard import named, need_integer, need_leaf
from ..state import State
from . import StageIndex


def prefetch(state: State, stage: StageIndex, tensor: Tensor, var: IterVar, offset: Any) -> tuple[State, None]:
    """At each iteration of `var`, fetch into the cache what iteration `var + offset` will read of the tensor.

        for i in range(n):           ->     for i in range(n):
            S(i)                                prefetch(A, <region read at i + offset>)
                                                S(i)

    The loop must read the tensor, and have more than one iteration (checked when lowered). Refused: what is no tensor
    of the schedule, an offset that is no integer.
    """
    s = state.stages[stage]
    need_leaf(state, s, var, "prefetch at")
    if not isinstance(tensor, Tensor):
        raise ScheduleTypeError(
            "not-a-tensor", f"cannot prefetch {tensor!r} at {named(state, var)} of stage {s.name}: it is no tensor"
        )
    state.stage_of(tensor)
    ahead = need_integer(offset, f"cannot prefetch {tensor.name} at {named(state, var)} of stage {s.name}: the offset")
    found = (*s.mark(var).prefetches, (tensor, ahead))
    return state.with_stage(s.with_mark(var, prefetches=found)), None
