"""What the trials of a space say, as plain numbers: of what a table of them does not show.

    best_so_far(records)                [(1, 0.0021), (4, 0.0013)]       after so many trials, seconds
    importance(space, records)          {"tile_x": 0.52, "tile_y": 0.11, "unroll": 0.0}
    rank_over_time(records)             [(24, 0.41), (32, 0.66)]         the model's order against the measured one
    landscape(space, records, x, y)     the best seconds by the values of two knobs
    failures(records)                   what went wrong, the most frequent first

Records: the trials of one task, in the order in which they were measured. Drift timings are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import log
from typing import Any

import numpy as np

from ..core.error import LabError
from .model import rank_correlation
from .records import Record

FEW = 24  # good trials below which nothing is said of importance: on a recorded space the first knob is then a guess
LATEST = 4  # times `every`: so many trials are behind each rank correlation
MANY = 256  # candidates of a knob: no picture shows more
KINDS = 8  # of failures that are told apart where they are shown
FAIR = 3  # predictions of one fit that have an order


class UnknownKnob(LabError, KeyError):
    """A knob that the space does not have."""


def trials(records: Iterable[Record]) -> list[Record]:
    """Those that were measured, or failed at it; not points that gave nothing to measure."""
    return [r for r in records if r.kind == "trial" and r.outcome not in ("instantiation", "lost")]


def best_so_far(records: Sequence[Record]) -> list[tuple[int, float]]:
    """(trial, seconds) wherever the best became better; the first trial is 1. Times next to other work do not count."""
    found: list[tuple[int, float]] = []
    for n, r in enumerate(trials(records), 1):
        if r.alone and r.seconds is not None and (not found or r.seconds < found[-1][1]):
            found.append((n, r.seconds))
    return found


@dataclass(frozen=True)
class Failure:
    """Trials that failed alike. `reason`: that of the first; others may differ in their numbers."""

    outcome: str
    reason: str
    count: int

    @property
    def text(self) -> str:
        return f"{self.outcome}: {self.reason}" if self.reason else self.outcome


def failures(records: Sequence[Record], most: int | None = None) -> list[Failure]:
    """What went wrong, the most frequent first; points that gave no schedule too (outcome: instantiation).

    `most`: so many, and what is left as one, "others".
    """
    found: dict[tuple[str, str], list[str]] = {}
    for r in records:
        if r.kind == "trial" and not r.ok:
            found.setdefault((r.outcome, re.sub(r"\d[\d.,]*(e[+-]?\d+)?", "0", r.reason)), []).append(r.reason)
    made = [Failure(outcome, reasons[0], len(reasons)) for (outcome, _), reasons in found.items()]
    made.sort(key=lambda f: -f.count)
    rest = sum(f.count for f in made[most:]) if most is not None else 0
    return [*made[:most], Failure("others", "", rest)] if rest else made


# ---------------------------------------------------------------- knobs


def places(space: Any, records: Sequence[Record]) -> list[list[int]]:
    """For each record the place of its value among those of each knob. Refused: a record of another space."""
    length, own = space.range_length, str(space.hash)
    for r in records:
        if not 0 <= r.index < length or (r.space and r.space != own):
            raise LabError("other-space", f"point {r.index} of {r.task} was measured in another space than this one")
    return [space.point2knob(r.index) for r in records]


def importance(space: Any, records: Sequence[Record]) -> dict[str, float] | None:
    """Knob -> the share of the variance of log time that it alone explains, 0..1, the largest first.

    None where fewer than 24 trials succeeded. What knobs explain together, and noise, is no knob's share: the shares
    add up to less than 1. These are the main effects of an analysis of variance as in Hutter, Hoos, Leyton-Brown, "An
    efficient approach for assessing hyperparameter importance" (ICML 2014), every value of a knob that was tried
    counting the same. Its model is not a forest but log time = a + the sum of an effect for each knob's value, fitted
    by least squares in which each effect is pulled to 0 as by one more trial (ridge regression). They are fitted
    together, since a search does not try values evenly: knobs that it changed together are told apart as far as can
    be. From each knob's variance that part is taken away which noise gives to as many effects. Trials that failed have
    no time, and no say.
    """
    good = [r for r in trials(records) if r.seconds]
    if len(good) < FEW:
        return None
    knobs = np.array(places(space, good)).reshape(len(good), -1)
    shares = main_effects(knobs, np.array([log(r.seconds or 1.0) for r in good]))
    found = dict(zip(space.names, map(float, shares), strict=True))
    return dict(sorted(found.items(), key=lambda x: -x[1]))


def main_effects(values: np.ndarray, y: np.ndarray, pull: float = 1.0) -> np.ndarray:
    """Shares of the variance of y. `values`: [trials, knobs], equal where a knob had the same value."""
    blocks = [_ones(values[:, k]) for k in range(values.shape[1])]
    x = np.concatenate([np.ones((len(y), 1)), *blocks], axis=1)
    pulled = np.diag([0.0] + [pull] * (x.shape[1] - 1))
    solve = np.linalg.solve(x.T @ x + pulled, x.T)  # effects of y
    effects, hat = solve @ y, x @ solve
    free = len(y) - 2 * np.trace(hat) + (hat * hat).sum()
    rest = y - x @ effects
    noise = rest @ rest / max(free, 1.0)
    spans = np.cumsum([1, *(b.shape[1] for b in blocks)])
    found = []
    for a, b in zip(spans, spans[1:]):
        by_noise = noise * (solve[a:b] - solve[a:b].mean(axis=0)) ** 2
        found.append(max(0.0, effects[a:b].var() - by_noise.sum() / (b - a)))
    total = sum(found) + noise
    return np.array(found) / total if total > 1e-12 else np.zeros(len(found))


def _ones(column: np.ndarray) -> np.ndarray:
    """A column for each value that occurs: 1 where it does."""
    seen, at = np.unique(column, return_inverse=True)
    return np.eye(len(seen))[at]


@dataclass(frozen=True)
class Landscape:
    """`seconds[j][i]`, `counts[j][i]`: at `xs[i]`, `ys[j]`, the candidates of the two knobs in their order.

    `seconds`: the best there, None where nothing succeeded. `counts`: trials there, failed ones too. Of a knob with
    more than 256 candidates only those that were tried.
    """

    x: str
    y: str
    xs: list[Any]
    ys: list[Any]
    seconds: list[list[float | None]]
    counts: list[list[int]]


def landscape(space: Any, records: Sequence[Record], x: str, y: str) -> Landscape:
    """The best time at each pair of values of two knobs, whatever the others were."""
    a, b = (_place(space, name) for name in (x, y))
    measured = trials(records)
    points = [(at[a], at[b]) for at in places(space, measured)]
    columns, rows = _shown(space.dims[a], [i for i, _ in points]), _shown(space.dims[b], [j for _, j in points])
    seconds: list[list[float | None]] = [[None] * len(columns) for _ in rows]
    counts = [[0] * len(columns) for _ in rows]
    for r, (at_x, at_y) in zip(measured, points, strict=True):
        i, j = columns[at_x], rows[at_y]
        counts[j][i] += 1
        known = seconds[j][i]
        if r.seconds is not None and (known is None or r.seconds < known):
            seconds[j][i] = r.seconds
    xs, ys = ([space.space_map[n][k].value for k in shown] for n, shown in ((x, columns), (y, rows)))
    return Landscape(x, y, xs, ys, seconds, counts)


def _shown(candidates: int, tried: Sequence[int]) -> dict[int, int]:
    """Candidate -> its place in the picture."""
    kept = range(candidates) if candidates <= MANY else sorted(set(tried))
    return {k: at for at, k in enumerate(kept)}


def _place(space: Any, name: str) -> int:
    if name not in space.names:
        raise UnknownKnob("missing-knob", f"the space has no knob {name!r}", legal=space.names)
    return int(space.names.index(name))


# ---------------------------------------------------------------- the model


def rank_over_time(records: Sequence[Record], every: int = 8) -> list[tuple[int, float]]:
    """(trial, rho): how well the model put the latest trials in order before they were measured; 1: as they came out.

    Spearman's rho of the predicted against the measured scores, over the last `4 * every` trials that were predicted,
    a point every `every` of them. A failed trial's score is 0. Predictions of two fits of the model are not comparable
    (after each batch it knows more, and what it says best of is another thing), so rho is taken within each fit, and
    their mean by the number of trials less one; `Record.fitted` says which fit it was. Records without it: `every`
    trials in a row are taken for one fit. A search proposes what it expects to be alike and good, which is harder to
    put in order than random points: a low rho need not mean a bad model.
    """
    guessed = [(n, r) for n, r in enumerate(trials(records), 1) if r.predicted is not None]
    found: list[tuple[int, float]] = []
    for end in range(every, len(guessed) + 1, every):
        rho = _within_fits(guessed[max(0, end - LATEST * every) : end], every)
        if rho is not None:
            found.append((guessed[end - 1][0], rho))
    return found


def _within_fits(guessed: Sequence[tuple[int, Record]], every: int) -> float | None:
    numbered = enumerate(r for _, r in guessed)
    total, weight = 0.0, 0
    for _, group in groupby(numbered, key=lambda x: ("fit", x[1].fitted) if x[1].fitted else ("run", x[0] // every)):
        of_one = [r for _, r in group]
        if len(of_one) >= FAIR:
            rho = rank_correlation([r.predicted or 0.0 for r in of_one], [r.score or 0.0 for r in of_one])
            total, weight = total + rho * (len(of_one) - 1), weight + len(of_one) - 1
    return total / weight if weight else None
