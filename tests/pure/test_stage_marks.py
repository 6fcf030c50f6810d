"""storage_align, set_scope, set_store_predicate, pragma, env_threads: what they do to the loops."""

import pytest

from tests.pure.passes.ir import nodes
from tests.pure.passes.schedules import numbers, run, with_, without
from tvmlab import te
from tvmlab.core.error import LabError, ScheduleError, ScheduleTypeError
from tvmlab.core.node import Alloc, Attr, For, If
from tvmlab.core.text import show
from tvmlab.core.walk import constant
from tvmlab.face.api import create_schedule


def two(n=6, m=10):
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((n, m), lambda i, j: B[i, j] * 2.0, name="C")
    return create_schedule(C.op), A, B, C


def memory(p, name):
    return next(a.buffer for a in nodes(p, Alloc) if a.buffer.name == name)


# ---------------------------------------------------------------- storage_align


@pytest.mark.parametrize("factor, offset, stride", [(16, 0, 16), (16, 8, 24), (4, 2, 10), (10, 0, 10), (3, 1, 10)])
def test_the_stride_is_offset_modulo_factor(factor, offset, stride):
    s, A, B, C = two()
    s[B].storage_align(B.op.axis[0], factor, offset)
    strides = memory(with_(s, [A, C]), "B").strides
    assert [constant(x) for x in strides] == [stride, 1] and (stride - offset) % factor == 0
    a = numbers(6, 10)
    assert (run(s, [A, C], [a, a]) == (a + 1) * 2).all()


def test_rows_of_the_attached_part_are_aligned(golden):
    s, A, B, C = two()
    s[B].compute_at(s[C], s[C].split(C.op.axis[0], factor=3)[0])
    s[B].storage_align(B.op.axis[0], 8, 4)
    golden(with_(s, [A, C]))
    a = numbers(6, 10)
    assert (run(s, [A, C], [a, a]) == (a + 1) * 2).all()


def test_symbolic_rows_are_aligned():
    n = te.size_var("n")
    s, A, B, C = two(n, n)
    s[B].storage_align(B.op.axis[0], 8, 3)
    a = numbers(5, 5)
    assert (run(s, [A, C], [a, a]) == (a + 1) * 2).all()
    assert "%8" in str(memory(with_(s, [A, C]), "B").strides[0])


# ---------------------------------------------------------------- set_scope


def test_the_scope_is_where_the_memory_is():
    s, A, B, C = two()
    assert memory(with_(s, [A, C]), "B").scope == "global"
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].set_scope("local")
    assert memory(with_(s, [A, C]), "B").scope == "local"
    with pytest.raises(ScheduleError, match="there is no storage scope `far away`"):
        s[B].set_scope("far away")


def test_without_one_the_threads_around_decide():
    for tag, scope in (("blockIdx.x", "shared"), ("threadIdx.x", "local")):
        s, A, B, C = two()
        s[C].bind(C.op.axis[0], te.thread_axis(tag))
        s[B].compute_at(s[C], C.op.axis[0])
        assert memory(with_(s, [A, C]), "B").scope == scope


# ---------------------------------------------------------------- set_store_predicate


def test_only_some_threads_store(golden):
    """A reduction across threads: every thread has the sum, one stores it; which one may be chosen."""
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    C = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="C")
    s = create_schedule(C.op)
    tx = te.thread_axis("threadIdx.x")
    s[C].bind(k, tx)
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    before = with_(s, [A, C])
    s[C].set_store_predicate(tx.var.equal(3))
    after = with_(s, [A, C])
    golden(after)
    assert [show(i.cond) for p in (before, after) for i in nodes(p, If)] == ["threadIdx_x == 0", "threadIdx_x == 3"]
    a = numbers(4, 8)
    assert (run(s, [A, C], [a, a[:, 0]]) == a.sum(1)).all()


# ---------------------------------------------------------------- pragma


def test_a_note_stays_with_its_loop():
    s, A, B, C = two()
    s[C].pragma(C.op.axis[0], "auto_unroll_max_step", 16)
    notes = [a for a in nodes(without(s, [A, C], "unroll_loops"), Attr) if a.key == "pragma_auto_unroll_max_step"]
    assert [a.about for a in notes] == [16] and [f.var.name for f in nodes(notes_program(notes[0]), For)] == ["j"]


def notes_program(attr):
    from tests.pure.passes.ir import program

    return program((), attr)


def test_unroll_and_vectorize_as_pragmas():
    s, A, B, C = two()
    s[C].pragma(C.op.axis[0], "unroll")
    s[C].pragma(C.op.axis[1], "vectorize")
    kinds = {f.var.name: f.kind for f in nodes(without(s, [A, C], "unroll_loops", "vectorize"), For)}
    assert "unrolled" in kinds.values() and "vectorized" in kinds.values()


# ---------------------------------------------------------------- env_threads


def test_threads_around_a_scan(golden):
    n, m = 5, 4
    X, state = te.placeholder((n, m), name="X"), te.placeholder((n, m), name="state")
    init = te.compute((1, m), lambda _, i: X[0, i], name="init")
    update = te.compute((n, m), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    scan = te.scan(init, update, state, inputs=[X], name="scan")
    s = create_schedule(scan.op)
    tx = te.thread_axis((0, m), "threadIdx.x")
    for t in (init, update):
        s[t].bind(t.op.axis[1], tx)
    s[scan].env_threads([tx])
    golden(with_(s, [X, scan]))
    x = numbers(n, m)
    assert (run(s, [X, scan], [x, x]) == x.cumsum(0)).all()
    with pytest.raises(ScheduleError, match="was set before"):
        s[scan].env_threads([tx])


def test_env_threads_is_for_scans_and_threads():
    s, A, B, C = two()
    with pytest.raises(LabError, match="launches threads around a scan"):
        s[C].env_threads(te.thread_axis("threadIdx.x"))
    with pytest.raises(ScheduleTypeError, match="is no thread axis"):
        s[C].env_threads([C.op.axis[0]])
