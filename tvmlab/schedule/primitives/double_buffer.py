from __future__ import annotations

from dataclasses import replace

from ...core.error import ScheduleError
from ..guard import need_movable
from ..state import State
from . import StageIndex


def double_buffer(state: State, stage: StageIndex) -> tuple[State, None]:
    """The stage gets two copies of its memory: the next iteration's part is computed while this one is read.

        for k in range(n):                  B[0] = f(0)
            B[0] = f(k)              ->     for k in range(n):
            use(B[0])                           if k + 1 < n: B[(k + 1) % 2] = f(k + 1)
                                                use(B[k % 2])

    Refused: an output, an input. The stage must be attached inside a loop: until then it is an open obligation.
    """
    s = state.stages[stage]
    need_movable(state, s, "double buffer")
    if s.is_output:
        raise ScheduleError("double-buffer-output", f"cannot double buffer {s.name}: it is an output, computed once")
    return state.with_stage(replace(s, double_buffer=True)), None
