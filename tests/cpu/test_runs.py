"""The runs of a lab: rows, a queue, cancelling, comparison, what steps are worth; a notebook that never suffers."""

import json
import threading

import numpy as np
import pytest

import tests.jobs  # noqa: F401  # registers the packed functions
from tests.cpu.test_trial import calls, matmul, tiled, wrong_gemv
from tests.payloads import complaints
from tvmlab.core.error import CallError, LabError
from tvmlab.face.document import Document
from tvmlab.lab.runs import Runs
from tvmlab.runtime.worker import Worker
from tvmlab.view import payload
from tvmlab.view.frame import frame

QUICK = {"repeats": 3, "min_ms": 0.0, "rounds": 5, "limit": 120.0, "baseline": False}


@pytest.fixture(scope="module")
def worker():
    made = Worker(preload=("tvmlab.face.trial", "tests.jobs"))
    yield made
    made.close()


@pytest.fixture
def runs(worker):
    made = Runs(worker=worker)
    made.set(**QUICK)
    yield made
    assert complaints(made.payload(), payload.Runs) == []
    json.dumps(made.payload(), allow_nan=False)
    made.close()


def done(runs, id):
    assert runs.wait(id, 120)
    return runs.row(id)


def test_a_run_is_a_row(worker):
    heard = []
    runs = Runs(changed=lambda: heard.append(threading.get_ident()), worker=worker)
    id = runs.run(tiled().trace, "step 5", "e5", QUICK)
    assert runs.row(id)["state"] in ("queued", "compiling")
    row = done(runs, id)
    assert (row["state"], row["check"], row["title"], row["step"], row["progress"]) == ("done", "ok", "step 5", "e5", 1)
    assert row["seconds"] > 0 and row["compile"] > 0 and row["machine"] and len(row["times"]) == 3
    assert runs.seconds_of(tiled().trace) == row["seconds"]
    assert len(set(heard)) == 2  # from here, and from the thread
    runs.close()


def test_the_row_is_of_the_trace_it_started_with(runs):
    s = tiled()
    id = runs.run(s.trace)
    runs.now(s.trace)
    assert not runs.payload()["rows"][0]["stale"]
    s.undo()
    runs.now(s.trace)
    assert done(runs, id)["check"] == "ok" and runs.payload()["rows"][0]["stale"]


def test_a_wrong_result_is_a_row_and_no_time_of_the_step(runs):
    row = done(runs, runs.run(wrong_gemv().trace, "wrong", "e2"))
    assert (row["state"], row["check"], row["wrong"]["tensor"]) == ("done", "wrong", "Y")
    assert row["seconds"] and runs.seconds_of(wrong_gemv().trace) is None


def test_a_program_that_crashes(runs, worker):
    row = done(runs, runs.run(calls("test.jobs.crash").trace, "bad"))
    assert row["state"] == "failed" and row["error"]["code"] == "crash" and "SIGSEGV" in row["error"]["text"]
    assert done(runs, runs.run(tiled().trace))["state"] == "done"


def test_a_program_that_never_ends(runs):
    row = done(runs, runs.run(calls("test.jobs.forever").trace, options={"limit": 0.5}))
    assert row["state"] == "failed" and row["error"]["code"] == "timeout" and row["error"]["hint"]


def test_cancelling_what_runs_and_what_waits(runs):
    first = runs.run(calls("test.jobs.forever").trace)
    second, third = runs.run(tiled().trace), runs.run(tiled().trace)
    runs.cancel(second)
    assert done(runs, second)["state"] == "cancelled" and runs.busy
    runs.cancel(first)
    assert done(runs, first)["state"] == "cancelled"
    assert done(runs, third)["state"] == "done" and not runs.busy
    runs.cancel("nobody")
    hanging = runs.run(calls("test.jobs.forever").trace)
    runs.cancel()
    assert done(runs, hanging)["state"] == "cancelled"


def test_too_much_memory():
    small = Worker(memory=128 << 20, preload=("tvmlab.face.trial",))
    runs = Runs(worker=small)
    row = done(runs, runs.run(matmul(20_000)[0].trace, options={"check": False}))
    assert row["state"] == "failed" and row["error"]["code"] == "memory" and row["error"]["hint"]
    runs.close()
    small.close()


