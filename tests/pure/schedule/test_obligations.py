"""Every kind of obligation: as s.check() says it, as a comment of the loops, as a build refuses it; closed later."""

from __future__ import annotations

import numpy as np
import pytest

from tests.intrins import gemv
from tests.pure.schedule.programs import chain, matmul, numbers, right, rows
from tvmlab import te
from tvmlab.core.error import BuildError
from tvmlab.face.api import build, lower


def pipeline(n=8):
    """A -> B -> C -> D, and D reads B too."""
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((n,), lambda i: B[i] * 2.0, name="C")
    D = te.compute((n,), lambda i: C[i] - B[i], name="D")
    return te.create_schedule(D.op), A, B, C, D


def consumer_outside():
    s, A, B, C, D = pipeline()
    xo, xi = s[D].split(D.op.axis[0], 4)
    s[B].compute_at(s[D], xo)
    return s, [A, D], lambda: s[C].compute_at(s[D], xo)


def attached_to_inlined():
    s, A, B, C, D = pipeline()
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].compute_inline()
    return s, [A, D], lambda: s[B].compute_at(s[D], D.op.axis[0])


def initial_values_of_a_scan():
    X = te.placeholder((5, 4), name="X")
    state = te.placeholder((5, 4), name="state")
    init = te.compute((1, 4), lambda _, i: X[0, i], name="init")
    update = te.compute((5, 4), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    S = te.scan(init, update, state, inputs=[X], name="S")
    s = te.create_schedule(S.op)
    s[init].compute_at(s[S], S.op.scan_axis)
    return s, [X, S], lambda: s[init].compute_root()


def threads_disagree():
    s, A, B, C = chain(8, 8)
    tx = te.thread_axis("threadIdx.x")
    xo, xi = s[C].split(C.op.axis[1], 4)
    s[C].bind(xi, tx)
    s[B].set_scope("shared")
    s[B].compute_at(s[C], C.op.axis[0])
    yo, yi = s[B].split(B.op.axis[1], 2)
    s[B].bind(yi, tx)

    def close():
        s.undo(2)
        _, zi = s[B].split(B.op.axis[1], 4)
        s[B].bind(zi, tx)

    return s, [A, C], close


def threads_disagree_with_their_axis():
    s, A, B, C = chain(8, 8)
    tx = te.thread_axis((0, 16), "threadIdx.x")
    s[C].bind(C.op.axis[1], tx)

    def close():
        s.undo()
        s[C].bind(C.op.axis[1], te.thread_axis((0, 8), "threadIdx.x"))

    return s, [A, C], close


def one_thread_axis_twice():
    s, A, B, C = chain(8, 8)
    s[B].compute_inline()
    tx = te.thread_axis("threadIdx.x")
    i, j = C.op.axis
    s[C].bind(i, tx)
    s[C].bind(j, tx)

    def close():
        with pytest.warns(UserWarning):
            s[C].bind(j, te.thread_axis("threadIdx.y"))

    return s, [A, C], close


def virtual_threads_of_unknown_number():
    n = te.size_var("n")
    s, A, B, C = chain(n, 8)
    xo, xi = s[C].split(C.op.axis[0], 4)
    s[C].bind(xo, te.thread_axis("vthread"))

    def close():
        s.undo()
        s[C].bind(xi, te.thread_axis("vthread"))

    return s, [A, C], close


def shared_at_the_root():
    s, A, B, C = chain(4, 8)
    s[B].set_scope("shared")
    s[B].bind(B.op.axis[1], te.thread_axis("threadIdx.x"))
    s[C].parallel(C.op.axis[0])
    return s, [A, C], lambda: s[B].set_scope("global")


def local_filled_by_several_threads():
    s, A, B, C = chain(4, 8)
    s[B].set_scope("local")
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].bind(B.op.axis[1], te.thread_axis("threadIdx.x"))
    return s, [A, C], lambda: s[B].set_scope("shared")


def local_outside_of_its_threads():
    s, A, B, C = chain(4, 8)
    s[B].set_scope("local")
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], C.op.axis[0])
    return s, [A, C], lambda: s[B].compute_at(s[C], C.op.axis[1])


def vector_of_unknown_length():
    n = te.size_var("n")
    s, A, B, C = chain(4, n)
    s[C].vectorize(C.op.axis[1])

    def close():
        with pytest.warns(UserWarning):
            jo, ji = s[C].split(C.op.axis[1], 4)
        s[C].vectorize(ji)

    return s, [A, C], close


def unrolled_of_unknown_length():
    n = te.size_var("n")
    s, A, B, k = rows(4, n)
    s[B].unroll(k)

    def close():
        with pytest.warns(UserWarning):
            ko, ki = s[B].split(k, 4)
        s[B].unroll(ki)

    return s, [A, B], close


