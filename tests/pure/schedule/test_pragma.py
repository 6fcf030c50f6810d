"""pragma: notes on loops, unroll and vectorize by name; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, comes_back, refusal, rows, step
from tvmlab import te
from tvmlab.core.error import ScheduleError


def test_a_note(golden):
    s, A, B, C = chain()
    step(golden, s, [A, C], lambda: s[C].pragma(C.op.axis[0], "unroll_explicit", True))
    attr = s[C].iter_var_attrs[C.op.axis[0]]
    assert [k.value for k in attr.pragma_keys] == ["unroll_explicit"] and attr.pragma_values == [True]


def test_several_notes_are_kept():
    s, A, B, C = chain()
    s[C].pragma(C.op.axis[0], "auto_unroll_max_step", 16)
    s[C].pragma(C.op.axis[0], "note")
    assert len(s[C].iter_var_attrs[C.op.axis[0]].pragma_keys) == 2
    comes_back(s, [A, C])


@pytest.mark.parametrize("name", ["unroll", "vectorize"])
def test_by_name(name):
    s, A, B, C = chain()
    t = s.fork()
    s[C].pragma(C.op.axis[1], name)
    getattr(t[C], name)(C.op.axis[1])
    assert s[C].iter_var_attrs[C.op.axis[1]].iter_type == t[C].iter_var_attrs[C.op.axis[1]].iter_type != 0
    comes_back(s, [A, C])


def reduction():
    s, A, B, k = rows()
    s[B].pragma(k, "vectorize")


def thread():
    s, A, B, k = rows()
    s[B].pragma(te.thread_axis("threadIdx.x"), "note")


REFUSED = {"vectorize a reduction": (ScheduleError, reduction), "thread axis": (ScheduleError, thread)}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
