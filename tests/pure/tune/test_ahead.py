"""The next points are proposed while those before them are measured; only one thread uses the search."""

import threading

import pytest

from tests.tuning import matmul
from tvmlab import tune
from tvmlab.tune import finish, session, work
from tvmlab.tune.candidate import Candidate
from tvmlab.tune.measure import Measured
from tvmlab.tune.search.base import Base


class Search(Base):
    """Points in order, four at a time. `said`: what was asked of it and told. `reached`: set by its second batch."""

    def __init__(self, task, pause=None):
        super().__init__(task)
        self.said, self.reached, self.pause, self.inside = [], threading.Event(), pause, 0

    def propose(self, n):
        self.enter()
        first = sum(len(x) for what, x in self.said if what == "asked")
        self.said.append(("asked", list(range(first, min(first + min(n, 4), self.size)))))
        if first:
            self.reached.set()
            if self.pause is not None:
                assert self.pause.wait(120)
        self.inside -= 1
        return self.said[-1][1]

    def tell(self, results):
        self.enter()
        self.said.append(("told", [i for i, _ in results]))
        self.inside -= 1

    def predicted(self, index):
        return 10.0 * index

    def enter(self):
        self.inside += 1
        assert self.inside == 1, "two threads use the search"


class Measures:
    """Each measurement waits until the search has been asked for its second batch."""

    until = None

    def __init__(self, setup):
        self.notes, self.busy = [], False

    __len__ = lambda self: 2
    warm = close = lambda self: None

    def cancel(self, stop):
        stop.set()

    def measure(self, candidate, best, process, stop):
        assert self.until.wait(60), "no points were proposed meanwhile"
        return Measured("ok", times=(1e-3,) * 3)


@pytest.fixture
def search(monkeypatch):
    monkeypatch.setattr(session, "Measurer", Measures)
    monkeypatch.setattr(finish, "SECONDS", 0.0)
    made = Search(matmul())
    monkeypatch.setattr(Measures, "until", made.reached)
    return made


def test_points_are_proposed_while_others_are_measured(search):
    result = tune.run(matmul(), trials=12, search=search)
    assert search.said == [("asked", [0, 1, 2, 3]), ("asked", [4, 5, 6, 7]), ("told", [0, 1, 2, 3]),
                           ("asked", [8, 9, 10, 11]), ("told", list(range(4, 12)))]  # fmt: skip
    assert {r.index: r.predicted for r in result.records} == {i: 10.0 * i for i in range(12)}


def test_no_more_points_are_proposed_than_there_are_trials(search):
    Measures.until.set()
    tune.run(matmul(), trials=6, search=search)
    assert [x for what, x in search.said if what == "asked"] == [[0, 1, 2, 3], [4, 5]]


def test_candidates_are_made_before_they_are_wanted(search, monkeypatch):
    made = []
    real = work.candidate
    monkeypatch.setattr(work, "candidate", lambda t, i, target: (made.append(i), real(t, i, target))[1])
    Measures.until = threading.Event()
    s = tune.Session(matmul(), trials=8, search=search).start()
    while len(made) < 8:
        assert s.state == "running"
        threading.Event().wait(0.01)
    assert s.progress.done == 0 and isinstance(real(matmul(), 0), Candidate)
    Measures.until.set()
    assert s.wait(60) and len(s.records) == 8


def test_a_stop_does_not_wait_for_a_search_that_thinks(search):
    search.pause = threading.Event()
    s = tune.Session(matmul(), trials=100, search=search).start()
    assert search.reached.wait(60)
    while len(s.records) < 4:
        threading.Event().wait(0.01)
    s.stop()
    assert s.wait(60) and len(s.records) == 4
    search.pause.set()


def test_what_was_measured_when_a_search_fails_stays(search):
    search.propose = lambda n: search.reached.set() or ([1, 2, 3] if not search.said else 1 // 0)
    real, search.said = search.propose, []

    def once(n):
        found = real(n)
        search.said.append(("asked", found))
        return found

    search.propose = once
    result = tune.run(matmul(), trials=10, search=search)
    assert len(result.records) == 3 and any("ended early: ZeroDivisionError" in n for n in result.notes)
