"""Coordinate descent: from a point to its best neighbour, one choice one step up or down, as long as that is faster.

After "Droplet Search" (Canesche et al., ACM TACO 2024), which supposes that along each choice there is one valley. It
steps only where the times differ beyond chance. Where no neighbour is faster it starts again, at a random point. While
neighbours are still being measured it proposes points further off in the same directions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core.error import LabError
from .base import Base, Told, shuffled

FAR = (1, 2, 4)  # steps: of neighbours, and of what is proposed while they are measured


class Search(Base):
    """`start`: the place of the first point along each choice, or its number; all zeros unless given.

    `pvalue`: the chance of taking two equal times for different ones that is allowed for.
    """

    def __init__(
        self, task: Any, seed: int = 0, start: Sequence[int] | int | None = None, pvalue: float = 0.05
    ) -> None:
        super().__init__(task, seed)
        if not 0 < pvalue < 1:
            raise LabError("pvalue", f"pvalue is a probability, not {pvalue!r}", legal=["0.05"])
        self.pvalue = pvalue
        self.at = self._first(start)
        self.scores: dict[int, float] = {}  # 0: it failed
        self._strangers = shuffled(self.size, self.random)

    def propose(self, n: int) -> list[int]:
        found: list[int] = []
        while len(found) < n and not self.exhausted:
            self._move()
            new = self.take(self._around(), n - len(found))
            if not new:
                new = self.take(self._strangers, 1)
                if self._settled():  # else what is near is still being measured
                    self.at = new[0]
            found += new
        return found

    def tell(self, results: Told) -> None:
        super().tell(results)
        self.scores.update((i, score if score is not None else 0.0) for i, score in results)

    # ------------------------------------------------------------ where it is

    def _first(self, start: Sequence[int] | int | None) -> int:
        dims = self.space.dims
        if start is None:
            return 0
        places = list(self.space.point2knob(start)) if isinstance(start, int) else list(start)
        if len(places) != len(dims) or not all(0 <= k < n for k, n in zip(places, dims, strict=True)):
            legal = [f"{len(dims)} numbers, each below {dims}"]
            raise LabError("start", f"the space has no point at {start!r}", legal=legal)
        return int(self.space.knob2point(places))

    def _move(self) -> None:
        """To the best that is known around it, as long as that is faster."""
        while self._settled():
            known = [i for step in FAR for i in self._ring(step) if i in self.scores]
            best = max(known, key=lambda i: self.scores[i], default=self.at)
            if not faster(self.scores[best], self.scores[self.at], self.pvalue):
                return
            self.at = best

    def _settled(self) -> bool:
        """Is all known that decides where to go?"""
        return self.at in self.scores and all(i in self.scores for i in self._ring(1))

    def _around(self) -> Iterator[int]:
        yield self.at
        if self._settled():
            return
        for step in FAR:
            yield from self._ring(step)

    def _ring(self, step: int) -> Iterator[int]:
        """The points so many steps away along one choice."""
        knobs = list(self.space.point2knob(self.at))
        for k, n in enumerate(self.space.dims):
            for place in (knobs[k] + step, knobs[k] - step):
                if 0 <= place < n:
                    yield int(self.space.knob2point([*knobs[:k], place, *knobs[k + 1 :]]))


def faster(a: float, b: float, pvalue: float) -> bool:
    """Is the score a higher than b, beyond chance where both come with the times they are of?"""
    times = [np.asarray(getattr(x, "times", ()), dtype=float) for x in (a, b)]
    if a <= b or min(map(len, times)) < 2:
        return a > b
    return chance(*times) < pvalue


def chance(a: np.ndarray, b: np.ndarray) -> float:
    """That times whose mean is not below that of `b` are as far below it as those of `a`: Welch's t-test, one side."""
    parts = [x.var(ddof=1) / len(x) for x in (a, b)]
    width = math.sqrt(sum(parts))
    if width == 0:
        return 0.0 if a.mean() < b.mean() else 1.0
    freedom = sum(parts) ** 2 / sum(p * p / (len(x) - 1) for p, x in zip(parts, (a, b), strict=True))
    return student((b.mean() - a.mean()) / width, freedom)


def student(t: float, freedom: float) -> float:
    """The probability of more than `t`, in Student's distribution."""
    if t < 0:
        return 1.0 - student(-t, freedom)
    angle = np.linspace(0.0, math.atan(t / math.sqrt(freedom)), 1001)  # of t = sqrt(freedom) tan(angle)
    density = np.cos(angle) ** (freedom - 1)
    inside = float(np.sum((density[1:] + density[:-1]) / 2) * (angle[1] - angle[0]))
    log = math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)
    return max(0.0, 0.5 - inside * math.exp(log) / math.sqrt(math.pi))
