"""Reductions over threads of a block: the loops, their results in the interpreter, and what is refused."""

import numpy as np
import pytest

from tests.intrins import arrays, text
from tests.pure.passes.schedules import owed
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.error import ScheduleError
from tvmlab.face.api import build, create_schedule

N, K = 6, 37


def rows(fold=te.sum, n=N, k=K, **more):
    A, r = te.placeholder((n, k), name="A"), te.reduce_axis((0, k), name="k")
    return A, te.compute((n,), lambda i: fold(A[i, r], axis=r, **more), name="B")


def threads(name):
    return te.thread_axis(name)


def split_and_bound(B, parts=8, tag="threadIdx.x"):
    s = create_schedule(B.op)
    ko, ki = s[B].split(B.op.reduce_axis[0], parts)
    tx = threads(tag)
    s[B].bind(ki, tx)
    return s, ko, ki, tx


def serial_part_and_threads():
    A, B = rows()
    return split_and_bound(B)[0], [A, B], lambda a: [a.sum(1)]


def all_on_threads():
    A, B = rows(k=32)
    s = create_schedule(B.op)
    s[B].bind(B.op.reduce_axis[0], threads("threadIdx.x"))
    s[B].bind(B.op.axis[0], threads("blockIdx.x"))
    return s, [A, B], lambda a: [a.sum(1)]


def threads_before_the_serial_part():
    A, B = rows()
    s, ko, ki, tx = split_and_bound(B)
    s[B].reorder(ki, ko)
    return s, [A, B], lambda a: [a.sum(1)]


def stored_by_another_thread():
    A, B = rows()
    s, ko, ki, tx = split_and_bound(B)
    s[B].set_store_predicate(tx.var.equal(3))
    return s, [A, B], lambda a: [a.sum(1)]


def rows_on_threads_too():
    """Ten rows on blocks of four: rows that are not there read nothing."""
    A, B = rows(n=10)
    s, ko, ki, tx = split_and_bound(B)
    xo, xi = s[B].split(B.op.axis[0], 4)
    s[B].bind(xo, threads("blockIdx.x"))
    s[B].bind(xi, threads("threadIdx.y"))
    return s, [A, B], lambda a: [a.sum(1)]


def after_rfactor():
    """The classic reduction tutorial."""
    A, B = rows(n=10, k=70)
    s = create_schedule(B.op)
    ko, ki = s[B].split(B.op.reduce_axis[0], 16)
    BF = s.rfactor(B, ki)
    xo, xi = s[B].split(s[B].op.axis[0], 4)
    s[B].bind(xo, threads("blockIdx.x"))
    s[B].bind(xi, threads("threadIdx.y"))
    tx = threads("threadIdx.x")
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(tx.var.equal(0))
    return s, [A, B], lambda a: [a.sum(1)]


def greatest():
    A, B = rows(te.max)
    return split_and_bound(B)[0], [A, B], lambda a: [a.max(1)]


def where():
    A, r = te.placeholder((N, K), name="A"), te.reduce_axis((0, K), name="k")
    B = te.compute((N,), lambda i: te.sum(A[i, r], axis=r, where=(r % 2).equal(0)), name="B")
    return split_and_bound(B)[0], [A, B], lambda a: [a[:, ::2].sum(1)]


def two_thread_axes():
    A = te.placeholder((N, 5, 9), name="A")
    k1, k2 = te.reduce_axis((0, 5), name="k1"), te.reduce_axis((0, 9), name="k2")
    B = te.compute((N,), lambda i: te.sum(A[i, k1, k2], axis=[k1, k2]), name="B")
    s = create_schedule(B.op)
    k2o, k2i = s[B].split(k2, 4)
    s[B].reorder(B.op.axis[0], k2o, k1, k2i)
    s[B].bind(k1, threads("threadIdx.y"))
    s[B].bind(k2i, threads("threadIdx.x"))
    return s, [A, B], lambda a: [a.sum((1, 2))]


def tuple_of_results():
    V, r = te.placeholder((N, K), name="V"), te.reduce_axis((0, K), name="k")

    def wins(x, y):
        return te.any(x[1] > y[1], te.all(x[1].equal(y[1]), x[0] < y[0]))

    argmax = te.comm_reducer(
        lambda x, y: (te.if_then_else(wins(x, y), x[0], y[0]), te.if_then_else(wins(x, y), x[1], y[1])),
        lambda t0, t1: (te.const(2**30, t0), te.min_value(t1)),
        name="argmax",
    )
    I, M = te.compute((N,), lambda i: argmax((r.var, V[i, r]), axis=r), name="T")
    return split_and_bound(I)[0], [V, I, M], lambda v: [v.argmax(1), v.max(1)]


def _read_in_its_block(scope):
    A, B = rows(k=32)
    D = te.compute((N, 32), lambda i, j: A[i, j] - B[i], name="D")
    s = create_schedule(D.op)
    tx = te.thread_axis((0, 8), "threadIdx.x")
    s[D].bind(D.op.axis[0], threads("blockIdx.x"))
    jo, ji = s[D].split(D.op.axis[1], 8)
    s[D].bind(ji, tx)
    s[B].compute_at(s[D], D.op.axis[0])
    ko, ki = s[B].split(B.op.reduce_axis[0], 8)
    s[B].bind(ki, tx)
    if scope:
        s[B].set_scope(scope)
    return s, [A, D], lambda a: [a - a.sum(1, keepdims=True)]


