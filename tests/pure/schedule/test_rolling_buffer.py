"""rolling_buffer: the step (the pass has tests of its own); what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, extern, numbers, refusal, right, scan, step
from tvmlab import te
from tvmlab.core.error import ScheduleError


def test_a_window(golden):
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] + B[i + 1] + B[i + 2], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    step(golden, s, [A, C], lambda: s[B].rolling_buffer())
    a = numbers(10)
    right(s, [A, C], a[:-2] + a[1:-1] + a[2:] + 3, inputs=[a])


REFUSED = {
    "output": (ScheduleError, lambda: (lambda s, A, B, C: s[C].rolling_buffer())(*chain())),
    "input": (ScheduleError, lambda: (lambda s, A, B, C: s[A].rolling_buffer())(*chain())),
    "root": (ScheduleError, lambda: (lambda s, A, B, C: s[B].rolling_buffer())(*chain())),
    "extern": (ScheduleError, lambda: (lambda s, A, E, C: s[E].rolling_buffer())(*extern())),
    "scan update": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s[update].rolling_buffer())(*scan())),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
