"""What a search is: points proposed, and scores told. The same seed gives the same sequence for the same scores."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

Told = Sequence[tuple[int, float | None]]


class Base:
    """`propose(n)`: up to `n` points nobody has measured; fewer, or none, when the space is exhausted.

    `tell`: points with their scores (higher is better), None of those that failed; also points it did not propose, from
    earlier runs. `predicted(index)`: the score it expects, where it has a model; `fitted`: of how many scores that is.
    """

    fitted = 0

    def __init__(self, task: Any, seed: int = 0) -> None:
        self.task, self.space = task, task.space
        self.size = size(task.space)
        self.random = random.Random(seed)
        self.seen: set[int] = set()  # proposed or told

    @property
    def exhausted(self) -> bool:
        return len(self.seen) >= self.size

    def propose(self, n: int) -> list[int]:
        raise NotImplementedError

    def tell(self, results: Told) -> None:
        self.seen.update(index for index, _ in results)

    def predicted(self, index: int) -> float | None:
        return None

    def take(self, points: Iterator[int], n: int) -> list[int]:
        """The next `n` that are new."""
        found: list[int] = []
        while len(found) < n and not self.exhausted:
            point = next(points, None)
            if point is None:
                break
            if point not in self.seen:
                self.seen.add(point)
                found.append(point)
        return found


def size(space: Any) -> int:
    """How many points: `len` of a space, which may be more than Python's `len` can say."""
    try:
        return len(space)
    except OverflowError:
        return prod(space.dims)


def shuffled(size: int, rng: random.Random) -> Iterator[int]:
    """All of 0..size-1 in random order, without a list of them: only what has been moved is kept."""
    moved: dict[int, int] = {}
    for i in range(size):
        j = rng.randrange(i, size)
        yield moved.get(j, j)
        moved[j] = moved.pop(i, i)
