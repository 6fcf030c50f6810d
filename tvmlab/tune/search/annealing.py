"""Simulated annealing on a cost model: many chains walk the space where the model says it is fast.

The first points are random, spread over the choices of each knob, unless enough is known. From then on each call fits
the model to what has been told, lets the chains go on from where they were, and proposes the best points they met:
different ones, and now and then a random one, since the model only knows what it has seen. A program is lowered once;
how many a call may lower is bounded, the space may be any size. Once many points are known, a fit waits until there are
a tenth more.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import features
from ..model import CostModel, MissingModel, trees_package
from .base import size

MOST = 16  # random points before there is a model, at most
SMALL = 1 << 16  # a space of up to so many points may be listed
FEW, GROWTH = 128, 1.1  # known scores from which on a fit waits until there are so many times as many
TRIES = 64  # random points that are tried in search of a new one


class Search:
    """`chains` walk `steps` steps a call, at a temperature that falls from 1 to 0, in units of the predictions' spread.

    `random_share`: of the proposals. `diversity`: from how many times as many candidates the proposals are chosen; 1
    takes the best. `lowered`: programs that may be lowered for each point that is asked for, half of it when much is
    known; a call ends when they are. `first`: random points before there is a model. `model`: one to start from, of
    other shapes; then nothing is random at first. `start`: points that are proposed before any other, such as
    `task.first`.
    """

    def __init__(
        self, task: Any, seed: int = 0, *, chains: int = 64, steps: int = 100, random_share: float = 0.05,
        diversity: int = 3, lowered: int = 8, first: int = 8, model: CostModel | None = None,
        start: Sequence[int] = (),
    ) -> None:  # fmt: skip
        size(task.space)  # refuses one whose filter leaves nothing
        self.task, self.space, self.size = task, task.space, math.prod(task.space.dims)
        self.random, self.seed = random.Random(seed), seed
        self.chains, self.steps, self.random_share = chains, steps, random_share
        self.diversity, self.lowered, self.first = diversity, lowered, min(first, MOST)
        self.base, self.model, self.given = model, model, list(start)
        self.plan: list[int] | None = None  # the first points that are left
        self.walkers: list[int] = []
        self.rows: dict[int, np.ndarray | None] = {}  # of what has been lowered; None: it cannot be
        self.known: dict[int, float] = {}  # scores; 0: it failed
        self.proposed: set[int] = set()
        self.programs: set[bytes] = set()  # that have been proposed, by their columns
        self.fitted = 0
        self.value: dict[int, float] = {}  # what the model says
        self.scale = np.zeros(0), np.zeros(0)  # what it says of those it was fitted to, and their scores, each in order
        self.learns = _can_learn()

    @property
    def exhausted(self) -> bool:
        """Every point that can be made has been proposed."""
        return len(self.proposed) >= self.size

    # ------------------------------------------------------------ the two calls

    def propose(self, n: int) -> list[int]:
        """Up to `n` points that have not been proposed, the most promising first."""
        n = min(n, self.size - len(self.proposed))
        found = [i for i in self.given if i not in self.proposed][:n]
        for index in found:
            self.note(index)
        if len(found) == n:
            return found
        more = self.chosen(n - len(found))
        for index in more:
            self.note(index)
        return found + more

    def chosen(self, n: int) -> list[int]:
        if self.learns and (self.base is not None or len(self.known) >= min(self.first, self.size)):
            return self.guided(n)
        return self.unplanned(n)

    def unplanned(self, n: int) -> list[int]:
        """Points of before there is a model: a batch is not made larger than the first points are."""
        if not self.learns:
            return self.unseen(n)
        if self.plan is None:
            self.plan = self.spread(min(self.first, self.size))
        found = [i for i in self.plan[:n] if i not in self.proposed]
        self.plan = self.plan[n:]
        return found or self.unseen(n)

    def tell(self, results: Iterable[tuple[int, float | None]]) -> None:
        """What was measured: larger is better; None where it failed."""
        for index, score in results:
            self.known[index] = score if score is not None and math.isfinite(score) and score > 0 else 0.0
            if index not in self.proposed:
                self.note(index)

    def note(self, index: int) -> None:
        self.proposed.add(index)
        row = self.rows.get(index)
        if row is not None:
            self.programs.add(row.tobytes())

    # ------------------------------------------------------------ guided

    def guided(self, n: int) -> list[int]:
        self.refit()
        budget = [self.lowered * n // (2 if self.fitted > FEW else 1)]
        heads = self.walk(budget)
        lucky = sum(self.random.random() < self.random_share for _ in range(n))
        best = self.best(heads, n - lucky)
        found = self.different(best, n - lucky)
        return found + self.unseen(n - len(found), exclude=found)

    def refit(self) -> None:
        if len(self.known) < self.fitted * (GROWTH if self.fitted > FEW else 1) + 1:
            return
        rows, scores = [], []
        for index, score in self.known.items():
            row = self.row(index)
            if row is not None:
                rows.append(row)
                scores.append(score)
        self.model = CostModel(self.seed, base=self.base).fit(np.array(rows), scores)
        self.fitted = len(self.known)
        self.scale = np.sort(self.model.predict(np.array(rows))) if rows else np.zeros(0), np.sort(scores)
        self.value = {}
        self.programs = {r.tobytes() for i in self.proposed if (r := self.row(i)) is not None}

    def walk(self, budget: list[int]) -> list[int]:
        """All points that the chains, or those before them, have met and that have not been proposed."""
        if len(self.walkers) < min(self.chains, self.size):
            self.walkers = self.start()
        whole = budget[0]
        self.score(self.walkers, budget)
        for step in range(self.steps):
            if budget[0] <= 0:
                break
            heat = min(1.0 - step / self.steps, budget[0] / whole)
            moved = [self.neighbour(index) for index in self.walkers]
            self.score(moved, budget)
            if not self.value:  # no point so far is a program
                continue
            spread = float(np.std(list(self.value.values()))) or 1.0
            pairs = zip(moved, self.walkers, strict=True)
            self.walkers = [new if self.accepts(new, old, heat * spread) else old for new, old in pairs]
        return [i for i in self.value if i not in self.proposed]

    def start(self) -> list[int]:
        """The best that are known, and random points."""
        good = sorted(self.known, key=lambda i: (-self.known[i], i))[: self.chains // 4]
        return good + [self.random.randrange(self.size) for _ in range(self.chains - len(good))]

    def accepts(self, new: int, old: int, heat: float) -> bool:
        if new not in self.value or old not in self.value:
            return new in self.value
        worse = self.value[old] - self.value[new]
        return worse <= 0 or (heat > 0 and self.random.random() < math.exp(-min(50.0, worse / heat)))

    def neighbour(self, index: int) -> int:
        """One knob, or sometimes two, changed."""
        knobs, dims = list(self.space.point2knob(index)), self.space.dims
        free = [k for k, n in enumerate(dims) if n > 1]
        if not free:
            return index
        for k in self.random.sample(free, min(len(free), 1 + (self.random.random() < 0.25))):
            other = self.random.randrange(dims[k] - 1)
            knobs[k] = other + (other >= knobs[k])
        return int(self.space.knob2point(knobs))

    def score(self, points: Sequence[int], budget: list[int]) -> None:
        """Ask the model about points it has not been asked about; those beyond the budget stay unknown."""
        new = []
        for index in dict.fromkeys(points):
            if index in self.value:
                continue
            if index not in self.rows:
                if budget[0] <= 0:
                    continue
                budget[0] -= 1
            if self.row(index) is not None:
                new.append(index)
        if new and self.model is not None:
            guesses = self.model.predict(np.array([self.rows[i] for i in new]))
            self.value.update(zip(new, map(float, guesses), strict=True))

    def row(self, index: int) -> np.ndarray | None:
        """The columns of a point's program; None where there is no program."""
        if index not in self.rows:
            try:
                self.rows[index] = features.of(*self.task.instantiate(self.space.get(index)))
            except Exception:  # of a template too; the measurement of such a point says what it was
                self.rows[index] = None
        return self.rows[index]

    # ------------------------------------------------------------ choosing

    def best(self, points: Sequence[int], n: int) -> list[int]:
        """The most promising; of programs that look alike one, and none that looks like one already proposed."""
        found: list[int] = []
        alike = set(self.programs)
        for index in sorted(points, key=lambda i: (-self.value[i], i)):
            row = self.row(index)
            if row is None or row.tobytes() in alike:
                continue
            alike.add(row.tobytes())
            found.append(index)
            if len(found) >= n * self.diversity:
                break
        return found

    def different(self, points: Sequence[int], n: int) -> list[int]:
        """Choose one after the other: what is promising, and has choices that those before it have not."""
        if self.diversity <= 1 or len(points) <= n:
            return list(points[:n])
        knobs = {i: list(enumerate(self.space.point2knob(i))) for i in points}
        spread = float(np.std([self.value[i] for i in points])) or 1.0
        covered: set[tuple[int, int]] = set()
        left = list(points)
        found: list[int] = []
        while left and len(found) < n:
            gain = [
                self.value[i] / spread + sum(pair not in covered for pair in knobs[i]) / len(knobs[i]) for i in left
            ]
            index = left.pop(int(np.argmax(gain)))
            covered.update(knobs[index])
            found.append(index)
        return found

    def spread(self, n: int) -> list[int]:
        """Random points in which the choices of each knob occur about equally often."""
        columns = []
        for many in self.space.dims:
            column = [k for _ in range(-(-n // many)) for k in self.random.sample(range(many), min(n, many))][:n]
            self.random.shuffle(column)
            columns.append(column)
        points = dict.fromkeys(int(self.space.knob2point(list(knobs))) for knobs in zip(*columns, strict=True))
        found = [i for i in points if self.exists(i)]
        return found + self.unseen(n - len(found), exclude=found)

    def unseen(self, n: int, exclude: Sequence[int] = ()) -> list[int]:
        """Random points that have not been proposed."""
        taken = {*self.proposed, *exclude}
        found: list[int] = []
        n = min(n, self.size - len(taken))
        tries = 0
        while len(found) < n and tries < TRIES * n:
            tries += 1
            index = self.random.randrange(self.size)
            if index not in taken:
                taken.add(index)
                found += [index] if self.exists(index) else []
        if len(found) < n and self.size <= SMALL:
            rest = [i for i in range(self.size) if i not in taken and self.exists(i)]
            found += self.random.sample(rest, min(len(rest), n - len(found)))
        return found

    def exists(self, index: int) -> bool:
        """Is it a point that no filter of the space takes away?"""
        try:
            self.space.get(index)
        except IndexError:
            self.proposed.add(index)  # never again
            return False
        return True

    def predicted(self, index: int) -> float | None:
        """The score that the model expects: the known scores in its order, and what lies between them."""
        row, (guesses, scores) = self.row(index), self.scale
        if self.model is None or row is None or not len(scores):
            return None
        return float(np.interp(self.model.predict(row[None])[0], guesses, scores))


def _can_learn() -> bool:
    try:
        trees_package()
    except MissingModel as e:
        warnings.warn(f"{e.message}: {e.hint}. Until then this search is random.", stacklevel=3)
        return False
    return True

