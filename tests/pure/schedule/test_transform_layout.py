"""transform_layout: results in another order; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, comes_back, extern, numbers, refusal, right, rows, scan, step
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleValueError


def test_panels(golden):
    s, A, B, C = chain(10, 3)
    axes = step(golden, s, [A, C], lambda: s[B].transform_layout(lambda i, k: [i // 4, k, i % 4]))
    assert s[B].leaf_iter_vars == list(axes)
    right(s, [A, C], (numbers(10, 3) + 1) * 2, inputs=[numbers(10, 3)])


def test_an_argument_is_passed_in_the_new_order():
    s, A, B, C = chain(4, 3)
    s[C].transform_layout(lambda i, j: [j, i])
    s[A].transform_layout(lambda i, j: [i * 3 + j])
    comes_back(s, [A, C])
    a = numbers(4, 3)
    right(s, [A, C], ((a + 1) * 2).T.copy(), inputs=[a.reshape(-1)])


def test_an_axis_separator():
    s, A, B, C = chain(4, 3)
    s[B].transform_layout(lambda i, j: [j, te.AXIS_SEPARATOR, i])
    assert "te.AXIS_SEPARATOR" in s.to_code()
    comes_back(s, [A, C])


def test_the_loops_of_a_reduction_follow():
    s, A, B, k = rows(6, 5)
    C = te.compute((6,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    p, q = s[B].transform_layout(lambda i: [i % 2, i // 2])
    s[B].reorder(k, q)
    right(s, [A, C], numbers(6, 5).sum(1) + 1, inputs=[numbers(6, 5)])


def of(call):
    def act():
        s, A, B, C = chain()
        return call(s, A, B, C)

    return act


def twice(s, A, B, C):
    s[B].transform_layout(lambda i, j: [j, i])
    s[B].transform_layout(lambda i, j: [j, i])


def split_before(s, A, B, C):
    s[B].split(B.op.axis[0], 4)
    s[B].transform_layout(lambda i, j: [j, i])


def aligned(s, A, B, C):
    s[B].storage_align(B.op.axis[0], 8, 1)
    s[B].transform_layout(lambda i, j: [j, i])


def bound(s, A, B, C):
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    s[B].transform_layout(lambda i, j: [j, i])


REFUSED = {
    "twice": (ScheduleError, of(twice)),
    "split before": (ScheduleError, of(split_before)),
    "aligned": (ScheduleError, of(aligned)),
    "bound": (ScheduleValueError, of(bound)),
    "too few arguments": (ScheduleError, of(lambda s, A, B, C: s[B].transform_layout(lambda i: [i]))),
    "not invertible": (ScheduleError, of(lambda s, A, B, C: s[B].transform_layout(lambda i, j: [i, j // 2]))),
    "a sum": (ScheduleError, of(lambda s, A, B, C: s[B].transform_layout(lambda i, j: [i + j, j]))),
    "left out": (ScheduleError, of(lambda s, A, B, C: s[B].transform_layout(lambda i, j: [i]))),
    "no function": (TypeError, of(lambda s, A, B, C: s[B].transform_layout([1, 0]))),
    "scan": (
        ScheduleError,
        lambda: (lambda s, X, init, update, S, D: s[S].transform_layout(lambda t, i: [i, t]))(*scan()),
    ),
    "scan update": (
        ScheduleError,
        lambda: (lambda s, X, init, update, S, D: s[update].transform_layout(lambda t, i: [i, t]))(*scan()),
    ),
    "extern": (ScheduleError, lambda: (lambda s, A, E, C: s[E].transform_layout(lambda i: [i // 2, i % 2]))(*extern())),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
