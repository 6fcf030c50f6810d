"""What a person looks at in a picture: kept while the schedule changes, told to every view; what the compiler says."""

import threading

import pytest

import tvmlab
from tvmlab.core.error import LabError
from tvmlab.kernels import matmul
from tvmlab.lab.compiled import ON_ITS_WAY, Compiled
from tvmlab.lab.requests import answer
from tvmlab.runtime.worker import Outcome
from tvmlab.target.cuda_c import check


@pytest.fixture
def lab():
    made = tvmlab.Lab(*matmul.gpu(m=256, n=256, k=64), target="cuda_c -arch=sm_90")
    yield made
    made.close()


def drawn(lab):
    return answer(lab, {"seq": 1, "kind": "picture", "what": "parallel"})["data"]


def look(lab, **values):
    return answer(lab, {"seq": 1, "kind": "look", "what": "parallel", "values": values})


def test_a_choice_is_kept_while_they_schedule(lab):
    assert look(lab, bx="3", warp=2)["ok"] and look(lab, lane="9")["ok"]
    assert lab.looked == {"parallel": {"bx": 3, "warp": 2, "lane": 9}} and lab.head()["looked"] == 2
    lab.apply("unroll", "C.local.k.inner")
    assert drawn(lab)["table"]["title"] == "Warp 2 of block 3, 0 of C, and its lane 9"
    saved = next(p for p in lab.saved()["pictures"] if p["kind"] == "parallel")
    assert saved["table"]["title"] == "Warp 2 of block 3, 0 of C, and its lane 9"
    once = lab.picture("parallel", bx=1).data
    assert once["table"]["title"] == "Warp 2 of block 1, 0 of C, and its lane 9"
    assert lab.looked["parallel"]["bx"] == 3


@pytest.mark.parametrize("value", ["two", True, None, [1], "9" * 99, 1.5])
@pytest.mark.parametrize("name", ["cx", "bx"])
def test_what_is_no_choice_is_refused(lab, name, value):
    reply = look(lab, **{name: value})
    assert not reply["ok"] and reply["card"]["code"] in ("no-such-choice", "choice-value") and not lab.looked
    with pytest.raises(LabError):
        lab.picture("graph", bx=1)


class Worker:
    """Stands for the process: a job waits until it is let go, or cancelled."""

    def __init__(self):
        self.go, self.asked, self.ended = threading.Event(), [], []

    def run(self, function, text, arch, limit, stop):
        self.asked.append((text, arch))
        while not self.go.wait(0.01):
            if stop.is_set():
                return Outcome("cancelled")
        module, _, name = function.partition(":")
        assert (module, name) == ("tvmlab.target.cuda_c.check", "job") and callable(check.job)
        if text == "bad":
            return Outcome("error", error={"message": "no `such` thing", "where": ["line 3"]}, text="x")
        return Outcome("done", value={"main_C": check.Usage(40)})

    def cancel(self, stop):
        stop.set()


@pytest.fixture
def worker(monkeypatch):
    made = Worker()
    monkeypatch.setattr("tvmlab.lab.compiled.join", lambda _: made)
    monkeypatch.setattr("tvmlab.lab.compiled.leave", lambda _: None)
    monkeypatch.setattr(check, "missing", lambda: "")
    return made


def test_nobody_waits_for_the_compiler(worker):
    told = threading.Event()
    compiled = Compiled(told.set)
    how = 'not asked yet: tvmlab.resources(s, args, "sm_90") asks'
    assert compiled.known("text", "sm_90") == how and not worker.asked
    assert compiled.used("text", "sm_90") == compiled.used("text", "sm_90") == ON_ITS_WAY
    worker.go.set()
    assert told.wait(10) and compiled.used("text", "sm_90") == {"main_C": check.Usage(40)}
    assert worker.asked == [("text", "sm_90")]


def test_only_the_last_text_is_wanted(worker):
    told = threading.Event()
    compiled = Compiled(told.set)
    for text in ("one", "two", "bad"):
        assert compiled.used(text, "sm_80") == ON_ITS_WAY
    worker.go.set()
    assert told.wait(10) and compiled.used("bad", "sm_80") == "no such thing: line 3"
    assert compiled.known("one", "sm_80").startswith("not asked yet")
    compiled.close()


def test_from_python_it_is_waited_for(worker, lab):
    def said(shown):
        return next(row[0] for row in shown["table"]["rows"] if row[0].startswith("ptxas"))

    threading.Timer(0.2, worker.go.set).start()
    assert "40 registers a thread" in said(lab.picture("parallel").data)
    assert len(worker.asked) == 1
    saved = next(p for p in lab.saved()["pictures"] if p["kind"] == "parallel")
    assert said(saved) == said(lab.picture("parallel").data) and len(worker.asked) == 1


def test_a_saved_copy_asks_nobody(worker, lab):
    saved = next(p for p in lab.saved()["pictures"] if p["kind"] == "parallel")
    assert 'not asked yet: tvmlab.resources(s, args, "sm_90") asks' in str(saved["table"]) and not worker.asked


def test_who_waits_does_not_wait_for_ever(worker, monkeypatch):
    compiled = Compiled(lambda: None)
    monkeypatch.setattr("tvmlab.lab.compiled.PATIENCE", 0.05)
    assert compiled.awaited("text", "sm_90") == ON_ITS_WAY
    monkeypatch.setattr("tvmlab.lab.compiled.PATIENCE", 30.0)
    threading.Timer(0.1, lambda: compiled.used("other", "sm_90")).start()  # a view looks at something else
    assert compiled.awaited("text", "sm_90") == ON_ITS_WAY
    threading.Timer(0.1, compiled.close).start()
    assert compiled.awaited("last", "sm_90") == ON_ITS_WAY


def test_without_the_compiler(lab, monkeypatch):
    monkeypatch.setattr(check, "missing", lambda: 'no cuda: pip install it')
    found = [row[0] for row in drawn(lab)["table"]["rows"]]
    assert 'ptxas, sm_90: not known; no cuda: pip install it' in found
