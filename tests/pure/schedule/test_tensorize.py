"""tensorize: the step (matching has tests of its own); what it refuses."""

import pytest

from tests.intrins import gemv
from tests.pure.schedule.programs import numbers, refusal, right, scan, step
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleTypeError, ScheduleValueError


def matvec(m=16, n=8):
    A, x = te.placeholder((m, n), name="A"), te.placeholder((n,), name="x")
    k = te.reduce_axis((0, n), name="k")
    y = te.compute((m,), lambda i: te.sum(A[i, k] * x[k], axis=k), name="y")
    return te.create_schedule(y.op), A, x, y, k


def test_a_call(golden):
    s, A, x, y, k = matvec()
    yo, yi = s[y].split(y.op.axis[0], 4)
    call = gemv(4, 8)
    step(golden, s, [A, x, y], lambda: s[y].tensorize(yi, call), gemv_4x8=call)
    right(s, [A, x, y], numbers(16, 8) @ numbers(8), inputs=[numbers(16, 8), numbers(8)])


def bound():
    s, A, x, y, k = matvec()
    s[y].bind(y.op.axis[0], te.thread_axis("threadIdx.x"))
    s[y].tensorize(y.op.axis[0], gemv(16, 8))


REFUSED = {
    "no intrinsic": (ScheduleTypeError, lambda: (lambda s, A, x, y, k: s[y].tensorize(k, "gemv"))(*matvec())),
    "bound": (ScheduleValueError, bound),
    "scan": (
        ScheduleError,
        lambda: (lambda s, X, init, update, S, D: s[S].tensorize(S.op.scan_axis, gemv(4, 8)))(*scan()),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
