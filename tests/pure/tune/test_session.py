"""Sessions, with measuring played: what is told, kept, resumed, paused, and lost (nothing)."""

import threading
from collections import Counter

import pytest

from tests.tuning import Space, Task, matmul
from tvmlab import te, tune
from tvmlab.core.error import CallError, LabError
from tvmlab.tune import finish, records, session, work
from tvmlab.tune.measure import Measured
from tvmlab.tune.records import load
from tvmlab.tune.result import Drift
from tvmlab.tune.search.base import Base


class Played:
    """Measures at once: a point takes 1 ms and as many microseconds as its number. `wait`: points that never end."""

    last = None
    outcomes: dict = {}
    wait: set = set()

    def __init__(self, setup):
        self.setup, self.notes, self.busy, self.closed = setup, [], False, False
        self.measured: list[int] = []
        self.begun = threading.Event()
        Played.last = self

    def __len__(self):
        return 2

    def warm(self):
        pass

    def close(self):
        self.closed = True

    def cancel(self, stop):
        stop.set()

    def measure(self, candidate, best, process, stop):
        self.measured.append(candidate.index)
        if candidate.index in self.wait:
            self.begun.set()
            assert stop.wait(60)
            return Measured("cancelled")
        if candidate.index in self.outcomes:
            return self.outcomes[candidate.index]
        return Measured("ok", times=(1e-3 + 1e-6 * candidate.index,) * 3, check="ok")


@pytest.fixture(autouse=True)
def played(monkeypatch):
    monkeypatch.setattr(session, "Measurer", Played)
    monkeypatch.setattr(finish, "SECONDS", 0.0)  # nothing is timed again: that has tests of its own
    monkeypatch.setattr(Played, "outcomes", {})
    monkeypatch.setattr(Played, "wait", set())
    monkeypatch.setattr(Played, "last", None)
    return Played


@pytest.fixture
def path(tmp_path):
    return tmp_path / "log.jsonl"


def kept(path):
    return [r for r in load(path) if r.kind == "trial"]


def test_a_run_measures_keeps_and_finds_the_best(path):
    heard = []
    task = matmul()
    result = tune.run(task, trials=30, records=path, on_trial=heard.append)
    assert len(result.records) == 30 and heard == list(result.records) == kept(path)
    assert result.best.index == min(r.index for r in heard) and result.best.check == "ok"
    assert result.progress.state == "done" and result.progress.left == 0
    s, args = result.schedule()
    assert len(args) == 3 and len(s.trace) >= 4
    assert result.to_code().startswith("# test/matmul(32,) for llvm: 1") and "s[C].vectorize(ji)" in result.to_code()
    first, *_ = result.table(5)
    assert first is result.trials[0] and len(result.table(5)) == 5 and str(result.table(None)).count("\n") == 30
    assert len(result.table()) == 20 and str(result.table()).splitlines()[20:] == [
        str(result.table(20)).splitlines()[20], "... 10 more: .table(None)"]  # fmt: skip
    assert str(result.table(0)) == "... 30 more: .table(None)" and result.table(99).more == ""
    with pytest.raises(CallError, match="n must be how many rows"):
        result.table(-1)
    assert result.best.config and f"point {result.best.index}" in repr(result)


@pytest.mark.parametrize("name", ["random", "grid", "genetic"])
def test_the_same_seed_gives_the_same_trials(name):
    runs = [tune.run(matmul(), trials=40, search=name, seed=s, setup={"jobs": 1}) for s in (3, 3)]
    first, again = (sorted(r.index for r in x.records) for x in runs)
    assert first == again


def test_a_point_in_the_file_is_not_measured_again(path):
    tune.run(matmul(), trials=20, records=path)
    before = {r.index for r in load(path)}
    result = tune.run(matmul(), trials=35, records=path)
    assert len(result.records) == 35 and len(kept(path)) == 35
    again = set(Played.last.measured) - {result.drift.record.index}  # timed again on purpose
    assert len(again) >= 15 and not before & again and "20 trials were in the file already" in result.notes
    Played.last = None
    result = tune.run(matmul(), trials=35, records=path)
    assert Played.last is None and len(result.records) == 35 and result.best is not None


@pytest.mark.parametrize("change", [{"machine": "another"}, {"threads": 1}, {"space": "another"}, {"target": "numba"},
                                    {"args": [64]}, {"kind": "drift"}], ids=str)  # fmt: skip
