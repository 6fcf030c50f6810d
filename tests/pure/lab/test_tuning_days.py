# ruff: noqa: F811  # fixtures that are imported
"""Tuning in the lab: trials of another day, another kernel, another space; and what cannot be."""

import json
import threading

import pytest

from tests.payloads import complaints
from tests.pure.lab.tuned import Played, ask, lab, made, opened, played, product, state, told, tuned  # noqa: F401
from tvmlab.lab import timing
from tvmlab.lab.app import Lab
from tvmlab.lab.saving import from_data, to_data
from tvmlab.tune.records import load
from tvmlab.view import payload

pytestmark = pytest.mark.usefixtures("played")


# ---------------------------------------------------------------- another day


def test_a_lab_that_is_loaded_goes_on_from_its_file(made):
    lab = tuned(made())
    lab.tune.allow("e1.factor", [0, 1])
    data = json.loads(json.dumps({"save": to_data(lab)}))
    lab.close()
    again = from_data(Lab, data, "lab.json")
    now = state(again)
    assert now["state"] == "ready" and now["count"] == 12 and all(t["again"] for t in again.tune.trials)
    assert (now["search"], now["trials"]) == ("random", 12)
    again.tune.resume().wait(60)
    assert len(again.tune.trials) == 24 and len({t["index"] for t in again.tune.trials}) == 24
    again.close()


def test_the_same_cell_in_another_kernel_finds_what_was_opened(made):
    tuned(made()).close()
    again = made()
    now = state(again)
    assert [k["id"] for k in now["knobs"]] == ["e1.factor", "e2.factor", "e4.taken"] and now["count"] == 12
    assert "C.tune.jsonl says what was opened" in now["notes"]
    s, args = product()
    s[args[2]].parallel(s[args[2]].leaf_iter_vars[0])
    other = made(s, args)
    assert state(other)["state"] == "empty"  # its steps are others
    other.tune.open("e1", "factor")
    assert state(other)["state"] == "ready" and state(other)["count"] == 0


def test_a_cell_that_is_run_again_takes_over_what_is_on(made):
    from tvmlab.lab.again import go_on

    former = opened(made())
    Played.wait = {*range(60)}
    former.tune.start()
    lab = made()
    go_on(lab, former)
    assert lab.tune.state == "running" and state(lab)["state"] == "running" and former.tune.state == "empty"
    assert lab.tune.lab is lab and former.tune.lab is former
    former.close()
    assert lab.tune.state == "running"
    lab.close()
    assert lab.tune.session.state == "done"


def test_trials_in_memory_survive_other_spaces_and_go_into_a_file_that_is_named(lab, tmp_path):
    tuned(lab, file="")
    assert not list(tmp_path.iterdir())
    lab.tune.open("e3", "axes")
    assert state(lab)["count"] == 0
    lab.tune.close("e3", "axes")
    assert state(lab)["count"] == 12
    lab.tune.set(file="kept.jsonl")
    assert state(lab)["count"] == 12 and len(load(tmp_path / "kept.jsonl")) == 12
    lab.tune.start(trials=20).wait(60)
    assert len(lab.tune.trials) == 20


def test_clear_begins_anew_and_leaves_the_file(lab, tmp_path):
    tuned(lab)
    told(lab, "clear")
    now = state(lab)
    assert now["count"] == 0 and now["file"] == "C-2.tune.jsonl" and now["state"] == "ready"
    assert len([r for r in load(tmp_path / "C.tune.jsonl") if r.kind == "trial"]) == 12
    assert any("stay in C.tune.jsonl" in note for note in now["notes"])


def test_a_closed_lab_ends_its_session_and_the_file_is_whole(made, tmp_path):
    lab = opened(made())
    told = threading.Event()
    Played.wait = {*range(30)}
    lab.tune.start()
    session = lab.tune.session
    told.wait(0.05)
    lab.close()
    assert session.state == "done" and timing.tuner() is None
    assert load(tmp_path / "C.tune.jsonl").notes == []


# ---------------------------------------------------------------- what cannot be


