"""fuse: neighbours, order, singleton, data with reductions; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, comes_back, matmul, numbers, refusal, right, rows, scan, step, text
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleValueError
from tvmlab.core.node import REDUCE


def test_two(golden):
    s, A, B, C = chain(6, 4)
    f = step(golden, s, [A, C], lambda: s[C].fuse(*C.op.axis))
    assert f.var.name == "i.j.fused" and s[C].leaf_iter_vars == [f]
    right(s, [A, C], (numbers(6, 4) + 1) * 2, inputs=[numbers(6, 4)])


def test_the_outer_one_may_be_named_second():
    s, A, B, C = chain(6, 4)
    i, j = C.op.axis
    assert s[C].fuse(j, i).var.name == "j.i.fused"  # named as given, fused as they stand
    t, A2, B2, C2 = chain(6, 4)
    t[C2].fuse(*C2.op.axis)
    assert text(s, [A, C]).replace("j_i", "i_j") == text(t, [A2, C2])


def test_many_are_fused_from_the_left():
    s, A, B, C, k = matmul()
    i, j = C.op.axis
    f = s[C].fuse(i, j)
    assert s[C].fuse(f) is f  # one: itself
    o, q = s[C].split(f, 6)
    comes_back(s, [A, B, C])
    right(s, [A, B, C], numbers(8, 8) @ numbers(8, 8, seed=1), inputs=[numbers(8, 8), numbers(8, 8, seed=1)])


def test_none_is_a_loop_of_one_iteration():
    s, A, B, C = chain()
    one = s[C].fuse()
    assert s[C].leaf_iter_vars[0] is one and one.dom.extent.value == 1
    comes_back(s, [A, C])


@pytest.mark.parametrize("n", [1, 7, 0])
def test_data_with_a_reduction_is_initialised(golden, n):
    s, A, B, k = rows(n, 5)
    f = s[B].fuse(B.op.axis[0], k)
    assert f.iter_type == REDUCE
    if n == 7:
        golden(text(s, [A, B]))
        s[B].split(f, 4)
    right(s, [A, B], numbers(n, 5).sum(1), inputs=[numbers(n, 5)])


def test_a_part_of_the_data_with_a_part_of_the_reduction():
    s, A, B, k = rows(7, 5)
    io, ii = s[B].split(B.op.axis[0], 3)
    ko, ki = s[B].split(k, 2)
    s[B].reorder(io, ko, ii, ki)
    s[B].fuse(ii, ki)
    right(s, [A, B], numbers(7, 5).sum(1), inputs=[numbers(7, 5)])
    s[B].reorder(s[B].leaf_iter_vars[2], ko)
    right(s, [A, B], numbers(7, 5).sum(1), inputs=[numbers(7, 5)])


def test_axes_of_different_widths():
    A = te.placeholder((te.const(4, "int64"), 3), name="A")
    C = te.compute(A.shape, lambda i, j: A[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    assert s[C].fuse(*C.op.axis).var.dtype == "int64"
    right(s, [A, C], numbers(4, 3) + 1, inputs=[numbers(4, 3)])


def of(call):
    def act():
        s, A, B, C, k = matmul()
        return call(s, C, *C.op.axis, k)

    return act


def bound(s, C, i, j, k):
    s[C].bind(j, te.thread_axis("threadIdx.x"))
    s[C].fuse(i, j)


def gone(s, C, i, j, k):
    fused = s[C].fuse(i, j)
    s[C].fuse(j, k)
    return fused


REFUSED = {
    "apart": (ScheduleError, of(lambda s, C, i, j, k: s[C].fuse(i, k))),
    "itself": (ScheduleError, of(lambda s, C, i, j, k: s[C].fuse(i, i))),
    "bound": (ScheduleValueError, of(bound)),
    "gone": (ScheduleError, of(gone)),
    "thread": (ScheduleError, of(lambda s, C, i, j, k: s[C].fuse(i, te.thread_axis("threadIdx.x")))),
    "opaque": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s[S].fuse(*S.op.axis))(*scan())),
    "word": (TypeError, of(lambda s, C, i, j, k: s[C].fuse("i", "j"))),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
