"""parallel: the mark, the loops after its pass; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, numbers, refusal, right, rows, scan, step
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleValueError


def test_the_loop(golden):
    s, A, B, C = chain(4, 8)
    i, j = C.op.axis
    step(golden, s, [A, C], lambda: s[C].parallel(i))
    assert s[C].iter_var_attrs[i].iter_type == te.schedule.IterVar.Parallelized
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


def test_a_tail(golden):
    s, A, B, C = chain(3, 10)
    o, x = s[C].split(C.op.axis[1], 4)
    step(golden, s, [A, C], lambda: s[C].parallel(x))
    right(s, [A, C], (numbers(3, 10) + 1) * 2, inputs=[numbers(3, 10)])


def of(call):
    def act():
        s, A, B, k = rows()
        return call(s, B, B.op.axis[0], k)

    return act


def bound(s, B, i, k):
    s[B].bind(i, te.thread_axis("threadIdx.x"))
    s[B].parallel(i)


def parent(s, B, i, k):
    xo, xi = s[B].split(i, 4)
    s[B].parallel(i)


def part(s, B, i, k):
    ko, ki = s[B].split(k, 4)
    s[B].parallel(ki)


REFUSED = {
    "reduction": (ScheduleError, of(lambda s, B, i, k: s[B].parallel(k))),
    "part of a reduction": (ScheduleError, of(part)),
    "data fused with a reduction": (ScheduleError, of(lambda s, B, i, k: s[B].parallel(s[B].fuse(i, k)))),
    "scan": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s[S].parallel(S.op.scan_axis))(*scan())),
    "bound": (ScheduleValueError, of(bound)),
    "not a leaf": (ScheduleError, of(parent)),
    "number": (TypeError, of(lambda s, B, i, k: s[B].parallel(0))),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
