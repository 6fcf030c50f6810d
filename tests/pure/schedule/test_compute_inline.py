"""compute_inline: the expression in its readers; what it refuses."""

import pytest

from tests.pure.schedule.programs import (
    chain,
    comes_back,
    extern,
    numbers,
    pair,
    refusal,
    right,
    rows,
    scan,
    step,
    text,
)
from tvmlab import te
from tvmlab.core.error import ScheduleError


def test_into_one_reader(golden):
    s, A, B, C = chain(4, 8)
    step(golden, s, [A, C], lambda: s[B].compute_inline())
    assert s[B].attach_type == 2
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


def test_chains_into_a_reduction_and_several_outputs(golden):
    A = te.placeholder((4, 6), name="A")
    B = te.compute((4, 6), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, 6), lambda i, j: B[i, j] * 2.0, name="C")
    k = te.reduce_axis((0, 6), name="k")
    D = te.compute((4,), lambda i: te.sum(C[i, k], axis=k), name="D")
    E, F = te.compute((4, 6), lambda i, j: (C[i, j] - 1.0, C[i, 5 - j]), name="E")
    s = te.create_schedule([D.op, E.op])
    s[B].compute_inline()
    s[C].compute_inline()
    golden(text(s, [A, D, E, F]))
    comes_back(s, [A, D, E, F])
    c = (numbers(4, 6) + 1) * 2
    right(s, [A, D, E, F], c.sum(1), c - 1, c[:, ::-1].copy(), inputs=[numbers(4, 6)])


def test_argmax_of_an_inlined_input():
    A = te.placeholder((4, 6), name="A")
    B = te.compute((4, 6), lambda i, j: A[i, j] * -1.0, name="B")
    k = te.reduce_axis((0, 6), name="k")
    best = te.comm_reducer(
        lambda x, y: (te.if_then_else(x[1] >= y[1], x[0], y[0]), te.if_then_else(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    T, V = te.compute((4,), lambda i: best((k.var, B[i, k]), axis=k), name="T")
    s = te.create_schedule(T.op)
    s[B].compute_inline()
    a = numbers(4, 6)
    right(s, [A, T, V], (-a).argmax(1).astype("int32"), (-a).max(1), inputs=[a])


def test_a_stage_that_an_extern_reads_stays_at_the_root():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    from tvmlab import tir

    E = te.extern((8,), [B], lambda i, o: tir.call_packed("f", i[0], o[0]), name="E", dtype="float32")
    s = te.create_schedule(E.op)
    before = text(s, [A, E])
    s[B].compute_inline()
    note = "    # B is read by an operation that is no te.compute: it stays at the root\n"
    assert text(s, [A, E]).replace(note, "") == before
    assert s.check() == []


REFUSED = {
    "output": (ScheduleError, lambda: (lambda s, A, B, C: s[C].compute_inline())(*chain())),
    "input": (ScheduleError, lambda: (lambda s, A, B, C: s[A].compute_inline())(*chain())),
    "several outputs": (ScheduleError, lambda: (lambda s, A, S, P, C: s[S].compute_inline())(*pair())),
    "scan": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s[S].compute_inline())(*scan())),
    "scan update": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s[update].compute_inline())(*scan())),
    "extern": (ScheduleError, lambda: (lambda s, A, E, C: s[E].compute_inline())(*extern())),
}


def reduction():
    s, A, B, k = rows()
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()


REFUSED["reduction"] = (ScheduleError, reduction)


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
