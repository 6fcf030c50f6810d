from __future__ import annotations

from dataclasses import replace

from ...core.error import ScheduleError
from ...core.node import IterVar
from ..guard import need_leaf
from ..state import Attach, State
from . import StageIndex
from ._groups import group_of
from .compute_at import attached_to


def attach_group(state: State, group: int, parent: StageIndex, scope: IterVar) -> tuple[State, None]:
    """All stages of a group are computed inside the loop `scope` of `parent`, except those with a place of their own.

        for i: D[i] = f(i)                  for i:
        for i: E[i] = g(D[i])      ->           D[0] = f(i)
        for i: C[i] = h(E[i])                   E[0] = g(D[0])
                                                C[i] = h(E[0])

    Refused: a group with an output of the schedule or with the parent in it, a cycle, an axis that is no loop of the
    parent, a parent outside of the group around this one.
    """
    record, p = group_of(state, group), state.stages[parent]
    members = state.members(group)
    outputs = [s.name for s in members if s.is_output]
    if outputs:
        raise ScheduleError(
            "attach-output",
            f"cannot compute the group inside {p.name}: {', '.join(outputs)} is an output, it is computed whole",
        )
    need_leaf(state, p, scope, "compute a group at")
    if {s.index for s in members} & set(attached_to(state, p)):
        raise ScheduleError(
            "attach-cycle",
            f"cannot compute the group inside {p.name}: {p.name} is itself in the group, or computed inside it",
            where=[", ".join(s.name for s in members)],
        )
    if record.parent is not None and record.parent not in state.groups_of(p.group):
        raise ScheduleError(
            "attach-group",
            f"cannot compute the group inside {p.name}: it belongs to a group that {p.name} is not in",
            legal=[s.name for s in state.members(record.parent) if s not in members],
        )
    made = replace(record, attach=Attach("at", p.index, scope))
    return replace(state, groups={**state.groups, group: made}), None
