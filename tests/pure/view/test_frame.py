"""Frames: tree and loops of a schedule, what each row and line is of, and which step made it."""

import random

import pytest

from tests.payloads import complaints
from tests.pure.view import sketch
from tests.traces import random_steps
from tvmlab import te
from tvmlab.core.text import program_lines
from tvmlab.view import payload
from tvmlab.view.frame import frame, program
from tvmlab.view.ids import ids


@pytest.mark.parametrize("make", [sketch.tiled, sketch.twelve, sketch.conv])
def test_tree_and_loops(make, golden):
    assert sketch.sketch(make().trace) == golden


def test_rfactor(golden):
    s, A, B, C = sketch.matmul(6, 5, 33)
    ko, ki = s[C].split(C.op.reduce_axis[0], factor=16)
    CR = s.rfactor(C, ki)
    s[CR].compute_at(s[C], s[C].op.axis[1])
    s[C].parallel(s[C].op.axis[0])
    assert sketch.sketch(s.trace) == golden


def test_a_scan_and_threads(golden):
    X = te.placeholder((9, 32), name="X")
    state = te.placeholder((9, 32), name="state")
    init = te.compute((1, 32), lambda _, i: X[0, i], name="init")
    update = te.compute((9, 32), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    Y = te.scan(init, update, state, inputs=[X], name="scan")
    s = te.create_schedule(Y.op)
    tx = te.thread_axis("threadIdx.x")
    s[init].bind(init.op.axis[1], tx)
    s[update].bind(update.op.axis[1], tx)
    assert sketch.sketch(s.trace) == golden


def test_what_is_owed_stands_in_the_loops_and_in_the_notes():
    _, _, _, C = sketch.matmul()
    D = te.compute((64, 64), lambda i, j: C[i, j] + C[j, i], name="D")
    E = te.compute((64, 64), lambda i, j: D[i, j] + C[i, j], name="E")
    s = te.create_schedule(E.op)
    s[C].compute_at(s[D], D.op.axis[1])
    f = frame(s.trace)
    assert f["notes"]
    assert any(x["t"].startswith("#") and f["notes"][0].splitlines()[0] in x["t"] for x in f["loops"])


def test_what_vectors_would_refuse_is_owed_too():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(B.op.axis[0])
    f = frame(s.trace)
    assert len(f["notes"]) == 1
    assert "vectorize" in f["notes"][0]
    assert [x["t"] for x in f["loops"] if x.get("id") == "B.i"] == ["for i in vectorized(n):"]


def cubed(t, name="B"):
    return te.compute((8,), lambda i: t[i] * t[i] * t[i], name=name)


def test_a_schedule_without_loops_has_an_error_and_still_a_tree():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    for _ in range(14):
        B = cubed(B)
    s = te.create_schedule(B.op)
    for h in s.stages[1:-1]:
        h.compute_inline()
    f = frame(s.trace)
    assert "nodes long" in f["error"]["text"]
    assert f["loops"] == []
    assert f["metrics"]["flops"] is None
    assert len({r["id"] for r in f["tree"]}) == 17
    assert not complaints(f, payload.Frame)


HOSTILE = ["constructor", "__proto__", "<b>C</b>", 'quo"te\'s', "emoji 🦊", "C.i", "C#2", "line\nbreak"]


def test_hostile_names():
    t = te.placeholder((8,), name="toString")
    for name in [*HOSTILE, *HOSTILE]:
        t = cubed(t, name)
    s = te.create_schedule(t.op)
    s[t].split(t.op.axis[0], 3)
    f = frame(s.trace)
    assert not complaints(f, payload.Frame)
    assert "error" not in f
    names = [r["id"] for r in f["tree"]]
    assert len(set(names)) == len(names) == 2 + 2 * 2 * len(HOSTILE)
    assert all(x["id"] in names for x in f["loops"] if "id" in x)
    assert all("\n" not in x["t"] for x in f["loops"])


def test_equal_schedules_have_equal_keys_and_frames_are_made_once():
    s = sketch.tiled()
    f = frame(s.trace)
    assert frame(s.trace) is f
    assert frame(sketch.tiled().trace)["key"] == f["key"]
    s.undo()
    assert frame(s.trace)["key"] != f["key"]


@pytest.mark.parametrize("seed", range(80))
def test_random_schedules(seed):
    trace = random_steps(random.Random(seed), 12).schedule.trace
    f = frame(trace)
    assert not complaints(f, payload.Frame)
    rows = [r["id"] for r in f["tree"]]
    known = ids(trace.state)
    shown = {s.index for s in trace.state.in_order}
    assert {known[r][0] for r in rows} == shown
    assert len(set(rows)) == len(rows)
    assert all(x["id"] in rows for x in f["loops"] if "id" in x)
    assert all(0 <= n <= len(trace) for n in [*(r["step"] for r in f["tree"]), *(x.get("s", 0) for x in f["loops"])])
    if "error" not in f:
        assert [(x["d"], x["t"]) for x in f["loops"]] == [(d, t) for d, t, _ in program_lines(program(trace))]


@pytest.mark.parametrize("seed", range(20))
def test_a_step_is_named_for_what_it_made(seed):
    """A loop's step is the first prefix that has it, or the last that marked it: no later one, no earlier one."""
    trace = random_steps(random.Random(seed), 12).schedule.trace
    for r in frame(trace)["tree"]:
        if r["kind"] != "loop":
            continue
        stage, axis = ids(trace.state)[r["id"]]
        first = next(n for n in range(len(trace) + 1) if axis in trace.prefix(n).state.refs)
        assert r["step"] >= first
        if r["step"]:
            before, after = (trace.prefix(r["step"] - d).state for d in (1, 0))
            old = before.stages.get(stage)
            assert old is None or axis not in old.axes or old.mark(axis) is not after.stages[stage].mark(axis)


def test_numbers_are_of_the_loops_under_their_ids():
    s = sketch.tiled(64)
    m = frame(s.trace)["metrics"]
    assert (m["flops"], m["tasks"], m["lanes"], m["redundancy"], m["exact"]) == (2 * 64**3, 4, 16, 1.0, True)
    assert [x["id"] for x in m["levels"]] == [
        "C.i.outer", "C.j.outer", "C.k.outer", "C.i.inner", "C.k.inner", "C.j.inner",
    ]  # fmt: skip
    assert [x["name"] for x in m["levels"]] == ["xo", "yo", "ko", "xi", "ki", "yi"]
    assert frame(s.trace.prefix(0))["metrics"]["redundancy"] == 1.0


def test_what_is_computed_twice_is_redundant():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((62,), lambda i: B[i] + B[i + 1] + B[i + 2], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    assert frame(s.trace)["metrics"]["redundancy"] == pytest.approx((62 * 3 + 62 * 2) / (64 + 62 * 2))
