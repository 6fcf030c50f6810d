"""The end of a session: the fastest few are timed again, and what was luck is found out."""

import json
import threading
from dataclasses import replace

import pytest

from tests.tuning import matmul
from tvmlab import tune
from tvmlab.core.error import CallError
from tvmlab.target import Target
from tvmlab.tune import finish, records, session
from tvmlab.tune.dispatch import ApplyHistoryBest
from tvmlab.tune.measure import Measured
from tvmlab.tune.records import load, now
from tvmlab.tune.work import Work

LUCKY, RIGHT = 3, 9  # of the grid's first points: the fastest at first, and the one that is


class Lucky:
    """Point 3 was measured in a quiet moment: its first time is half of what it takes. Point 9 is the fastest.

    `blocked`: when it is timed again it waits to be cancelled.
    """

    log: list = []
    blocked = False
    broken: set = set()
    reached = threading.Event()

    def __init__(self, setup):
        self.notes, self.busy = [], False

    __len__ = lambda self: 1
    warm = close = lambda self: None

    def cancel(self, stop):
        stop.set()

    def true(self, index):
        return 1e-3 if index == RIGHT else 1.4e-3 + 1e-6 * index

    def measure(self, candidate, best, process, stop):
        self.log.append(("first", candidate.index))
        took = self.true(candidate.index) * (0.6 if candidate.index == LUCKY else 1.0)
        return Measured("ok", times=tuple(took * f for f in (0.9, 1.0, 1.3)), check="ok")

    def again(self, candidate, process, stop):
        self.log.append(("again", candidate.index))
        self.reached.set()
        if self.blocked or stop.is_set():
            assert stop.wait(60)
            return Measured("cancelled")
        if candidate.index in self.broken:
            return Measured("crash", "SIGSEGV", "run")
        return Measured("ok", times=(self.true(candidate.index),) * 3)


@pytest.fixture(autouse=True)
def lucky(monkeypatch):
    monkeypatch.setattr(session, "Measurer", Lucky)
    for name, value in (("log", []), ("blocked", False), ("broken", set()), ("reached", threading.Event())):
        monkeypatch.setattr(Lucky, name, value)
    return Lucky


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def timed(index, seconds, spread=0.3, **values):
    return now(task="t", index=index, times=[seconds * (1 - spread / 2), seconds, seconds * (1 + spread / 2)], **values)


# ---------------------------------------------------------------- who is timed again


def test_those_whose_quartiles_reach_the_best():
    made = [timed(0, 1.0e-3), timed(1, 1.6e-3), timed(2, 9e-4), timed(3, 2.5e-3), timed(4, 5e-4, outcome="wrong")]
    assert [r.index for r in finish.contested(made, 5)] == [2, 0, 1]
    assert [r.index for r in finish.contested(made, 5, drift=2.0)] == [2, 0, 1, 3]
    assert [r.index for r in finish.contested(made, 2)] == [2, 0]
    assert finish.contested(made, 0) == finish.contested(made[:1], 5) == finish.contested([], 5) == []


def test_only_as_many_as_the_time_suffices_for():
    slow = [timed(k, 0.1 + 0.001 * k) for k in range(5)]
    assert [r.index for r in finish.contested(slow, 5)] == [0, 1]
    assert finish.contested([timed(k, 1.0) for k in range(5)], 5) == []


def test_rounds_are_in_turns():
    order = []

    def again(r):
        order.append(r.index)
        return Measured("ok", times=(1e-3 * (r.index + len(order)),))

    found = finish.rounds([timed(0, 1e-3), timed(1, 1e-3)], again)
    assert order[:6] == [0, 1, 1, 0, 0, 1] and [len(r.times) for r in found] == [finish.ROUNDS] * 2
    assert {r.kind for r in found} == {"retimed"}


# ---------------------------------------------------------------- sessions


