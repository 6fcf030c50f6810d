"""Rolling buffers: a sliding window keeps what the next position needs; only what is new is computed."""

import pytest

from tests.pure.passes.ir import nodes
from tests.pure.passes.schedules import numbers, owed, pictures, run, with_, without
from tvmlab import te
from tvmlab.core.calls import call_packed
from tvmlab.core.error import LabError
from tvmlab.core.node import Alloc, Attr, If
from tvmlab.core.walk import constant
from tvmlab.face.api import create_schedule
from tvmlab.runtime.packed import register_func

rows_computed = []


@register_func("tests.row", override=True)
def row(i):
    rows_computed.append(int(i))
    return 0


def stencil(n=8, m=6, window=3, step=1, counting=False):
    """C[y, x] = sum of B over `window` rows from y*step on; B = 2 A."""
    size = (n - 1) * step + window if not isinstance(n, te.Var) else n + window - 1
    A = te.placeholder((size, m), name="A")


    def body(i, j):
        return A[i, j] * 2.0 + call_packed("tests.row", i).astype("float32") if counting else A[i, j] * 2.0

    B = te.compute((size, m), body, name="B")
    k = te.reduce_axis((0, window), "k")
    C = te.compute((n, m), lambda y, x: te.sum(B[y * step + k, x], axis=k), name="C")
    return create_schedule(C.op), A, B, C


def expected(a, n, window=3, step=1):
    return sum(2 * a[k : k + (n - 1) * step + 1 : step] for k in range(window))


def check(s, A, C, n, m=6, window=3, step=1, target="interp"):
    a = numbers((n - 1) * step + window, m)
    assert (run(s, [A, C], [a, a[:n]], target) == expected(a, n, window, step)).all()


def test_rows(golden):
    s, A, B, C = stencil()
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    pictures(golden, s, [A, C], "rolling_buffer")
    check(s, A, C, 8)


def test_no_row_is_computed_twice():
    counts = []
    for roll in (False, True):
        s, A, B, C = stencil(m=1, counting=True)
        s[B].compute_at(s[C], C.op.axis[0])
        if roll:
            s[B].rolling_buffer()
        rows_computed.clear()
        check(s, A, C, 8, m=1)
        counts.append(sorted(rows_computed))
    assert len(counts[0]) == 24 and counts[1] == list(range(10))


@pytest.mark.parametrize("n", [1, 2, 7, 10])
@pytest.mark.parametrize("window, step", [(2, 1), (3, 1), (3, 2), (5, 2), (5, 4), (3, 3), (2, 3), (1, 1)])
@pytest.mark.parametrize("factor", [None, 1, 4])
def test_windows_steps_and_tails(n, window, step, factor):
    s, A, B, C = stencil(n, 6, window, step)
    at = C.op.axis[0] if factor is None else s[C].split(C.op.axis[0], factor=factor)[1]
    s[B].compute_at(s[C], at)
    s[B].rolling_buffer()
    check(s, A, C, n, 6, window, step)


def test_a_tail_starts_anew(golden):
    s, A, B, C = stencil(10)
    s[B].compute_at(s[C], s[C].split(C.op.axis[0], factor=4)[1])
    s[B].rolling_buffer()
    golden(with_(s, [A, C]))
    check(s, A, C, 10)


@pytest.mark.parametrize("n", [1, 2, 9])
def test_symbolic_rows(golden, n):
    rows = te.size_var("n")
    s, A, B, C = stencil(rows)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    if n == 1:
        golden(with_(s, [A, C]))
    check(s, A, C, n)


def padded_conv(n=7, m=5):
    A = te.placeholder((n, m), name="A")
    P = te.compute(
        (n + 2, m + 2),
        lambda i, j: te.if_then_else(te.all(i >= 1, i <= n, j >= 1, j <= m), A[i - 1, j - 1], 0.0),
        name="P",
    )
    ry, rx = te.reduce_axis((0, 3), "ry"), te.reduce_axis((0, 3), "rx")
    C = te.compute((n, m), lambda y, x: te.sum(P[y + ry, x + rx], axis=[ry, rx]), name="C")
    return create_schedule(C.op), A, P, C


def padded_result(a):
    import numpy as np

    p = np.pad(a, 1)
    return sum(p[i : i + a.shape[0], j : j + a.shape[1]] for i in range(3) for j in range(3))


@pytest.mark.parametrize("dim", [0, 1])
def test_padding_along_either_axis(golden, dim):
    s, A, P, C = padded_conv()
    s[P].compute_at(s[C], C.op.axis[dim])
    s[P].rolling_buffer()
    golden(with_(s, [A, C]))
    a = numbers(7, 5)
    assert (run(s, [A, C], [a, a]) == padded_result(a)).all()


def test_split_loops_of_the_producer():
    s, A, P, C = padded_conv()
    s[P].compute_at(s[C], C.op.axis[0])
    s[P].rolling_buffer()
    io, ii = s[P].split(P.op.axis[0], factor=2)
    jo, ji = s[P].split(P.op.axis[1], factor=4)
    s[P].reorder(jo, io, ji, ii)
    s[P].vectorize(ji)
    a = numbers(7, 5)
    assert (run(s, [A, C], [a, a]) == padded_result(a)).all()


