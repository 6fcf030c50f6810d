"""A population of points: the fittest are kept, crossed with one another knob by knob, and mutated."""

from __future__ import annotations

from typing import Any

from .base import Base, Told, shuffled

POPULATION, ELITE, MUTATION = 32, 6, 0.15
TRIES = 20  # for a child that nobody has measured, before a random point takes its place


class Search(Base):
    """`population`: so many of the best are parents; `mutation`: the chance that a knob of a child is drawn anew."""

    def __init__(
        self, task: Any, seed: int = 0, population: int = POPULATION, elite: int = ELITE, mutation: float = MUTATION
    ) -> None:
        super().__init__(task, seed)
        self.population, self.elite, self.mutation = population, elite, mutation
        self._strangers = shuffled(self.size, self.random)
        self._fit: dict[int, float] = {}

    def tell(self, results: Told) -> None:
        super().tell(results)
        self._fit.update((index, score) for index, score in results if score is not None)

    def propose(self, n: int) -> list[int]:
        missing = max(0, self.population - len(self._fit))
        if missing:  # the first generation
            return self.take(self._strangers, min(n, max(1, missing)))
        parents = sorted(self._fit, key=lambda i: (-self._fit[i], i))[: self.population]
        weights = [self._fit[i] for i in parents]
        found: list[int] = []
        while len(found) < n and not self.exhausted:
            child = self._child(parents, weights)
            if child is None:
                found += self.take(self._strangers, 1)
            else:
                self.seen.add(child)
                found.append(child)
        return found

    def _child(self, parents: list[int], weights: list[float]) -> int | None:
        """A new point of two parents, the fitter the likelier."""
        for _ in range(TRIES):
            elite = parents[: self.elite]
            a = self.random.choice(elite) if self.random.random() < 0.5 else self.random.choices(parents, weights)[0]
            b = self.random.choices(parents, weights)[0]
            pairs = zip(self.space.point2knob(a), self.space.point2knob(b), strict=True)
            knobs = [self.random.choice(pair) for pair in pairs]
            for k, n in enumerate(self.space.dims):
                if self.random.random() < self.mutation:
                    knobs[k] = self.random.randrange(n)
            child = int(self.space.knob2point(knobs))
            if child not in self.seen:
                return child
        return None
