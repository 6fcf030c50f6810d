"""env_threads: threads around a scan; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, numbers, refusal, right, scan, step
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleTypeError


def threads(s, S):
    s[S].env_threads([te.thread_axis((0, 4), "threadIdx.x", name="tx")])


def test_around_the_scan(golden):
    s, X, init, update, S, D = scan()
    tx = te.thread_axis((0, 4), "threadIdx.x", name="tx")
    s[init].bind(init.op.axis[1], tx)
    s[update].bind(update.op.axis[1], tx)
    step(golden, s, [X, D], lambda: s[S].env_threads([tx]))
    assert s[S].record.env_threads == (tx,)
    right(s, [X, D], numbers(6, 4).cumsum(0) + 1, inputs=[numbers(6, 4)])


def twice():
    s, X, init, update, S, D = scan()
    threads(s, S)
    threads(s, S)


REFUSED = {
    "no scan": (ScheduleError, lambda: (lambda s, A, B, C: threads(s, C))(*chain())),
    "twice": (ScheduleError, twice),
    "no thread": (
        ScheduleTypeError,
        lambda: (lambda s, X, init, update, S, D: s[S].env_threads([D.op.axis[0]]))(*scan()),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
