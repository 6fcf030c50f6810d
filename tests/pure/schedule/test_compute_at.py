"""compute_at: the part that one iteration needs; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, comes_back, matmul, numbers, refusal, right, scan, step, text
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleValueError


def test_inside_a_loop(golden):
    s, A, B, C = chain(4, 8)
    step(golden, s, [A, C], lambda: s[B].compute_at(s[C], C.op.axis[0]))
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])
    assert s[B].attach_type == 4 and s[B].attach_stage == s[C] and s[B].attach_ivar is C.op.axis[0]


def test_a_window_is_computed_with_its_border(golden):
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] + B[i + 2], name="C")
    s = te.create_schedule(C.op)
    xo, xi = s[C].split(C.op.axis[0], 3)
    step(golden, s, [A, C], lambda: s[B].compute_at(s[C], xo))
    a = numbers(10)
    right(s, [A, C], a[:-2] + a[2:] + 2, inputs=[a])


def test_in_the_order_of_producers(golden):
    """The producer is attached before its reader is: classic code does that."""
    A = te.placeholder((6,), name="A")
    B = te.compute((6,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((6,), lambda i: B[i] * 2.0, name="C")
    D = te.compute((6,), lambda i: C[i] - B[i], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[D], D.op.axis[0])
    (owed,) = s.check()
    golden(str(owed), "owed")
    s[C].compute_at(s[D], D.op.axis[0])
    assert s.check() == []
    golden(text(s, [A, D]))
    comes_back(s, [A, D])
    right(s, [A, D], numbers(6) + 1, inputs=[numbers(6)])


@pytest.mark.parametrize("step_", ["split", "fuse", "cache_write", "reorder"])
def test_the_loop_is_followed_when_it_changes(step_):
    s, A, B, C = chain(4, 8)
    i, j = C.op.axis
    s[B].compute_at(s[C], j)
    if step_ == "split":
        s[C].split(j, 3)
    elif step_ == "fuse":
        s[C].fuse(i, j)
    elif step_ == "reorder":
        s[C].reorder(j, i)
    else:
        s.cache_write(B, "local")
    comes_back(s, [A, C])
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


def test_a_reduction_is_initialised_inside():
    s, A, B, C, k = matmul(4)
    D = te.compute((4, 4), lambda i, j: C[i, j] + 1.0, name="D")
    s = te.create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[1])
    right(s, [A, B, D], numbers(4, 4) @ numbers(4, 4) + 1, inputs=[numbers(4, 4)] * 2)


def of(call):
    def act():
        s, A, B, C = chain()
        D = te.compute(C.shape, lambda i, j: C[i, j] + A[i, j], name="D")
        s = te.create_schedule(D.op)
        return call(s, A, B, C, D)

    return act


def cycle(s, A, B, C, D):
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].compute_at(s[B], B.op.axis[0])


def foreign(s, A, B, C, D):
    t = te.create_schedule(D.op)
    s[B].compute_at(t[C], C.op.axis[0])


def parent(s, A, B, C, D):
    xo, xi = s[C].split(C.op.axis[0], 4)
    s[B].compute_at(s[C], C.op.axis[0])


def unrelated():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: A[i] * 2.0, name="C")
    D = te.compute((8,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[C], C.op.axis[0])


REFUSED = {
    "output": (ScheduleError, of(lambda s, A, B, C, D: s[D].compute_at(s[C], C.op.axis[0]))),
    "input": (ScheduleError, of(lambda s, A, B, C, D: s[A].compute_at(s[B], B.op.axis[0]))),
    "itself": (ScheduleError, of(lambda s, A, B, C, D: s[C].compute_at(s[C], C.op.axis[0]))),
    "cycle": (ScheduleError, of(cycle)),
    "another schedule": (ValueError, of(foreign)),
    "unrelated": (ScheduleError, unrelated),
    "upstream": (ScheduleError, of(lambda s, A, B, C, D: s[C].compute_at(s[B], B.op.axis[0]))),
    "not a leaf": (ScheduleError, of(parent)),
    "axis of another": (ScheduleError, of(lambda s, A, B, C, D: s[B].compute_at(s[C], D.op.axis[0]))),
    "no axis": (TypeError, of(lambda s, A, B, C, D: s[B].compute_at(s[C], 0))),
    "scan update": (
        ScheduleError,
        lambda: (lambda s, X, init, update, S, D: s[update].compute_at(s[D], D.op.axis[0]))(*scan()),
    ),
}


def test_the_value_error_is_one():
    s, A, B, C = chain()
    t = te.create_schedule(C.op)
    with pytest.raises(ScheduleValueError):
        s[B].compute_at(t[C], C.op.axis[0])
    with pytest.raises(ScheduleValueError):  # of a fork too: its steps are its own
        s[B].compute_at(s.fork()[C], C.op.axis[0])


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