def test_a_reduction_rolls():
    n, m = 6, 4
    A, W = te.placeholder((n + 2, m, 3), name="A"), te.placeholder((3,), name="W")
    r = te.reduce_axis((0, 3), "r")
    B = te.compute((n + 2, m), lambda i, j: te.sum(A[i, j, r] * W[r], axis=r), name="B")
    C = te.compute((n, m), lambda y, x: B[y, x] - B[y + 2, x], name="C")
    s = create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    assert nodes(with_(s, [A, W, C]), If)
    a, w = numbers(n + 2, m, 3), numbers(3, seed=1)
    b = a @ w
    assert (run(s, [A, W, C], [a, w, a[:n, :, 0]]) == b[:-2] - b[2:]).all()


def two_windows():
    """C from three rows of B, B from three rows of P."""
    n, m = 6, 4
    A = te.placeholder((n + 4, m), name="A")
    P = te.compute((n + 4, m), lambda i, j: A[i, j] + 1.0, name="P")
    B = te.compute((n + 2, m), lambda i, j: P[i, j] + P[i + 1, j] + P[i + 2, j], name="B")
    C = te.compute((n, m), lambda y, x: B[y, x] + B[y + 1, x] + B[y + 2, x], name="C")
    return create_schedule(C.op), A, P, B, C


def check_two(s, A, C):
    a = numbers(10, 4)
    p = a + 1
    b = p[:-2] + p[1:-1] + p[2:]
    assert (run(s, [A, C], [a, a[:6]]) == b[:-2] + b[1:-1] + b[2:]).all()


def test_windows_over_windows(golden):
    s, A, P, B, C = two_windows()
    for t in (P, B):
        s[t].compute_at(s[C], C.op.axis[0])
        s[t].rolling_buffer()
    golden(with_(s, [A, C]))
    assert [constant(a.buffer.shape[0]) for a in nodes(with_(s, [A, C]), Alloc)] == [5, 3]
    check_two(s, A, C)


def test_a_window_cannot_roll_over_rows_that_are_left_out():
    s, A, P, B, C = two_windows()
    s[P].compute_at(s[B], B.op.axis[0])
    s[B].compute_at(s[C], C.op.axis[0])
    s[P].rolling_buffer()
    check_two(s, A, C)
    s[B].rolling_buffer()
    with pytest.raises(LabError, match="cannot roll B: another window rolls over its loop `i`"):
        owed(s, [A, C])


def test_the_loop_that_moves_it_may_be_further_out(golden):
    """Attached at x, but the window spans all columns: it moves with y only, and is filled at the first x."""
    n, m = 5, 4
    A = te.placeholder((n + 2, m), name="A")
    B = te.compute((n + 2, m), lambda i, j: A[i, j] * 2.0, name="B")
    k, l = te.reduce_axis((0, 3), "k"), te.reduce_axis((0, m), "l")
    C = te.compute((n, m), lambda y, x: te.sum(B[y + k, l], axis=[k, l]), name="C")
    s = create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[1])
    s[B].rolling_buffer()
    golden(with_(s, [A, C]))
    a = numbers(n + 2, m)
    total = expected(a, n).sum(1, keepdims=True).repeat(m, 1)
    assert (run(s, [A, C], [a, a[:n]]) == total).all()


def test_positions_that_do_not_overlap_need_no_ring():
    s, A, B, C = stencil(6, 6, 2, 2)
    s[B].compute_at(s[C], C.op.axis[0])
    plain = without(s, [A, C])
    s[B].rolling_buffer()
    assert str(with_(s, [A, C])) == str(plain) and not nodes(with_(s, [A, C]), Attr)


def refusal(s, *args):
    with pytest.raises(LabError) as e:
        owed(s, list(args))
    assert e.value.rule == "rolling-buffer"
    return e.value.message


def test_refusals():
    s, A, B, C = stencil()
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    assert "its memory is not allocated inside the loop `y`" in refusal(s, A, B, C)
    t = s.fork()
    t[C].parallel(C.op.axis[0])
    assert "the loop `y` is parallel" in refusal(t, A, C)
    t = s.fork()
    t[B].double_buffer()
    assert "it is double buffered" in refusal(t, A, C)

    s, A, B, C = stencil()
    s[B].compute_at(s[C], C.op.reduce_axis[0])
    s[C].reorder(C.op.reduce_axis[0], C.op.axis[0])
    s[B].rolling_buffer()
    assert not nodes(with_(s, [A, C]), Attr)  # one row per k: the positions do not overlap

    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((6,), lambda y: B[y, y] + B[y + 2, y + 2], name="C")
    s = create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    assert "over `y` its window moves along 2 dimensions at once" in refusal(s, A, C)

    C = te.compute((6, 8), lambda y, x: B[y // 2, x] + B[y // 2 + 2, x], name="C")
    s = create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    assert "does not move evenly forward with `y`" in refusal(s, A, C)

    C = te.compute((6, 8), lambda y, x: B[0, x] + B[2, x], name="C")
    s = create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].rolling_buffer()
    assert "no loop around it moves its window" in refusal(s, A, C)
