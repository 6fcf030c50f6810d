"""cache_write: computed into a cache, then copied; relayout; what it refuses."""

import pytest

from tests.pure.schedule.programs import (
    chain,
    comes_back,
    matmul,
    numbers,
    pair,
    refusal,
    right,
    rows,
    scan,
    step,
)
from tvmlab.core.error import ScheduleError


def test_a_cache(golden):
    s, A, B, k = rows(4, 8)
    BL = step(golden, s, [A, B], lambda: s.cache_write(B, "local"))
    assert BL.op.name == "B.local" and s[BL].scope == "local"
    assert [a.var.name for a in s[BL].op.axis] == ["i.c"] and s[BL].op.reduce_axis[0] is k
    assert s[B].op.reduce_axis == () and B.op is not s[B].op and s[B].origin_op is B.op
    right(s, [A, B], numbers(4, 8).sum(1), inputs=[numbers(4, 8)])


def test_its_reduction_is_its_own():
    s, A, B, C, k = matmul(4)
    CL = s.cache_write(C, "local")
    with pytest.raises(ScheduleError, match="cannot split `k` in stage C: it is an axis of stage C.local"):
        s[C].split(k, 2)
    ko, ki = s[CL].split(k, 2)
    s[CL].reorder(ko, *s[CL].op.axis, ki)
    s[CL].compute_at(s[C], C.op.axis[0])  # the axes stay with C
    comes_back(s, [A, B, C])
    right(s, [A, B, C], numbers(4, 4) @ numbers(4, 4), inputs=[numbers(4, 4)] * 2)


def test_loops_that_were_split_give_it_its_layout(golden):
    s, A, B, C = chain(10, 8)
    xo, xi = s[C].split(C.op.axis[0], 4)
    s[C].reorder(xo, C.op.axis[1], xi)
    CL = step(golden, s, [A, C], lambda: s.cache_write(C, "global"))
    assert [d.value for d in CL.shape] == [3, 8, 4]
    right(s, [A, C], (numbers(10, 8) + 1) * 2, inputs=[numbers(10, 8)])


def test_all_outputs_together(golden):
    s, A, S, P, C = pair()
    SL, PL = step(golden, s, [A, C], lambda: s.cache_write([S, P], "local"))
    assert SL.op is PL.op and SL.op.name == "T.local"
    right(s, [A, C], numbers(8) * 3 + 1, inputs=[numbers(8)])


def test_again_gets_another_name():
    s, A, B, C = chain()
    assert s.cache_write(B, "local").op.name == "B.local"
    assert s.cache_write(B, "local").op.name == "B.local.d"
    comes_back(s, [A, C])
    right(s, [A, C], (numbers(16, 8) + 1) * 2, inputs=[numbers(16, 8)])


def test_tensors_from_before_still_find_their_stage():
    s, A, B, k = rows()
    BL = s.cache_write(B, "local")
    assert s[B].op.input_tensors == [BL] and s[B.op].op is s[B].op
    s[B].split(s[B].op.axis[0], 4)


def split_first():
    s, A, B, k = rows()
    s[B].split(k, 4)
    s.cache_write(B, "local")


def one_of_two():
    s, A, S, P, C = pair()
    s.cache_write(S, "local")


def of_two_stages():
    s, A, B, C = chain()
    s.cache_write([B, C], "local")


def transformed():
    s, A, B, C = chain()
    s[B].transform_layout(lambda i, j: [j, i])
    s.cache_write(B, "local")


REFUSED = {
    "split reduction": (ScheduleError, split_first),
    "one of two outputs": (ScheduleError, one_of_two),
    "outputs of two stages": (ScheduleError, of_two_stages),
    "empty": (ScheduleError, lambda: (lambda s, A, B, C: s.cache_write([], "local"))(*chain())),
    "input": (ScheduleError, lambda: (lambda s, A, B, C: s.cache_write(A, "local"))(*chain())),
    "unknown scope": (ScheduleError, lambda: (lambda s, A, B, C: s.cache_write(C, "fast"))(*chain())),
    "scan": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s.cache_write(S, "local"))(*scan())),
    "scan update": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s.cache_write(update, "local"))(*scan())),
    "after transform_layout": (ScheduleError, transformed),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
