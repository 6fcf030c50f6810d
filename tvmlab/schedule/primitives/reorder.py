from __future__ import annotations

from dataclasses import replace

from ...core.error import ScheduleError
from ...core.node import DATA, REDUCE, THREAD, IterVar
from ..guard import loops, named, need_kind, need_leaf
from ..state import State
from . import StageIndex


def reorder(state: State, stage: StageIndex, *axes: IterVar) -> tuple[State, None]:
    """The listed loops take each other's places, in the order given; the others stay where they are.

        for i in range(n):                  for j in range(m):
            for j in range(m):       ->         for i in range(n):
                S(i, j)                             S(i, j)

    Refused: an axis listed twice, scan and opaque axes, axes that are no loops of the stage.
    """
    s = state.stages[stage]
    for a in axes:
        need_leaf(state, s, a, "reorder")
        need_kind(state, s, a, (DATA, REDUCE, THREAD), "reorder", "its iterations have a fixed order")
    twice = next((a for i, a in enumerate(axes) if a in axes[:i]), None)
    if twice is not None:
        raise ScheduleError(
            "reorder-twice",
            f"cannot reorder stage {s.name}: {named(state, twice)} is listed twice",
            legal=loops(state, s),
        )
    order = iter(axes)
    leaves = tuple(next(order) if a in axes else a for a in s.leaves)
    return state.with_stage(replace(s, leaves=leaves)), None
