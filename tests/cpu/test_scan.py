"""Scans: the loops they make and what they compute, in the interpreter and compiled."""

import numpy as np
import pytest

from tests.intrins import UNWRITTEN, arrays, text
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.error import ScheduleError
from tvmlab.face.api import build, create_schedule

T, N = 6, 8


def running_sum(x=None, update=None, inputs=()):
    """X, the stages and the scan of  S[t] = S[t-1] + X[t]  (or of another update)."""
    X = te.placeholder((T, N), name="X") if x is None else x
    S = te.placeholder((T, N), name="S")
    init = te.compute((1, N), lambda _, i: X[0, i], name="init")
    step = update or (lambda S, t, i: S[t - 1, i] + X[t, i])
    upd = te.compute((T, N), lambda t, i: step(S, t, i), name="update")
    return X, S, init, upd, te.scan(init, upd, S, inputs=[X, *inputs], name="scan")


def recurrence(step, *first):
    """Rows `first`, then step(rows so far, t)."""
    rows = list(first)
    for t in range(len(first), T):
        rows.append(step(rows, t))
    return np.stack(rows)


def total(x):
    return x.cumsum(0)


def plain():
    X, S, init, upd, C = running_sum()
    return create_schedule(C.op), [X, C], lambda x: [total(x)]


def split_spatial():
    """The update's data loop does not divide; the initial values are a vector."""
    X, S, init, upd, C = running_sum()
    s = create_schedule(C.op)
    s[upd].split(upd.op.axis[1], 3)
    io, ii = s[init].split(init.op.axis[1], 4)
    s[init].vectorize(ii)
    return s, [X, C], lambda x: [total(x)]


def vectors_inside():
    X, S, init, upd, C = running_sum()
    s = create_schedule(C.op)
    xo, xi = s[upd].split(upd.op.axis[1], 4)
    s[upd].vectorize(xi)
    return s, [X, C], lambda x: [total(x)]


def parallel_inside():
    X, S, init, upd, C = running_sum()
    s = create_schedule(C.op)
    s[upd].parallel(upd.op.axis[1])
    return s, [X, C], lambda x: [total(x)]


def read_by_a_compute():
    X, S, init, upd, C = running_sum()
    D = te.compute((T, N), lambda t, i: C[t, i] * 2.0 + 1.0, name="D")
    return create_schedule(D.op), [X, D], lambda x: [total(x) * 2 + 1]


def init_is_a_placeholder():
    X, I, S = (te.placeholder((n, N), name=name) for n, name in ((T, "X"), (1, "I"), (T, "S")))
    upd = te.compute((T, N), lambda t, i: S[t - 1, i] + X[t, i], name="update")
    C = te.scan(I, upd, S, inputs=[X], name="scan")
    return create_schedule(C.op), [X, I, C], lambda x, i: [recurrence(lambda r, t: r[-1] + x[t], i[0])]


def init_read_by_another():
    X, S, init, upd, C = running_sum()
    D = te.compute((T, N), lambda t, i: C[t, i] + init[0, i], name="D")
    return create_schedule(D.op), [X, D], lambda x: [total(x) + x[0]]


def _two_states():
    X, S1, S2 = (te.placeholder((T, N), name=name) for name in ("X", "S1", "S2"))
    i1 = te.compute((1, N), lambda _, i: X[0, i], name="i1")
    i2 = te.compute((1, N), lambda _, i: X[0, i] * 2.0, name="i2")
    u1 = te.compute((T, N), lambda t, i: S1[t - 1, i] + S2[t - 1, i], name="u1")
    u2 = te.compute((T, N), lambda t, i: S1[t - 1, i] - X[t, i], name="u2")

    def expected(x):
        a, b = [x[0]], [x[0] * 2]
        for t in range(1, T):
            a, b = [*a, a[-1] + b[-1]], [*b, a[-1] - x[t]]
        return [np.stack(a), np.stack(b)]

    return X, te.scan([i1, i2], [u1, u2], [S1, S2], inputs=[X], name="two"), expected


def two_states():
    X, (C1, C2), expected = _two_states()
    return create_schedule(C1.op), [X, C1, C2], expected


def two_states_inside():
    X, (C1, C2), expected = _two_states()
    D = te.compute((T, N), lambda t, i: C1[t, i] + C2[t, i], name="D")
    return create_schedule(D.op), [X, D], lambda x: [sum(expected(x))]


def two_rows_back():
    X, S = te.placeholder((T, N), name="X"), te.placeholder((T, N), name="S")
    init = te.compute((2, N), lambda t, i: X[t, i], name="init")
    upd = te.compute((T, N), lambda t, i: S[t - 1, i] + S[t - 2, i], name="update")
    C = te.scan(init, upd, S, inputs=[X], name="fib")
    return create_schedule(C.op), [X, C], lambda x: [recurrence(lambda r, t: r[-1] + r[-2], x[0], x[1])]


def _rnn():
    """A cell of two stages: a product with W, then a rectifier."""
    X, W, S = (te.placeholder(shape, name=name) for shape, name in (((T, N), "X"), ((N, N), "W"), ((T, N), "S")))
    init = te.compute((1, N), lambda _, i: X[0, i], name="init")
    k = te.reduce_axis((0, N), name="k")
    mm = te.compute((T, N), lambda t, i: te.sum(S[t - 1, k] * W[i, k], axis=k), name="mm")
    upd = te.compute((T, N), lambda t, i: te.max(mm[t, i] * 0.25 + X[t, i], 0.0), name="update")
    C = te.scan(init, upd, S, inputs=[X, W], name="rnn")

    def expected(x, w):
        return [recurrence(lambda r, t: np.maximum(w @ r[-1] * np.float32(0.25) + x[t], 0), x[0])]

    return [X, W, C], mm, upd, expected