def test_what_was_luck_is_replaced(path, monkeypatch):
    states = []
    made = tune.Session(matmul(), trials=12, search="grid", records=path)
    real = Work.again
    monkeypatch.setattr(Work, "again", lambda self, r: (states.append(str(made.progress)), real(self, r))[1])
    made.start().wait()
    result = made.result
    assert result.best.index == RIGHT and result.best.seconds == 1e-3
    assert f"re-timed: of {len(result.retimed)}, this one replaced point 3 (8" in result.summary
    assert states[0].startswith("finishing: 12 of 12 trials") and str(made.progress).startswith("done")
    assert made.progress.best == 1e-3
    again = [i for what, i in Lucky.log if what == "again"]
    assert {LUCKY, RIGHT} <= set(again) and len(set(again)) == len(result.retimed) <= 5
    assert len(result.records) == 12 and min(result.records, key=lambda r: r.seconds).index == LUCKY
    table = result.table()
    assert table[0].index == RIGHT and {r.index for r in table[: len(result.retimed)]} == set(again)


def test_one_that_held(monkeypatch):
    monkeypatch.setattr(Lucky, "true", lambda self, i: 1e-3 + 1e-5 * i)
    result = tune.run(matmul(), trials=3, search="grid")
    assert "re-timed: of 3, the first held" in result.summary and result.best.index == 0


def test_everything_that_reads_the_file_takes_what_was_timed_again(path, tmp_path):
    task = matmul()
    result = tune.run(task, trials=12, search="grid", records=path)
    assert tune.best(path, task).index == tune.best(result).index == RIGHT
    assert tune.best(path, task).seconds == 1e-3 and tune.best(path).index == RIGHT
    assert tune.apply_best(path, task)[0].to_code() == result.schedule()[0].to_code()
    for source in (result, load(path), path):
        tune.export_autotvm(source, tmp_path / "classic.log")
        classic = [json.loads(line) for line in (tmp_path / "classic.log").read_text().splitlines()]
        fastest = min(classic, key=lambda r: sum(r["result"][0]) / len(r["result"][0]))
        assert fastest["config"]["index"] == RIGHT and len(classic) == 12
    for source in (result, path, list(load(path)), str(tmp_path / "classic.log")):
        config = ApplyHistoryBest(source).query(Target("llvm"), (task.name, *task.args))
        assert config.index == RIGHT
    kept = tmp_path / "kept.jsonl"
    result.save(kept)
    assert tune.best(kept, task).index == RIGHT


def test_a_resumed_session_knows_and_compares_with_what_is_new(path):
    tune.run(matmul(), trials=12, search="grid", records=path)
    Lucky.log.clear()
    resumed = tune.Session(matmul(), trials=12, search="grid", records=path)
    assert resumed.progress.best == 1e-3
    assert resumed.start().wait() and resumed.result.best.index == RIGHT and Lucky.log == []
    result = tune.run(matmul(), trials=14, search="grid", records=path)
    assert result.best.index == RIGHT and [i for what, i in Lucky.log if what == "first"] == [12, 13]


def test_where_nothing_new_was_measured_nothing_is_timed_again(path):
    small = {"y": (1, 2), "x": (4, 8), "k": (1,)}
    tune.run(matmul(**small), trials=100, records=path)
    Lucky.log.clear()
    assert len(tune.run(matmul(**small), trials=100, records=path).records) == 8 and Lucky.log == []


def test_what_was_luckier_than_the_best_and_not_timed_again_is_not_exported(tmp_path):
    made = [replace(timed(k, 1e-3 + 1e-4 * k), at=10.0) for k in range(3)]
    again = [replace(r, kind="retimed", at=20.0, times=[1.15e-3]) for r in made[:1]]
    tune.export_autotvm([*made, *again], tmp_path / "classic.log")
    assert [r.seconds for r in load(tmp_path / "classic.log")] == pytest.approx([1.15e-3, 1.2e-3])


def test_a_trial_since_then_is_compared_by_its_own_time():
    old = [timed(0, 1e-3), timed(1, 2e-3)]
    made = [replace(r, at=10.0) for r in old]
    again = [replace(made[1], kind="retimed", at=20.0, times=[3e-3])]
    assert records.fastest([*made, *again]).seconds == 3e-3
    assert records.fastest([*made, *again, replace(made[0], index=7, at=30.0)]).index == 7
    assert records.fastest([*made, replace(again[0], machine="another")]).index == 0


