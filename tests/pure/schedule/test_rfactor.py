"""rfactor: partial results, positions, tuples, tails; what it refuses."""

import numpy as np
import pytest

from tests.pure.schedule.programs import chain, comes_back, numbers, refusal, right, rows, scan, step, text
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleTypeError
from tvmlab.core.node import DATA


def test_partial_sums(golden):
    s, A, B, k = rows(4, 16)
    ko, ki = s[B].split(k, 4)
    BF = step(golden, s, [A, B], lambda: s.rfactor(B, ki))
    assert BF.op.name == "B.rf" and [d.value for d in BF.shape] == [4, 4]
    assert [a.iter_type for a in s[BF].op.axis] == [DATA, DATA] and s[B].op.reduce_axis[0].var.name == "k.inner.v"
    right(s, [A, B], numbers(4, 16).sum(1), inputs=[numbers(4, 16)])


@pytest.mark.parametrize(
    ("position", "shape"),
    [(0, [4, 3, 2]), (1, [3, 4, 2]), (2, [3, 2, 4]), (-1, [3, 2, 4]), (-3, [4, 3, 2])],
)
def test_where_the_new_axis_stands(position, shape):
    A = te.placeholder((3, 2, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((3, 2), lambda i, j: te.sum(A[i, j, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(k, 4)
    BF = s.rfactor(B, ki, position)
    assert [d.value for d in BF.shape] == shape
    comes_back(s, [A, B])
    right(s, [A, B], numbers(3, 2, 8).sum(2), inputs=[numbers(3, 2, 8)])


@pytest.mark.parametrize("which", ["outer", "inner", "whole"])
@pytest.mark.parametrize("n", [16, 13, 1, 0])
def test_tails(which, n):
    s, A, B, k = rows(3, n)
    ko, ki = s[B].split(k, 4)
    if which == "whole":
        s.undo()
    s.rfactor(B, {"outer": ko, "inner": ki, "whole": k}[which])
    comes_back(s, [A, B])
    right(s, [A, B], numbers(3, n).sum(1), inputs=[numbers(3, n)])


def test_nested(golden):
    """Issue: nested rfactor with a split that does not divide."""
    s, A, B, k = rows(2, 13)
    ko, ki = s[B].split(k, 5)
    BF = s.rfactor(B, ki)
    kt = s[BF].op.reduce_axis[0]
    s.rfactor(BF, kt)
    golden(text(s, [A, B]))
    comes_back(s, [A, B])
    right(s, [A, B], numbers(2, 13).sum(1), inputs=[numbers(2, 13)])


def test_a_domain_that_does_not_begin_at_zero():
    A = te.placeholder((20,), name="A")
    k = te.reduce_axis((3, 17), name="k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(k, 4)
    s.rfactor(B, ki)
    right(s, [A, B], numbers(20)[3:17].sum(keepdims=True), inputs=[numbers(20)])


def test_argmax():
    A = te.placeholder((4, 10), name="A")
    k = te.reduce_axis((0, 10), name="k")
    best = te.comm_reducer(
        lambda x, y: (te.if_then_else(x[1] >= y[1], x[0], y[0]), te.if_then_else(x[1] >= y[1], x[1], y[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    T, V = te.compute((4,), lambda i: best((k.var, A[i, k]), axis=k), name="T")
    s = te.create_schedule(T.op)
    ko, ki = s[T].split(k, nparts=3)
    TF, VF = s.rfactor(T, ko)
    assert (TF.op.name, TF.op, VF.value_index) == ("T.rf", VF.op, 1)
    comes_back(s, [A, T, V])
    a = np.random.default_rng(0).permutation(40).reshape(4, 10).astype("float32")
    right(s, [A, T, V], a.argmax(1).astype("int32"), a.max(1), inputs=[a])


def test_an_init_is_added_once():
    A, start = te.placeholder((4, 8), name="A"), te.placeholder((4,), name="start")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k, init=start[i]), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(k, 4)
    s.rfactor(B, ki)
    right(s, [A, start, B], numbers(4, 8).sum(1) + numbers(4), inputs=[numbers(4, 8), numbers(4)])


def mixed():
    s, A, B, k = rows()
    s.rfactor(B, s[B].fuse(B.op.axis[0], k))


def gone():
    s, A, B, k = rows()
    ko, ki = s[B].split(k, 4)
    s.rfactor(B, k)


def of(call):
    def act():
        s, A, B, k = rows()
        return call(s, B, k)

    return act


REFUSED = {
    "data axis": (ScheduleError, of(lambda s, B, k: s.rfactor(B, B.op.axis[0]))),
    "mixed": (ScheduleError, mixed),
    "not a leaf": (ScheduleError, gone),
    "position": (ScheduleError, of(lambda s, B, k: s.rfactor(B, k, 2))),
    "negative position": (ScheduleError, of(lambda s, B, k: s.rfactor(B, k, -3))),
    "position no number": (ScheduleTypeError, of(lambda s, B, k: s.rfactor(B, k, "first"))),
    "no reduction": (ScheduleError, lambda: (lambda s, A, B, C: s.rfactor(C, C.op.axis[0]))(*chain())),
    "input": (ScheduleError, lambda: (lambda s, A, B, C: s.rfactor(A, C.op.axis[0]))(*chain())),
    "scan": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s.rfactor(S, S.op.scan_axis))(*scan())),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))


def test_what_is_lost_by_it_is_said():
    A = te.placeholder((32, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    B = te.compute((32,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    io, ii = s[B].split(B.op.axis[0], 8)
    s[B].parallel(io)
    ko, ki = s[B].split(k, 8)
    with pytest.warns(UserWarning, match="rfactor makes B anew: what was done to io, ii is dropped"):
        s.rfactor(B, ki)


def test_a_split_of_the_sum_alone_is_no_loss(recwarn):
    A = te.placeholder((32, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    B = te.compute((32,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(k, 8)
    s.rfactor(B, ki)
    assert not recwarn.list
