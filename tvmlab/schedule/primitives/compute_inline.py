from __future__ import annotations

from dataclasses import replace

from ...core.error import ScheduleError
from ..guard import need_compute, need_movable
from ..state import Attach, State
from . import StageIndex


def compute_inline(state: State, stage: StageIndex) -> tuple[State, None]:
    """The stage's expression is written into its consumers; it gets no storage and no loops.

        B[i] = A[i] + 1
        C[i] = B[i] * 2              ->     C[i] = (A[i] + 1) * 2

    Refused: an output (it would vanish), a reduction (it is no single expression), several outputs, inputs, scans.
    """
    s = state.stages[stage]
    need_movable(state, s, "inline")
    need_compute(s, "inline")
    if s.is_output:
        raise ScheduleError(
            "inline-output",
            f"cannot inline {s.name}: it is an output, its values would never be stored",
            hint="only intermediate stages can be inlined",
        )
    if s.op.is_reduction:
        raise ScheduleError(
            "inline-reduction",
            f"cannot inline {s.name}: it is a reduction, which is no single expression",
            legal=[f"s[{s.called}].compute_at(consumer, axis)"],
            hint="compute it inside the consumer's loops instead",
        )
    if s.op.num_outputs > 1:
        raise ScheduleError("inline-outputs", f"cannot inline {s.name}: it has {s.op.num_outputs} outputs")
    return state.with_stage(replace(s, attach=Attach("inline"))), None
