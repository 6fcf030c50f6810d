"""Interleaved rounds: every contestant runs once per round, so that what slows a machine down meets them all.

A ratio is taken within each round; what is reported is the median of these ratios and their quartiles. A round in which
a contestant had to share its core with another process is done again.
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


def interleaved(contestants: Mapping[str, Timer], rounds: int = 21, block: float = 0.005, alone: float = 0.97) -> Times:
    """`rounds` rounds; in each, every contestant warms up and is then timed for at least `block` seconds.

    Every other round goes in the opposite order. `alone`: the share of a block that a contestant must have had a core;
    rounds with less do not count while there are enough others: four times `rounds` are tried at most.
    """
    counts = {name: _count(run, block) for name, run in contestants.items()}
    good, disturbed = [], []
    for turn in range(4 * rounds):
        found = {}
        for name in sorted(contestants, reverse=bool(turn % 2)):
            run, n = contestants[name], counts[name]
            if n > 1:
                run(max(1, n // 8))  # the caches of the one before are gone
            found[name] = run(n)
        worst = min(cpu / wall for wall, cpu in found.values())
        (good if worst >= alone else disturbed).append((worst, found))
        if len(good) == rounds:
            break
    disturbed.sort(key=lambda entry: -entry[0])
    kept = [*good, *disturbed][:rounds]
    return {name: [found[name][0] / counts[name] for _, found in kept] for name in contestants}


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
