"""A part of a space: fewer values for some of its knobs, as brushing leaves them.

    part = Part(task.space, {"tile_x": [0, 2]})      len(part), part.get(5), part.whole(5), part.inside(731)
    Within(search, part)                             a search over the part that speaks of the points of the whole

`on`: by knob, the places of the candidates that remain. A point of the part is a point of the whole space, under
another number; records have the number of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from ..core.error import LabError
from .space import digits, number

On = Mapping[str, Sequence[int]]


class Part:
    """What a search needs of a space. Refused: knobs and places that there are not, and a knob with nothing left."""

    def __init__(self, space: Any, on: On) -> None:
        self.space, self.names = space, list(space.names)
        dims = dict(zip(self.names, space.dims, strict=True))
        for name, places in on.items():
            _need_places(name, places, dims)
        self.on = [sorted(set(on[n])) if n in on else range(dims[n]) for n in self.names]
        self.dims = [len(places) for places in self.on]

    @property
    def range_length(self) -> int:
        return prod(self.dims)

    def __len__(self) -> int:
        return self.range_length

    def __bool__(self) -> bool:
        return True

    def get(self, index: int) -> Any:
        """The point; IndexError where there is none, or a filter of the space has taken it away."""
        if not 0 <= index < self.range_length:
            raise IndexError(f"the part of the space has {self.range_length} points, there is no {index}")
        return self.space.get(self.whole(index))

    def point2knob(self, point: int) -> list[int]:
        return digits(point, self.dims)

    def knob2point(self, knob: Sequence[int]) -> int:
        return number(knob, self.dims)

    def whole(self, index: int) -> int:
        """The number of a point of the part in the whole space."""
        chosen = zip(self.on, self.point2knob(index), strict=True)
        return int(self.space.knob2point([places[at] for places, at in chosen]))

    def inside(self, index: int) -> int | None:
        """The number in the part of a point of the whole space; None where it is outside."""
        knob = self.space.point2knob(index)
        if not all(at in places for at, places in zip(knob, self.on, strict=True)):
            return None
        return self.knob2point([places.index(at) for at, places in zip(knob, self.on, strict=True)])


def _need_places(name: str, places: Sequence[int], dims: Mapping[str, int]) -> None:
    if name not in dims:
        raise LabError("missing-knob", f"the space has no knob {name!r}", legal=list(dims))
    wrong = [k for k in places if type(k) is not int or not 0 <= k < dims[name]]
    if wrong:
        raise LabError("no-candidate", f"{name} has no value number {wrong[0]!r}", legal=[f"0 to {dims[name] - 1}"])
    if not places:
        raise LabError("nothing-left", f"{name} has no value left: at least one must remain")


class PartOf:
    """A task whose space is a part of that of another."""

    def __init__(self, task: Any, on: On) -> None:
        self.task, self.space = task, Part(task.space, on)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.task, name)


class Within:
    """A search over a part, made of one that knows nothing of the whole."""

    def __init__(self, search: Any, part: Part) -> None:
        self.search, self.part = search, part

    def propose(self, n: int) -> list[int]:
        return [self.part.whole(i) for i in self.search.propose(n)]

    def tell(self, results: Sequence[tuple[int, float | None]]) -> None:
        """What is known; only what lies inside is passed on."""
        placed = [(self.part.inside(i), score) for i, score in results]
        self.search.tell([(i, score) for i, score in placed if i is not None])

    def __getattr__(self, name: str) -> Any:
        return getattr(self.search, name)

    def predicted(self, index: int) -> float | None:
        inside = self.part.inside(index)
        ask = getattr(self.search, "predicted", None)
        found: float | None = None if inside is None or ask is None else ask(inside)
        return found
