"""Who measures what on a fleet, with its workers played: no dask, no processes."""

import json
import threading
import time
from dataclasses import asdict

import pytest

from tests.tuning import matmul
from tvmlab import tune
from tvmlab.core.error import CallError
from tvmlab.runtime import host
from tvmlab.tune import session
from tvmlab.tune.candidate import candidate
from tvmlab.tune.fleet import crew, link, measurer, there
from tvmlab.tune.measure import Measured, Setup

HERE = "a machine"


class Played:
    """A link to workers that answer at once. `does[name]`: "ok", "lost", "failed", or "silent": never; `cut`: what
    comes of the next jobs instead.
    """

    cut = ()

    def __init__(self, given, security=None):
        self.workers = dict(given)  # name -> what `about` says beside the usual
        self.does, self.jobs, self.told = {}, [], []
        Played.last = self

    def addresses(self):
        return set(self.workers)

    def name(self, address):
        return f"name of {address}"

    def beats(self):
        return dict.fromkeys(self.workers, 1.0)

    def send(self, function, address, text, key, done):
        job = json.loads(text)
        if function is there.about and self.workers[address].get("stopped"):
            return Sent("pending", "")
        if function is there.about:
            answer = json.dumps({"name": address, "machine": HERE, "host": "h", "why": "", **self.workers[address]})
            done()
            return self._next(Sent("done", answer))
        self.jobs.append((address, job))
        does = self.does.get(address, "ok")
        if does != "silent":
            done()
        if does != "ok":
            return Sent(does, "it broke")
        return self._next(
            Sent("done", json.dumps({"measured": asdict(Measured("ok", times=(1e-3,) * 3)), "notes": []}))
        )

    def _next(self, usual):
        return Sent(self.cut.pop(0), "the scheduler was lost") if self.cut else usual

    def outcome(self, sent):
        return sent.how, sent.what

    def tell(self, function, addresses, text):
        self.told.append((function, set(addresses)))

    say = tell

    def close(self):
        pass

    def forget(self, key):
        pass


class Sent:
    def __init__(self, how, what):
        self.how, self.what = how, what


@pytest.fixture(autouse=True)
def played(monkeypatch):
    monkeypatch.setattr(measurer, "Link", Played)
    monkeypatch.setattr(crew, "LOOK", 0.01)


def fleet(workers, **how):
    return tune.Fleet(workers, **{"patience": 0.3, **how})


def opened(workers, **how):
    return fleet(workers, **how).open(Setup())


def one(m, index=3):
    return m.measure(candidate(matmul(), index))


def test_a_trial_says_who_measured_it_and_goes_back_to_the_same_worker():
    with opened({"a": {}, "b": {}}) as m:
        found = one(m)
        assert found.seconds == 1e-3 and found.worker in "ab" and found.machine == HERE == m.machine and len(m) == 2
        assert {one(m).worker for _ in range(4)} == {found.worker}
        assert m.notes == [f"measured by {found.worker} (1), each {HERE}"]  # one trial, however often it is timed


@pytest.mark.parametrize("does, words", [("lost", "was lost while it measured point 3"), ("failed", "is left out")])
def test_another_worker_measures_what_one_was_lost_with(does, words):
    with opened({"a": {}, "b": {}}) as m:
        Played.last.does = {"a": does}
        found = one(m)
        assert found.outcome == "ok" and found.worker == "b"
        assert [address for address, _ in Played.last.jobs] == ["a", "b"]
        assert found.reason.startswith("measured again, it was lost with a: it broke")
        assert any(f"a {words}" in n for n in m.notes) and len(m) == (1 if does == "failed" else 2)


def test_what_is_timed_again_is_so_by_one_worker_while_it_is_there():
    with opened({name: {} for name in "abcd"}) as m:
        first = m.again(candidate(matmul(), 3)).worker
        assert {m.again(candidate(matmul(), k)).worker for k in (1, 2, 3, 4)} == {first}
        Played.last.does = {first: "lost"}
        second = m.again(candidate(matmul(), 5)).worker
        assert second != first and m.again(candidate(matmul(), 1)).worker == second
        assert all(job["again"] for _, job in Played.last.jobs)


def test_when_nobody_is_left_to_time_the_fastest_again_their_first_times_stay(tmp_path):
    s = tune.Session(matmul(), trials=5, fleet=fleet({"a": {}}), records=tmp_path / "log")
    s._finish, finish = lambda: (Played.last.workers.clear(), gone(s), finish()), s._finish
    assert s.start().wait(60)
    assert s.result.best.worker == "a" and len(s.result.records) == 5 and not s.retimed


def gone(s):
    with s._measurer.crew.changed:
        assert s._measurer.crew.changed.wait_for(lambda: not s._measurer.crew.fit, 30)


