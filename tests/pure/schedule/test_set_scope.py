"""set_scope: the memory of a stage; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, comes_back, numbers, refusal, right, step
from tvmlab.core.error import ScheduleValueError


def test_another_memory(golden):
    s, A, B, C = chain(4, 8)
    step(golden, s, [A, C], lambda: s[B].set_scope("local"))
    assert s[B].scope == "local"
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


@pytest.mark.parametrize("scope", ["shared.dyn", "local.inp_buffer", "global.vtcm", "wmma.accumulator"])
def test_tags_follow_a_name(scope):
    s, A, B, C = chain()
    s[B].set_scope(scope)
    comes_back(s, [A, C])


REFUSED = {
    "unknown": (ScheduleValueError, lambda: (lambda s, A, B, C: s[B].set_scope("fast"))(*chain())),
    "begins like one": (ScheduleValueError, lambda: (lambda s, A, B, C: s[B].set_scope("locality"))(*chain())),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
