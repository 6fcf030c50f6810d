"""create_group, attach_group and detach_group as steps; what they refuse (tests/pure/test_groups.py has the rest)."""

import pytest

from tests.pure.schedule.programs import numbers, refusal, right, step
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleValueError


def long():
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, 8), lambda i, j: B[i, j] * 2.0, name="C")
    D = te.compute((4, 8), lambda i, j: C[i, j] - B[i, j], name="D")
    return te.create_schedule(D.op), A, B, C, D


def test_attached_and_detached(golden):
    s, A, B, C, D = long()
    g = s.create_group(outputs=C, inputs=A)
    step(golden, s, [A, D], lambda: g.compute_at(s[D], D.op.axis[0]), "attach.")
    right(s, [A, D], numbers(4, 8) + 1, inputs=[numbers(4, 8)])
    step(golden, s, [A, D], lambda: g.compute_root(), "detach.")


def crossing():
    s, A, B, C, D = long()
    s.create_group(C, A)
    s.create_group(D, B)


def gone():
    s, A, B, C, D = long()
    g = s.create_group(C, A)
    s.undo()
    g.compute_at(s[D], D.op.axis[0])


def of(call):
    def act():
        s, A, B, C, D = long()
        return call(s, s.create_group(C, A), A, B, C, D)

    return act


def output(s, g, A, B, C, D):
    s.undo()
    s.create_group(D, A).compute_at(s[C], C.op.axis[0])


REFUSED = {
    "nothing between": (ScheduleError, lambda: (lambda s, A, B, C, D: s.create_group(B, D))(*long())),
    "crossing": (ScheduleError, crossing),
    "foreign": (
        ScheduleValueError,
        lambda: (lambda s, A, B, C, D: s.create_group(B, te.placeholder((1,), name="X")))(*long()),
    ),
    "undone": (ScheduleValueError, gone),
    "attach inside itself": (ScheduleError, of(lambda s, g, A, B, C, D: g.compute_at(s[C], C.op.axis[0]))),
    "attach an output": (ScheduleError, of(output)),
    "attach at no loop": (ScheduleError, of(lambda s, g, A, B, C, D: g.compute_at(s[D], C.op.axis[0]))),
    "attach to another schedule": (
        ScheduleValueError,
        of(lambda s, g, A, B, C, D: g.compute_at(te.create_schedule(D.op)[D], D.op.axis[0])),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
