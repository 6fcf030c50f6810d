"""cache_read: readers read a copy; names; what it refuses."""

import pytest

from tests.pure.schedule.programs import chain, comes_back, numbers, pair, refusal, right, scan, step, text
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleValueError


def test_a_copy(golden):
    s, A, B, C = chain(4, 8)
    AS = step(golden, s, [A, C], lambda: s.cache_read(A, "shared", [B]))
    assert AS.op.name == "A.shared" and s[AS].scope == "shared"
    assert [x.op.name for x in s.stages] == ["A", "A.shared", "B", "C"]
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


def test_attached_where_it_is_read(golden):
    A = te.placeholder((10,), name="A")
    C = te.compute((8,), lambda i: A[i] + A[i + 1] + A[i + 2], name="C")
    s = te.create_schedule(C.op)
    AL = s.cache_read(A, "local", C)
    xo, xi = s[C].split(C.op.axis[0], 3)
    s[AL].compute_at(s[C], xo)
    golden(text(s, [A, C]))
    comes_back(s, [A, C])
    a = numbers(10)
    right(s, [A, C], a[:-2] + a[1:-1] + a[2:], inputs=[a])


def test_a_padded_input_is_not_read_outside():
    A = te.placeholder((6,), name="A")
    C = te.compute((8,), lambda i: te.if_then_else(te.all(i >= 1, i < 7), A[i - 1], 0.0), name="C")
    s = te.create_schedule(C.op)
    AL = s.cache_read(A, "local", [C])
    s[AL].compute_at(s[C], C.op.axis[0])
    a = numbers(6)
    import numpy as np

    right(s, [A, C], np.pad(a, 1), inputs=[a])


def test_names():
    s, A, B, C = chain()
    AS = s.cache_read(A, "shared", [B])
    assert (AS.op.name, s.cache_read(A, "shared", [AS]).op.name) == ("A.shared", "A.shared.d")
    s, A, S, P, C = pair()
    assert s.cache_read(P, "local", [C]).op.name == "T.v1.local"
    comes_back(s, [A, C])
    right(s, [A, C], numbers(8) * 3 + 1, inputs=[numbers(8)])


def test_some_of_the_readers():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] * A[i], name="C")
    s = te.create_schedule(C.op)
    AL = s.cache_read(A, "local", [C])
    assert AL in s[C].op.input_tensors and AL not in s[B].op.input_tensors
    right(s, [A, C], (numbers(8) + 1) * numbers(8), inputs=[numbers(8)])


def of(call):
    def act():
        s, A, B, C = chain()
        return call(s, A, B, C)

    return act


def renamed(s, A, B, C):
    """The readers were changed first: they read something else now."""
    s.cache_read(A, "local", [B])
    s.cache_read(A, "shared", [B])


REFUSED = {
    "not a reader": (ScheduleError, of(lambda s, A, B, C: s.cache_read(A, "local", [C]))),
    "no readers": (ScheduleError, of(lambda s, A, B, C: s.cache_read(A, "local", []))),
    "replaced before": (ScheduleError, of(renamed)),
    "unknown scope": (ScheduleError, of(lambda s, A, B, C: s.cache_read(A, "texture memory", [B]))),
    "foreign": (ScheduleValueError, of(lambda s, A, B, C: s.cache_read(te.placeholder((4,), name="X"), "local", [B]))),
    "foreign reader": (ValueError, of(lambda s, A, B, C: s.cache_read(A, "local", [chain()[2]]))),
    "update of a scan": (
        ScheduleError,
        lambda: (lambda s, X, init, update, S, D: s.cache_read(update, "local", [S.op]))(*scan()),
    ),
}


def test_it_is_a_step_of_the_schedule():
    s, A, B, C = chain()
    message = r"^stage A has no `cache_read`: it is a step of the whole schedule, s.cache_read"
    with pytest.raises(AttributeError, match=message):
        s[A].cache_read("local", [B])


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(*REFUSED[case]))
