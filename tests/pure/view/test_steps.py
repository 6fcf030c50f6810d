"""The history pane's data: words, states, what can be edited, on real and on hostile histories."""

import json
import random
from contextlib import suppress

import pytest

from tests.payloads import complaints
from tests.pure.schedule.programs import chain, matmul, text
from tests.traces import MORE, random_steps
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.face.document import Document
from tvmlab.view import frame, payload, steps


def tiled():
    s, A, B, C, k = matmul(64)
    i, j = C.op.axis
    io, ii = s[C].split(i, 16)
    jo, ji = s[C].split(j, 8)
    s[C].reorder(io, jo, ii, ji)
    s[C].vectorize(ji)
    return s, [A, B, C], (io, ii, jo, ji)


def good(document, **more):
    """The payload, held against the contract and against JSON."""
    found = steps.history(document, **more)
    assert complaints(found, payload.History) == [] and json.loads(json.dumps(found)) == found
    return found


def test_steps_in_words_and_as_code():
    s, args, _ = tiled()
    found = good(s.history)
    assert [x["label"] for x in found["steps"]] == [
        "split i by 16", "split j by 8", "reorder io, jo, ii, ji", "vectorize ji",
    ]  # fmt: skip
    assert [x["code"] for x in found["steps"]] == [
        "io, ii = s[C].split(i, factor=16)", "jo, ji = s[C].split(j, factor=8)",
        "s[C].reorder(io, jo, ii, ji)", "s[C].vectorize(ji)",
    ]  # fmt: skip
    assert {x["status"] for x in found["steps"]} == {"ok"} and found["cursor"] == 4
    assert (
        found["steps"][0]["origin"]["kind"] == "file" and "test_steps.py line" in found["steps"][0]["origin"]["label"]
    )
    assert found["branches"] == [{"id": "b1", "name": "branch 1", "steps": 4, "current": True}]


def test_a_step_without_effect_says_why():
    s, args, (io, ii, jo, ji) = tiled()
    s[args[2]].vectorize(ji)
    s[args[2]].reorder(io, jo)
    found = good(s.history)["steps"]
    assert [x["status"] for x in found] == ["ok"] * 4 + ["same"] * 2
    assert found[4]["reason"] == "ji is vectorized already"
    assert found[5]["reason"] == "the loops are in this order already"


def test_parked_steps_keep_their_words():
    s, args, _ = tiled()
    s.history.delete("e2")
    found = good(s.history)["steps"]
    assert [x["status"] for x in found] == ["ok", "parked", "parked"]
    assert found[2]["label"] == "vectorize ji" and found[2]["code"] == "s[C].vectorize(ji)"
    assert "was deleted" in found[2]["reason"] and found[2]["metrics"] is None and found[2]["params"] == []


def test_times_are_given_by_step():
    s, args, _ = tiled()
    found = good(s.history, measured={"": 2.0, "e1": 1.0})
    assert found["start_seconds"] == 2.0 and [x["seconds"] for x in found["steps"]] == [1.0, None, None, None]


def test_what_undo_and_redo_would_do_is_said():
    s, args, _ = tiled()
    d = s.history
    said = lambda: (good(d)["undo"], good(d)["redo"])  # noqa: E731
    assert said() == ("vectorize ji", "")
    d.jump(1)
    assert said() == ("split i by 16", "split j by 8")
    d.delete("e4")
    assert said() == ("deletion of step 4", "split j by 8")
    d.undo()
    assert said() == ("split i by 16", "deletion of step 4")
    d.jump(0)
    assert said()[0] == ""


def test_frames_are_not_made_for_it_unless_asked():
    s, args, _ = tiled()
    assert all(x["metrics"] is None for x in good(s.history, whole=False)["steps"])
    frame.frame(s.trace)
    assert [x["metrics"] is None for x in good(s.history, whole=False)["steps"]] == [True, True, True, False]
    assert all(x["metrics"] is not None for x in good(s.history)["steps"])


