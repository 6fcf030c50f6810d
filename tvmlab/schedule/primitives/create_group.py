from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...core.error import ScheduleError
from ...core.warning import warn
from ..state import ROOT, Group, Stage, State


def create_group(state: State, outputs: Any, inputs: Any, include_inputs: bool = False) -> tuple[State, int]:
    """The stages on the ways from `inputs` to `outputs` become a group: attach the group, and all of them move.

        D = f(A); E = g(D); C = h(E)               for i in range(n):
                                                       D[0] = f(A)           # the group of D and E,
        s.create_group(E, A)          ->               E[0] = g(D[0])        # attached to C at i
        attach it to C at i                            C[i] = h(E[0])

    The outputs belong to it, the inputs only with `include_inputs`. A member keeps a place of its own inside the
    group; a place outside is given up, with a warning. A group may contain whole groups. Returns the group's number.
    Refused: a group without stages, one that cuts through another.
    """
    chosen = _between(state, _stages(state, outputs), _stages(state, inputs), include_inputs)
    if not chosen:
        names = ", ".join(s.name for s in _stages(state, outputs))
        raise ScheduleError(
            "empty-group",
            f"no stage between these inputs and {names}: {names} does not depend on them",
            hint="inputs are what the group reads; with include_inputs they belong to it",
        )
    parent = _around(state, chosen)
    group = Group(max(state.groups, default=-1) + 1, parent)
    state = replace(state, groups={**state.groups, group.index: group})
    for s in chosen:
        state = _join(state, state.stages[s.index], group, parent)
    inside = {s.index for s in state.members(group.index)}
    for s in state.members(group.index):
        if s.attach.kind == "at" and s.attach.stage not in inside:
            place = state.stages[s.attach.stage].name
            warn(f"{s.name} gives up its place in {place}, which is outside of its group")
            state = state.with_stage(replace(s, attach=ROOT))
    return state, group.index


def _stages(state: State, things: Any) -> list[Stage]:
    return [state.stage_of(t) for t in (things if isinstance(things, (list, tuple)) else [things])]


def _between(state: State, outputs: list[Stage], inputs: list[Stage], include_inputs: bool) -> list[Stage]:
    """The stages from which outputs are reached and which reach inputs, producers first."""
    boundary = {s.index for s in inputs}
    leads: dict[int, bool] = {}  # does it depend on an input?

    def visit(s: Stage) -> bool:
        if s.index not in leads:
            leads[s.index] = s.index in boundary
            if s.index not in boundary:
                below = [visit(state.stage_of(t)) for t in s.op.inputs]
                leads[s.index] = any(below)
        return leads[s.index]

    for s in outputs:
        visit(s)
    return [s for s in state.in_order if leads.get(s.index) and (include_inputs or s.index not in boundary)]


def _around(state: State, chosen: list[Stage]) -> int | None:
    """The innermost group that all of them are in; groups inside it must be taken whole."""
    chains = [state.groups_of(s.group) for s in chosen]
    parent = next((g for g in chains[0] if all(g in c for c in chains)), None)
    inside = {s.index for s in chosen}
    for chain in chains:
        for g in chain[: chain.index(parent) if parent is not None else len(chain)]:
            left = [m.name for m in state.members(g) if m.index not in inside]
            if left:
                raise ScheduleError(
                    "group-crossing",
                    f"a group cannot contain part of another: group {g} also has {', '.join(left)}",
                    legal=[f"all of {', '.join(m.name for m in state.members(g))}", "none of them"],
                )
    return parent


def _join(state: State, s: Stage, group: Group, parent: int | None) -> State:
    """A stage right below the parent joins; of a stage in a group inside, that group does."""
    chain = state.groups_of(s.group)
    below = [g for g in (chain[: chain.index(parent)] if parent is not None else chain) if g != group.index]
    if not below:
        return state.with_stage(replace(s, group=group.index))
    if state.groups[below[-1]].parent == group.index:
        return state
    return replace(state, groups={**state.groups, below[-1]: replace(state.groups[below[-1]], parent=group.index)})
