from __future__ import annotations

from dataclasses import replace

from ...core.error import ScheduleError
from ...core.node import IterVar
from ..state import Attach, State
from . import StageIndex
from .compute_at import compute_at


def group_compute_at(state: State, group: int, parent: StageIndex, scope: IterVar) -> tuple[State, None]:
    """Every stage of the group is computed inside the loop `scope` of `parent`: `g.compute_at(s[F], i)`.

    Members that have a place of their own keep it. Refused: a parent inside the group, and what compute_at refuses.
    """
    if group not in state.groups:
        raise ScheduleError("no-such-group", f"there is no group {group}", legal=[str(g) for g in state.groups])
    g = state.groups[group]
    if parent in g.members:
        raise ScheduleError(
            "attach-in-group", f"cannot compute a group inside {state.stages[parent].name}, which is one of its stages"
        )
    old = g.attach
    for i in g.members:
        own = state.stages[i].attach
        if own.kind == "root" or (own.stage, own.axis) == (old.stage, old.axis):
            state, _ = compute_at(state, i, parent, scope)
    moved = replace(g, attach=Attach("at", parent, scope))
    return replace(state, groups={**state.groups, group: moved}), None