def test_trials_that_are_not_ours_are_left_alone(path, change):
    tune.run(matmul(), trials=5, records=path)
    lines = [records.Record(**{**vars(r), **change}) for r in load(path)]
    path.unlink()
    records.append(path, lines)
    result = tune.run(matmul(), trials=5, records=path)
    assert len(result.records) == 5 and len(Played.last.measured) == 5 and len(load(path)) == 10


def test_a_file_cut_in_the_middle_goes_on(path):
    tune.run(matmul(), trials=10, records=path)
    path.write_bytes(path.read_bytes()[:-30])
    result = tune.run(matmul(), trials=12, records=path)
    assert len(result.records) == 12 and len(kept(path)) == 12
    assert any("cut short" in n for n in result.notes)


# ---------------------------------------------------------------- what goes wrong


def test_an_empty_space_ends_with_a_word():
    result = tune.run(Task(None, Space({"a": ()})), trials=5)
    assert result.best is None and "the space has no points" in result.notes and result.summary == "no trial succeeded"
    with pytest.raises(CallError, match="no trial succeeded"):
        result.schedule()


def test_a_space_smaller_than_the_trials():
    result = tune.run(matmul(y=(1, 2), x=(4,), k=(1,)), trials=100)
    assert len(result.records) == 4 and "every point of the space has been tried" in result.notes


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_template_that_always_raises_in_a_huge_space_is_given_up(path):
    def template(config):
        raise ValueError("no")

    task = Task(template, Space({f"k{i}": tuple(range(10)) for i in range(12)}), name="bad")
    result = tune.run(task, trials=10, records=path)
    assert result.best is None and result.trials == [] and result.discarded["ValueError: no"] >= work.REFUSALS
    assert any("given up" in n and "ValueError: no" in n for n in result.notes)
    assert {r.outcome for r in load(path)} == {"instantiation"}


@pytest.mark.parametrize("name", ["random", "grid", "genetic", "droplet", "annealing"])
def test_a_space_of_a_million_million_points(path, name):
    if name == "annealing":
        pytest.importorskip("lightgbm")
    task = matmul(**{f"unused{i}": tuple(range(10)) for i in range(10)})
    assert len(task.space) > 10**12
    result = tune.run(task, trials=24, search=name, records=path)
    assert len({r.index for r in result.trials}) == 24 == len(tune.run(task, trials=24, records=path).trials)
    assert result.schedule()[1] and max(r.index for r in result.records) < len(task.space)


@pytest.mark.parametrize("search", ["annealing", "random", "grid", "genetic", "droplet", "optuna"])
def test_a_space_of_which_the_filter_leaves_nothing(search):
    from tvmlab.tune.space import Space as Real

    space = Real()
    space.define_knob("y", [1, 2])
    space.multi_filter(lambda config: False)
    with pytest.raises(LabError, match="the filter of the space discarded all its 2 points"):
        tune.run(Task(None, space), trials=5, search=search)


def test_refusals_do_not_count_and_are_not_tried_again(path):
    def template(config, n):
        if config["y"] < 8:
            raise ValueError("rows")
        return matmul().template(config, n)

    task = matmul()
    task = Task(template, task.space, task.args, task.name)
    result = tune.run(task, trials=10, search="random", records=path)
    assert len(result.trials) == 10 and all(r.index % 5 >= 3 for r in result.trials)
    assert result.discarded["ValueError: rows"] == len(result.records) - 10 > 0
    assert "points not measured: ValueError: rows" in repr(result)
    task.made.clear()
    tune.run(task, trials=12, search="random", records=path)
    assert not {r.index for r in result.records} & set(task.made) or len(set(task.made)) == len(task.made)


def test_what_was_refused_is_known_on_the_next_day_whatever_the_threads(path):
    def template(config, n):
        raise ValueError("no")

    task = Task(template, Space({"p": (1, 2, 3)}))
    for _ in range(2):
        result = tune.run(task, trials=5, records=path, setup={"threads": 1})
    assert len(load(path)) == 3 and "3 trials were in the file already" in result.notes and len(task.made) == 3


def test_points_with_the_same_steps_are_measured_once():
    def template(config, n):
        return matmul().template({**{k: config[k] for k in "yk"}, "x": 8, "parallel": 0}, n)

    task = Task(template, matmul().space, (32,))
    result = tune.run(task, trials=100, seed=1)
    assert len(result.records) == 20 and result.discarded == {"duplicate": 140}


