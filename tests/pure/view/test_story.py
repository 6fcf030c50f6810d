"""Stories: every frame of a history, packed small."""

import json
import random

import pytest

from tests.payloads import complaints
from tests.pure.view import sketch
from tests.traces import random_steps
from tvmlab.face.document import Document
from tvmlab.view import payload
from tvmlab.view.actions import actions
from tvmlab.view.frame import frame
from tvmlab.view.program import program
from tvmlab.view.steps import history
from tvmlab.view.story import story, unpacked


def size(thing):
    return len(json.dumps(thing, separators=(",", ":")))


def test_twelve_steps_are_small():
    trace = sketch.twelve().trace
    assert size(story(trace)) < 30_000
    assert size([frame(trace.prefix(n)) for n in range(13)]) > 2 * size(story(trace))


def test_a_lab_at_rest_is_small():
    """What a widget holds of twelve steps, without runs and pictures."""
    s = sketch.twelve()
    document = Document.of(s)
    held = {
        "frame": frame(s.trace), "story": story(document), "history": history(document),
        "actions": actions(s, ["C.i.outer"]), "program": program(s.trace), "calls": s.to_code(),
    }  # fmt: skip
    assert {name: size(x) for name, x in held.items() if size(x) > 60_000} == {}
    assert size(held) < 120_000, {name: size(x) for name, x in held.items()}


def test_a_document_tells_one_frame_per_cursor_in_the_numbers_of_its_steps():
    s, _, _, C = sketch.matmul()
    document = Document.of(s)
    i, j = C.op.axis
    xo, xi = s[C].split(i, factor=8)
    s[C].unroll(xi)
    s[C].split(j, factor=4)
    document.delete(document.entries[0].id)  # the step on xi is parked
    told = json.loads(json.dumps(story(document)))
    assert [f["key"] for f in told["frames"]] == [frame(s.trace.prefix(n))["key"] for n in (0, 0, 1)]
    last = unpacked(told, 2)
    assert {r["id"]: r["step"] for r in last["tree"] if r["step"]} == {"C": 2, "C.j.outer": 2, "C.j.inner": 2}
    assert {x["s"] for x in last["loops"] if "s" in x} == {2}
    assert any(r["spoken"].endswith(", step 2") for r in last["tree"])


@pytest.mark.parametrize("seed", range(30))
def test_a_packed_frame_is_the_frame(seed):
    trace = random_steps(random.Random(seed), 10).schedule.trace
    told = json.loads(json.dumps(story(trace)))
    assert not complaints(told, payload.Story)
    for n in range(len(trace) + 1):
        want = json.loads(json.dumps(frame(trace.prefix(n))))
        want["notes"] += [want.pop("error")["text"]] if "error" in want else []
        assert unpacked(told, n) == want
