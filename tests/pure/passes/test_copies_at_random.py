"""Random schedules with virtual threads, double and rolling buffers, alignment and tails, against NumPy."""

import random

import pytest

from tests.pure.passes.schedules import numbers, run
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.face.api import create_schedule
from tvmlab.lowering.config import Config

# what the passes may refuse: the loop is no serial one, what is read is not there ahead, nothing to run ahead in
REFUSALS = {"double-buffer-loop", "double-buffer-order", "rolling-buffer", "open-obligations"}


def tiled(r, s, C):
    """C's loops, split and reordered at random, outermost first."""
    i, j = C.op.axis
    rows, columns = [i], [j]
    if r.random() < 0.7:
        rows = list(s[C].split(i, **{r.choice(["factor", "nparts"]): r.choice([2, 3, 4])}))
    if r.random() < 0.6:
        columns = list(s[C].split(j, factor=r.choice([2, 4, 8])))
    order = [*rows, *columns]
    if len(rows) == 2 and r.random() < 0.4:
        order = [rows[0], columns[0], rows[1], *columns[1:]]
        s[C].reorder(*order)
    return order


def marked(r, s, C, order):
    """Virtual threads, vectors, unrolled loops."""
    if r.random() < 0.4:
        s[C].bind(order[0], te.thread_axis("vthread", name="v0"))
    if r.random() < 0.2 and len(order) > 2:
        s[C].bind(order[1], te.thread_axis("vthread", name="v1"))
    if r.random() < 0.7:
        r.choice([s[C].vectorize, s[C].unroll])(order[-1])


@pytest.mark.parametrize("seed", range(120))
def test_any_schedule_computes_the_same(seed):
    r = random.Random(seed)
    n, m, window = r.choice([5, 8, 12, 17]), r.choice([4, 6, 16, 19]), r.choice([1, 2, 3])
    A = te.placeholder((n + window - 1, m), name="A")
    P = te.compute(A.shape, lambda i, j: A[i, j] * 2.0, name="P")
    k = te.reduce_axis((0, window), "k")
    Q = te.compute((n, m), lambda i, j: te.sum(P[i + k, j], axis=k), name="Q")
    C = te.compute((n, m), lambda i, j: Q[i, j] + P[i, j], name="C")
    s = create_schedule(C.op)
    order = tiled(r, s, C)
    marked(r, s, C, order)
    at = r.choice(order[:-1])
    s[Q].compute_at(s[C], at)
    place = r.choice([at, at, order[0], None])
    if place is not None:
        s[P].compute_at(s[C], place)
    for t in (P, Q):
        if s[t].attach_type == 4 and r.random() < 0.6:
            r.choice([s[t].double_buffer, s[t].rolling_buffer])()
    if r.random() < 0.3:
        s[P].storage_align(P.op.axis[0], 8, 1)
    if r.random() < 0.3:
        s[Q].vectorize(Q.op.axis[1])
    a = numbers(n + window - 1, m, seed=seed)
    try:
        found = run(s, [A, C], [a, a[:n]], config=Config(split_loop=r.choice([1, 2, 4])))
    except LabError as e:
        assert e.rule in REFUSALS, str(e)
        return
    assert (found == sum(2 * a[i : i + n] for i in range(window)) + 2 * a[:n]).all()
