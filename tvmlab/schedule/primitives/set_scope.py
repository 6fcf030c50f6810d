from __future__ import annotations

from dataclasses import replace

from ...core.error import ScheduleValueError
from ..scopes import known, rank
from ..state import State
from . import StageIndex


def set_scope(state: State, stage: StageIndex, scope: str) -> tuple[State, None]:
    """The memory that the stage's result lives in: global, shared, warp, local, or a registered one.

    Refused: a name that begins with no scope's name. An intermediate at the root with scope `local` is an open
    obligation: it must be attached.
    """
    if rank(scope) is None:
        raise ScheduleValueError("unknown-scope", f"there is no storage scope `{scope}`", legal=known())
    return state.with_stage(replace(state.stages[stage], scope=scope)), None
