"""bind: thread axes, reductions on threads, binding again; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, comes_back, numbers, refusal, right, rows, scan, step
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleTypeError


def test_a_data_loop(golden):
    s, A, B, C = chain(4, 8)
    s[B].compute_inline()
    step(golden, s, [A, C], lambda: s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x")))
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


def test_a_reduction_on_threads_of_a_block(golden):
    s, A, B, k = rows(4, 16)
    ko, ki = s[B].split(k, 4)
    step(golden, s, [A, B], lambda: s[B].bind(ki, te.thread_axis("threadIdx.x")))
    right(s, [A, B], numbers(4, 16).sum(1), inputs=[numbers(4, 16)])


def test_a_data_loop_inside_the_reduction_is_hoisted(golden):
    s, A, B, k = rows(4, 6)
    s[B].reorder(k, B.op.axis[0])
    step(golden, s, [A, B], lambda: s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x")))
    right(s, [A, B], numbers(4, 6).sum(1), inputs=[numbers(4, 6)])


def test_binding_again_is_said():
    s, A, B, C = chain()
    s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.x"))
    with pytest.warns(UserWarning) as said:
        s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    assert [str(w.message) for w in said] == ["`i` of stage C was bound to threadIdx.x, now to blockIdx.x"]
    assert s[C].iter_var_attrs[C.op.axis[0]].bind_thread.thread_tag == "blockIdx.x"
    comes_back(s, [A, C])


def test_a_mark_gives_way():
    s, A, B, C = chain()
    s[C].parallel(C.op.axis[0])
    with pytest.warns(UserWarning, match="was marked parallel; it is bound to threadIdx.x, which drops that"):
        s[C].bind(C.op.axis[0], te.thread_axis("threadIdx.x"))


def of(call):
    def act():
        s, A, B, k = rows()
        return call(s, B, B.op.axis[0], k)

    return act


def named_part(s, B, i, k):
    ko, ki = s[B].split(k, 4)
    s[B].bind(ki, te.thread_axis("blockIdx.y"))


REFUSED = {
    "no thread axis": (ScheduleTypeError, of(lambda s, B, i, k: s[B].bind(i, k))),
    "word": (ScheduleTypeError, of(lambda s, B, i, k: s[B].bind(i, "threadIdx.x"))),
    "thread to thread": (
        ScheduleError,
        of(lambda s, B, i, k: s[B].bind(te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y"))),
    ),
    "reduction on blocks": (ScheduleError, of(named_part)),
    "reduction on virtual threads": (ScheduleError, of(lambda s, B, i, k: s[B].bind(k, te.thread_axis("vthread")))),
    "scan": (
        ScheduleError,
        lambda: (lambda s, X, init, update, S, D: s[S].bind(S.op.scan_axis, te.thread_axis("threadIdx.x")))(*scan()),
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