def test_what_was_lost_with_the_scheduler_is_asked_for_again_and_blames_no_worker(monkeypatch):
    monkeypatch.setattr(Played, "cut", ["cut"] * 4 + ["lost"])
    with opened({"a": {}}) as m:
        Played.last.cut = ["cut"] * 4
        found = one(m)
        assert (found.outcome, found.worker, found.reason) == ("ok", "a", "") and len(m) == 1
        assert m.notes[1:] == ["the scheduler was lost; what was being measured is measured again"]


def test_a_worker_that_was_gone_is_asked_again_when_it_is_back():
    with opened({"a": {}, "b": {}}) as m:
        Played.last.workers.pop("a")
        with m.crew.changed:
            assert m.crew.changed.wait_for(lambda: len(m.crew.fit) == 1, 30)
            Played.last.workers["a"] = {}
            assert m.crew.changed.wait_for(lambda: len(m.crew.fit) == 2, 30)


def test_a_candidate_that_all_are_lost_with_is_given_up():
    with opened({name: {} for name in "abcd"}) as m:
        Played.last.does = dict.fromkeys("abcd", "lost")
        found = one(m)
        assert found.outcome == "lost" and found.reason.startswith("3 workers were lost with it: ")
        assert len({address for address, _ in Played.last.jobs}) == 3


def test_one_kind_of_machine_takes_part_unless_all_are_asked_for():
    workers = {"a": {}, "b": {}, "c": {"machine": "another"}}
    with opened(workers) as m:
        assert m.machine == HERE and [x.name for x in m.crew.fit] == ["a", "b"] or len(m) == 2
        assert any("c is left out: it is a machine of another kind (another)" in n for n in m.notes)
    with opened(workers, machine="anoth") as m:
        assert m.machine == "another" and len(m) == 1
    with opened(workers, machine="any") as m:
        assert m.machine == "" and len(m) == 3 and any("do not compare" in n for n in m.notes)


def test_a_worker_that_joins_is_used_if_it_fits():
    with opened({"a": {}}, need=[]) as m:
        Played.last.workers |= {"late": {}, "odd": {"machine": "another"}}
        with m.crew.changed:
            assert m.crew.changed.wait_for(lambda: m.crew.members.get("odd") and m.crew.members["odd"].why, 30)
            assert m.crew.changed.wait_for(lambda: len(m) == 2, 30)
        Played.last.workers.pop("a")
        with m.crew.changed:
            assert m.crew.changed.wait_for(lambda: len(m) == 1, 30)
        assert one(m).worker == "late"


def test_without_a_worker_it_says_who_there_is_and_why_not():
    with pytest.raises(link.FleetError, match="no worker of this fleet can measure that") as e:
        opened({"a": {"why": "it has tvmlab 0.0.1, and this is 0.1.0"}, "b": {"resources": ["x"]}}, need=["gpu"])
    assert sorted(e.value.where) == ["a: it has tvmlab 0.0.1, and this is 0.1.0", "b: it has no gpu"]
    with pytest.raises(link.FleetError, match="this fleet has no worker"):
        opened({})


def test_that_a_first_worker_is_waited_for_is_said_at_once(capsys, monkeypatch):
    for show, said in ((True, "tune: waiting for a first worker of the fleet, 0 s at most\n"), (False, "")):
        with pytest.raises(link.FleetError, match="this fleet has no worker"):
            tune.run(matmul(), trials=1, fleet=fleet({}), show=show)
        assert capsys.readouterr().err == said
    monkeypatch.setattr(crew, "AWHILE", 0.0)
    with pytest.raises(link.FleetError, match="name of a: it has not answered"):
        tune.run(matmul(), trials=1, fleet=fleet({"a": {"stopped": True}}))
    assert "waiting for an answer of name of a, " in capsys.readouterr().err


def test_a_worker_that_never_answers_is_in_the_notes(monkeypatch):
    monkeypatch.setattr(crew, "SETTLE", 0.0)
    with opened({"a": {}, "b": {"stopped": True}}) as m:
        assert one(m).worker == "a"
        assert "name of b has taken no part: it has not answered since it was asked" in m.notes


def test_all_who_wait_have_one_patience_with_a_fleet_without_workers(monkeypatch):
    with opened({"a": {}}) as m:
        Played.last.workers.clear()
        with m.crew.changed:
            assert m.crew.changed.wait_for(lambda: not m.crew.fit, 30)
        assert one(m).outcome == "lost"
        monkeypatch.setattr(m.crew.changed, "wait", None)  # nobody waits again
        assert [one(m, k).reason for k in (1, 2)] == ["no worker of the fleet is left"] * 2
        monkeypatch.undo()


def test_after_a_pause_a_worker_is_waited_for_again():
    with opened({"a": {}}) as m:
        Played.last.workers.clear()
        with m.crew.changed:
            assert m.crew.changed.wait_for(lambda: not m.crew.fit, 30)
        assert one(m).outcome == "lost"
        m.cancel(threading.Event())
        m.crew.fleet, m.crew._seen = fleet({}, patience=60.0), float("-inf")  # it was a long one
        threading.Timer(0.1, lambda: Played.last.workers.update(a={})).start()
        assert one(m).outcome == "ok"


