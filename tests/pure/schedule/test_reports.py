"""What users of the classic stack tripped over and schedules touch, each with what happens here.

Numbers are those of the collected reports.
"""

import numpy as np
import pytest

from tests.pure.schedule.programs import chain, matmul, numbers, refusal, right, rows, scan, text
from tvmlab import te
from tvmlab.core.error import BuildError, ScheduleError, TVMError
from tvmlab.face.api import build, lower


def test_local_memory_filled_by_several_threads_is_owed():
    """22: scope local with threads bound inside gave wrong numbers without a word."""
    s, A, B, C = chain(4, 8)
    s[B].set_scope("local")
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].bind(B.op.axis[1], te.thread_axis("threadIdx.x"))
    assert [str(o) for o in s.check()] == [
        "B is in local memory, of which each thread of threadIdx.x has its own, but its loop `B.j` is shared out over "
        "these threads: none of them would see the rest\n"
        '  legal here:  s[B].set_scope("shared")\n'
        "  threads of threadIdx.x meet in shared memory; local memory is filled by loops that are not bound"
    ]
    s[B].set_scope("shared")
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


@pytest.mark.parametrize("n", [7, 8])
def test_an_attached_reduction_does_not_start_outside(n):
    """23: the init of an attached reduction wrote out of bounds."""
    s, A, B, C, k = matmul(n)
    D = te.compute((n, n), lambda i, j: C[i, j] + 1.0, name="D")
    s = te.create_schedule(D.op)
    xo, yo, xi, yi = s[D].tile(*D.op.axis, 4, 4)
    s[C].compute_at(s[D], yo)
    s[C].vectorize(s[C].op.axis[1])
    right(s, [A, B, D], numbers(n, n) @ numbers(n, n) + 1, inputs=[numbers(n, n)] * 2)


