"""Timing: of one function (`run`), and of two side by side (`compare`), always with the spread beside the number."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import packed
from ..core.error import LabError
from ..core.units import duration

Thunk = Callable[[], Any]
Clock = Callable[[int], float]
GROWTH = 1.618  # a repeat that was too short gets at least so many times the runs

WIDE = 0.5  # quartiles further apart than this part of the median: repeats that do not agree


@dataclass(frozen=True)
class BenchmarkResult:
    """`results`: seconds per run, one mean per repeat of `number` runs.

    `clock`: what they are the time of, if it is not the whole call. `remark`: what may have made it longer.
    """

    results: tuple[float, ...]
    number: int = 1
    clock: str = ""
    remark: str = ""

    @property
    def mean(self) -> float:
        return float(np.mean(self.results))

    @property
    def median(self) -> float:
        return float(np.median(self.results))

    @property
    def min(self) -> float:
        return float(np.min(self.results))

    @property
    def max(self) -> float:
        return float(np.max(self.results))

    @property
    def std(self) -> float:
        return float(np.std(self.results))

    @property
    def iqr(self) -> float:
        """Between the first and the third quartile: the spread that a single slow repeat does not change."""
        low, high = np.percentile(self.results, (25, 75))
        return float(high - low)

    def __repr__(self) -> str:
        repeats = len(self.results)
        head = f"median {duration(self.median)}{self._spread() if repeats > 1 else ''}"
        tail = f" ({self.clock})" if self.clock else ""
        tail += f"; {self.remark}" if self.remark else ""
        return f"{head}, {_times(repeats, 'repeat')} of {_times(self.number, 'run')}, min {duration(self.min)}{tail}"

    def _spread(self) -> str:
        """A width where it says something; where half of the repeats spread widely, where they lie."""
        if self.iqr <= WIDE * self.median:
            return f" (IQR {duration(self.iqr)}, {100 * self.iqr / max(self.median, 1e-12):.1f} %)"
        low, high = np.percentile(self.results, (25, 75))
        return f" (half of the repeats from {duration(low)} to {duration(high)}, all up to {duration(self.max)})"

    __str__ = __repr__


def _times(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


# ---------------------------------------------------------------- one function


@dataclass(frozen=True)
class Timing:
    """How to time: the classic arguments of `time_evaluator`."""

    number: int = 10
    repeat: int = 1
    min_repeat_ms: float = 0
    limit_zero_time_iterations: int = 100
    cooldown_interval_ms: float = 0
    repeats_to_cooldown: int = 1
    cache_flush_bytes: int = 0
    f_preproc: str = ""

    def __post_init__(self) -> None:
        for name in ("number", "repeat", "repeats_to_cooldown"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 1:
                raise LabError("timing", f"{name} must be at least 1, got {getattr(self, name)}")
        for name in ("min_repeat_ms", "cooldown_interval_ms", "cache_flush_bytes"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or not 0 <= value < float("inf"):
                raise LabError("timing", f"{name} must be a number of at least 0, got {value}")


def run(thunk: Thunk, timing: Timing, args: Sequence[Any] = ()) -> BenchmarkResult:
    """Time `thunk()`: one run to warm up, not counted, then the repeats. `args` go to the preparing function."""
    return run_by(lambda number: seconds(thunk, number), timing, args)


def run_by(clock: Clock, timing: Timing, args: Sequence[Any] = (), name: str = "") -> BenchmarkResult:
    """The same with a clock of one's own: `clock(number)` runs so many times, and gives the seconds they took.

    `name`: what it measures, for who reads the result.
    """
    prepare = _preparations(timing, args)
    number, results = timing.number, []
    clock(1)
    with no_garbage_collection():
        for i in range(timing.repeat):
            prepare()
            total, number = _repeat(clock, number, timing)
            results.append(total / number)
            if timing.cooldown_interval_ms > 0 and (i + 1) % timing.repeats_to_cooldown == 0:
                time.sleep(timing.cooldown_interval_ms / 1e3)
    return BenchmarkResult(tuple(results), number, name)


def _repeat(clock: Clock, number: int, timing: Timing) -> tuple[float, int]:
    """Seconds of one repeat, and how many runs it took to last long enough."""
    zeros = 0
    while True:
        total = clock(number)
        zeros += total == 0
        if total * 1e3 >= timing.min_repeat_ms and total > 0 or zeros > timing.limit_zero_time_iterations:
            return total, number
        wanted = timing.min_repeat_ms * 1e-3 * number / total if total > 0 else 0
        number = int(max(wanted, number * GROWTH)) + 1


def seconds(thunk: Thunk, number: int) -> float:
    """How long `number` runs take."""
    start = time.perf_counter_ns()
    for _ in range(number):
        thunk()
    return (time.perf_counter_ns() - start) * 1e-9


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _preparations(timing: Timing, args: Sequence[Any]) -> Thunk:
    """What is done before each repeat, off the clock."""
    preproc = packed.get(timing.f_preproc) if timing.f_preproc else None
    scratch = np.zeros(timing.cache_flush_bytes, np.uint8)

    def prepare() -> None:
        if preproc is not None:
            preproc(*args)
        np.add(scratch, 1, out=scratch)

    return prepare


CACHE_BYTES = 64 << 20


def flush_cache(*args: Any) -> None:
    """Stream through more memory than the caches hold, so that the next run starts with its arguments in main memory.

    The classic function of this name spares the first argument; this one evicts every argument.
    """
    np.ones(2 * CACHE_BYTES // 8).sum()


packed.register("cache_flush_cpu_non_first_arg", flush_cache, override=True)


# ---------------------------------------------------------------- two functions


MARGIN = 0.01  # two functions closer than this are called the same: code and stack placement alone move times by it


@dataclass(frozen=True)
class Comparison:
    """`ratio`: the time of `a` over the time of `b`, with its 95 % interval [low, high]."""

    a: BenchmarkResult
    b: BenchmarkResult
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Of `a`, beside `b`: faster, slower, or the same within noise."""
        if self.high < 1 - MARGIN:
            return "faster"
        return "slower" if self.low > 1 + MARGIN else "same within noise"

    def __repr__(self) -> str:
        speed = 1 / self.ratio
        interval = f"[{1 / self.high:.3g}, {1 / self.low:.3g}]"
        times = f"{duration(self.a.median)} and {duration(self.b.median)}, {_times(len(self.a.results), 'round')}"
        return f"{self.verdict}: {speed:.3g} times the speed, 95 % interval {interval} ({times})"