def read_in_its_block():
    return _read_in_its_block("")


def _attached(which):
    A, r = te.placeholder((N, K), name="A"), te.reduce_axis((0, K), name="k")
    P = te.compute((N, K), lambda i, j: A[i, j] * 2.0, name="P")
    B = te.compute((N,), lambda i: te.sum(P[i, r], axis=r), name="B")
    s, ko, ki, tx = split_and_bound(B)
    s[P].compute_at(s[B], ko if which == "serial" else ki)
    return s, [A, B], lambda a: [2 * a.sum(1)]


def producer_in_the_serial_loop():
    """A thread's own element: the threads stand outside the serial loop."""
    return _attached("serial")


def producer_in_the_thread():
    return _attached("thread")


CASES = [
    serial_part_and_threads, all_on_threads, threads_before_the_serial_part, stored_by_another_thread,
    rows_on_threads_too, after_rfactor, greatest, where, two_thread_axes, tuple_of_results, read_in_its_block,
    producer_in_the_serial_loop, producer_in_the_thread,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_cross_thread(golden, case):
    s, args, expected = case()
    golden(text(s, args))
    given = arrays(args, len(args) - 1)
    wanted = expected(given[0])
    build(s, args, "interp")(*given)
    for have, want in zip(given[1:], wanted, strict=True):
        np.testing.assert_array_equal(have, want)


def test_a_data_loop_inside_the_reduction_is_refused():
    A, B = rows()
    s, ko, ki, tx = split_and_bound(B)
    s[B].reorder(ko, B.op.axis[0], ki)
    assert refused(ScheduleError, lambda: owed(s, [A, B])) == (
        "the reduction of B runs on threads: its data loops must stand outside its reduction loops\n"
        "  s[B].reorder(<data axes>, <reduction axes>)"
    )


def test_an_init_is_refused():
    start = te.placeholder((N,), name="start")
    A, r = te.placeholder((N, K), name="A"), te.reduce_axis((0, K), name="k")
    B = te.compute((N,), lambda i: te.sum(A[i, r], axis=r, init=start[i]), name="B")
    s = split_and_bound(B)[0]
    assert refused(ScheduleError, lambda: owed(s, [A, start, B])) == (
        "the reduction of B has an init and cannot run on threads"
    )


@pytest.mark.parametrize(("tag", "what"), [("vthread", "virtual threads"), ("blockIdx.x", "blocks")])
def test_only_threads_of_a_block_add_up(tag, what):
    A, B = rows()
    assert refused(ScheduleError, lambda: split_and_bound(B, tag=tag)) == (
        f"cannot bind `ki` (B.k.inner) in stage B to {tag}\n"
        "    for i in 6\n"
        "      for ko in 5\n"
        f"        for ki in 8                    <- carries a reduction, and {what} cannot reduce together\n"
        "  legal here:  threadIdx.x, threadIdx.y, threadIdx.z\n"
        f"  to spread a reduction over {what}, make partial sums first:  s.rfactor(B, ki)"
    )


def test_the_number_of_threads_must_be_known():
    n = te.var("n")
    A, r = te.placeholder((N, n), name="A"), te.reduce_axis((0, n), name="k")
    B = te.compute((N,), lambda i: te.sum(A[i, r], axis=r), name="B")
    s = create_schedule(B.op)
    s[B].bind(r, threads("threadIdx.x"))
    assert refused(ScheduleError, lambda: owed(s, [A, B])) == (
        "the reduction of B runs on threadIdx.x, whose extent must be a number, not n\n"
        "  split `k` by the number of threads and bind the inner part"
    )


def test_rows_of_a_length_known_when_called():
    n = te.var("n")
    A, r = te.placeholder((N, n), name="A"), te.reduce_axis((0, n), name="k")
    B = te.compute((N,), lambda i: te.sum(A[i, r], axis=r), name="B")
    s, ko, ki, tx = split_and_bound(B)
    f = build(s, [A, B], "interp")
    for length in (1, 8, 13):
        a, b = np.arange(N * length, dtype="float32").reshape(N, length), np.full(N, 77, "float32")
        f(a, b)
        assert (b == a.sum(1)).all()


def test_data_fused_into_the_reduction_is_refused():
    """Its threads would add up elements of different rows."""
    A, B = rows()
    s = create_schedule(B.op)
    both = s[B].fuse(B.op.axis[0], B.op.reduce_axis[0])
    _, inner = s[B].split(both, 8)
    s[B].bind(inner, threads("threadIdx.x"))
    assert refused(ScheduleError, lambda: owed(s, [A, B])) == (
        "the reduction of B cannot run on threadIdx.x: `i.k.fused.inner` holds data too, and its threads would add up "
        "different elements\n"
        "  fuse reduction loops with each other only"
    )
