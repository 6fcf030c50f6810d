"""storage_align: padded strides; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, comes_back, numbers, refusal, right, scan, step, text
from tvmlab.core.error import ScheduleError, ScheduleTypeError, ScheduleValueError


def test_a_row_and_one(golden):
    s, A, B, C = chain(4, 8)
    step(golden, s, [A, C], lambda: s[B].storage_align(B.op.axis[0], 8, 1))
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


def test_the_axis_need_not_be_a_loop_any_more():
    s, A, B, C = chain(4, 8)
    s[B].split(B.op.axis[0], 2)
    s[B].storage_align(B.op.axis[0], factor=16, offset=4)
    assert "strides=(20, 1,)" in text(s, [A, C])
    comes_back(s, [A, C])
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


def test_a_new_dimension_after_transform_layout():
    s, A, B, C = chain(4, 8)
    p, q = s[B].transform_layout(lambda i, j: [j, i])
    s[B].storage_align(p, 8, 1)
    assert "strides=(9, 1,)" in text(s, [A, C])
    comes_back(s, [A, C])
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


def of(call):
    def act():
        s, A, B, C = chain()
        return call(s, A, B, *B.op.axis)

    return act


def part(s, A, B, i, j):
    xo, xi = s[B].split(i, 4)
    s[B].storage_align(xo, 8, 1)


REFUSED = {
    "part of a dimension": (ScheduleError, of(part)),
    "zero": (ScheduleValueError, of(lambda s, A, B, i, j: s[B].storage_align(i, 0, 1))),
    "float": (ScheduleTypeError, of(lambda s, A, B, i, j: s[B].storage_align(i, 1.5, 1))),
    "offset": (ScheduleTypeError, of(lambda s, A, B, i, j: s[B].storage_align(i, 8, None))),
    "no axis": (ScheduleTypeError, of(lambda s, A, B, i, j: s[B].storage_align(0, 8, 1))),
    "input": (ScheduleError, of(lambda s, A, B, i, j: s[A].storage_align(i, 8, 1))),
    "scan update": (
        ScheduleError,
        lambda: (lambda s, X, init, update, S, D: s[update].storage_align(update.op.axis[0], 8, 1))(*scan()),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
