"""Saved histories: newer and older ones, damaged ones, and what must come back as it was."""

import copy
import json

import pytest

from tests.pure.schedule.programs import matmul, rows, text
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.face.document import Document


def saved():
    """A history with two branches, an undone step, names and a thread axis."""
    s, A, B, C, k = matmul(64)
    io, ii = s[C].split(C.op.axis[0], 16)
    s[C].bind(io, te.thread_axis("blockIdx.x"))
    s[C].unroll(ii)
    d = s.history
    d.rename("e1", 'rows "🙂" <b>')
    d.note("e2", "__proto__")
    s.undo()
    s[C].vectorize(ii)
    s[C].parallel(C.op.axis[1])
    s.undo()
    return d, [A, B, C]


def test_everything_comes_back():
    d, args = saved()
    data = json.loads(json.dumps(d.to_json()))
    again = Document.from_json(json.dumps(data))
    assert again.to_json() == data and again.given == ""
    assert again.schedule.to_code() == d.schedule.to_code() and again.cursor == 3 and len(again.entries) == 4
    assert again.entries[0].name == 'rows "🙂" <b>' and again.entries[1].note == "__proto__"
    assert [b.name for b in again.branches] == ["branch 1", "branch 2"]
    again.switch("branch 1")
    assert again.entries[-1].label == "unroll ii" and len(again.schedule.trace) == 3
    assert again.entries[0].origin["label"].startswith("test_document_file.py line ")


def test_a_loaded_history_goes_on():
    again = Document.from_json(saved()[0].to_json())
    s = again.schedule
    s.redo()
    s[s.outputs[0]].unroll(s.outputs[0].reduce_axis[0])
    again.edit("e1", {"factor": 8})
    ids = [e.id for e in again.entries]
    assert not any(e.parked for e in again.entries) and len(set(ids)) == 5 and len(s.trace) == 5


def test_axes_made_after_a_change_keep_their_slots():
    s, A, B, C, k = matmul(64)
    s[C].split(C.op.axis[0], 16)
    cache = s.cache_write(C, "local")
    s[cache].vectorize(s[cache].op.axis[2])
    d = s.history
    d.delete("e1")
    again = Document.from_json(d.to_json())
    assert again.schedule.to_code() == s.to_code() and not again.entries[-1].parked
    assert "[2]" not in s.to_code() and again.to_json() == d.to_json()


def test_a_step_of_a_newer_version_is_kept():
    data = json.loads(json.dumps(saved()[0].to_json()))
    number = len(data["steps"])
    strange = {"id": "n1", "primitive": "hyper_tile", "args": {"loops": [{"axis": "e1.0"}, {"quantum": 3}]}, "mood": 7}
    data["steps"].append(strange)
    data["branches"][1]["steps"].insert(1, number)
    data |= {"schema": 2, "weather": "fine", "cursor": 4}
    d = Document.from_json(data)
    assert d.entries[1].parked and d.entries[1].reason == "this version of tvmlab does not know `hyper_tile`"
    assert "schema 2" in d.given and "hyper_tile" in d.given and len(d.schedule.trace) == 3
    with pytest.raises(LabError, match="does not know `hyper_tile`"):
        d.edit("n1", {"loops": 1})
    again = d.to_json()
    kept = next(x for x in again["steps"] if x["id"] == "n1")
    assert {k: kept[k] for k in strange} == strange
    assert again["weather"] == "fine" and again["schema"] == 2
    d.delete("n1")
    assert len(d.schedule.trace) == 3


def test_an_object_of_a_newer_version_is_kept():
    data = json.loads(json.dumps(saved()[0].to_json()))
    objects = data["table"]["objects"]
    thread = next(n for n, o in enumerate(objects) if o[0] == "IterVar" and "blockIdx.x" in o)
    objects[thread][0] = "WarpAxis"
    d = Document.from_json(data)
    assert d.entries[1].reason == "this version of tvmlab does not know a `WarpAxis`"
    assert not d.entries[0].parked and not d.entries[2].parked
    again = json.loads(json.dumps(d.to_json()))["table"]["objects"]
    assert [o for o in again if o[0] == "WarpAxis"] and objects[thread][1:] == _same(again)
    with pytest.raises(LabError, match="`WarpAxis`, which is not known"):
        from tvmlab.core import serial

        serial.from_data(data["table"])


