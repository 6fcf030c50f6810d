"""The fastest few of a session timed again, in turns: on a busy machine a first time that stands out may be luck.

    few = contested(records, most=5, drift=0.1)         those that may be the best
    rounds(few, again)                                  their times of now, a record of the kind `retimed` for each
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.units import duration
from .measure import AGAIN, Measured
from .records import Record, contenders, fastest

CLOSE = 0.02  # of the best: not told apart
LUCK = 1.0  # part by which the best's first time may be too short, or more where the machine has drifted more
SECONDS = 2.0  # in all, about
FEWEST, ROUNDS = 2, 8
LEAST = 2e-3  # seconds that the times of one candidate take in a round, whatever it is

Again = Callable[[Record], Measured]


def contested(records: Sequence[Record], most: int, drift: float = 0.0) -> list[Record]:
    """The fastest: their quartiles reach those of the best, or would if that was luck; the best first, [] if alone.

    `drift`: the part by which times of the same candidate have changed. As many as can be timed again in `SECONDS`.
    """
    good = sorted((r for r in contenders(records) if r.alone and r.seconds), key=lambda r: r.seconds or 0.0)
    if not good:
        return []
    limit = float(np.percentile(good[0].times, 75)) * (1 + max(LUCK, drift))
    near = [r for r in good if np.percentile(r.times, 25) <= limit][:most]
    takes = np.cumsum([_takes(r) for r in near])
    near = near[: int(np.searchsorted(takes, SECONDS, "right"))]
    return near if len(near) > 1 else []


def _takes(r: Record) -> float:
    """Seconds for the fewest rounds: it is compiled again first, and run."""
    assert r.seconds is not None
    return r.compile + r.seconds + FEWEST * max(LEAST, (AGAIN + 1) * r.seconds)


def rounds(few: Sequence[Record], again: Again) -> list[Record]:
    """Each timed in each round, a round in the reverse order of the one before; [] if that was broken off.

    One that fails now is left out of the rounds after, and fails.
    """
    times: dict[int, list[float]] = {r.index: [] for r in few}
    failed: dict[int, Measured] = {}
    who: dict[int, str] = {}
    start, order = time.monotonic(), list(few)
    for done in range(ROUNDS):
        for r in order:
            found = again(r)
            if found.outcome == "cancelled":
                return []
            if found.seconds is None:
                failed[r.index] = found
            times[r.index] += found.times
            who[r.index] = found.worker
        order = [r for r in reversed(order) if r.index not in failed]
        if time.monotonic() - start > SECONDS * (done + 1) / (done + 2):  # another round would take it beyond
            break
    return [_record(replace(r, worker=who[r.index]), times[r.index], failed.get(r.index)) for r in few]


def last(retimed: Sequence[Record]) -> list[Record]:
    """Those of the last re-timing."""
    at = max((r.at for r in retimed), default=0.0)
    return [r for r in retimed if r.at == at]


def _record(r: Record, times: list[float], failed: Measured | None) -> Record:
    if failed is None:
        return replace(r, kind="retimed", times=times)
    reason = f"when it was timed again: {failed.reason}"
    return replace(r, kind="retimed", times=[], outcome=failed.outcome, reason=reason, phase=failed.phase)


@dataclass(frozen=True)
class Verdict:
    """What came of it: `first`, the best before, `best`, the best now, and how many were timed."""

    count: int
    first: Record
    best: Record | None

    def of(self, r: Record) -> bool:
        """Did it make this one the best?"""
        return self.best is not None and self.best.index == r.index

    def __str__(self) -> str:
        if self.best is None:
            return f"re-timed: of {self.count}, all failed"
        if self.best.index == self.first.index:
            return f"re-timed: of {self.count}, the first held"
        before = f"{duration(self.first.seconds)} before" if self.first.seconds else ""
        return f"re-timed: of {self.count}, this one replaced point {self.first.index} ({before})"


def verdict(records: Sequence[Record], retimed: Sequence[Record]) -> Verdict | None:
    """Of the last re-timing; None if there was none."""
    few = last(retimed)
    if not few:
        return None
    at = few[0].at
    first = fastest([r for r in records if r.at <= at] + [r for r in retimed if r.at < at])
    if first is None:
        return None
    good = [r for r in few if r.seconds is not None]
    return Verdict(len(few), first, min(good, key=lambda r: r.seconds or 0.0, default=None))