def test_what_cannot_be_built_is_a_failed_row(runs):
    s, c, _ = matmul()
    from tvmlab import te

    s[c].bind(c.op.axis[0], te.thread_axis("threadIdx.x"))
    row = done(runs, runs.run(s.trace, "on threads"))
    assert row["state"] == "failed" and "threadIdx.x" in row["error"]["text"] and row["error"]["legal"]


def test_comparing_two_runs(runs):
    a, b = runs.run(matmul()[0].trace, "start"), runs.run(tiled().trace, "tiled", "e5")
    runs.compare(a, b)
    assert runs.payload()["comparison"]["state"] == "running"
    assert runs.wait("compare", 120)
    found = runs.payload()["comparison"]
    assert (found["a"], found["b"], found["state"], found["rounds"]) == (a, b, "done", 5)
    assert found["verdict"] in ("faster", "slower", "same within noise")
    assert "tiled" in found["text"] and "start" in found["text"]
    assert found["low"] <= found["ratio"] <= found["high"]
    assert {x["sign"] for x in found["diff"]} > {"+"} and found["table"]["head"] == ["", "start", "tiled"]


def test_a_run_beside_itself(runs):
    a = runs.run(tiled().trace, "one")
    runs.compare(a, a)
    runs.wait("compare", 120)
    found = runs.payload()["comparison"]
    assert found["state"] == "done" and {x["sign"] for x in found["diff"]} == {" "}
    assert 0 < found["low"] <= found["ratio"] <= found["high"]


def test_what_does_not_compare(runs):
    a = runs.run(matmul(8)[0].trace)
    b = runs.run(matmul(16)[0].trace)
    with pytest.raises(LabError, match="different things"):
        runs.compare(a, b)
    with pytest.raises(LabError, match="r99"):
        runs.compare(a, "r99")
    bad = runs.run(calls("test.jobs.crash").trace)
    runs.compare(bad, bad)
    runs.wait("", 120)
    assert runs.payload()["comparison"]["state"] == "failed"


def test_pinning(runs):
    a, b = runs.run(matmul()[0].trace), runs.run(tiled().trace)
    runs.pin(a)
    runs.pin(b)
    assert [r["id"] for r in runs.payload()["rows"] if r["pinned"]] == [b] and len(runs.pinned_trace()) == 5
    runs.pin(b)
    assert runs.pinned_trace() is None


def test_arrays_and_options(runs):
    with pytest.raises(LabError, match="no arrays"):
        runs.set(inputs="given")
    runs.give({"A": np.ones((32, 32), "float32"), "B": np.ones((32, 32), "float64")})
    with pytest.raises(CallError, match="B is float64"):
        runs.run(tiled().trace)
    runs.give({"A": np.ones((32, 32), "float32"), "B": np.ones((32, 32), "float32")})
    assert runs.payload()["options"]["inputs"] == "given"
    assert done(runs, runs.run(tiled().trace))["check"] == "ok"
    runs.give(None)
    assert runs.payload()["options"]["inputs"] == "random" and len(runs.payload()["rows"]) == 1


def test_rows_are_saved_and_read_again(runs):
    done(runs, runs.run(tiled().trace, "kept", "e5"))
    runs.run(calls("test.jobs.forever").trace, "unfinished")
    saved = json.loads(json.dumps(runs.to_json()))
    saved["rows"] += [{"title": "older", "state": "done", "times": "?", "colour": "blue"}, 7, {"id": "x"}]
    saved["options"]["threads"] = 10**6
    again = Runs()
    again.load(saved)
    again.load("damaged")
    rows = again.payload()["rows"]
    assert [(r["title"], r["state"]) for r in rows] == [
        ("unfinished", "cancelled"), ("kept", "done"), ("older", "done")
    ]  # fmt: skip
    assert complaints(again.payload(), payload.Runs) == [] and again.seconds_of(tiled().trace) == rows[1]["seconds"]
    with pytest.raises(LabError, match="earlier session"):
        again.compare(rows[1]["id"], rows[1]["id"])
    again.close()
    runs.cancel()


