"""What the primitives on groups share."""

from __future__ import annotations

from ...core.error import ScheduleValueError
from ..state import Group, State


def group_of(state: State, group: int) -> Group:
    """The group of that number; an unknown one answers with those that exist."""
    if group not in state.groups:
        legal = [f"{g}: {', '.join(s.name for s in state.members(g))}" for g in state.groups]
        raise ScheduleValueError("no-such-group", f"there is no group {group} in this schedule", legal=legal)
    return state.groups[group]
