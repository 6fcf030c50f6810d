from __future__ import annotations

from typing import Any

from ...core.error import ScheduleError
from ...core.node import IterVar
from ..guard import named
from ..state import State
from . import StageIndex
from .reorder import reorder
from .split import split


def tile(
    state: State, stage: StageIndex, x_parent: IterVar, y_parent: IterVar, x_factor: Any, y_factor: Any
) -> tuple[State, tuple[IterVar, IterVar, IterVar, IterVar]]:
    """Two loops become a grid of tiles: both are split, then reordered.

        for x in range(n):                  for x_outer, y_outer:
            for y in range(m):       ->         for x_inner in range(x_factor):
                S(x, y)                             for y_inner in range(y_factor):
                                                        S(...)

    Returns (x_outer, y_outer, x_inner, y_inner). Refused: what `split` and `reorder` refuse.
    """
    if x_parent is y_parent:
        message = f"cannot tile {named(state, x_parent)} with itself: a tile needs two different axes"
        raise ScheduleError("tile-same", message)
    state, (xo, xi) = split(state, stage, x_parent, factor=x_factor)
    state, (yo, yi) = split(state, stage, y_parent, factor=y_factor)
    state, _ = reorder(state, stage, xo, yo, xi, yi)
    return state, (xo, yo, xi, yi)