def cell_of_two_stages():
    args, mm, upd, expected = _rnn()
    return create_schedule(args[-1].op), args, expected


def cell_attached_to_a_tile():
    args, mm, upd, expected = _rnn()
    s = create_schedule(args[-1].op)
    uo, ui = s[upd].split(upd.op.axis[1], 4)
    s[mm].compute_at(s[upd], uo)
    ko, ki = s[mm].split(mm.op.reduce_axis[0], 4)
    s[mm].reorder(ko, mm.op.axis[1], ki)
    return s, args, expected


def cell_attached_to_an_element_with_a_cache():
    args, mm, upd, expected = _rnn()
    s = create_schedule(args[-1].op)
    s[mm].compute_at(s[upd], upd.op.axis[1])
    s.cache_read(args[1], "global", [mm])
    return s, args, expected


def cell_with_a_cache_for_its_result():
    args, mm, upd, expected = _rnn()
    s = create_schedule(args[-1].op)
    s.cache_write(mm, "global")
    return s, args, expected


def cell_inlined():
    X, S = te.placeholder((T, N), name="X"), te.placeholder((T, N), name="S")
    init = te.compute((1, N), lambda _, i: X[0, i], name="init")
    mid = te.compute((T, N), lambda t, i: S[t - 1, i] * 2.0, name="mid")
    upd = te.compute((T, N), lambda t, i: mid[t, i] + X[t, i], name="update")
    C = te.scan(init, upd, S, inputs=[X], name="scan")
    s = create_schedule(C.op)
    s[mid].compute_inline()
    return s, [X, C], lambda x: [recurrence(lambda r, t: r[-1] * 2 + x[t], x[0])]


def input_computed_before():
    A = te.placeholder((T, N), name="A")
    X = te.compute((T, N), lambda t, i: A[t, i] * 3.0, name="X3")
    _, S, init, upd, C = running_sum(X)
    return create_schedule(C.op), [A, C], lambda a: [total(3 * a)]


def scan_of_a_scan():
    X, _, _, _, C = running_sum()
    _, _, _, _, D = running_sum(C)
    return create_schedule(D.op), [X, D], lambda x: [total(total(x))]


CASES = [
    plain, split_spatial, vectors_inside, parallel_inside, read_by_a_compute, init_is_a_placeholder,
    init_read_by_another,    two_states, two_states_inside, two_rows_back, cell_of_two_stages, cell_attached_to_a_tile,
    cell_attached_to_an_element_with_a_cache, cell_with_a_cache_for_its_result, cell_inlined, input_computed_before,
    scan_of_a_scan,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_scan(golden, case):
    s, args, expected = case()
    golden(text(s, args))
    for target in ("interp", "llvm"):
        inputs = [a for a in args if a.op.kind == "placeholder"]
        given = arrays(args, len(args) - len(inputs))
        wanted = expected(*given[: len(inputs)])
        build(s, args, target)(*given)
        for have, want in zip(given[len(inputs) :], wanted, strict=True):
            np.testing.assert_allclose(have, want, rtol=1e-5)


@pytest.mark.parametrize("target", ["interp", "llvm"])
def test_symbolic_sizes(golden, target):
    m, n = te.var("m"), te.var("n")
    X, S = te.placeholder((m, n), name="X"), te.placeholder((m, n), name="S")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    upd = te.compute((m, n), lambda t, i: S[t - 1, i] + X[t, i], name="update")
    C = te.scan(init, upd, S, inputs=[X], name="scan")
    s = create_schedule(C.op)
    s[upd].split(upd.op.axis[1], 4)
    golden(text(s, [X, C]))
    f = build(s, [X, C], target)
    for shape in ((1, 3), (5, 7), (2, 8)):
        x, c = np.arange(shape[0] * shape[1], dtype="float32").reshape(shape), np.full(shape, UNWRITTEN, "float32")
        f(x, c)
        assert (c == x.cumsum(0)).all()


@pytest.mark.parametrize("known", [True, False])
def test_threads_around_the_scan(golden, known):
    """env_threads: the threads are launched once; `known`: their extents are given, else those of the stages inside."""
    X, S, init, upd, C = running_sum()
    s = create_schedule(C.op)
    bx = te.thread_axis((0, 2) if known else None, "blockIdx.x")
    tx = te.thread_axis((0, 4) if known else None, "threadIdx.x")
    s[C].env_threads([bx, tx])
    for stage in (init, upd):
        xo, xi = s[stage].split(stage.op.axis[1], 4)
        s[stage].bind(xo, bx)
        s[stage].bind(xi, tx)
    golden(text(s, [X, C]))
    x, c = arrays([X, C])
    build(s, [X, C], "interp")(x, c)
    assert (c == total(x)).all()


def test_the_update_stays_in_its_scan():
    X, S, init, upd, C = running_sum()
    D = te.compute((T, N), lambda t, i: C[t, i] + 1.0, name="D")
    s = create_schedule(D.op)
    assert refused(ScheduleError, lambda: s[upd].compute_at(s[D], D.op.axis[0])) == (
        "cannot attach update: it is the update of scan, which runs it in its own loop"
    )