def test_a_listener_that_fails_stops_nothing(worker):
    runs = Runs(changed=lambda: 1 / 0, worker=worker)
    assert done(runs, runs.run(tiled().trace, options=QUICK))["state"] == "done"
    runs.close()
    with pytest.raises(LabError, match="closed"):
        runs.run(tiled().trace)


# ---------------------------------------------------------------- what steps are worth


def test_each_step_is_measured_without_or_says_why_not(runs):
    document = Document.of(tiled())
    before = document.to_json()
    runs.ablate(document)
    assert [w["id"] for w in runs.payload()["ablation"]] == [e.id for e in document.entries]
    assert runs.wait("ablate", 120)
    found = {e.label: w for e, w in zip(document.entries, runs.payload()["ablation"])}
    texts = [w["text"] for w in found.values()]
    assert texts[0].startswith("cannot be removed: steps 3, 4, 5 need it")  # the tile
    measured = [w for w in found.values() if w["ratio"] is not None]
    assert len(measured) == 3 and all(w["low"] <= w["ratio"] <= w["high"] for w in measured)
    assert "..." not in texts and document.to_json() == before


def test_only_steps_in_force_are_taken_out(runs):
    document = Document.of(tiled())
    document.jump(2)
    runs.ablate(document)
    assert len(runs.payload()["ablation"]) == 2
    runs.cancel("ablate")
    assert runs.wait("ablate", 60) and "cancelled" in {w["text"] for w in runs.payload()["ablation"]}


def test_a_step_that_changes_nothing_is_not_measured(runs):
    s, c, k = matmul()
    s[c].vectorize(c.op.axis[1])
    s[c].vectorize(c.op.axis[1])
    runs.ablate(Document.of(s))
    assert runs.wait("ablate", 120)
    assert [w["text"] for w in runs.payload()["ablation"]] == ["changes nothing"] * 2


def test_reasons_are_given_for_a_difference_only(runs, monkeypatch):
    """The times are made up: what is tested is what is said of them."""
    a, b = runs.run(matmul(256)[0].trace, "start"), runs.run(tiled(256).trace, "tiled")
    runs.wait()
    real, said = runs._worker().run, {}

    def made_up(function, *args, **options):
        outcome = real(function, *args, **options)
        outcome.value.update(said)
        return outcome

    monkeypatch.setattr(runs._worker(), "run", made_up)
    for ratio, verdict, explained in [(9.0, "faster", True), (1.0, "same within noise", True), (0.1, "slower", False)]:
        said.update(ratio=ratio, low=ratio * 0.9, high=ratio * 1.1, verdict=verdict)
        runs.compare(a, b)
        runs.wait()
        found = runs.payload()["comparison"]
        assert found["explained"] == explained and "tiled" in found["text"]
        assert bool(found["reasons"]) == (ratio != 1.0) or not explained
        assert bool(found["model"]) == (ratio != 1.0) and ("model expects" in found["model"]) == (ratio == 9.0)
        ids = {r["id"] for t in (a, b) for r in frame(runs.trace(t))["tree"]}
        assert {r["show"] for r in found["reasons"]} <= ids | {""}


def test_pinning_takes_the_run_that_is_there():
    from tvmlab.lab.app import Lab

    lab = Lab()
    row = lab.run(repeats=1, limit=60.0, baseline=False)
    lab.pin()
    assert [(r["id"], r["pinned"]) for r in lab.runs.payload()["rows"]] == [(row["id"], True)]
    lab.pin()
    assert not lab.runs.row(row["id"])["pinned"] and lab.said["text"] == "No longer pinned."
    lab.apply("parallel", "C.i")
    lab.pin()
    assert len(lab.runs.payload()["rows"]) == 2
    lab.runs.wait()
    lab.close()


def test_the_end_of_a_comparison_is_said_in_the_lab():
    from tvmlab.lab.app import Lab

    lab = Lab()
    runs = [lab.run(repeats=1, limit=60.0, baseline=False)]
    lab.apply("vectorize", "C.j")
    runs.append(lab.run(repeats=1, limit=60.0, baseline=False))
    lab.compare(*runs, wait=True)
    lab.later.flush()
    assert lab.said["text"].startswith("Compared: step 1 is ")
    lab.close()
