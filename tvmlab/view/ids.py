"""What stages and loops are called between the kernel and the browser: one text for each, unique in a schedule.

A stage goes by its name (`C`), an axis by its path (`C.i.outer`). Where that is taken already, a number follows: the
second stage called `C` is `C#2`, its loops are `C#2.i`. Numbers go by age, so that a step which adds a stage or an axis
renames none of those that were there.
"""

from __future__ import annotations

from collections.abc import Mapping
from weakref import WeakKeyDictionary

from ..core.node import IterVar
from ..schedule.state import Stage, State

Place = tuple[int, IterVar | None]  # the stage's index, and its axis; None: the stage itself



class _Table:
    def __init__(self, state: State) -> None:
        self.places: dict[str, Place] = {}
        self.names: dict[Place, str] = {}
        self.home: dict[IterVar, int] = {}
        stages = [state.stages[i] for i in sorted(state.order)]
        for s in stages:
            self.enter(s.name, (s.index, None))
        for s in stages:
            for a in s.axes:
                self.enter(self.names[s.index, None] + s.path(a)[len(s.name) :], (s.index, a))
        for found in ([s.leaves for s in state.in_order], [s.axes for s in state.in_order]):
            for s, axes in zip(state.in_order, found, strict=True):  # of the stage that runs it, if one does
                for a in axes:
                    self.home.setdefault(a, s.index)

    def enter(self, wish: str, place: Place) -> None:
        name, count = wish, 1
        while name in self.places:
            count += 1
            name = f"{wish}#{count}"
        self.places[name], self.names[place] = place, name


_KNOWN: WeakKeyDictionary[State, _Table] = WeakKeyDictionary()


def _table(state: State) -> _Table:
    found = _KNOWN.get(state)
    if found is None:
        found = _KNOWN[state] = _Table(state)
    return found


def ids(state: State) -> Mapping[str, Place]:
    """id -> (stage index, axis or None). Axes that are loops no more (split, fused) are named too."""
    return _table(state).places


def id_of(state: State, stage: int | Stage, axis: IterVar | None = None) -> str:
    """The id of a stage, or of an axis of it; "" for what is not in the schedule."""
    return _table(state).names.get((stage.index if isinstance(stage, Stage) else stage, axis), "")


def axis_id(state: State, axis: IterVar) -> str:
    """The id of an axis, whichever stage it belongs to; "" for one that belongs to none."""
    home = _table(state).home.get(axis)
    return "" if home is None else id_of(state, home, axis)
