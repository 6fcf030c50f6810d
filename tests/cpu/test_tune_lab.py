"""Tuning in the lab for real: measured in processes, answered meanwhile, adopted, and gone on with on another day."""

import time

from tests.tuning import declared
from tvmlab import te
from tvmlab.lab.app import Lab
from tvmlab.lab.requests import answer


def ask(lab, what, **values):
    reply = answer(lab, {"seq": 1, "kind": "tune", "what": what, "values": values})
    assert reply["ok"], reply["card"]
    return reply["data"]


def test_from_opening_to_the_next_day(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tensors = declared(64)
    c = tensors[2]
    s = te.create_schedule(c.op)
    (i, j), (k,) = c.op.axis, c.op.reduce_axis
    jo, ji = s[c].split(j, 4)
    s[c].reorder(i, jo, k, ji)
    s[c].vectorize(ji)
    lab = Lab(s, tensors)
    lab.tune.open("e1", "factor", [4, 16, 64]).open("e3").set(search="random", trials=3)
    before, answers = lab.code, 0
    ask(lab, "start")
    while ask(lab, "state", n=-1, since=0)["state"]["state"] in ("running", "finishing"):
        answers += 1
        time.sleep(0.02)
    assert lab.tune.wait(60) and answers > 3
    trials = ask(lab, "state", n=-1, since=0)["trials"]
    assert [t["outcome"] for t in trials] == ["ok"] * 3 and all(t["seconds"] > 0 and not t["again"] for t in trials)
    ask(lab, "adopt", index=str(lab.tune.result.best.index))
    path = lab.save("lab.json")
    adopted = lab.code
    lab.undo()
    assert lab.code == before
    lab.close()

    tomorrow = Lab.load(path)
    state = ask(tomorrow, "state", n=-1, since=0)
    assert tomorrow.code == adopted and state["state"]["state"] == "ready"
    assert [(t["index"], t["again"]) for t in state["trials"]] == [(t["index"], True) for t in trials]
    ask(tomorrow, "settings", trials=4)
    ask(tomorrow, "resume")
    assert tomorrow.tune.wait(60) and len({t["index"] for t in tomorrow.tune.trials}) == 4
    tomorrow.close()
