"""A sampler of Optuna, by its ask and tell: the tree-structured Parzen estimator (TPE) unless another one is given.

    tune.run(task, search="optuna")
    tune.run(task, search=Search(task, sampler=optuna.samplers.GPSampler(seed=0)))

A choice whose candidates are in order, as 1, 2, 4, 8 or tiles of growing lengths, is an integer to it, any other one
a category.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from typing import Any

from ...core.error import LabError
from ...core.extras import pip
from .base import Base, Told, shuffled

TRIES = 8  # of a sampler that proposes what is known, before a random point takes its place
COUNTED = 4096  # candidates of a choice up to which their order is looked at


class MissingSearch(LabError, ImportError):
    """The package that searches is not installed."""


def package() -> Any:
    try:
        return import_module("optuna")
    except ImportError:
        raise MissingSearch(
            "no-optuna",
            "this search is of the package optuna, which is not installed",
            hint=pip("optuna"),
        ) from None


class Search(Base):
    """`sampler`: one of `optuna.samplers`, with its own seed; None is TPE with `seed`. `study` has what was told."""

    def __init__(self, task: Any, seed: int = 0, sampler: Any = None) -> None:
        super().__init__(task, seed)
        self.optuna = package()
        if sampler is not None and not isinstance(sampler, self.optuna.samplers.BaseSampler):
            raise LabError("sampler", f"{sampler!r} is no sampler", legal=["optuna.samplers.TPESampler(seed=0), ..."])
        with quiet(self.optuna):
            tpe = self.optuna.samplers.TPESampler
            given = sampler or tpe(seed=seed, multivariate=True, constant_liar=True)
            self.study = self.optuna.create_study(direction="maximize", sampler=given)
        self.kinds = dict(kinds_of(self.optuna, self.space)) if self.size else {}
        self._strangers = shuffled(self.size, self.random)
        self._out: dict[int, Any] = {}  # asked for, not told yet
        self._scores: dict[int, float] = {}

    def propose(self, n: int) -> list[int]:
        found: list[int] = []
        while len(found) < n and not self.exhausted:
            point = self._asked()
            if point is None:
                found += self.take(self._strangers, 1)
            else:
                self.seen.add(point)
                found.append(point)
        return found

    def tell(self, results: Told) -> None:
        super().tell(results)
        for index, score in results:
            value = self._scores[index] = score or 0.0  # one that failed is the slowest
            trial = self._out.pop(index, None)
            if trial is not None:
                self.study.tell(trial, value)
            else:
                self.study.add_trial(self._finished(index, value))

    def _asked(self) -> int | None:
        """A new point of the sampler."""
        for _ in range(TRIES):
            with quiet(self.optuna):
                trial = self.study.ask(self.kinds)
            point = int(self.space.knob2point([trial.params[name] for name in self.kinds]))
            if point not in self.seen and _exists(self.space, point):
                self._out[point] = trial
                return point
            if point in self._scores:
                self.study.tell(trial, self._scores[point])
            else:
                self.study.tell(trial, state=self.optuna.trial.TrialState.FAIL)
        return None

    def _finished(self, index: int, value: float) -> Any:
        knobs = dict(zip(self.kinds, map(int, self.space.point2knob(index)), strict=True))
        return self.optuna.trial.create_trial(params=knobs, distributions=self.kinds, value=value)


def kinds_of(optuna: Any, space: Any) -> Iterator[tuple[str, Any]]:
    """Each choice as Optuna has it, by a name: the number of its candidate."""
    knobs, kinds = getattr(space, "space_map", {}), optuna.distributions
    names = list(getattr(space, "names", map(str, range(len(space.dims)))))
    for name, n in zip(names, space.dims, strict=True):
        ordered = n > COUNTED or in_order([e.value for e in knobs.get(name, ())])
        yield name, kinds.IntDistribution(0, n - 1) if ordered else kinds.CategoricalDistribution(range(n))


def in_order(values: Sequence[Any]) -> bool:
    """Numbers, or tiles whose first lengths are as ever and the last one grows."""
    keys = []
    for v in values:
        parts = list(v) if isinstance(v, (list, tuple)) else [v]
        if not parts or not all(isinstance(x, (int, float)) and not isinstance(x, bool) for x in parts):
            return False
        keys.append((parts[:-1], parts[-1]))
    return len(keys) > 2 and all(a[0] == b[0] and a[1] < b[1] for a, b in pairwise(keys))


def _exists(space: Any, point: int) -> bool:
    """Is it a point that no filter of the space takes away?"""
    return bool(getattr(space, "is_index_valid", lambda _: True)(point))


@contextmanager
def quiet(optuna: Any) -> Iterator[None]:
    """Without a line for each study, and without the warning that a part is experimental."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