def double_buffer_at_the_root():
    s, A, B, C = chain(4, 8)
    s[B].double_buffer()
    return s, [A, C], lambda: s[B].compute_at(s[C], C.op.axis[0])


def double_buffer_in_a_parallel_loop():
    s, A, B, C = chain(4, 8)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].double_buffer()
    s[C].parallel(C.op.axis[0])
    return s, [A, C], lambda: s.undo()


def prefetch_of_what_is_not_read():
    s, A, B, C = chain(4, 8)
    s[C].prefetch(A, C.op.axis[0], 1)
    return s, [A, C], lambda: s[B].compute_inline()


def prefetch_of_what_is_made_inside():
    s, A, B, C = chain(4, 8)
    s[C].prefetch(B, C.op.axis[0], 1)
    s[B].compute_at(s[C], C.op.axis[0])
    return s, [A, C], lambda: s[B].compute_root()


def rolling_buffer_that_does_not_roll():
    s, A, B, C = chain(4, 8)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    s[C].parallel(C.op.axis[0])
    return s, [A, C], lambda: s.undo(2)


def reads_outside_of_a_shape():
    A = te.placeholder((8,), name="A")
    C = te.compute((8,), lambda i: A[i + 1], name="C")
    return te.create_schedule(C.op), [A, C], None


def an_intrinsic_that_does_not_match():
    A, x = te.placeholder((16, 8), name="A"), te.placeholder((8,), name="x")
    k = te.reduce_axis((0, 8), name="k")
    y = te.compute((16,), lambda i: te.sum(A[i, k] * x[k], axis=k), name="y")
    s = te.create_schedule(y.op)
    yo, yi = s[y].split(y.op.axis[0], 4)
    s[y].tensorize(yi, gemv(8, 8))

    def close():
        s.undo()
        s[y].tensorize(yi, gemv(4, 8))

    return s, [A, x, y], close


def data_inside_a_reduction_on_threads():
    s, A, B, k = rows(4, 8)
    s[B].reorder(k, B.op.axis[0])
    s[B].bind(k, te.thread_axis("threadIdx.x"))
    return s, [A, B], lambda: s[B].reorder(B.op.axis[0], k)


def two_at_once():
    s, A, B, C = chain(4, 8)
    s[B].double_buffer()
    s[C].prefetch(A, C.op.axis[0], 1)

    def close():
        s[B].compute_inline()
        s.undo()
        s[B].compute_at(s[C], C.op.axis[0])

    return s, [A, C], close


CASES = {f.__name__: f for f in (
    consumer_outside, attached_to_inlined, initial_values_of_a_scan, threads_disagree, threads_disagree_with_their_axis,
    one_thread_axis_twice, virtual_threads_of_unknown_number, shared_at_the_root, local_filled_by_several_threads,
    local_outside_of_its_threads,
    vector_of_unknown_length, unrolled_of_unknown_length, double_buffer_at_the_root, double_buffer_in_a_parallel_loop,
    prefetch_of_what_is_not_read, prefetch_of_what_is_made_inside, rolling_buffer_that_does_not_roll,
    reads_outside_of_a_shape, an_intrinsic_that_does_not_match, data_inside_a_reduction_on_threads, two_at_once,
)}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_it_is_said_printed_refused_and_closed(golden, case):
    s, args, close = CASES[case]()
    owed = s.check()
    assert owed
    golden("\n\n".join(map(str, owed)), "owed")
    loops = lower(s, args, simple_mode=True)
    golden(loops, "loops")
    with pytest.raises(BuildError) as refused:
        build(s, args, "interp")
    lines = [f"    {line}" for o in owed for line in str(o).splitlines()]
    outside = case == "reads_outside_of_a_shape"
    title = "the program reads or writes outside a shape" if outside else "this schedule is not complete"
    assert str(refused.value).splitlines() == [title, *lines]
    assert refused.value.rule == ("out-of-bounds" if outside else "open-obligations")
    if close is not None:
        close()
        assert s.check() == []
        build(s, args, "interp")


def test_a_bound_loop_is_named_by_a_cpu_target():
    s, A, B, C = chain(4, 8)
    xo, xi = s[C].split(C.op.axis[1], 4)
    s[C].bind(xi, te.thread_axis("threadIdx.x"))
    for target in ("llvm", "numba"):
        with pytest.raises(BuildError) as refused:
            build(s, [A, C], target)
        assert "`j.inner` of stage C is bound to threadIdx.x" in str(refused.value)


def test_complete_schedules_owe_nothing():
    s, A, B, C, k = matmul()
    CL = s.cache_write(C, "local")
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 4, 4)
    s[CL].compute_at(s[C], yo)
    assert s.check() == []
    right(s, [A, B, C], numbers(8, 8) @ numbers(8, 8), inputs=[numbers(8, 8)] * 2)
    assert not np.isnan(numbers(1)).any()
