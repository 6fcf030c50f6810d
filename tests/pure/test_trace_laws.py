"""The laws of traces, on random schedules: code and JSON give the trace back, replay gives the program back."""

from __future__ import annotations

import pytest

from tests.traces import random_case
from tvmlab import te
from tvmlab.core.text import show_program
from tvmlab.face.handle import Schedule
from tvmlab.lowering import pipeline
from tvmlab.schedule.trace import Trace

SEEDS = range(120)


@pytest.mark.parametrize("seed", SEEDS)
def test_executing_the_printed_code_gives_an_equal_trace(seed):
    case = random_case(seed)
    scope = {t.name.replace(".", "_"): t for s in case.schedule.at(0).stages for t in s.op.outputs}
    scope["te"] = te
    exec(case.schedule.to_code(), scope)
    assert scope["s"].trace.same(case.schedule.trace)


@pytest.mark.parametrize("seed", SEEDS)
def test_json_gives_an_equal_trace(seed):
    trace = random_case(seed).schedule.trace
    again = Trace.from_json(trace.to_json())
    assert again.same(trace)


@pytest.mark.parametrize("seed", SEEDS)
def test_replaying_gives_an_equal_program(seed):
    case = random_case(seed)
    again = Schedule(case.schedule.trace.replay(case.schedule.trace.outputs))
    assert _text(again, case.args) == _text(case.schedule, case.args)


def _text(s, args):
    return show_program(pipeline.loops(s.state, args))


def test_equality_sees_a_difference():
    a, b = random_case(4).schedule, random_case(4).schedule
    out = b.stages[-1]
    out.split(out.leaf_iter_vars[0], factor=3)
    assert not a.trace.same(b.trace)


def test_replay_on_another_shape():
    def matmul(n):
        A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
        k = te.reduce_axis((0, n), name="k")
        return A, B, te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")

    A, B, C = matmul(64)
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "local")
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 8, 8)
    s[CC].compute_at(s[C], yo)
    A2, B2, C2 = matmul(100)
    text = _text(Schedule(s.trace.replay([C2.op])), [A2, B2, C2])
    assert "for xo in range(13):" in text and "if xo*8 + xi < 100 and yo*8 + yi < 100:" in text


def test_a_trace_by_its_public_name_on_whatever_names_the_outputs():
    import tvmlab

    def sums(n):
        A = te.placeholder((n, n), name="A")
        k = te.reduce_axis((0, n), name="k")
        return te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="C")

    C, D = sums(8), sums(12)
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], 4)
    assert tvmlab.Trace is Trace
    for outputs in (D, D.op, [D], (D.op,)):
        again = s.trace.replay(outputs)
        assert again.outputs == (D.op,) and len(again) == 1
        assert Trace.from_json(s.trace.to_json(), outputs).same(again)
    scheduled = te.create_schedule(again)
    assert scheduled.trace is again and scheduled[D].leaf_iter_vars == list(again.state.stage_of(D).leaves)
    with pytest.raises(TypeError, match="replay takes operations, not 3"):
        s.trace.replay(3)