def test_slow_ones_that_were_timed_again_come_after_faster_ones_that_were_not():
    times = {0: 1e-3, 1: 1.1e-3, 2: 1.7e-3, 3: 0.9e-3}
    made = [replace(timed(k, t), at=10.0) for k, t in times.items()]
    again = [replace(made[k], kind="retimed", at=20.0, times=[t]) for k, t in {0: 1.2e-3, 1: 7.4e-3}.items()]
    result = tune.Result(None, "llvm", made, retimed=again)
    assert [(r.index, r.seconds) for r in result.trials] == [(0, 1.2e-3), (3, 0.9e-3), (2, 1.7e-3), (1, 7.4e-3)]
    assert result.best == records.fastest(result.history)


def test_one_that_fails_now_is_not_the_best():
    Lucky.broken = {RIGHT}
    result = tune.run(matmul(), trials=12, search="grid")
    again = [i for what, i in Lucky.log if what == "again"]
    assert again.count(RIGHT) == 1 and again.count(LUCKY) == finish.ROUNDS
    assert result.best.index not in (RIGHT, LUCKY)
    (failed,) = [r for r in result.trials if r.index == RIGHT]
    assert (failed.outcome, failed.reason) == ("crash", "when it was timed again: SIGSEGV")


# ---------------------------------------------------------------- stop, pause, time


def test_a_stop_while_they_are_timed_leaves_the_first_times(path):
    Lucky.blocked = True
    made = tune.Session(matmul(), trials=12, search="grid", records=path).start()
    assert Lucky.reached.wait(60) and made.progress.state == "finishing"
    made.stop()
    assert made.wait(60) and made.result.retimed == () and made.result.best.index == LUCKY
    assert {r.kind for r in load(path)} == {"trial"} and "re-timed" not in made.result.summary
    Lucky.blocked = False
    assert made.retime().best.index == RIGHT and made.state == "done"
    assert tune.best(path, matmul()).index == RIGHT


def test_a_pause_while_they_are_timed():
    Lucky.blocked = True
    made = tune.Session(matmul(), trials=12, search="grid").start()
    assert Lucky.reached.wait(60)
    made.pause()
    assert made.progress.state == "paused" and not made.wait(0.05)
    with pytest.raises(CallError, match="this session is paused"):
        made.retime()
    Lucky.blocked = False
    made.resume()
    assert made.wait(60) and made.result.best.index == RIGHT


def test_an_interrupt_while_they_are_timed_leaves_the_first_times(path, monkeypatch):
    Lucky.blocked = True
    real = session.Session.wait

    def wait(self, timeout=None):
        if timeout is not None and Lucky.reached.is_set():
            raise KeyboardInterrupt
        return real(self, timeout)

    monkeypatch.setattr(session.Session, "wait", wait)
    result = tune.run(matmul(), trials=12, search="grid", records=path)
    assert "interrupted" in result.notes and result.best.index == LUCKY and len(load(path)) == 12


def test_a_full_disk_while_they_are_timed_loses_nothing(path, monkeypatch):
    real = records._write
    monkeypatch.setattr(records, "_write", lambda f, data: 0 if b"retimed" in data else real(f, data))
    result = tune.run(matmul(), trials=12, search="grid", records=path)
    assert result.best.index == RIGHT and {r.kind for r in load(path)} == {"trial"}
    assert any(f"the last {len(result.retimed)} records are in memory only" in n for n in result.notes)
    monkeypatch.undo()
    result.save(path)
    assert tune.best(path, matmul()).index == RIGHT


def test_a_file_that_ends_within_such_a_record(path):
    tune.run(matmul(), trials=12, search="grid", records=path)
    path.write_bytes(path.read_bytes()[:-40])
    assert len(load(path).notes) == 1 and tune.best(path, matmul()).index == RIGHT