def test_what_a_form_sends_back():
    s, args, (io, ii, jo, ji) = tiled()
    s[args[2]].bind(io, te.thread_axis("blockIdx.x"))
    d = s.history
    first = {p["name"]: p for p in good(d)["steps"][0]["params"]}
    assert first["factor"]["value"] == 16 and {"value": 8, "label": "8"} in first["factor"]["choices"]
    steps.edit(d, "e1", {"factor": 8})
    steps.edit(d, "e2", {"nparts": 4})
    steps.edit(d, "e3", {"axes": [{"axis": "C.j.outer"}, {"axis": "C.i.outer"}]})
    steps.edit(d, "e5", {"thread_ivar": {"thread": "threadIdx.x"}})
    assert [x["label"] for x in good(d)["steps"]] == [
        "split i by 8", "split j into 4 parts", "reorder jo, io", "vectorize ji", "bind io to threadIdx.x",
    ]  # fmt: skip
    steps.edit(d, "e2", {"factor": 2})
    assert good(d)["steps"][1]["label"] == "split j by 2"


def test_a_place_brings_its_stage():
    s, A, B, C = chain()
    cache = s.cache_write(C, "local")
    s[B].compute_at(s[C], C.op.axis[0])
    d = s.history
    places = [c["value"] for c in good(d)["steps"][1]["params"][0]["choices"]]
    steps.edit(d, "e2", {"scope": places[0]})
    assert s[B].attach_stage == s[cache]


@pytest.mark.parametrize(
    "id, values, words",
    [
        ("e1", {"factor": 0}, "must be positive"),
        ("e1", {"factor": 10**9}, None),
        ("e1", {"factor": "<b>"}, "must be an integer"),
        ("e1", {"size": 4}, "takes no `size`"),
        ("e4", {"var": {"axis": "C.k"}}, "cannot vectorize `k`"),
        ("e4", {"var": {"axis": "__proto__"}}, "no loop `__proto__`"),
        ("e9", {}, "no step 'e9'"),
    ],
)
def test_what_is_refused_leaves_everything(id, values, words):
    s, args, _ = tiled()
    d, before = s.history, s.trace
    if words is None:
        steps.edit(d, id, values)
        assert text(s, args)
        return
    with pytest.raises(LabError, match=words):
        steps.edit(d, id, values)
    assert s.trace is before


@pytest.mark.parametrize("seed", range(40))
def test_every_choice_of_every_step_is_taken_or_refused(seed):
    rng = random.Random(seed)
    d = random_steps(rng, 8, MORE).schedule.history
    for x in good(d)["steps"]:
        for p in x["params"]:
            values = [c["value"] for c in p["choices"]] or [p["value"]]
            with suppress(LabError):
                steps.edit(d, x["id"], {p["name"]: rng.choice(values)})
    good(d)
    again = Document.from_json(json.loads(json.dumps(d.to_json())))
    assert good(again)["steps"] == good(d)["steps"]


def test_hostile_names():
    A = te.placeholder((8, 8), name="constructor")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name='__proto__"<b>🙂')
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], 4)
    d = s.history
    d.rename("e1", "<script>")
    d.note("e1", "'\"`")
    found = good(d)
    assert found["steps"][0]["name"] == "<script>" and found["steps"][0]["label"] == "split i by 4"


def test_a_step_that_this_version_does_not_know():
    s, args, _ = tiled()
    data = json.loads(json.dumps(s.history.to_json()))
    data["steps"].append({"id": "n1", "primitive": "hyper_tile", "args": {"q": {"quantum": 3}}})
    data["branches"][0]["steps"].append(len(data["steps"]) - 1)
    d = Document.from_json(data)
    found = good(d)["steps"][-1]
    assert found["status"] == "parked" and found["label"] == "hyper tile" and "does not know" in found["reason"]
    with pytest.raises(LabError, match="does not know"):
        steps.edit(d, "n1", {"q": 1})
