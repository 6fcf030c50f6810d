"""Timing with a clock that the test moves: no test here depends on how fast the machine is."""

import gc

import numpy as np
import pytest

from tests import fakes
from tvmlab.core import packed
from tvmlab.core.error import LabError
from tvmlab.runtime import BenchmarkResult, Comparison, compare, cpu, measure
from tvmlab.runtime.device import DeviceError, metal
from tvmlab.runtime.measure import Timing, bootstrap, duration, run


class Clock:
    """`work(ms)` is a function that takes so long; the durations come from a list, the last one again and again."""

    def __init__(self, monkeypatch):
        self.now, self.slept, self.calls = 0, [], []
        monkeypatch.setattr(measure.time, "perf_counter_ns", lambda: self.now)
        monkeypatch.setattr(measure.time, "sleep", self.slept.append)

    def work(self, *milliseconds, name="f"):
        left = list(milliseconds)

        def work(*args):
            self.calls.append(name)
            self.now += int((left.pop(0) if len(left) > 1 else left[0]) * 1e6)

        return work


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def test_the_first_run_is_not_counted(clock):
    result = run(clock.work(100, 1, 1, 4, 2), Timing(number=2, repeat=2))
    assert result.results == pytest.approx((0.001, 0.003)) and len(clock.calls) == 5


def test_statistics():
    r = BenchmarkResult((1.0, 2.0, 3.0, 4.0, 10.0), 7)
    assert (r.mean, r.median, r.min, r.max, r.iqr) == (4, 3, 1, 10, 2)
    assert r.std == pytest.approx(np.std(r.results))
    assert repr(r) == "median 3 s (half of the repeats from 2 s to 4 s, all up to 10 s), 5 repeats of 7 runs, min 1 s"
    assert repr(BenchmarkResult((3.0, 4.0, 5.0))) == "median 4 s (IQR 1 s, 25.0 %), 3 repeats of 1 run, min 3 s"
    assert "(IQR 0 ns, 0.0 %)" in repr(BenchmarkResult((0.0, 0.0))), "a clock that does not move"
    assert str(BenchmarkResult((2e-6,))) == "median 2 µs, 1 repeat of 1 run, min 2 µs"
    assert [duration(t) for t in (1.5, 0.0123, 4.56e-5, 7e-9)] == ["1.5 s", "12.3 ms", "45.6 µs", "7 ns"]


def test_number_grows_until_a_repeat_is_long_enough(clock):
    result = run(clock.work(1), Timing(number=1, repeat=3, min_repeat_ms=5))
    assert result.number == 6 and len(clock.calls) == 1 + 1 + 3 * 6
    assert result.results == pytest.approx((0.001,) * 3)


def test_a_clock_that_does_not_move_ends(clock):
    result = run(clock.work(0), Timing(number=1, limit_zero_time_iterations=5))
    assert result.results == (0,) and len(clock.calls) < 200


def test_cooldown(clock):
    run(clock.work(1), Timing(number=1, repeat=4, cooldown_interval_ms=30, repeats_to_cooldown=2))
    assert clock.slept == [0.03, 0.03]


def test_preparation_runs_before_each_repeat_off_the_clock(clock, monkeypatch):
    monkeypatch.setattr(packed, "_TABLE", {})
    packed.register("prepare", lambda *args: clock.work(50, name="prepare")(args))
    result = run(clock.work(1), Timing(number=2, repeat=2, f_preproc="prepare", cache_flush_bytes=100), args=(1, 2))
    assert clock.calls == ["f", "prepare", "f", "f", "prepare", "f", "f"]
    assert result.results == pytest.approx((0.001, 0.001))


def test_the_classic_preparation_exists():
    packed.call("cache_flush_cpu_non_first_arg", [1, 2])


def test_bad_counts():
    for field in ("number", "repeat", "repeats_to_cooldown"):
        with pytest.raises(LabError, match=f"^{field} must be at least 1, got 0$"):
            Timing(**{field: 0})


def test_garbage_collection_is_off_only_while_timing():
    states = []
    run(lambda: states.append(gc.isenabled()), Timing(number=1))
    assert states == [True, False] and gc.isenabled()


def test_rounds_are_interleaved_and_each_goes_first(clock):
    compare(clock.work(1, name="a"), clock.work(1, name="b"), rounds=4, min_round_ms=0.5)
    assert "".join(clock.calls) == "aabb" + "ab" "ba" "ab" "ba"


def test_verdicts(clock):
    assert compare(clock.work(1), clock.work(2)).verdict == "faster"
    assert compare(clock.work(2), clock.work(1)).verdict == "slower"
    assert compare(clock.work(1), clock.work(1.005)).verdict == "same within noise"
    noisy = np.random.default_rng(0).uniform(1, 2, 500)
    assert compare(clock.work(*noisy), clock.work(1.5), rounds=30).verdict == "same within noise"


def test_comparison_text_and_arguments(clock):
    got = []
    c = compare(lambda *x: (got.append(x), clock.work(2)()), clock.work(1), args=(1,), b_args=(), rounds=3)
    assert set(got) == {(1,)}
    assert repr(c) == "slower: 0.5 times the speed, 95 % interval [0.5, 0.5] (2 ms and 1 ms, 3 rounds)"
    assert isinstance(c, Comparison) and c.ratio == pytest.approx(2)
    with pytest.raises(LabError, match="^an interval needs at least 3 rounds, got 2$"):
        compare(print, print, rounds=2)


def test_short_functions_are_repeated_within_a_round(clock):
    c = compare(clock.work(0.01), clock.work(0.001), rounds=3, min_round_ms=1)
    assert c.a.number >= 100 and c.b.number >= 1000 and c.ratio == pytest.approx(10)


def test_the_interval_covers_the_median_and_narrows():
    rng = np.random.default_rng(1)
    widths = []
    for n in (10, 1000):
        low, high = bootstrap(rng.normal(5, 1, n))
        assert low < 5 < high
        widths.append(high - low)
    assert widths[1] < widths[0] / 4


def test_time_evaluator(clock, monkeypatch):
    fakes.install(monkeypatch)
    work = clock.work(9, 1)
    mod = fakes.adder(call=lambda arrays, scalars: (fakes.add_arrays(arrays, scalars), work()))
    a, out = np.ones(3, "float32"), np.zeros((3, 2), "float32")[:, 0]
    result = mod.time_evaluator(mod.entry_name, cpu(0), number=4, repeat=2)(a, a, out)
    assert result.results == pytest.approx((0.001, 0.001)) and len(clock.calls) == 9
    assert out.tolist() == [2, 2, 2]
    with pytest.raises(AttributeError, match="^this module has no function `g`\n  legal here:  add$"):
        mod.time_evaluator("g", cpu(0))
    with pytest.raises(DeviceError, match=r"^there is no device metal\(0\) in this process"):
        mod.time_evaluator("add", metal(0))
    with pytest.raises(ValueError, match=r"^argument 1 \(B\): shape\[0\] is 2"):
        mod.time_evaluator("add", cpu(0))(a, a[:2], out)
