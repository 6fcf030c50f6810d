"""What the engine of the tuner costs: how long no process had something to measure, since the engine was busy.

`python -m tests.speed.overhead [trials]` tunes a small matmul, so small that little time is spent in what is measured:
the search, lowering, verdicts, columns, fits of the model and records have to keep up with it. The time counts from the
start to the end of the last trial; that the fastest are timed again afterwards is told apart.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from tvmlab import te, tune
from tvmlab.tune.measure import Measurer, Setup

TRIALS, SIZE = 1000, 128

Spans = list[tuple[float, float]]


@dataclass(frozen=True)
class Overhead:
    """Seconds: of the run, of those in which nothing was being measured, and of the end. `summary`: of the result."""

    trials: int
    seconds: float
    idle: float
    end: float
    summary: str

    @property
    def share(self) -> float:
        return self.idle / self.seconds


class Watched(Measurer):
    """Writes down when something is being measured."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(setup)
        self.spans: Spans = []

    def measure(self, *args: Any, **options: Any) -> Any:
        start = time.monotonic()
        try:
            return super().measure(*args, **options)
        finally:
            self.spans.append((start, time.monotonic()))


def task(n: int = SIZE) -> Any:
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return tune.Task.of(c, [a, b, c], "llvm")


def measured(trials: int = TRIALS) -> Overhead:
    setup = Setup(threads=1)
    start = time.monotonic()
    with Watched(setup) as measurer:
        result = tune.run(task(), trials=trials, search="annealing", setup=setup, fleet=measurer)
        end = time.monotonic()
    last = max(b for _, b in measurer.spans)
    idle = last - start - covered(measurer.spans)
    return Overhead(len(result.trials), last - start, idle, end - last, result.summary)


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """Seconds in which at least one of the spans was."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        if end > reached:
            total += end - max(start, reached)
            reached = end
    return total


if __name__ == "__main__":
    found = measured(int(sys.argv[1]) if len(sys.argv) > 1 else TRIALS)
    print(f"{found.trials} trials in {found.seconds:.1f} s, {found.idle:.1f} s of them ({found.share:.1%}) nothing was "
          f"being measured; {found.end:.1f} s more at the end; {found.summary}")  # fmt: skip
