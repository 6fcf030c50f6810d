"""split: factor, nparts, tails, clamping, names; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, comes_back, numbers, refusal, right, rows, scan, step, text
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleTypeError, ScheduleValueError
from tvmlab.core.node import ORDERED, REDUCE


def test_a_factor(golden):
    s, A, B, C = chain(10)
    xo, xi = step(golden, s, [A, C], lambda: s[C].split(C.op.axis[0], factor=4))
    assert (xo.var.name, xi.var.name) == ("i.outer", "i.inner")
    assert s[C].leaf_iter_vars == [xo, xi, C.op.axis[1]]
    right(s, [A, C], (numbers(10, 8) + 1) * 2, inputs=[numbers(10, 8)])


def test_parts(golden):
    s, A, B, C = chain(10)
    step(golden, s, [A, C], lambda: s[C].split(C.op.axis[0], nparts=4))
    right(s, [A, C], (numbers(10, 8) + 1) * 2, inputs=[numbers(10, 8)])


def test_a_factor_that_divides_needs_no_test():
    s, A, B, C = chain(16)
    s[C].split(C.op.axis[0], 4)
    assert "if" not in text(s, [A, C])


def test_a_factor_above_the_extent_is_clamped():
    s, A, B, C = chain(5)
    xo, xi = s[C].split(C.op.axis[0], 64)
    assert (xo.dom.extent.value, xi.dom.extent.value) == (1, 5)
    xo, xi = s[B].split(B.op.axis[0], nparts=64)
    assert (xo.dom.extent.value, xi.dom.extent.value) == (5, 1)
    assert "64" not in text(s, [A, C])


def test_not_where_a_thread_needs_it():
    s, A, B, C = chain(5)
    xo, xi = s[C].split(C.op.axis[0], 64)
    s[C].bind(xi, te.thread_axis("threadIdx.x"))
    assert 'thread("threadIdx.x", 64)' in text(s, [A, C]) or "64" in text(s, [A, C])


def test_children_keep_the_type():
    s, A, B, k = rows()
    assert [a.iter_type for a in s[B].split(k, 4)] == [REDUCE, REDUCE]
    s, X, init, update, S, D = scan()
    assert [a.iter_type for a in s[S].split(S.op.scan_axis, 2)] == [ORDERED, ORDERED]


def test_nested_splits_that_do_not_divide_visit_each_point_once():
    s, A, B, C = chain(13, 1)
    o, i = s[C].split(C.op.axis[0], 5)
    s[C].split(i, 3)
    s[C].split(o, nparts=2)
    comes_back(s, [A, C])
    right(s, [A, C], (numbers(13, 1) + 1) * 2, inputs=[numbers(13, 1)])
    assert text(s, [A, C]).count("< 13") == 1  # each test once


def test_factors_of_other_types():
    import numpy as np

    s, A, B, C = chain(16)
    xo, _ = s[C].split(C.op.axis[0], np.int64(4))
    n = te.var("n")
    s[C].split(xo, n)
    assert "n" in text(s, [A, C])


def of(call, n=16):
    def act():
        s, A, B, C = chain(n)
        return call(s, C, *C.op.axis)

    return act


def split_twice(s, C, i, j):
    xo, xi = s[C].split(i, 4)
    s[C].split(i, 4)


def split_bound(s, C, i, j):
    s[C].bind(i, te.thread_axis("threadIdx.x"))
    s[C].split(i, 4)


REFUSED = {
    "neither": (ValueError, of(lambda s, C, i, j: s[C].split(i))),
    "both": (ValueError, of(lambda s, C, i, j: s[C].split(i, factor=2, nparts=2))),
    "zero": (ScheduleValueError, of(lambda s, C, i, j: s[C].split(i, 0))),
    "negative parts": (ScheduleValueError, of(lambda s, C, i, j: s[C].split(i, nparts=-3))),
    "float": (ScheduleTypeError, of(lambda s, C, i, j: s[C].split(i, 2.5))),
    "word": (ScheduleTypeError, of(lambda s, C, i, j: s[C].split(i, "4"))),
    "bool": (ScheduleTypeError, of(lambda s, C, i, j: s[C].split(i, True))),
    "twice": (ScheduleError, of(split_twice)),
    "bound": (ScheduleValueError, of(split_bound)),
    "no axis": (ScheduleTypeError, of(lambda s, C, i, j: s[C].split("i", 4))),
    "thread axis": (ScheduleError, of(lambda s, C, i, j: s[C].split(te.thread_axis("threadIdx.x"), 4))),
    "of another stage": (ScheduleError, of(lambda s, C, i, j: s[C].split(s.stages[1].op.axis[0], 4))),
    "too few arguments": (TypeError, of(lambda s, C, i, j: s[C].split())),
    "too many arguments": (TypeError, of(lambda s, C, i, j: s[C].split(i, 1, 2, 3))),
    "opaque": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s[S].split(S.op.axis[1], 2))(*scan())),
}


def test_a_dropped_mark_is_said():
    s, A, B, C = chain()
    s[C].vectorize(C.op.axis[1])
    with pytest.warns(UserWarning) as said:
        s[C].split(C.op.axis[1], 4)
    assert [str(w.message) for w in said] == ["`j` of stage C was marked vectorized; it is split, which drops that"]
    assert said[0].filename == __file__


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