def _same(objects):
    return next(o for o in objects if o[0] == "WarpAxis")[1:]


def test_an_expression_of_a_newer_version_is_refused():
    data = json.loads(json.dumps(saved()[0].to_json()))
    for o in data["table"]["objects"]:
        if o[0] == "ComputeOp":
            o[0] = "DreamOp"
    with pytest.raises(LabError, match="newer version"):
        Document.from_json(data)


def test_a_saved_trace_is_an_older_history():
    s, A, B, k = rows()
    s[B].split(k, 4)
    d = Document.from_json(s.trace.to_json())
    assert d.schedule.trace.same(s.trace) and "trace" in d.given and d.cursor == 1


def test_what_cannot_be_saved_says_so():
    s, A, B, k = rows()
    s[B].pragma(k, "note", object())
    with pytest.raises(LabError, match="cannot save <object object"):
        s.history.to_json()


DAMAGED = {
    "no json": lambda x: "{",
    "a list": lambda x: [],
    "nothing": lambda x: None,
    "another kind": lambda x: x | {"kind": "recipe"},
    "no table": lambda x: x | {"table": {}},
    "no steps": lambda x: {k: v for k, v in x.items() if k != "steps"},
    "steps of text": lambda x: x | {"steps": ["a"]},
    "a step without arguments": lambda x: x | {"steps": [{"id": "e1", "primitive": "split"}]},
    "a step with strange arguments": lambda x: x | {"steps": [x["steps"][0] | {"args": 3}]},
    "an id of markup": lambda x: x | {"steps": [x["steps"][0] | {"id": "<i>"}]},
    "a name that is none": lambda x: x | {"steps": [x["steps"][0] | {"name": ["x"]}]},
    "branches of missing steps": lambda x: x | {"branches": [x["branches"][0] | {"steps": [99]}]},
    "no branches": lambda x: x | {"branches": []},
    "a cursor of text": lambda x: x | {"cursor": "end"},
    "slots of numbers": lambda x: x | {"slots": {"e1": [3]}},
    "a branch with a step twice": lambda x: x | {"branches": [x["branches"][0] | {"steps": [0, 0]}]},
    "two branches of one id": lambda x: x | {"branches": [x["branches"][0], x["branches"][0]]},
    "a schema of text": lambda x: x | {"schema": "one"},
}


@pytest.mark.parametrize("how", DAMAGED)
def test_a_damaged_file_is_refused(how):
    data = json.loads(json.dumps(saved()[0].to_json()))
    with pytest.raises(LabError) as refused:
        Document.from_json(DAMAGED[how](copy.deepcopy(data)))
    assert "Traceback" not in str(refused.value) and len(str(refused.value)) < 400


def test_new_steps_have_new_ids_whatever_the_file_says():
    data = json.loads(json.dumps(saved()[0].to_json())) | {"made": 0}
    d = Document.from_json(data)
    there = {e.id for b in d.branches for e in b.entries} | {b.id for b in d.branches}
    made = d.branch()
    stage = d.schedule.state.in_order[-1]
    d.apply("unroll", {"stage": stage.index, "var": stage.leaves[-1]})
    assert not {made.id, d.entries[-1].id} & there


ODD = {
    "an axis that is not there": {"parent": {"axis": "e9.4"}},
    "a kind that is not there": {"parent": {"axle": "e1.0"}},
    "an object that is not there": {"factor": {"object": 999}},
    "an identity that is none": {"parent": {"axis": ["a"]}},
    "two things": {"parent": {"tensor": 3}},
    "text for a factor": {"factor": "lots"},
    "an unknown argument": {"colour": 3},
    "a cursor beyond": None,
}


@pytest.mark.parametrize("how", ODD)
def test_a_step_that_makes_no_sense_is_parked(how):
    data = json.loads(json.dumps(saved()[0].to_json()))
    step = next(x for x in data["steps"] if x["id"] == "e1")
    step["args"] |= ODD[how] or {}
    data["cursor"] = 1000
    d = Document.from_json(data)
    assert d.cursor == len(d.entries)
    assert d.entries[0].parked == (ODD[how] is not None)
    assert text(d.schedule, [t for op in d.schedule.outputs for t in [*op.inputs, *op.outputs]])
    assert d.to_json()["steps"][0]["args"] == data["steps"][0]["args"]