def compare(
    a: Callable[..., Any], b: Callable[..., Any], args: Sequence[Any] = (), rounds: int = 20, min_round_ms: float = 1.0,
    b_args: Sequence[Any] | None = None, budget: float = float("inf"), on_round: Callable[[int], Any] | None = None,
) -> Comparison:  # fmt: skip
    """Time `a(*args)` beside `b(*b_args or *args)`: in each round both, in turn first, so that drift meets both alike.

    The interval is of the median over the rounds of the ratio within a round, by resampling the rounds. After `budget`
    seconds no new round starts, once there are 5. `on_round` is called with the number of rounds done, off the clock.
    """
    if rounds < 3:
        raise LabError("timing", f"an interval needs at least 3 rounds, got {rounds}")
    thunks = (lambda: a(*args), lambda: b(*(args if b_args is None else b_args)))
    numbers = [_enough(t, min_round_ms * 1e-3) for t in thunks]
    times, start = np.empty((rounds, 2)), time.perf_counter()
    with no_garbage_collection():
        for i in range(rounds):
            if i >= min(5, rounds) and time.perf_counter() - start > budget:
                times = times[:i]
                break
            for k in (0, 1) if i % 2 == 0 else (1, 0):
                times[i, k] = seconds(thunks[k], numbers[k]) / numbers[k]
            if on_round is not None:
                on_round(i + 1)
    ratios = np.maximum(times[:, 0], 1e-12) / np.maximum(times[:, 1], 1e-12)
    low, high = bootstrap(ratios)
    first, second = (BenchmarkResult(tuple(map(float, times[:, k])), numbers[k]) for k in (0, 1))
    return Comparison(first, second, float(np.median(ratios)), low, high)


def _enough(thunk: Thunk, at_least: float) -> int:
    """How many runs last `at_least` seconds; the first run, which may compile, is not counted."""
    thunk()
    number = 1
    while (total := seconds(thunk, number)) < at_least and number < 1_000_000:
        number = max(number + 1, int(number * min(10.0, 1.2 * at_least / max(total, 1e-9))))
    return number


def bootstrap(values: np.ndarray[Any, Any], samples: int = 2000) -> tuple[float, float]:
    """The 95 % interval of the median, from medians of resampled values."""
    picks = np.random.default_rng(0).integers(len(values), size=(samples, len(values)))
    low, high = np.percentile(np.median(values[picks], axis=1), (2.5, 97.5))
    return float(low), float(high)