@pytest.mark.parametrize(
    "what, values, code",
    [
        ("start", {}, "nothing-opened"), ("open", {"step": "e9", "param": "factor"}, "no-such-parameter"),
        ("open", {"step": "e1"}, "request-field"), ("settings", {"search": "magic"}, "unknown-search"),
        ("settings", {"trials": "many"}, "tune-budget"), ("settings", {"trials": 0}, "tune-budget"),
        ("settings", {"limit": True}, "tune-budget"), ("settings", {"trials": 2.5}, "tune-budget"),
        ("settings", {"trials": None, "limit": None}, "no-budget"), ("settings", {"colour": 1}, "no-such-setting"),
        ("settings", {"file": 7}, "tune-file"), ("settings", {"file": "."}, "tune-file"),
        ("settings", {"file": "a_file/x.jsonl"}, "tune-file"), ("nothing", {}, "no-such-request"),
        ("state", {"n": "x"}, "request-field"), ("trial", {"index": "0"}, "nothing-opened"),
        ("allow", {"knob": "x", "on": [0]}, "nothing-opened"), ("adopt", {"index": "0"}, "nothing-opened"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_a_card(lab, tmp_path, what, values, code):
    (tmp_path / "a_file").write_text("")
    reply = ask(lab, what, **values)
    assert not reply["ok"] and reply["card"]["code"] == code, reply
    assert complaints(reply["card"], payload.Card) == []


def test_a_target_that_cannot_be_timed_here(lab):
    lab.target = "cuda_c"
    card = ask(opened(lab), "start")["card"]
    assert card["code"] == "cannot-measure" and "llvm" in card["legal"]


def test_no_legal_point_is_said_before_anything_is_measured(lab, monkeypatch):
    from tvmlab.lab import legal
    from tvmlab.tune.candidate import Refused

    monkeypatch.setattr(legal, "candidate", lambda task, index, target: Refused(index, None, "rule", "it is too large"))
    opened(lab)
    state(lab)
    lab.tune.counting.wait(60)
    card = ask(lab, "start")["card"]
    assert card["code"] == "no-legal-point" and "it is too large" in card["text"] and Played.last is None


def test_a_file_that_cannot_be_read_is_a_card_and_stays_as_it_is(lab, tmp_path):
    path = tmp_path / "C.tune.jsonl"
    path.write_text('{"tvmlab": 99, "task": "opened"}\n')
    opened(lab)
    now = state(lab)
    assert now["state"] == "empty" and now["error"]["code"] == "newer-records"
    assert not ask(lab, "start")["ok"] and path.read_text() == '{"tvmlab": 99, "task": "opened"}\n'
    lab.tune.set(file="")
    assert state(lab)["error"] is None and state(lab)["state"] == "ready"


def test_a_disk_that_is_full_when_it_starts(lab, monkeypatch):
    from tvmlab.tune import records

    def full(f, data):
        raise OSError(28, "No space left on device")

    opened(lab)
    monkeypatch.setattr(records, "_write", full)
    card = ask(lab, "start")["card"]
    assert card["code"] == "tune-file" and "No space left" in card["text"] and timing.tuner() is None


def test_saved_settings_that_cannot_be_here_are_said_and_left_out(lab):
    lab.tune.load({"opened": {"e1.factor": [2, 4]}, "search": "magic", "trials": 7, "limit": "x", "file": "t.jsonl"})
    now = state(lab)
    assert (now["trials"], now["search"], now["file"]) == (7, "random", "t.jsonl")
    assert now["knobs"][0]["values"] == ["2", "4"] and sum("is not used" in n for n in now["notes"]) == 2
    lab.tune.load(["damaged"])


def test_the_search_is_random_where_there_is_no_model(lab, monkeypatch):
    from tvmlab.lab import tune_settings
    from tvmlab.tune import search as searches

    for place in (tune_settings, searches):
        monkeypatch.setattr(place, "find_spec", lambda name: None)
    tune_settings.listed.cache_clear()
    try:
        assert tune_settings.Settings().search == "random"
        lab.tune.set(search="random")
        assert any("not learned" in n and "lightgbm" in n for n in state(lab)["notes"])
        assert ask(lab, "settings", search="annealing")["card"]["code"] == "no-search"
    finally:
        tune_settings.listed.cache_clear()


def test_a_lab_that_nobody_closed_ends_its_session_when_it_is_gone(made, monkeypatch):
    import gc

    Played.wait = {*range(60)}
    lab = Lab(*product())
    opened(lab).tune.start()
    session = lab.tune.session
    del lab
    for _ in range(600):  # a thread that has just told the lab something holds it a moment longer
        gc.collect()
        if session.wait(0.1):
            return
    raise AssertionError("the session goes on without its lab")


def test_a_session_that_found_nothing_legal_says_so(lab, monkeypatch):
    from tvmlab.tune import work
    from tvmlab.tune.candidate import Refused

    refused = lambda task, index, target: Refused(index, None, "rule", "it is too large")  # noqa: E731
    monkeypatch.setattr(work, "candidate", refused)
    monkeypatch.setattr(work, "REFUSALS", 8)
    tuned(lab)
    now = state(lab)
    assert now["state"] == "done" and now["count"] == 0 and now["error"]["code"] == "no-legal-point"
    assert now["discarded"][0]["text"] == "it is too large"
    lab.later.flush()
    assert lab.said["kind"] == "bad"


def test_what_a_full_disk_kept_in_memory_is_written_by_the_next_session(lab, tmp_path, monkeypatch):
    from tvmlab.tune import records

    opened(lab)
    state(lab)
    write, full = records._write, []

    def sometimes(f, data):
        if full:
            raise OSError(28, "No space left on device")
        return write(f, data)

    monkeypatch.setattr(records, "_write", sometimes)
    lab.tune.session.on_trial, heard = lambda r: (full.append(1), heard(r)), lab.tune.session.on_trial
    lab.tune.start().wait(60)
    assert any("No space left" in note for note in state(lab)["notes"]) and len(lab.tune.trials) == 12
    full.clear()
    monkeypatch.setattr(records, "_write", write)
    lab.tune.start(trials=14).wait(60)
    kept = {r.index for r in load(tmp_path / "C.tune.jsonl") if r.kind == "trial"}
    assert kept == {int(t["index"]) for t in lab.tune.trials} and len(kept) == 14


def test_an_interrupt_leaves_the_session_alone(lab):
    import os
    import signal

    Played.wait = {*range(60)}
    opened(lab).tune.start()
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        lab.tune.wait(60)
    assert lab.tune.state == "running" and not lab.tune.wait(0.05)
    assert lab.tune.stop().wait(60) and lab.tune.state == "done"


def test_a_search_that_comes_to_its_end_while_it_is_widened_goes_on(lab, monkeypatch):
    from tvmlab.tune.restrict import Within

    propose = Within.propose

    def at_the_end(self, n):
        found = propose(self, n)
        if not found and len(self.part) == 12:
            lab.tune.allow("e1.factor", [0, 1, 2, 3, 4])
        return found

    monkeypatch.setattr(Within, "propose", at_the_end)
    opened(lab).tune.allow("e1.factor", [1])
    lab.tune.start(trials=20).wait(60)
    assert len(lab.tune.trials) == 20