@pytest.mark.parametrize("kind", ["compile", "wrong", "crash", "timeout", "memory"])
def test_a_failure_is_a_trial_with_its_reason(path, kind):
    Played.outcomes = {i: Measured(kind, "as it was said") for i in range(0, 160, 2)}
    result = tune.run(matmul(), trials=20, records=path, seed=2)
    assert len(result.records) == 20 == len(kept(path)) and result.best.index % 2
    assert Counter(r.outcome for r in result.records)[kind] > 0 and f"{kind}: as it was said" in repr(result)


def test_without_processes_it_gives_up():
    Played.outcomes = {i: Measured("lost", "no process could be started") for i in range(160)}
    result = tune.run(matmul(), trials=20)
    assert "given up: no process could be started" in result.notes and result.best is None


def test_a_full_disk_loses_nothing(path, monkeypatch):
    def full(f, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(records, "_write", full)
    result = tune.run(matmul(), trials=10, records=path)
    assert len(result.records) == 10 and path.read_bytes() == b""
    assert any("No space left" in n and "10 records are in memory only" in n for n in result.notes)
    monkeypatch.undo()
    result.save(path)
    assert load(path).records == list(result.records)


def test_a_log_that_fails_in_another_way_ends_the_session_all_the_same(path, monkeypatch):
    def broken(f, data):
        raise ZeroDivisionError("a strange file system")

    monkeypatch.setattr(records, "_write", broken)
    monkeypatch.setattr(threading, "excepthook", lambda what: None)
    result = tune.run(matmul(), trials=10, records=path)
    assert len(result.records) == 1 and any("ended early: ZeroDivisionError" in n for n in result.notes)


def test_a_callback_that_raises_is_left_out():
    def on_trial(record):
        raise ZeroDivisionError("mine")

    result = tune.run(matmul(), trials=10, on_trial=on_trial)
    assert len(result.records) == 10 and any("it raised ZeroDivisionError: mine" in n for n in result.notes)


class Broken(Base):
    """A person's search with an error in its second round."""

    rounds = 0

    def propose(self, n):
        self.rounds += 1
        return [1, 2, 3] if self.rounds == self.good else 1 // 0

    good = 1


def test_a_search_that_raises_loses_nothing():
    search = Broken(matmul())
    result = tune.run(matmul(), trials=10, search=search)
    assert len(result.records) == 3 and any("ended early: ZeroDivisionError" in n for n in result.notes)
    search.good = 0
    with pytest.raises(ZeroDivisionError):
        tune.run(matmul(), trials=10, search=search)


def test_a_task_that_cannot_count_its_operations_and_a_search_that_expects_nothing():
    class Silent(Task):
        flop = property(lambda self: self.refused())

        def refused(self):
            raise RuntimeError("not an affine body")

    class Plain:
        propose, tell = (lambda self, n: [1, 2]), (lambda self, results: None)

    task = object.__new__(Silent)
    given = matmul()
    for name in ("template", "space", "args", "name", "target", "made"):
        object.__setattr__(task, name, getattr(given, name))
    result = tune.run(task, trials=2, search=Plain())
    assert len(result.records) == 2 and result.best.score == pytest.approx(1 / result.best.seconds)
    assert "speeds are not known, only times: not an affine body" in result.notes


def test_a_search_that_proposes_what_is_known_ends(path):
    search = Broken(matmul())
    search.propose = lambda n: [1, 2, 3]
    result = tune.run(matmul(), trials=10, search=search)
    assert len(result.records) == 3 and any("given up" in n for n in result.notes)


# ---------------------------------------------------------------- pause, resume, stop, interrupt


def begun(**how):
    Played.last, Played.wait = None, {i for i in range(160) if i % 8 == 4}
    s = tune.Session(matmul(), search="grid", **how).start()
    while Played.last is None or not Played.last.begun.wait(0.01):
        pass
    return s


def test_a_pause_ends_what_runs_and_it_is_measured_again_later(path):
    s = begun(trials=10, records=path)
    s.pause()
    assert s.state == "paused" and not s.wait(0.05)
    measured = list(Played.last.measured)
    s.pause()
    assert Played.last.measured == measured
    Played.wait = set()
    s.resume()
    s.resume()
    assert s.wait(60) and sorted(r.index for r in s.result.records) == list(range(10)) and len(kept(path)) == 10
    assert Played.last.measured.count(4) > 1
    s.pause()
    s.stop()
    assert s.state == "done"


def test_a_stop_keeps_what_was_measured(path):
    tune.run(matmul(y=(1, 2)), trials=3, records=path)  # of another space: left alone
    s = begun(trials=100, records=path)
    while len(s.records) < 3:
        threading.Event().wait(0.01)
    s.stop()
    assert s.wait(60) and s.state == "done"
    assert list(s.result.records) == kept(path)[3:] and len(s.result.records) < 20
    with pytest.raises(CallError, match="this session is done"):
        s.start()


def test_a_stop_during_a_pause_and_before_the_start():
    s = begun(trials=10)
    s.pause()
    s.stop()
    assert s.wait(60) and s.state == "done"
    s = tune.Session(matmul())
    s.stop()
    assert s.state == "done"


def test_an_interrupt_keeps_everything(path, monkeypatch):
    Played.wait = {40}
    real = session.Session.wait

    def interrupted(self, timeout=None):
        if timeout is not None:
            if len(self.records) > 5:
                raise KeyboardInterrupt
        return real(self, timeout)

    monkeypatch.setattr(session.Session, "wait", interrupted)
    result = tune.run(matmul(), trials=100, search="grid", records=path)
    assert "interrupted" in result.notes and len(result.records) > 5
    assert kept(path) == list(result.records) and result.best is not None


def test_the_time_is_up():
    Played.wait = set(range(3, 160))
    result = tune.run(matmul(), seconds=0.2, search="grid")
    assert {r.index for r in result.records} <= {0, 1, 2} and result.progress.state == "done"


def test_the_same_candidate_is_timed_again_and_drift_is_said(path):
    result = tune.run(matmul(), trials=80, records=path)
    assert len(result.drift.times) >= 2 and "the machine is steady" in repr(result)
    assert sum(r.kind == "drift" for r in load(path)) == len(result.drift.times)
    first = records.Record("t", times=[1e-3])
    assert str(result_of(first, (24, 1.5e-3), (48, 1.2e-3), (72, 1.1e-3))) == (
        "the machine drifts: one candidate, timed 4 times in between, took 1 ms at first, 1.5 ms after 24 trials; "
        "candidates less than 50% apart may be in the wrong order"
    )
    assert str(result_of(first, (24, 2e-3), (48, 0.5e-3))).count("2 ms after 24 trials, 500 µs after 48 trials") == 1
    assert str(result_of(first, (24, 1.02e-3))).endswith("timed 2 times in between, took 1 ms to 1.02 ms")
    assert str(result_of(first)) == ""


def result_of(first, *times):
    return Drift(first, times)


BAD = [{"trials": 0}, {"trials": 2.5}, {"seconds": -1}, {"batch": 0}, {"trials": True}]


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_amounts_that_cannot_be(bad):
    with pytest.raises(CallError, match=next(iter(bad))):
        tune.Session(matmul(), **bad)


def test_names_that_are_not_there():
    with pytest.raises(LabError, match="swarm"):
        tune.Session(matmul(), search="swarm")
    with pytest.raises(LabError, match="`speed`"):
        tune.Session(matmul(), setup={"speed": 3})
    with pytest.raises(LabError):
        tune.Session(matmul(), target="lvm")
    with pytest.raises(AttributeError, match="swarm"):
        tune.swarm
    assert "run" in dir(tune)


def test_the_first_trial_of_a_template_is_the_untuned_one_whatever_the_filter_does():
    from tvmlab.tune.templates import TEMPLATES

    @tune.template("test/first")
    def made(n):
        cfg = tune.get_config()
        cfg.define_knob("y", [1, 2, 4])
        if n > 8:
            cfg.multi_filter(lambda c: 1 / (n - 16) > 0)
        A = te.placeholder((n,), name="A")
        B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
        s = te.create_schedule(B.op)
        s[B].split(B.op.axis[0], cfg["y"].val)
        return s, [A, B]

    try:
        assert [tune.create("test/first", [n], "llvm").first for n in (8, 16, 32, 9)] == [[0], [], [0], []]
    finally:
        del TEMPLATES["test/first"]


def test_without_the_package_the_search_is_random_and_says_so(monkeypatch):
    from tvmlab.tune import search

    monkeypatch.setattr(search, "find_spec", lambda name: None)
    session = tune.Session(matmul(), trials=2)
    assert session.search_name == "random" and any("needs the package lightgbm" in n for n in session.notes)
    assert not tune.Session(matmul(), trials=2, search="random").notes
