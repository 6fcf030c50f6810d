"""Where a dragged row of the tree may be dropped: a loop at another loop's place, a stage into a loop."""

from __future__ import annotations

from collections.abc import Iterator

from ..core.error import ScheduleValueError
from ..core.node import IterVar
from ..face.handle import Schedule
from ..face.moves import at_move, together
from ..face.verdict import ILLEGAL, Move, judge
from ..schedule.guard import name as called
from ..schedule.state import Stage, State, is_input
from ..schedule.trace import Trace
from .actions import act_of, sign
from .ids import id_of, ids
from .payload import Drop
from .words import why


def targets(schedule: Schedule | Trace, dragged: str) -> list[Drop]:
    """One for each loop of the schedule but the dragged one; those that cannot be say why."""
    trace = schedule if isinstance(schedule, Trace) else schedule.trace
    state = trace.state
    found = ids(state).get(dragged)
    if found is None:
        legal = [id_of(state, s, a) for s in state.in_order for a in s.leaves]
        raise ScheduleValueError("no-such-id", f"there is no loop or stage `{dragged}`", legal=legal[:24])
    stage, axis = state.stages[found[0]], found[1]
    return list(_of_stage(trace, stage) if axis is None else _of_loop(trace, stage, axis))


def _others(state: State) -> Iterator[tuple[Stage, IterVar]]:
    yield from ((s, a) for s in state.in_order if not is_input(s) for a in s.leaves)


def _of_stage(trace: Trace, stage: Stage) -> Iterator[Drop]:
    state = trace.state
    for parent, a in _others(state):
        if parent is stage:
            yield _refused(state, parent, a, f"it is a loop of {stage.name} itself")
        else:
            yield _judged(trace, parent, a, at_move(state, stage, parent, a))


def _of_loop(trace: Trace, stage: Stage, axis: IterVar) -> Iterator[Drop]:
    state = trace.state
    for owner, a in _others(state):
        if a is axis:
            continue
        if owner is not stage:
            yield _refused(state, owner, a, f"{called(state, axis)} is a loop of {stage.name}, not of {owner.name}")
        elif axis not in stage.leaves:
            yield _refused(state, owner, a, f"{called(state, axis)} is no loop any more")
        else:
            yield _judged(trace, owner, a, moved(state, stage, axis, a))


def moved(state: State, stage: Stage, axis: IterVar, to: IterVar) -> Move:
    """The reorder that puts a loop at the place of another; those between move up."""
    p, q = stage.leaves.index(axis), stage.leaves.index(to)
    order = (*stage.leaves[p + 1 : q + 1], axis) if p < q else (axis, *stage.leaves[q:p])
    return together(state, stage, "reorder", order)


def _refused(state: State, owner: Stage, a: IterVar, reason: str) -> Drop:
    return {"id": id_of(state, owner, a), "sign": "x", "reason": reason, "act": None}


def _judged(trace: Trace, owner: Stage, a: IterVar, move: Move) -> Drop:
    verdict = judge(trace, move.primitive, move.args)
    act = None if verdict.kind == ILLEGAL else act_of(move, trace.state)
    return {"id": id_of(trace.state, owner, a), "sign": sign(verdict), "reason": why(verdict), "act": act}
