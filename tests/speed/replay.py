"""Searches compared without hardware: on the recorded space, how many trials until the best is nearly found.

`python -m tests.speed.replay` prints the median over 20 seeds for each search, and how well the model orders the space.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np

from tests.tuned import Task, matmul
from tvmlab.tune import features
from tvmlab.tune.model import CostModel, learned, pairwise_accuracy, rank_correlation
from tvmlab.tune.search.annealing import Search as Annealing
from tvmlab.tune.search.genetic import Search as Genetic

from . import recorded

SEEDS, BATCH, NEAR = 20, 8, (0.9, 0.95)


def random_trials(task: Any, seed: int) -> Iterator[list[int]]:
    """Every point once, in random order: what a search has to beat."""
    points = list(range(len(task.space)))
    random.Random(seed).shuffle(points)
    for k in range(0, len(points), BATCH):
        yield points[k : k + BATCH]


def chance(scores: np.ndarray, near: float) -> int:
    """How many random trials it takes, without repeats, to have found such a point with probability 1/2."""
    good, left, missed, count = int((scores >= near * scores.max()).sum()), len(scores), 1.0, 0
    while missed > 0.5:
        missed *= (left - good) / left
        left, count = left - 1, count + 1
    return count


def searched(search: Any, scores: np.ndarray) -> Iterator[list[int]]:
    while not search.exhausted:
        points = search.propose(BATCH)
        yield points
        search.tell([(i, float(scores[i])) for i in points])


def trials(batches: Iterator[list[int]], scores: np.ndarray) -> list[int]:
    """How many until each of the shares of the best is reached."""
    wanted = [near * scores.max() for near in NEAR]
    best, count, found = 0.0, 0, [0] * len(wanted)
    for batch in batches:
        for index in batch:
            count += 1
            best = max(best, float(scores[index]))
            found = [f or (count if best >= w else 0) for f, w in zip(found, wanted, strict=True)]
            if all(found):
                return found
    raise AssertionError("the best was never proposed")


def compare(task: Task, scores: np.ndarray, make: Callable[[int], Any], seeds: int = SEEDS) -> list[list[int]]:
    return [trials(searched(make(seed), scores), scores) for seed in range(seeds)]


def peers(task: Task) -> dict[str, Callable[[int], Any]]:
    """Other searches, by name: those whose package is installed."""
    made: dict[str, Callable[[int], Any]] = {"genetic": lambda seed: Genetic(task, seed)}
    if find_spec("optuna") is not None:
        from tvmlab.tune.search.optuna import Search as Tpe

        made["Optuna TPE"] = lambda seed: Tpe(task, seed)
    return made


def rows(task: Task) -> np.ndarray:
    """The columns of every point of a small space."""
    return np.array([features.of(*task.instantiate(task.space.get(i))) for i in range(len(task.space))])


def quality(columns: np.ndarray, scores: np.ndarray, trained: int, seeds: int = 5) -> tuple[float, float]:
    """Pairwise accuracy and rank correlation on the points that a model of so many random ones has not seen."""
    found = []
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(len(scores))
        known, other = order[:trained], order[trained:]
        guessed = CostModel(seed).fit(columns[known], scores[known]).predict(columns[other])
        found.append((pairwise_accuracy(guessed, scores[other]), rank_correlation(guessed, scores[other])))
    accuracy, correlation = np.mean(found, axis=0)
    return float(accuracy), float(correlation)


def prepared(task: Task, columns: np.ndarray) -> Callable[..., Annealing]:
    """Makes searches that share what has been lowered."""
    known = dict(enumerate(columns))

    def make(seed: int, **options: Any) -> Annealing:
        search = Annealing(task, seed, **options)
        search.rows = dict(known)
        search.lowered = len(known)
        return search

    return make


def learned_elsewhere(data: dict[str, Any]) -> CostModel:
    """A model of the points that were measured with other shapes."""
    history = []
    for other in data["others"]:
        scores = recorded.scores([other["times"]], other["shape"])
        history.append((matmul(*other["shape"]), zip(other["points"], scores, strict=True)))
    return learned(history)


def report() -> None:
    data = recorded.load()
    task, scores = matmul(*data["shape"]), recorded.scores(data["passes"])
    for near in NEAR:
        good = int((scores >= near * scores.max()).sum())
        print(f"{good} of {len(scores)} points reach {near:.0%} of the best, {scores.max():.0f} GFLOP/s")
    columns = rows(task)
    for trained in (32, 64, 128, 1000):
        accuracy, correlation = quality(columns, scores, trained)
        print(f"model of {trained} points: pairwise accuracy {accuracy:.3f}, rank correlation {correlation:.3f}")
    print("chance     trials to", "; ".join(f"{near:.0%}: median {chance(scores, near)}" for near in NEAR))
    line("random", [trials(random_trials(task, s), scores) for s in range(SEEDS)])
    for name, make in peers(task).items():
        line(name, compare(task, scores, make))
    line("annealing", compare(task, scores, prepared(task, columns)))
    model = learned_elsewhere(data)
    guessed = model.predict(columns)
    accuracy, correlation = pairwise_accuracy(guessed, scores), rank_correlation(guessed, scores)
    print(f"model of other shapes: pairwise accuracy {accuracy:.3f}, rank correlation {correlation:.3f}")
    make = prepared(task, columns)
    line("with it", compare(task, scores, lambda seed: make(seed, model=model)))


def line(name: str, found: list[list[int]]) -> None:
    pairs = zip(NEAR, zip(*found), strict=True)
    parts = [f"{near:.0%}: median {np.median(n):.0f}, worst {max(n)}" for near, n in pairs]
    print(f"{name:10} trials to {'; '.join(parts)}", flush=True)


if __name__ == "__main__":
    report()
