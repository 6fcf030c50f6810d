"""The program after each pass."""

import random

import pytest

from tests.payloads import complaints
from tests.pure.view import sketch
from tests.traces import random_steps
from tvmlab import te
from tvmlab.lowering import pipeline
from tvmlab.view import payload
from tvmlab.view.passes import passes


def text(p):
    return "\n".join("    " * x["d"] + x["t"] for x in p["lines"])


def test_every_pass_of_the_pipeline_is_there_in_order():
    found = passes(sketch.twelve(100).trace)
    assert [p["name"].replace(" ", "_") for p in found[1:]] == [*pipeline.READABLE, *pipeline.FLAT]
    changed = {p["name"] for p in found if p["changed"]}
    assert changed >= {"loops of the schedule", "hoist guards", "partition loops", "vectorize", "flatten storage"}
    assert "rolling buffer" not in changed


def test_changed_says_that_the_text_changed():
    found = passes(sketch.twelve(100).trace)
    for before, after in zip(found, found[1:], strict=False):
        assert after["changed"] == (text(before) != text(after))


def test_lines_keep_their_loops():
    found = passes(sketch.tiled().trace)
    assert all(any(x.get("id") == "C.k.outer" for x in p["lines"]) for p in found)


def test_where_something_is_owed_the_build_only_passes_are_left_out():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(B.op.axis[0])
    assert passes(s.trace)[-1]["name"] == "sync threads"


@pytest.mark.parametrize("seed", range(25))
def test_random_schedules(seed):
    found = passes(random_steps(random.Random(seed), 10).schedule.trace)
    assert found
    assert not complaints(found, list[payload.Pass])
