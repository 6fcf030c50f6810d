"""Diffs of loops: what is kept, changed, new, gone; and that they say the whole of both texts."""

import random

import pytest

from tests.payloads import complaints
from tests.pure.view import sketch
from tests.traces import random_steps
from tvmlab.view import payload
from tvmlab.view.diff import diff
from tvmlab.view.frame import frame


def line(t, d=0, id=""):
    return {"d": d, "t": t, **({"id": id} if id else {})}


def text(changes):
    return "\n".join(f"{x['sign']} {'    ' * x['line']['d']}{x['line']['t']}" for x in changes)


def both(changes):
    """The older and the newer text that a diff tells of."""
    old = [x.get("was", x["line"]["t"]) for x in changes if x["sign"] != "+"]
    new = [x["line"] for x in changes if x["sign"] != "-"]
    return old, new


def test_each_step_of_a_schedule(golden):
    trace = sketch.tiled().trace
    parts = []
    for n in range(1, len(trace) + 1):
        found = diff(frame(trace.prefix(n - 1))["loops"], frame(trace.prefix(n))["loops"])
        parts.append(f"{n}: {trace[n - 1]}\n{text(found)}")
    assert "\n\n".join(parts) == golden


def test_a_loop_that_is_marked_is_changed_and_the_rest_kept():
    old = [line("for i in range(4):", 0, "C.i"), line("C[i] = A[i]", 1, "C")]
    new = [line("for i in parallel(4):", 0, "C.i"), line("C[i] = A[i]", 1, "C")]
    found = diff(old, new)
    assert [(x["sign"], x["at"], x.get("was", "")) for x in found] == [("~", 0, "for i in range(4):"), (" ", 1, "")]


def test_an_indent_alone_is_a_change():
    assert [x["sign"] for x in diff([line("x = 1")], [line("for i in range(2):", 0), line("x = 1", 1)])] == ["+", "~"]


def test_other_loops_are_not_one_that_changed():
    old, new = [line("for i in range(4):", 0, "C.i")], [line("for j in range(4):", 0, "C.j")]
    assert [x["sign"] for x in diff(old, new)] == ["-", "+"]


@pytest.mark.parametrize("old, new", [([], []), ([line("a")], []), ([], [line("a")])])
def test_empty_texts(old, new):
    assert [x["sign"] for x in diff(old, new)] == ["-"] * len(old) + ["+"] * len(new)


@pytest.mark.parametrize("seed", range(40))
def test_a_diff_tells_both_texts(seed):
    trace = random_steps(random.Random(seed), 12).schedule.trace
    loops = [frame(trace.prefix(n))["loops"] for n in range(len(trace) + 1)]
    for old, new in [*zip(loops, loops[1:], strict=False), (loops[0], loops[-1]), (loops[-1], loops[0])]:
        found = diff(old, new)
        assert not complaints(found, list[payload.DiffLine])
        before, after = both(found)
        assert before == [x["t"] for x in old]
        assert after == new
        assert [x["at"] for x in found if x["at"] >= 0] == list(range(len(new)))
        assert all(x["at"] == -1 for x in found if x["sign"] == "-")
        same = {x["at"] for x in found if x["sign"] == " "}
        assert all(new[k]["t"] in before for k in same)


def test_a_long_program():
    rng = random.Random(1)
    old = [line(f"B[{rng.randrange(40)}] = A[{rng.randrange(40)}]", rng.randrange(5), f"B.{k}") for k in range(2000)]
    new = [x for x in old if rng.random() < 0.8]
    new = [line("for q in range(3):"), *[line(x["t"].replace("A", "Q"), x["d"] + 1, x["id"]) for x in new]]
    before, after = both(diff(old, new))
    assert after == new
    assert before == [x["t"] for x in old]
