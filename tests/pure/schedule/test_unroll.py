"""unroll: a mark until code is made; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, numbers, refusal, right, rows, step
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleValueError


def test_the_loop(golden):
    s, A, B, k = rows(4, 3)
    step(golden, s, [A, B], lambda: s[B].unroll(k))
    right(s, [A, B], numbers(4, 3).sum(1), inputs=[numbers(4, 3)])


def bound():
    s, A, B, C = chain()
    s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.x"))
    s[C].unroll(C.op.axis[0])


def other():
    s, A, B, C = chain()
    s[C].unroll(B.op.axis[0])


REFUSED = {"bound": (ScheduleValueError, bound), "of another stage": (ScheduleError, other)}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
