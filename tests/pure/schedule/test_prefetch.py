"""prefetch: the step (the pass has tests of its own); what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, numbers, refusal, right, step
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleTypeError, ScheduleValueError


def test_ahead(golden):
    s, A, B, C = chain(4, 8)
    step(golden, s, [A, C], lambda: s[C].prefetch(B, C.op.axis[0], 1))
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


def of(call):
    def act():
        s, A, B, C = chain()
        return call(s, A, B, C, C.op.axis[0])

    return act


REFUSED = {
    "no tensor": (ScheduleTypeError, of(lambda s, A, B, C, i: s[C].prefetch("B", i, 1))),
    "foreign": (ScheduleValueError, of(lambda s, A, B, C, i: s[C].prefetch(te.placeholder((4,), name="X"), i, 1))),
    "offset": (ScheduleTypeError, of(lambda s, A, B, C, i: s[C].prefetch(B, i, 0.5))),
    "axis of another": (ScheduleError, of(lambda s, A, B, C, i: s[B].prefetch(A, i, 1))),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