def test_a_stopped_session_is_not_timed_again_by_itself(monkeypatch):
    made = tune.Session(matmul(), trials=100, search="grid")
    made.on_trial = lambda r: r.index == 12 and made.stop()
    assert made.start().wait(60) and made.result.retimed == ()


def test_when_the_time_is_up_the_fastest_are_timed_again(monkeypatch):
    real = Lucky.measure

    def measure(self, candidate, best, process, stop):
        if candidate.index == 12:
            made.seconds = 0.0  # the time is up while it runs
            assert stop.wait(60)
            return Measured("cancelled")
        return real(self, candidate, best, process, stop)

    monkeypatch.setattr(Lucky, "measure", measure)
    made = tune.Session(matmul(), seconds=600, search="grid", batch=1)
    assert made.start().wait(60) and made.result.best.index == RIGHT and len(made.records) == 12


def test_none_are_timed_again_where_that_is_not_wanted():
    result = tune.run(matmul(), trials=12, search="grid", setup={"retime": 0})
    assert result.best.index == LUCKY and result.retimed == ()


# ---------------------------------------------------------------- in what order they are shown


def retimed(r, seconds, at=20.0):
    return replace(r, kind="retimed", at=at, times=[seconds] * 3)


def result_of(made, again):
    return tune.Result(matmul(), "llvm", [replace(r, at=10.0) for r in made], retimed=again)


def test_the_fastest_is_first_by_the_time_that_counts_and_what_may_be_luck_says_so():
    made = [timed(k, t) for k, t in enumerate((1e-3, 0.9e-3, 3e-3, 1.5e-3, 0.5e-3))]
    result = result_of(made, [retimed(made[0], 2e-3), retimed(made[4], 240e-3)])
    shown = [(r.index, r.seconds) for r in result.trials]
    assert shown == [(0, 2e-3), (1, 0.9e-3), (3, 1.5e-3), (2, 3e-3), (4, 240e-3)] and result.best.index == 0
    rows = str(result.table()).splitlines()[1:]
    assert rows[0].endswith("timed again: 1 ms at first") and rows[4].endswith("timed again: 500 µs at first")
    assert all(r.endswith("first time only, not timed again") for r in rows[1:3]) and "first" not in rows[3]
    assert "; 2 faster at first, not timed again" in result.summary


def test_what_was_timed_again_earlier_keeps_that_time():
    made = [timed(0, 1e-3), timed(1, 1.1e-3)]
    again = [retimed(made[0], 2e-3), retimed(made[1], 2.5e-3, at=15.0)]
    assert [(r.index, r.seconds) for r in result_of(made, again).trials] == [(0, 2e-3), (1, 2.5e-3)]
    again[1] = retimed(made[1], 1.5e-3, at=15.0)
    assert str(result_of(made, again).table()).endswith("timed again: 1.1 ms at first, not timed again with the best")


def test_whoever_was_faster_than_what_the_best_takes_now_is_timed_again_too(monkeypatch):
    monkeypatch.setattr(finish, "ROUNDS", 1)
    monkeypatch.setattr(Lucky, "true", lambda self, i: 1e-3 + 1e-4 * i)
    first = Lucky.measure
    lucky = lambda self, c, *rest: replace(first(self, c, *rest), times=((0.01 if c.index < 4 else 0.3) * 1e-3,) * 3)
    monkeypatch.setattr(Lucky, "measure", lucky)
    result = tune.run(matmul(), trials=12, search="grid", setup={"retime": 3})
    assert {r.index for r in result.retimed} == set(range(12)) and result.best.index == 0
    assert len({r.at for r in result.retimed}) == 1 and "re-timed: of 12" in result.summary
    monkeypatch.setattr(finish, "_affordable", lambda few, seconds: [r for r in few if r.index < 5])
    result = tune.run(matmul(), trials=12, search="grid", setup={"retime": 3})
    assert [r.index for r in result.trials[:2]] == [0, 5] and "7 faster at first, not timed again" in result.summary
