"""The fastest few of a session timed again, in turns: on a busy machine a first time that stands out may be luck.

    few = contested(records, most=5, drift=0.1)         those that may be the best
    settled(records, few, again, most=5)                their times of now, a record of the kind `retimed` for each
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..core.units import duration
from .measure import AGAIN, Measured
from .ranking import ranked
from .records import Record, fastest

CLOSE = 0.02  # of the best: not told apart
LUCK = 1.0  # part by which the best's first time may be too short, or more where the machine has drifted more
SECONDS = 2.0  # in all, about; as long again where the best turns out slower than others were at first
UNLIKE = 0.25  # part by which a time is unlike the first one of the same candidate
FEWEST, ROUNDS = 2, 8
LEAST = 2e-3  # seconds that the times of one candidate take in a round, whatever it is

Again = Callable[[Record], Measured]


def contested(records: Sequence[Record], most: int, drift: float = 0.0) -> list[Record]:
    """The fastest: their quartiles reach those of the best, or would if that was luck; the best first, [] if alone.

    `drift`: the part by which times of the same candidate have changed. As many as can be timed again in `SECONDS`.
    """
    placed = [p for p in ranked(records) if p.record.alone and p.record.seconds]
    if not placed:
        return []
    best = next((p for p in placed if p.sure), placed[0]).record
    limit = float(np.percentile(best.times, 75)) * (1 + max(LUCK, drift))
    near = _by_time([p.record for p in placed if np.percentile(p.record.times, 25) <= limit])
    near = _affordable(near[:most], SECONDS)
    return near if len(near) > 1 else []


def settled(records: Sequence[Record], few: Sequence[Record], again: Again, most: int) -> list[Record]:
    """Their times of now, as `rounds` has them; then of those that were faster than the best of these is now.

    At most `most` at a time, until there are none or the time is up.
    """
    found: list[Record] = []
    deadline = time.monotonic() + 2 * SECONDS
    while few:
        more = rounds(few, again, min(SECONDS, max(0.0, deadline - time.monotonic())))
        found += more
        few = _faster(records, found)[:most] if more else []
        few = _affordable(few, deadline - time.monotonic())
    return found


def _faster(records: Sequence[Record], found: Sequence[Record]) -> list[Record]:
    """Those that were faster than the best of these is now, and are none of them."""
    least = min((r.seconds for r in found if r.seconds is not None), default=float("inf"))
    known = {r.index for r in found}
    placed = [p.record for p in ranked(records) if p.record.alone and p.record.seconds]
    return _by_time([r for r in placed if (r.seconds or 0.0) < least and r.index not in known])


def _by_time(records: Sequence[Record]) -> list[Record]:
    return sorted(records, key=lambda r: r.seconds or 0.0)


def _affordable(few: Sequence[Record], seconds: float) -> list[Record]:
    """As many of the first as can be timed again in that time."""
    takes = np.cumsum([_takes(r) for r in few])
    return list(few[: int(np.searchsorted(takes, seconds, "right"))])


def _takes(r: Record) -> float:
    """Seconds for the fewest rounds: it is compiled again first, and run."""
    assert r.seconds is not None
    return r.compile + r.seconds + FEWEST * max(LEAST, (AGAIN + 1) * r.seconds)


def rounds(few: Sequence[Record], again: Again, seconds: float = SECONDS) -> list[Record]:
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
        if time.monotonic() - start > seconds * (done + 1) / (done + 2):  # another round would take it beyond
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


def unlike(records: Sequence[Record], retimed: Sequence[Record]) -> str:
    """Of a re-timing: the one whose time was the most unlike its first one, where that could change the order."""
    first = {r.index: r.seconds for r in records if r.kind == "trial" and r.seconds}
    both = [(r, first[r.index], r.seconds) for r in retimed if r.seconds and first.get(r.index)]
    apart = lambda x: max(x[1] / x[2], x[2] / x[1])
    if not both or apart(worst := max(both, key=apart)) <= 1 + UNLIKE:
        return ""
    r, before, now = worst
    return f"a first time may be luck here: point {r.index} took {duration(before)} at first, {duration(now)} re-timed"
