from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...core.error import ScheduleError
from ...expr.tensor import Tensor
from ..state import Group, State, is_input


def create_group(state: State, outputs: Any, inputs: Any, include_inputs: bool = False) -> tuple[State, int]:
    """Stages that move together: those between `inputs` and `outputs` (outputs included, inputs when asked).

        g = s.create_group(outputs=E, inputs=[A, B])         g.compute_at(s[F], F.op.axis[0])

    A member that has a place of its own keeps it. Refused: a part of another group without the rest of it, a tensor
    that is not in the schedule, an empty group.
    """
    ends = [state.stage_of(t).op for t in _list(outputs)]
    starts = {state.stage_of(t).op for t in _list(inputs)}
    between: dict[Any, bool] = {}

    def depends(op: Any) -> bool:
        """Is the operation an input, or does it read, at last, from one?"""
        if op not in between:
            between[op] = op in starts or any([depends(t.op) for t in op.inputs])
        return between[op]

    found: set[int] = set()
    todo = [op for op in ends if depends(op)]
    while todo:
        op = todo.pop()
        stage = state.stage_of(op)
        if stage.index in found or is_input(stage) or (op in starts and not include_inputs):
            continue
        found.add(stage.index)
        todo += [] if op in starts else [t.op for t in op.inputs if depends(t.op)]
    if not found:
        raise ScheduleError("empty-group", "create_group: there is no stage between the inputs and the outputs")
    number = len(state.groups)
    for group in {state.stages[i].group for i in found} - {None}:
        rest = [state.stages[i].name for i in members(state, group) if i not in found]
        if rest:
            raise ScheduleError(
                "split-group", f"create_group: it would take a part of group {group}, whose {', '.join(rest)} stay outside"
            )
    for i in sorted(found):
        if state.stages[i].group is None:
            state = state.with_stage(replace(state.stages[i], group=number))
    return replace(state, groups={**state.groups, number: Group(number, tuple(sorted(found)))}), number


def _list(things: Any) -> list[Tensor]:
    return list(things) if isinstance(things, (list, tuple)) else [things]


def members(state: State, group: Any) -> tuple[int, ...]:
    found: tuple[int, ...] = state.groups[group].members
    return found
