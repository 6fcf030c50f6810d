"""Interleaved rounds: every contestant runs once per round, so that what slows a machine down meets them all.

A ratio is taken within each round; what is reported is the median of these ratios and their quartiles. A contestant
that had to share its core with another process is timed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import exp, log
from typing import Any

import numpy as np

Timer = Callable[[int], tuple[float, float]]  # number of calls -> seconds they took together, and of its CPU's time
Times = dict[str, list[float]]  # contestant -> seconds per call, one number per round


@dataclass(frozen=True)
class Spread:
    """A median and the quartiles around it."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Any) -> Spread:
        low, median, high = np.percentile(values, (25, 50, 75))
        return Spread(float(median), float(low), float(high))

    def __str__(self) -> str:
        return f"{self.median:.2f} [{self.low:.2f}, {self.high:.2f}]"


def timer(call: Callable[..., Any], *args: Any) -> Timer:
    """Times calls in this process."""

    def run(n: int) -> tuple[float, float]:
        start, cpu = time.perf_counter(), time.process_time()
        for _ in range(n):
            call(*args)
        return time.perf_counter() - start, time.process_time() - cpu

    return run


def interleaved(contestants: Mapping[str, Timer], rounds: int = 21, block: float = 0.004, alone: float = 0.97) -> Times:
    """`rounds` rounds; in each, every contestant warms up and is then timed for at least `block` seconds.

    Every other round goes in the opposite order. `alone`: the share of a block that a contestant must have had a core.
    """
    counts = {name: _count(run, block) for name, run in contestants.items()}
    times: Times = {name: [] for name in contestants}
    for turn in range(rounds):
        for name in sorted(contestants, reverse=bool(turn % 2)):
            times[name].append(_undisturbed(contestants[name], counts[name], alone) / counts[name])
    return times


TRIES = 10


def _undisturbed(run: Timer, n: int, alone: float) -> float:
    """Seconds of `n` calls that had a core to themselves; of the least disturbed ones, if that never happens."""
    best = (0.0, 0.0)
    for _ in range(TRIES):
        time.sleep(0.001)  # who has waited is let run
        if n > 1:
            run(max(1, n // 8))  # the caches of the one before are gone
        wall, cpu = run(n)
        best = max(best, (cpu / wall, wall))
        if best[0] >= alone:
            break
    return best[1]


def _count(run: Timer, block: float) -> int:
    """How many calls fill a block."""
    run(1)
    n = 1
    while (took := run(n)[0]) < block / 4 and n < 1 << 20:
        n *= 4
    return max(1, min(1 << 20, round(n * block / max(took, 1e-9))))


def ratio(times: Times, ours: str, peer: str) -> Spread:
    """How many times as fast as the peer: above one, ours is faster."""
    return Spread.of(np.divide(times[peer], times[ours]))


def geometric_mean(values: Any) -> float:
    return exp(sum(map(log, values)) / len(values))
