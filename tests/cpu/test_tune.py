"""Tuning for real: candidates in processes, whatever they do; a few trials end to end."""

import json
import os

import pytest

from tests.tuning import calls, matmul
from tvmlab import tune
from tvmlab.runtime import worker
from tvmlab.tune.candidate import candidate
from tvmlab.tune.measure import Measurer, Setup
from tvmlab.tune.records import load

QUICK = {"repeats": 3, "min_ms": 0.0}


@pytest.fixture(scope="module")
def measurer():
    made = Measurer(Setup(jobs=1, compile_limit=60.0, run_limit=60.0, memory=1 << 28, **QUICK))
    yield made
    made.close()


def measured(m, task, index, best=None):
    return m.measure(candidate(task, index), best)


def test_a_right_one(measurer):
    found = measured(measurer, matmul(), 3)
    assert found.outcome == "ok" and found.check == "ok" and len(found.times) == 3 and found.seconds > 0
    assert found.alone and found.compile > 0 and found.reason == ""


def test_candidates_are_timed_again_beside_one_another(measurer):
    two = [candidate(matmul(), index) for index in (7, 8)]
    found = [measurer.again(c) for c in (*two, *two)]
    assert [f.outcome for f in found] == ["ok"] * 4 and [len(f.times) for f in found] == [3] * 4
    assert [f.compile > 0 for f in found] == [True, True, False, False]
    measured(measurer, matmul(), 5)  # takes their place
    assert measurer.again(two[0]).compile > 0
    measurer._workers[0].worker.renew()
    assert measurer.again(two[0]).outcome == "ok"


def test_one_that_is_far_slower_than_the_best_is_timed_once(measurer):
    found = measured(measurer, matmul(), 4, best=1e-9)
    assert found.outcome == "ok" and len(found.times) == 1 and not found.alone and "times the best" in found.reason


@pytest.mark.parametrize(
    "does, outcome, words",
    [("double_badly", "wrong", "B["), ("crash", "crash", "memory that is not its own"),
     ("hoard", "memory", "")],
)  # fmt: skip
def test_whatever_a_candidate_does_is_a_value_and_the_next_one_runs(measurer, does, outcome, words):
    task = calls({1: f"test.jobs.{does}"})
    found = measured(measurer, task, 1)
    assert (found.outcome, found.phase) == (outcome, "run") and words in found.reason and "\n" not in found.reason
    assert measured(measurer, task, 0).outcome == "ok"


def test_one_that_never_ends_is_ended_at_the_limit_of_a_run():
    task = calls({1: "test.jobs.forever"})
    with Measurer(Setup(jobs=1, compile_limit=600.0, run_limit=1.0, **QUICK)) as m:
        found = measured(m, task, 1)
        assert (found.outcome, found.phase) == ("timeout", "run")
        assert found.reason == "it was still running after 1 s and was ended"
        assert measured(m, task, 0).outcome == "ok"


def test_compiling_has_a_limit_of_its_own():
    with Measurer(Setup(jobs=1, compile_limit=0.001, **QUICK)) as m:
        found = measured(m, matmul(), 3)
    assert (found.outcome, found.phase) == ("timeout", "compile") and found.reason.startswith("compiling was still")


def test_a_session_survives_every_kind_of_candidate(tmp_path):
    path = tmp_path / "log.jsonl"
    bad = {1: "test.jobs.crash", 2: "test.jobs.double_badly", 3: "test.jobs.forever", 4: "test.jobs.hoard"}
    task = calls(bad, points=6)
    setup = {**QUICK, "run_limit": 10.0, "memory": 1 << 28}
    result = tune.run(task, trials=6, search="grid", records=path, setup=setup)
    kinds = {r.index: r.outcome for r in result.records}
    assert kinds == {0: "ok", 1: "crash", 2: "wrong", 3: "timeout", 4: "memory", 5: "ok"}
    assert load(path).records == result.history and all(r.reason for r in result.records if not r.ok)


def test_a_matmul_is_tuned_and_resumed(tmp_path):
    path = tmp_path / "log.jsonl"
    result = tune.run(matmul(), trials=12, records=path, setup=QUICK)
    assert [r.check for r in result.records] == ["ok"] * 12 and result.best.score > 0
    assert {"python", "numpy", "llvmlite"} <= result.best.versions.keys() or "llvmlite" not in result.best.versions
    lines = path.read_text().splitlines()
    assert len(lines) == 12 + len(result.retimed) and all(json.loads(line)["machine"] for line in lines)
    again = tune.run(matmul(), trials=14, records=path, search="genetic", setup=QUICK)
    assert len(again.records) == 14 and len(load(path)) == 14 + len(again.retimed) > 14
    schedule, args = tune.apply_best(path, matmul())
    assert schedule.to_code() == again.schedule()[0].to_code()


def test_main_memory_and_one_thread():
    with Measurer(Setup(jobs=1, threads=1, flush=True, **QUICK)) as m:
        found = measured(m, matmul(), 3)
    assert found.outcome == "ok" and found.number == 1 and len(found.times) == 3


def test_an_interrupt_while_candidates_run(tmp_path):
    """The kernel is interrupted as Jupyter does it: by a signal, while `run` waits."""
    import signal
    import threading

    path = tmp_path / "log.jsonl"
    task = calls({3: "test.jobs.forever"}, points=6)

    def on_trial(record):
        if record.index == 2:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()

    setup = {**QUICK, "run_limit": 60.0, "jobs": 1}
    result = tune.run(task, search="grid", records=path, on_trial=on_trial, setup=setup)
    assert "interrupted" in result.notes
    assert {0, 1, 2} <= {r.index for r in result.records} and load(path).records == list(result.records)


pytestmark = pytest.mark.skipif(not worker.FORKS, reason="each process would take seconds to start")
