"""Tuning in the lab, with measuring played: what is opened, what the drawer is told, what becomes of trials."""

import json

import pytest

from tests.payloads import complaints
from tests.pure.tune.test_session import Played, played  # noqa: F401  # measures at once
from tvmlab import te
from tvmlab.lab.app import Lab
from tvmlab.lab.requests import answer
from tvmlab.tune.records import load
from tvmlab.view import payload_tune

pytestmark = pytest.mark.usefixtures("played")


def product():
    a, b = te.placeholder((16, 8), name="A"), te.placeholder((8, 32), name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((16, 32), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    io, ii = s[c].split(c.op.axis[0], 4)
    jo, ji = s[c].split(c.op.axis[1], 8)
    s[c].reorder(io, jo, k, ii, ji)
    s[c].vectorize(ji)
    return s, [a, b, c]


@pytest.fixture
def made(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labs = []

    def make(*of):
        labs.append(Lab(*(of or product())))
        labs[-1].tune.set(search="random", trials=12)
        return labs[-1]

    yield make
    for lab in labs:
        lab.close()


@pytest.fixture
def lab(made):
    return made()


def ask(lab, what, **values):
    return answer(lab, {"seq": 1, "kind": "tune", "what": what, "values": values})


def told(lab, what, **values):
    reply = ask(lab, what, **values)
    assert reply["ok"], reply
    return reply["data"]


def state(lab):
    """The whole state; the contract is kept."""
    update = told(lab, "state", n=-1, since=0)
    assert complaints(update, payload_tune.Update) == []
    json.dumps(update, allow_nan=False)
    return update["state"]


def opened(lab):
    lab.tune.open("e1", "factor").open(2, "factor").open("e4")
    return lab


def tuned(lab, **settings):
    opened(lab).tune.start(**settings)
    assert lab.tune.wait(60)
    return lab


# ---------------------------------------------------------------- the state


def test_before_anything_is_opened(lab):
    now = state(lab)
    assert now["state"] == "empty" and now["knobs"] == [] and now["error"] is None and now["count"] == 0
    found = {(o["step"], o["param"]): o for o in now["openable"]}
    assert found["e1", "factor"]["label"] == "split i: factor" and found["e1", "factor"]["now"] == "4"
    assert found["e1", "factor"]["count"] == 5 and not found["e1", "factor"]["open"]
    assert found["e4", "taken"]["label"] == "vectorize ji" and found["e4", "taken"]["now"] == "yes"
    assert [s["name"] for s in now["searches"]][0] == "annealing" and now["file"] == "C.tune.jsonl"


def test_what_is_opened_is_a_knob_with_its_value_of_now(lab):
    told(lab, "open", step="e1", param="factor")
    told(lab, "open", step="e4", param="taken")
    now = state(lab)
    first, mark = now["knobs"]
    assert first == {"id": "e1.factor", "label": "split i: factor", "values": ["1", "2", "4", "8", "16"],
                     "on": [0, 1, 2, 3, 4], "current": 2, "kind": "number"}  # fmt: skip
    assert mark["values"] == ["yes", "no"] and mark["current"] == 0 and mark["kind"] == "word"
    assert now["state"] == "ready" and now["size"].startswith("10 combinations")
    lab.document.edit("e1", {"factor": 8})
    assert state(lab)["knobs"][0]["current"] == 3
    told(lab, "close", step="e4", param="taken")
    assert [k["id"] for k in state(lab)["knobs"]] == ["e1.factor"]


def test_the_legal_points_are_counted(lab):
    lab.tune.open("e1", "factor").open("e2", "factor")
    state(lab)
    lab.tune.counting.wait(60)
    assert state(lab)["size"] == "30 combinations, 30 legal"


def test_a_state_that_is_known_is_not_sent_again_and_trials_are_sent_once(lab):
    tuned(lab)
    first = told(lab, "state", n=-1, since=0)
    n = first["state"]["n"]
    assert len(first["trials"]) == 12 == first["state"]["count"] and first["since"] == 0
    for one in (lab.tune.counting, lab.tune.insights):
        one.wait()
    n = state(lab)["n"]
    again = told(lab, "state", n=n, since=12)
    assert again == {"state": None, "trials": [], "since": 12}
    lab.tune.open("e3", "axes")  # another space: its trials begin anew, whatever the view has
    after = told(lab, "state", n=n, since=12)
    assert after["since"] == 0 and after["trials"] == [] and after["state"]["count"] == 0


# ---------------------------------------------------------------- a session


def test_a_session_measures_writes_and_says_how_it_went(lab, tmp_path):
    tuned(lab)
    lab.later.flush()
    now = state(lab)
    assert now["state"] == "done" and now["done"] == now["count"] == 12 and now["best"] == min(
        t["seconds"] for t in lab.tune.trials)  # fmt: skip
    kept = [r for r in load(tmp_path / "C.tune.jsonl") if r.kind == "trial"]
    assert sorted(str(r.index) for r in kept) == sorted(t["index"] for t in lab.tune.trials)
    assert "12 trials" in lab.said["text"] and lab.said["kind"] == "good"
    assert lab.tune.result.best.seconds == now["best"]
