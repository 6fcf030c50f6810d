"""double_buffer: the step (the pass has tests of its own); what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, numbers, refusal, right, scan, step
from tvmlab.core.error import ScheduleError


def test_one_iteration_ahead(golden):
    s, A, B, C = chain(4, 8)
    s[B].compute_at(s[C], C.op.axis[0])
    step(golden, s, [A, C], lambda: s[B].double_buffer())
    assert s[B].double_buffer_on
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


REFUSED = {
    "output": (ScheduleError, lambda: (lambda s, A, B, C: s[C].double_buffer())(*chain())),
    "input": (ScheduleError, lambda: (lambda s, A, B, C: s[A].double_buffer())(*chain())),
    "scan update": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s[update].double_buffer())(*scan())),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
