from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...core.build import as_bool, to_expr
from ...core.dtype import is_bool, is_int
from ...core.error import ScheduleTypeError
from ..guard import need_movable
from ..state import State
from . import StageIndex


def set_store_predicate(state: State, stage: StageIndex, predicate: Any) -> tuple[State, None]:
    """The stage stores only where the condition holds, over thread variables: `threadIdx.x == 0`.

        for tx in thread("threadIdx.x", 32):   ->   for tx in thread("threadIdx.x", 32):
            B[0] = ...                                  if tx == 0: B[0] = ...

    Refused: what is no condition, an input.
    """
    s = state.stages[stage]
    need_movable(state, s, "guard the stores of")
    try:
        given = to_expr(predicate)
    except TypeError:
        given = None
    if given is None or not (is_bool(given.dtype) or is_int(given.dtype)):
        raise ScheduleTypeError(
            "not-a-condition",
            f"the store predicate of {s.name} must be a condition, not {predicate!r}",
            hint="compare a thread's variable: thread_axis.var.equal(0)",
        )
    return state.with_stage(replace(s, predicate=as_bool(given))), None
