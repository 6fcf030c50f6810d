"""What the primitives that add stages share."""

from __future__ import annotations

from dataclasses import replace

from ...core.node import DATA, ORDERED, REDUCE, IterVar
from ...expr.tensor import Operation
from ..state import Stage, State


def leaves_of(op: Operation) -> tuple[IterVar, ...]:
    return tuple(a for a in (*op.axis, *op.reduce_axis) if a.iter_type in (DATA, REDUCE, ORDERED))


def unique_name(state: State, name: str) -> str:
    """The classic rule: a name that is taken gets `.d`."""
    taken = {s.name for s in state.in_order}
    while name in taken:
        name += ".d"
    return name


def new_stage(state: State, op: Operation, scope: str = "", beside: int | None = None) -> Stage:
    """A stage that belongs to the group of the stage `beside`."""
    index = max(state.stages, default=-1) + 1
    group = None if beside is None else state.stages[beside].group
    return Stage(index, op, op, (*op.axis, *op.reduce_axis), leaves_of(op), scope=scope, group=group)


def insert(state: State, position: int, stage: Stage) -> State:
    order = (*state.order[:position], stage.index, *state.order[position:])
    return replace(
        state,
        order=order,
        stages={**state.stages, stage.index: stage},
        alias={**state.alias, stage.op: stage.index},
    )


def insert_after(state: State, index: int, op: Operation, scope: str) -> State:
    return insert(state, state.order.index(index) + 1, new_stage(state, op, scope, index))


def insert_before(state: State, index: int, op: Operation, scope: str) -> State:
    return insert(state, state.order.index(index), new_stage(state, op, scope, index))


def reset(stage: Stage, op: Operation) -> Stage:
    """The stage with a new operation; what was scheduled on its loops is gone."""
    return replace(
        stage, op=op, axes=(*op.axis, *op.reduce_axis), leaves=leaves_of(op), relations=(), marks={}, align={}
    )
