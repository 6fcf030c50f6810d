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

_KNOWN: WeakKeyDictionary[State, tuple[dict[str, Place], dict[Place, str]]] = WeakKeyDictionary()


def ids(state: State) -> Mapping[str, Place]:
    """id -> (stage index, axis or None). Axes that are loops no more (split, fused) are named too."""
    return _both(state)[0]


def id_of(state: State, stage: int | Stage, axis: IterVar | None = None) -> str:
    """The id of a stage, or of an axis of it; "" for what is not in the schedule."""
    return _both(state)[1].get((stage.index if isinstance(stage, Stage) else stage, axis), "")


def axis_id(state: State, axis: IterVar) -> str:
    """The id of an axis, whichever stage it belongs to; "" for one that belongs to none."""
    owner = state.owner(axis)
    return "" if owner is None else id_of(state, owner, axis)


def _both(state: State) -> tuple[dict[str, Place], dict[Place, str]]:
    found = _KNOWN.get(state)
    if found is None:
        found = _KNOWN[state] = _named(state)
    return found


def _named(state: State) -> tuple[dict[str, Place], dict[Place, str]]:
    places: dict[str, Place] = {}
    names: dict[Place, str] = {}

    def enter(wish: str, place: Place) -> None:
        name, count = wish, 1
        while name in places:
            count += 1
            name = f"{wish}#{count}"
        places[name], names[place] = place, name

    stages = [state.stages[i] for i in sorted(state.order)]
    for s in stages:
        enter(s.name, (s.index, None))
    for s in stages:
        for a in s.axes:
            enter(names[s.index, None] + s.path(a)[len(s.name) :], (s.index, a))
    return places, names

