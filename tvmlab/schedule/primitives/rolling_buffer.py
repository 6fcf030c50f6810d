from __future__ import annotations

from dataclasses import replace

from ...core.error import ScheduleError
from ..guard import need_compute, need_movable
from ..state import State
from . import StageIndex


def rolling_buffer(state: State, stage: StageIndex) -> tuple[State, None]:
    """The stage keeps, in a circular buffer, the part of a sliding window that the next iteration needs again.

        for y in range(n):                  for y in range(n):
            for r in range(3):       ->         for r in (the rows that are new):
                B[r] = f(y + r)                     B[(y + r) % 3] = f(y + r)
            use(B[0], B[1], B[2])               use(B[y % 3], B[(y+1) % 3], B[(y+2) % 3])

    Refused: an output, an input, a stage that is not attached inside a loop.
    """
    s = state.stages[stage]
    need_movable(state, s, "roll")
    need_compute(s, "roll")
    if s.is_output:
        raise ScheduleError("rolling-output", f"cannot roll {s.name}: it is an output, computed whole")
    if state.attach_of(s).kind != "at":
        raise ScheduleError(
            "rolling-root",
            f"cannot roll {s.name}: it is not computed inside a loop of its consumer",
            hint=f"attach it first: s[{s.called}].compute_at(consumer, axis)",
        )
    return state.with_stage(replace(s, rolling_buffer=True)), None
