from __future__ import annotations

from dataclasses import replace

from ..state import ROOT, State
from ._groups import group_of


def detach_group(state: State, group: int) -> tuple[State, None]:
    """The stages of a group are computed whole, before their consumers: undoes attach_group."""
    made = replace(group_of(state, group), attach=ROOT)
    return replace(state, groups={**state.groups, group: made}), None
