"""compute_root: undoes compute_at and compute_inline; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, comes_back, refusal, scan, text
from tvmlab.core.error import ScheduleError


@pytest.mark.parametrize("place", ["at", "inline"])
def test_it_undoes(golden, place):
    s, A, B, C = chain(4, 8)
    whole = text(s, [A, C])
    s[B].compute_at(s[C], C.op.axis[0]) if place == "at" else s[B].compute_inline()
    golden(text(s, [A, C]), "before")
    s[B].compute_root()
    assert text(s, [A, C]) == whole
    golden(whole, "after")
    assert s[B].attach_type == 1 and s[B].attach_stage is None
    comes_back(s, [A, C])


REFUSED = {
    "input": (ScheduleError, lambda: (lambda s, A, B, C: s[A].compute_root())(*chain())),
    "scan update": (ScheduleError, lambda: (lambda s, X, init, update, S, D: s[update].compute_root())(*scan())),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