def test_partial_results_fold_in_order():
    """26: rfactor with a combiner that does not commute, but associates: the last one that is not 0."""
    A = te.placeholder((2, 12), "int32", name="A")
    k = te.reduce_axis((0, 12), name="k")
    last = te.comm_reducer(lambda x, y: te.if_then_else(y.equal(0), x, y), lambda t: te.const(0, t), name="last")
    B = te.compute((2,), lambda i: last(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(k, 4)
    s.rfactor(B, ko)
    a = np.array([[1, 0, 2, 0, 3, 0, 0, 4, 0, 0, 5, 0], [0] * 11 + [9]], "int32")
    right(s, [A, B], np.array([5, 9], "int32"), inputs=[a])


def test_a_read_outside_of_a_producer_is_refused():
    """27: a sum of constants that reads outside its producer."""
    B = te.compute((4,), lambda i: te.const(1.0), name="B")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((1,), lambda i: te.sum(B[k], axis=k), name="C")
    s = te.create_schedule(C.op)
    with pytest.raises(BuildError, match="index 0 of `B` is `k`, 0 to 7: outside 0 to 3"):
        build(s, [C], "interp")
    s[B].compute_inline()
    assert [str(o) for o in s.check()] == [
        "C reads B outside of its shape: index 0 is `k`, 0 to 7, outside 0 to 3\n"
        "  B is inlined, so its expression would be continued there"
    ]


def test_a_read_that_a_condition_guards_is_inside():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((10,), lambda i: te.if_then_else(te.all(i >= 1, i < 9), B[i - 1], 0.0), name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    assert s.check() == []
    right(s, [A, C], np.pad(numbers(8) + 1, 1), inputs=[numbers(8)])


def test_attach_points_are_named():
    """33, 35, 39: the producer, the consumer and the legal places."""
    s, A, B, C = chain()
    D = te.compute(C.shape, lambda i, j: C[i, j] + B[i, j], name="D")
    s = te.create_schedule(D.op)
    xo, xi = s[D].split(D.op.axis[0], 4)
    s[C].compute_at(s[D], xo)
    s[B].compute_at(s[C], C.op.axis[0])
    (owed,) = s.check()
    assert str(owed) == (
        "B is computed at `C.i`, but D, which reads it, is not inside that loop\n"
        "    for xo in 4\n"
        "      for xi in 4\n"
        "        for j in 8\n"
        "  legal here:  s[B].compute_at(s[D], xo), s[B].compute_root()\n"
        "  compute D inside `C.i` too, or B at a loop around all that read it"
    )
    s[B].compute_at(s[D], xo)
    assert s.check() == []


def test_cycles_end_at_the_call():
    """37: a wrong compute_at hung the compiler."""
    A = te.placeholder((4,), name="A")
    stages = [A]
    for name in "BCDE":
        stages.append(te.compute((4,), lambda i: stages[-1][i] + 1.0, name=name))
    _, B, C, D, E = stages
    s = te.create_schedule(E.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].compute_at(s[D], D.op.axis[0])
    assert "B is itself computed inside D" in refusal(ScheduleError, lambda: s[D].compute_at(s[B], B.op.axis[0]))


def test_inlining_with_several_outputs_and_a_cache():
    """42: inline, several outputs and a cache together."""
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    S, P = te.compute((8,), lambda i: (B[i] * 2.0, B[i] * 3.0), name="T")
    C = te.compute((8,), lambda i: S[i] + P[i], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    SL, PL = s.cache_write([S, P], "local")
    s[SL].compute_at(s[S], s[S].op.axis[0])
    s[S].compute_at(s[C], C.op.axis[0])
    right(s, [A, C], (numbers(8) + 1) * 5, inputs=[numbers(8)])


def test_inside_a_vector_loop():
    """48: compute_at into a vectorized loop: `cannot make uint from negative value -8`."""
    s, A, B, C = chain(4, 8)
    s[B].compute_at(s[C], C.op.axis[1])
    s[C].vectorize(C.op.axis[1])
    right(s, [A, C], (numbers(4, 8) + 1) * 2, inputs=[numbers(4, 8)])


def test_rfactor_after_splits_that_do_not_divide():
    """50, 53: rfactor after split; nested, with stale variables in the test of the tail."""
    s, A, B, k = rows(3, 29)
    ko, ki = s[B].split(k, 7)
    kio, kii = s[B].split(ki, 3)
    BF = s.rfactor(B, kio)
    s.rfactor(BF, s[BF].op.reduce_axis[-1])
    right(s, [A, B], numbers(3, 29).sum(1), inputs=[numbers(3, 29)])


def test_domains_are_checked_where_they_are_made():
    """51: a reversed reduce domain hung."""
    with pytest.raises(TVMError, match="end must not lie before its begin"):
        te.reduce_axis((5, 2), name="k")


def test_a_stage_after_a_scan():
    """52: a scan followed by a compute crashed."""
    s, X, init, update, S, D = scan()
    to, ti = s[D].split(D.op.axis[0], 4)
    s[D].vectorize(D.op.axis[1])
    s[init].compute_inline()
    right(s, [X, D], numbers(6, 4).cumsum(0) + 1, inputs=[numbers(6, 4)])


def test_a_factor_above_the_extent_allocates_no_more():
    """63: a factor above the extent allocated and ran the factor."""
    s, A, B, C = chain(5, 3)
    xo, xi = s[C].split(C.op.axis[0], 64)
    s[B].compute_at(s[C], xo)
    assert "alloc((5, 3)" in text(s, [A, C]) and "64" not in text(s, [A, C])


def test_marked_reductions_of_every_kind_are_refused():
    """20, 21: parallel or vectorized reductions were silently wrong."""
    s, A, B, k = rows()
    ko, ki = s[B].split(k, 4)
    for act in (s[B].parallel, s[B].vectorize):
        for axis in (ko, ki):
            assert "partial sums first:  s.rfactor(B, " in refusal(ScheduleError, lambda act=act, axis=axis: act(axis))


def test_all_problems_are_listed_at_once():
    """55: a pass that verifies a schedule was wanted."""
    n = te.size_var("n")
    s, A, B, C = chain(n, 8)
    s[C].vectorize(C.op.axis[0])
    s[B].double_buffer()
    assert sorted(o.rule for o in s.check()) == ["double-buffer-root", "vector-extent"]


def test_scalars_are_no_problem():
    """`check` passes the variables of expressions as a caller would."""
    A, alpha = te.placeholder((8,), name="A"), te.var("alpha", "float32")
    C = te.compute((8,), lambda i: A[i] * alpha, name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], te.var("f"))
    assert s.check() == []
    with pytest.raises(TVMError, match="alpha"):
        build(s, [A, C], "interp")
    assert "alpha" in str(lower(s, [A, C]))  # printed all the same


def test_elements_that_nobody_needs_are_not_read():
    """C would read B outside, but only where D does not ask for it; and nothing is read for an empty result."""
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] * 2.0, name="C")
    D = te.compute((4,), lambda i: C[i] - 1.0, name="D")
    s = te.create_schedule(D.op)
    assert s.check() == []
    s[B].compute_inline()
    assert s.check() == []
    E = te.compute((0, 8), lambda i, j: B[j], name="E")
    t = te.create_schedule(E.op)
    t[B].compute_inline()
    assert t.check() == []


def virtual(scope=""):
    """C inside a virtual thread of D, with a virtual thread of its own."""
    s, A, B, C = chain(13, 7)
    s[C].bind(C.op.axis[0], te.thread_axis("vthread"))
    s[B].compute_at(s[C], C.op.axis[1])
    s[B].bind(B.op.axis[1], te.thread_axis("vthread"))
    if scope:
        s[B].set_scope(scope)
    return s, A, C


def test_virtual_threads_of_different_axes_nest():
    s, A, C = virtual()
    assert s.check() == []
    right(s, [A, C], (numbers(13, 7) + 1) * 2, inputs=[numbers(13, 7)])


def test_virtual_threads_need_no_barrier():
    s, A, C = virtual("shared")
    assert "barrier" not in str(lower(s, [A, C])).lower()
    right(s, [A, C], (numbers(13, 7) + 1) * 2, inputs=[numbers(13, 7)])


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (0, 0)])
def test_loops_without_iterations_are_fused_and_split(shape):
    s, A, B, C = chain(*shape)
    s[C].split(s[C].fuse(*C.op.axis), 4)
    s[B].split(s[B].fuse(*B.op.axis), nparts=2)
    right(s, [A, C], np.zeros(shape, "float32"), inputs=[np.zeros(shape, "float32")])
