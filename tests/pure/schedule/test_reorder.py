"""reorder: some loops take each other's places; what it refuses."""

import pytest

from tests.pure.schedule.programs import comes_back, matmul, numbers, refusal, right, scan, step
from tvmlab.core.error import ScheduleError


def test_all(golden):
    s, A, B, C, k = matmul(4)
    i, j = C.op.axis
    step(golden, s, [A, B, C], lambda: s[C].reorder(k, j, i))
    right(s, [A, B, C], numbers(4, 4) @ numbers(4, 4), inputs=[numbers(4, 4)] * 2)


def test_the_others_stay():
    s, A, B, C, k = matmul()
    i, j = C.op.axis
    s[C].reorder(k, i)
    assert s[C].leaf_iter_vars == [k, j, i]
    s[C].reorder()
    s[C].reorder(j)
    assert s[C].leaf_iter_vars == [k, j, i]
    comes_back(s, [A, B, C])


def of(call):
    def act():
        s, A, B, C, k = matmul()
        return call(s, C, *C.op.axis, k)

    return act


def parent(s, C, i, j, k):
    io, ii = s[C].split(i, 4)
    s[C].reorder(i, j)


REFUSED = {
    "twice": (ScheduleError, of(lambda s, C, i, j, k: s[C].reorder(i, j, i))),
    "not a leaf": (ScheduleError, of(parent)),
    "list": (TypeError, of(lambda s, C, i, j, k: s[C].reorder([i, j]))),
    "scan": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s[S].reorder(S.op.scan_axis))(*scan())),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