def test_nobody_is_given_work_while_the_scheduler_does_not_answer(monkeypatch):
    with opened({"a": {}}) as m:
        monkeypatch.setattr(Played, "addresses", lambda self: 1 / 0)
        with m.crew.changed:
            assert m.crew.changed.wait_for(lambda: m.crew.trouble, 30)
        assert one(m).reason.startswith("the scheduler does not answer: ZeroDivisionError") and not Played.last.jobs


def test_when_a_run_has_ended_its_fleet_has_been_left(monkeypatch):
    monkeypatch.setattr(Played, "close", lambda self: (time.sleep(0.05), self.told.append("closed")))
    tune.run(matmul(), trials=1, fleet=fleet({"a": {}}))
    assert Played.last.told[-1] == "closed"


def test_a_session_ends_when_no_worker_is_left(tmp_path):
    s = tune.Session(matmul(), trials=20, fleet=fleet({"a": {}}), records=tmp_path / "log.jsonl")
    Played.last.workers.clear()
    s.start()
    assert s.wait(60) and any("given up: no worker of the fleet is left" in n for n in s.result.notes)


def test_a_job_that_never_answers_is_cancelled_and_the_worker_is_told():
    with opened({"a": {}}, silent=600.0) as m:
        Played.last.does = {"a": "silent"}
        stop, found = threading.Event(), []
        t = threading.Thread(target=lambda: found.append(m.measure(candidate(matmul(), 3), None, 0, stop)))
        t.start()
        while not m.busy:
            pass
        m.cancel(stop)
        t.join(30)
        assert found == [Measured("cancelled")] and (there.cancel, {"a"}) in Played.last.told and not m.busy
        assert m.measure(candidate(matmul(), 3), None, 0, stop) == Measured("cancelled")


def test_many_workers_are_all_used_and_every_point_is_one_record(tmp_path):
    s = tune.Session(matmul(), trials=100, fleet=fleet({f"w{k}": {} for k in range(20)}), records=tmp_path / "log")
    assert s.start().wait(60)
    assert len({r.index for r in s.records}) == len(s.records) == 100 and {r.machine for r in s.records} == {HERE}
    again = tune.Session(matmul(), trials=100, fleet=fleet({"w": {}}), records=tmp_path / "log")
    assert again.start().wait(60) and len(again.records) == 100 and not Played.last.jobs
    other = tune.Session(matmul(), trials=100, fleet=fleet({"w": {"machine": "another"}}), records=tmp_path / "log")
    assert not other.records and any("100 trials in the file are of another machine" in n for n in other.notes)
    other.stop()
    assert (there.end, {"w"}) in Played.last.told or other.state == "done"


# ---------------------------------------------------------------- what a fleet may be


class Own:
    """Something else that measures."""

    machine, notes, closed, busy = "mine", (), False, False

    def __len__(self):
        return 1

    def warm(self):
        pass

    cancel = lambda self, stop: stop.set()

    def close(self):
        self.closed = True

    def measure(self, candidate, best=None, process=0, stop=None):
        return Measured("ok", times=(1e-3,) * 3, check="ok", machine="mine", worker="w")


def test_what_measures_is_taken_as_it_is_and_stays_open():
    own = Own()
    result = tune.run(matmul(), trials=5, fleet=own)
    assert {(r.machine, r.worker) for r in result.records} == {("mine", "w")} and len(result.records) == 5
    assert not own.closed
    heads, *rows = str(result.table()).splitlines()
    assert "worker" in heads.split() and all("w" in row.split() for row in rows)


@pytest.mark.parametrize("bad", [7, {"scheduler": "a"}, ["tcp://a:1"]], ids=str)
def test_what_is_no_fleet(bad):
    with pytest.raises(CallError, match="a fleet cannot be"):
        tune.Session(matmul(), fleet=bad)


@pytest.mark.parametrize(
    "how", [{"need": "board"}, {"need": [1]}, {"need": None}, {"silent": "x"}, {"silent": 0}, {"patience": None},
            {"patience": float("nan")}, {"machine": 7}], ids=str,
)  # fmt: skip
def test_choices_that_a_fleet_cannot_have_are_named(how):
    (name, value), = how.items()
    with pytest.raises(CallError) as e:
        tune.Fleet("tcp://10.0.0.1:8786", **how)
    assert e.value.message == f"{name} of a fleet cannot be {value!r}" and e.value.legal[0].startswith(f"{name}: ")


def test_without_a_fleet_nothing_of_it_is_imported(monkeypatch):
    monkeypatch.setattr(session.fleets, "opened", None)
    s = tune.Session(matmul())
    assert s.machine == host.description()
