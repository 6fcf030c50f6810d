"""set_store_predicate: stores under a condition over threads."""

import pytest

from tests.pure.schedule.programs import chain, numbers, refusal, right, step
from tvmlab import te
from tvmlab.core.error import ScheduleError, TVMError


def test_one_thread_stores(golden):
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((4, 8), lambda i, j: B[i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    tx = te.thread_axis((0, 8), "threadIdx.x")
    s[C].bind(C.op.axis[1], tx)
    s[B].set_scope("shared")
    s[B].compute_at(s[C], C.op.axis[1])
    step(golden, s, [A, C], lambda: s[B].set_store_predicate(tx.var.equal(0)))
    import numpy as np

    right(s, [A, C], np.repeat((numbers(4) + 1) * 2, 8).reshape(4, 8), inputs=[numbers(4)])
    assert s[B].store_predicate is not None


REFUSED = {
    "no condition": (TVMError, lambda: (lambda s, A, B, C: s[C].set_store_predicate("first"))(*chain())),
    "input": (ScheduleError, lambda: (lambda s, A, B, C: s[A].set_store_predicate(True))(*chain())),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
