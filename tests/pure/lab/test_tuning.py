# ruff: noqa: F811  # fixtures that are imported
"""Tuning in the lab, with measuring played: what is opened, what the drawer is told, what becomes of trials."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from tests.payloads import complaints
from tests.pure.lab.tuned import Played, ask, lab, made, opened, played, product, state, told, tuned  # noqa: F401
from tvmlab import te
from tvmlab.lab import timing
from tvmlab.lab.saving import to_data
from tvmlab.runtime.worker import Outcome
from tvmlab.tune.measure import Measured
from tvmlab.tune.records import load
from tvmlab.view import payload, payload_tune

pytestmark = pytest.mark.usefixtures("played")


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
                     "on": [0, 1, 2, 3, 4], "current": 2, "kind": "number", "help": ""}  # fmt: skip
    assert mark["values"] == ["yes", "no"] and mark["current"] == 0 and mark["kind"] == "word"
    assert now["state"] == "ready" and now["size"].startswith("10 combinations")
    lab.document.edit("e1", {"factor": 8})
    assert state(lab)["knobs"][0]["current"] == 3
    told(lab, "close", step="e4", param="taken")
    assert [k["id"] for k in state(lab)["knobs"]] == ["e1.factor"]


def test_the_legal_points_are_counted(lab):
    lab.tune.open("e1", "factor").open("e4")
    state(lab)
    lab.tune.counting.wait(60)
    assert state(lab)["size"] == "10 combinations, 10 legal"


def test_a_state_that_is_known_is_not_sent_again_and_trials_are_sent_once(lab):
    lab.tune.open("e1", "factor").open("e4").start(trials=8).wait(60)
    first = told(lab, "state", n=-1, since=0)
    assert len(first["trials"]) == 8 == first["state"]["count"] and first["since"] == 0
    for one in (lab.tune.counting, lab.tune.insights):
        one.wait()
    n = state(lab)["n"]
    again = told(lab, "state", n=n, since=8)
    assert again == {"state": None, "trials": [], "since": 8}
    lab.tune.open("e3", "axes")  # another space: its trials begin anew, whatever the view has
    after = told(lab, "state", n=n, since=8)
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


def test_the_best_is_adopted_and_one_undo_takes_it_back(lab):
    tuned(lab)
    before, record = lab.code, lab.tune.result.best
    told(lab, "adopt", index=str(record.index))
    ids = [k["id"] for k in state(lab)["knobs"]]
    chosen = dict(zip(ids, lab.tune.task.space.point2knob(record.index), strict=True))
    now = {k["id"]: k["current"] for k in state(lab)["knobs"]}
    assert now == chosen and lab.code != before and state(lab)["adopted"] == str(record.index)
    assert state(lab)["now"] == record.seconds and "is adopted" in lab.said["text"]
    assert lab.history()["undo"].startswith(f"adoption of point {record.index} (")
    lab.undo()
    assert lab.code == before and lab.history()["undo"] == "vectorize ji"
    lab.redo()
    assert state(lab)["adopted"] == str(record.index) and len(lab.tune.trials) == 12
    again = lab.tune.result.trials[-1]
    lab.tune.adopt(again.index)
    assert state(lab)["adopted"] == str(again.index)


def test_the_steps_as_they_are_come_first_and_only_once(lab):
    opened(lab).tune.start(trials=3).wait(60)
    now = state(lab)
    (first,) = [t for t in lab.tune.trials if t["values"] == [k["current"] for k in now["knobs"]]]
    assert now["now"] == first["seconds"]
    assert len(Played.last.measured) == 3 and now["discarded"] == []
    lab.tune.start(trials=5).wait(60)
    assert [t["index"] for t in lab.tune.trials].count(first["index"]) == 1 and len(lab.tune.trials) == 5
    told(lab, "clear")
    told(lab, "allow", knob="e1.factor", on=[1])  # not the value of now
    lab.tune.start(trials=2).wait(60)
    assert {t["values"][0] for t in lab.tune.trials} == {1} and state(lab)["now"] is None


def test_a_time_of_the_end_counts_for_what_is_faster_than_now(lab):
    opened(lab).tune.start(trials=4).wait(60)
    now = state(lab)["adopted"]  # the trial that the steps are at
    first, other = (next(r for r in lab.tune.records if (str(r.index) == now) is is_it) for is_it in (True, False))
    session = lab.tune.session
    session.retimed[:] = [replace(first, kind="retimed", times=[5e-3], at=first.at + 100)]
    lab.tune._changed()
    assert state(lab)["now"] == 5e-3
    assert state(lab)["retimed"] == [{"index": str(first.index), "seconds": 5e-3}] and state(lab)["since"] == 4
    session.retimed.append(replace(other, kind="retimed", times=[6e-3], at=first.at + 200))
    assert [r["index"] for r in state(lab)["retimed"]] == [str(other.index)]  # those of the last time count


def test_a_mark_that_is_tuned_away_stays_open_and_can_come_back(lab):
    lab.tune.open("e4").start()
    lab.tune.wait(60)
    without = next(t for t in lab.tune.trials if t["values"] == [1])
    lab.tune.adopt(without["index"])
    assert "vectorize" not in lab.code and lab.history()["steps"][3]["status"] == "parked"
    assert lab.head()["badge"]["sign"] == "+" and lab.head()["badge"]["text"] == "legal"  # a person's choice
    now = state(lab)
    assert now["state"] == "done" and now["count"] == 2 and now["knobs"][0]["current"] == 1
    lab.tune.adopt(next(t for t in lab.tune.trials if t["values"] == [0])["index"])
    assert "vectorize" in lab.code and lab.history()["steps"][3]["status"] == "ok"


def test_a_trial_is_looked_at_beside_the_schedule(lab):
    tuned(lab)
    other = next(t for t in lab.tune.trials if t["values"][0] != 2)
    found = told(lab, "trial", index=other["index"])
    assert complaints(found, payload.Preview) == [] and found["sign"] == "+"
    assert any(line["sign"] != " " for line in found["diff"]) and found["deltas"]
    assert "factor=4)" in lab.code  # only looked at
    assert ask(lab, "trial", index="999999")["card"]["code"] == "no-such-trial"


def test_failures_are_trials_and_are_counted(lab):
    Played.outcomes = {i: Measured("crash", "it read memory that is not its own") for i in range(0, 60, 2)}
    tuned(lab)
    now = state(lab)
    failed = [t for t in lab.tune.trials if t["outcome"] == "crash"]
    assert failed and all(t["seconds"] is None and t["reason"] for t in failed)
    assert now["failures"] == [{"text": "crash: it read memory that is not its own", "count": len(failed)}]
    found = told(lab, "trial", index=failed[0]["index"])
    assert found["sign"] == "x" and "memory" in found["reason"]


def test_failures_of_one_kind_with_other_reasons_are_told_apart(lab):
    why = ["it read memory that is not its own", "an integer division failed"]
    Played.outcomes = {i: Measured("crash", why[i % 2]) for i in range(60)}
    tuned(lab)
    now = state(lab)["failures"]
    assert {f["text"] for f in now} == {f"crash: {w}" for w in why} and sum(f["count"] for f in now) == 12
    assert all(f"{f['count']} {f['text']}" in str(lab.tune.result) for f in now)


def test_two_knobs_as_a_table_of_times(lab):
    tuned(lab, trials=40)
    found = told(lab, "heat", x="e1.factor", y="e2.factor")
    assert complaints(found, payload_tune.Heat) == []
    assert len(found["cells"]) == 6 and len(found["cells"][0]) == 5
    t = min(lab.tune.trials, key=lambda t: t["seconds"])
    assert found["cells"][t["values"][1]][t["values"][0]] == t["seconds"]
    assert len(found["table"]["head"]) == 6 and found["table"]["rows"][0][0] == "1"
    assert ask(lab, "heat", x="e1.factor", y="nothing")["card"]["code"] == "missing-knob"


def test_brushing_holds_for_the_search_and_for_the_count(lab):
    opened(lab)
    told(lab, "allow", knob="e1.factor", on=[1, 2])
    told(lab, "allow", knob="vectorize ji", on=[0])
    now = state(lab)
    assert now["size"].startswith("12 combinations") and now["knobs"][0]["on"] == [1, 2]
    lab.tune.start(trials=50).wait(60)
    values = [t["values"] for t in lab.tune.trials]
    assert len(values) == 12 and {(v[0], v[2]) for v in values} == {(1, 0), (2, 0)}
    told(lab, "allow", knob="e1.factor", on=[0, 1, 2, 3, 4])
    told(lab, "start")
    assert lab.tune.wait(60) and len(lab.tune.trials) == 30
    for on in ([], [9], "x", [True]):
        assert not ask(lab, "allow", knob="e1.factor", on=on)["ok"]
    told(lab, "allow", knob="e1.factor", on=[1])
    told(lab, "close", step="e1", param="factor")  # another space: nothing is taken out of it
    assert state(lab)["size"].startswith("12 combinations")


def test_what_is_opened_is_in_the_still_copy_of_a_lab_that_is_shown(lab, monkeypatch):
    with monkeypatch.context() as m:
        m.setattr(lab.screen, "widget", SimpleNamespace(head={"busy": ""}))
        lab.tune.open("e1", "factor")
    assert "still" in lab.later._due
    assert to_data(lab)["tune"]["opened"] == {"e1.factor": [1, 2, 4, 8, 16]}


def test_pause_resume_and_stop(lab):
    Played.wait = {*range(60)}  # none ends by itself
    opened(lab).tune.start()
    assert state(lab)["state"] == "running"
    told(lab, "pause")
    assert state(lab)["state"] == "paused"
    told(lab, "resume")
    assert state(lab)["state"] == "running"
    for what in ("open", "close", "source", "clear"):
        assert ask(lab, what, step="e3", param="axes", source="generic")["card"]["code"] == "tuning-runs"
    assert ask(lab, "settings", file="other.jsonl")["card"]["code"] == "tuning-runs"
    told(lab, "settings", trials=20, limit=100)
    assert (lab.tune.session.trials, lab.tune.session.seconds) == (20, 100)
    told(lab, "stop")
    assert lab.tune.wait(60) and state(lab)["state"] == "done" and timing.tuner() is None
    Played.wait = set()
    told(lab, "resume")
    assert lab.tune.wait(60) and len(lab.tune.trials) == 20


def test_a_budget_that_is_used_up_is_raised(lab):
    tuned(lab)
    lab.tune.start().wait(60)
    assert len(lab.tune.trials) == 24 and state(lab)["trials"] == 24
    assert any("24 trials now" in note for note in state(lab)["notes"])


def test_steps_that_change_while_it_works(lab):
    Played.wait = {*range(60)}
    opened(lab).tune.start()
    lab.document.delete("e4")
    assert any("as they were" in note for note in state(lab)["notes"]) and state(lab)["state"] == "running"
    lab.tune.stop().wait(60)
    now = state(lab)
    assert [k["id"] for k in now["knobs"]] == ["e1.factor", "e2.factor"] and now["count"] == 0
    assert any("no longer tuned" in note and "vectorize ji" in note for note in now["notes"])
    lab.undo()
    assert len(state(lab)["knobs"]) == 3
    lab.jump(1)
    assert [k["id"] for k in state(lab)["knobs"]] == ["e1.factor"]
    assert any("not in force: split j: factor, vectorize ji" in note for note in state(lab)["notes"])


def test_other_sizes_have_other_factors(made):
    lab = made()
    opened(lab)
    state(lab)
    a = te.placeholder((32, 8), name="A"), te.placeholder((8, 32), name="B")
    k = te.reduce_axis((0, 8), name="k")
    lab.document.rebase([te.compute((32, 32), lambda i, j: te.sum(a[0][i, k] * a[1][k, j], axis=k), name="C").op])
    assert state(lab)["knobs"][0]["values"] == ["1", "2", "4", "8", "16", "32"]


# ---------------------------------------------------------------- the whole expression


def test_the_generic_space_starts_from_the_expression_and_is_adopted_as_a_branch(lab):
    told(lab, "source", source="generic")
    now = state(lab)
    assert now["source"] == "generic" and "C.i" in [k["id"] for k in now["knobs"]]
    assert all(k["help"] for k in now["knobs"])
    assert any("not in it" in note for note in now["notes"])
    lab.tune.start(trials=5).wait(60)
    before, record = lab.code, lab.tune.result.best
    lab.tune.adopt()
    assert lab.code != before and state(lab)["adopted"] == str(record.index)
    assert [len(b.entries) for b in lab.document.branches][0] == 4 and len(lab.document.branches) == 2
    assert len({s["group"] for s in lab.history()["steps"]}) == 1
    lab.undo()
    assert lab.code == before and len(lab.document.branches) == 1
    lab.redo()
    assert len(lab.document.branches) == 2
    assert ask(lab, "source", source="other")["card"]["code"] == "tune-source"


# ---------------------------------------------------------------- beside runs


def test_it_rests_while_a_run_is_timed(lab):
    Played.wait = {*range(60)}
    opened(lab).tune.start()
    with timing.run():
        assert lab.tune.state == "paused" and any("rests" in note for note in state(lab)["notes"])
        lab.tune.resume()  # not before the run has ended
        assert lab.tune.state == "paused"
    assert lab.tune.state == "running"
    lab.tune.pause()
    with timing.run():
        pass
    assert lab.tune.state == "paused"  # a person's pause stays
    lab.tune.stop().wait(60)
    with timing.run():
        lab.tune.start()
        assert lab.tune.state == "paused"
    assert lab.tune.state == "running"


def test_a_run_of_the_lab_has_the_machine_for_itself(lab, monkeypatch):
    seen = []

    class Worker:
        def run(self, *args, **how):
            seen.append(lab.tune.state)
            return Outcome("cancelled", text="cancelled")

    monkeypatch.setattr(lab.runs, "_worker", Worker)
    Played.wait = {*range(60)}
    opened(lab).tune.start()
    lab.run()
    assert seen == ["paused"]
    lab.runs.close()  # its thread has ended
    assert lab.tune.state == "running"


def test_only_one_lab_tunes_at_a_time(made):
    first, second = opened(made()), opened(made())
    Played.wait = {*range(60)}
    first.tune.start()
    card = ask(second, "start")["card"]
    assert card["code"] == "another-tunes" and first.name in card["text"]
    first.tune.stop().wait(60)
    second.tune.start()
    assert second.tune.state == "running"
