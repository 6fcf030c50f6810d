"""A cost model: boosted trees that put programs in the order of their speed, learned from what has been measured.

    model = CostModel().fit(rows, scores)            rows: what `features.of` gives; scores: larger is faster
    model.predict(rows)                              larger is faster; the unit means nothing

What is learned is the order: of two programs of one task, which is faster. Pairs that are further apart count more, and
those of different tasks not at all; so rows of several tasks may be given together (`groups`, or `learned` from what
was measured of them), and such a model may be the start of the next (`base`: its predictions are what the new trees
correct).

LightGBM, not xgboost-cpu: 10 MB installed instead of 18, and half the time to fit.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..core.error import LabError
from ..core.extras import pip
from . import features

PARTNERS = 24  # that each row is compared with, per tree
SLOWEST = 1e-3  # of the best: what is slower, or has failed, counts as so slow
LEAST = 2  # rows, from which on there is an order
TREES = {
    "num_leaves": 8,
    "learning_rate": 0.1,
    "min_data_in_leaf": 3,
    "min_sum_hessian_in_leaf": 1e-3,
    "max_bin": 63,
    "feature_fraction": 0.25,  # many columns say nearly the same
    "feature_pre_filter": False,
    "force_row_wise": True,
    "deterministic": True,
    "num_threads": 1,  # the others measure
    "verbosity": -1,
}


class MissingModel(LabError, ImportError):
    """The package that grows the trees is not installed."""


def trees_package() -> Any:
    try:
        return import_module("lightgbm")
    except ImportError:
        raise MissingModel(
            "no-lightgbm",
            "a search that learns needs the package lightgbm, which is not installed",
            hint=pip("tune"),
        ) from None


class CostModel:
    """`trees`: how many. `seed`: of what is drawn at random. `base`: a fitted model whose predictions are the start."""

    def __init__(self, seed: int = 0, trees: int = 100, base: CostModel | None = None) -> None:
        self.seed, self.trees, self.base = seed, trees, base
        self.booster: Any = None

    def fit(self, rows: Any, scores: Sequence[float], groups: Sequence[Any] | None = None) -> CostModel:
        """Learn from scratch. `groups`: what is equal for rows of one task; a score of 0 is one that failed."""
        package = trees_package()
        x, y = np.asarray(rows, dtype=np.float32), np.asarray(scores, dtype=float)
        if len(x) != len(y):
            raise ValueError(f"{len(x)} rows, but {len(y)} scores")
        if len(y) < LEAST:
            return self
        _, task = np.unique(np.asarray([str(g) for g in groups]) if groups is not None else y * 0, return_inverse=True)
        start = self.base.predict(x) if self.base is not None else None
        data = package.Dataset(x, np.zeros(len(y)), init_score=start, params={"max_bin": TREES["max_bin"]})
        objective = order(logarithms(y, task), task, self.seed)
        settings = {**TREES, "objective": objective, "seed": self.seed}
        self.booster = package.train(settings, data, self.trees)
        return self

    def predict(self, rows: Any) -> np.ndarray:
        x = np.asarray(rows, dtype=np.float32)
        total = self.base.predict(x) if self.base is not None else np.zeros(len(x))
        if self.booster is not None and len(x):
            total = total + self.booster.predict(x, num_threads=1)
        return total

    def importance(self, names: Sequence[str] = features.NAMES) -> list[tuple[str, float]]:
        """How much each column that is used improved the order, as a share; the most first."""
        if self.booster is None:
            return []
        gain = self.booster.feature_importance("gain")
        total = float(gain.sum()) or 1.0
        found = [(names[k], float(gain[k]) / total) for k in np.argsort(-gain, kind="stable") if gain[k] > 0]
        return found

    # ------------------------------------------------------------ files

    def to_json(self) -> dict[str, Any]:
        return {
            "columns": columns_hash(), "seed": self.seed, "trees": self.trees,
            "base": self.base.to_json() if self.base is not None else None,
            "booster": self.booster.model_to_string() if self.booster is not None else None,
        }  # fmt: skip

    @staticmethod
    def from_json(saved: dict[str, Any]) -> CostModel:
        if saved["columns"] != columns_hash():
            raise LabError(
                "model-columns",
                "this model was learned from other columns than programs have now",
                hint="fit it again, from the records",
            )
        base = CostModel.from_json(saved["base"]) if saved["base"] is not None else None
        made = CostModel(saved["seed"], saved["trees"], base)
        if saved["booster"] is not None:
            made.booster = trees_package().Booster(model_str=saved["booster"])
        return made

    def save(self, path: str | Path) -> None:
        Path(path).write_text(json.dumps(self.to_json()))

    @staticmethod
    def load(path: str | Path) -> CostModel:
        return CostModel.from_json(json.loads(Path(path).read_text()))


def learned(history: Iterable[tuple[Any, Iterable[tuple[int, float | None]]]], seed: int = 0) -> CostModel:
    """A model of what was measured of other tasks, (point, score) pairs of each: a start for the next."""
    rows, scores, groups = [], [], []
    for number, (task, results) in enumerate(history):
        for index, score in results:
            try:
                row = features.of(*task.instantiate(task.space.get(index)))
            except (ValueError, IndexError, RuntimeError):
                continue  # there is no such program any more
            rows.append(row)
            scores.append(score or 0.0)
            groups.append(number)
    return CostModel(seed).fit(np.array(rows), scores, groups)


def columns_hash() -> str:
    return hashlib.sha256("\n".join(features.NAMES).encode()).hexdigest()[:16]


# ---------------------------------------------------------------- what is learned


def logarithms(scores: np.ndarray, task: np.ndarray) -> np.ndarray:
    """Of the scores over the best of their task."""
    best = np.zeros(task.max() + 1)
    np.maximum.at(best, task, scores)
    share = scores / np.where(best > 0, best, 1.0)[task]
    return np.log(np.maximum(share, SLOWEST))


def order(value: np.ndarray, task: np.ndarray, seed: int) -> Callable[[np.ndarray, Any], tuple[np.ndarray, np.ndarray]]:
    """The pairwise loss: log(1 + exp(-(p_i - p_j))) for i faster than j, weighed by how much faster.

    Each row is compared with some others of its task, drawn anew for each tree.
    """
    rng = np.random.default_rng(seed)
    n = len(value)
    by_task = np.argsort(task, kind="stable")
    size = np.bincount(task)
    start = np.cumsum(size) - size
    left = np.repeat(np.arange(n), PARTNERS)

    def loss(p: np.ndarray, data: Any) -> tuple[np.ndarray, np.ndarray]:
        right = by_task[start[task[left]] + (rng.random(len(left)) * size[task[left]]).astype(int)]
        apart = value[left] - value[right]
        sign, weight = np.sign(apart), np.abs(apart)
        wrong = 1.0 / (1.0 + np.exp(np.clip(sign * (p[left] - p[right]), -30, 30)))
        slope, bend = sign * weight * wrong, weight * wrong * (1.0 - wrong)
        gradient = np.bincount(right, slope, n) - np.bincount(left, slope, n)
        hessian = np.bincount(left, bend, n) + np.bincount(right, bend, n)
        return gradient / PARTNERS, hessian / PARTNERS + 1e-3

    return loss


# ---------------------------------------------------------------- how good it is


def pairwise_accuracy(predicted: Sequence[float], scores: Sequence[float]) -> float:
    """The share of pairs whose order is right; equal scores are no pair, equal predictions half right."""
    p, y = np.asarray(predicted, dtype=float), np.asarray(scores, dtype=float)
    right = pairs = 0.0
    for k in range(len(y)):
        slower = y < y[k]
        pairs += slower.sum()
        right += (p[slower] < p[k]).sum() + 0.5 * (p[slower] == p[k]).sum()
    return float(right / pairs) if pairs else 1.0


def rank_correlation(predicted: Sequence[float], scores: Sequence[float]) -> float:
    """Spearman's: 1 for the same order, -1 for the opposite."""
    a, b = ranks(predicted), ranks(scores)
    spread = a.std() * b.std()
    return float(((a - a.mean()) * (b - b.mean())).mean() / spread) if spread else 0.0


def ranks(values: Sequence[float]) -> np.ndarray:
    """Places in order; equal values share theirs."""
    _, group, size = np.unique(np.asarray(values, dtype=float), return_inverse=True, return_counts=True)
    ends = np.cumsum(size)
    return (ends - (size - 1) / 2.0)[group]
