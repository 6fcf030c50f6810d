"""Each point is computed exactly once, whatever the splits: counted by adding one to what is there."""

import itertools

import numpy as np
import pytest

from tests.pure.schedule.programs import numbers, right, rows
from tvmlab import te
from tvmlab.core.build import binary, const
from tvmlab.core.node import Load, Store
from tvmlab.core.walk import rewrite
from tvmlab.lowering import pipeline
from tvmlab.target.interp import run


def visits(s, C, A, shape):
    """How often each element of C is stored to."""

    def counting(x):
        if type(x) is Store and x.buffer.name == "C":
            old = Load(x.buffer, x.indices, x.buffer.dtype)
            return Store(x.buffer, x.indices, binary("+", old, const(1.0)), x.mask, x.origin)
        return None

    program = pipeline.loops(s.state, [A, C]).map_bodies(lambda b: rewrite(b, counting))
    count = np.zeros(shape, "float32")
    run(program, [numbers(*shape), count])
    return count


def copy(n, m):
    A = te.placeholder((n, m), name="A")
    C = te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="C")
    return te.create_schedule(C.op), A, C


@pytest.mark.parametrize(("n", "f", "g", "h"), list(itertools.product((1, 7, 12, 13), (2, 5, 20), (3, 4), (2, 7)))[::2])
def test_nested_splits(n, f, g, h):
    s, A, C = copy(n, 3)
    o, i = s[C].split(C.op.axis[0], f)
    oo, oi = s[C].split(o, nparts=g)
    io, ii = s[C].split(i, h)
    s[C].reorder(ii, oo, C.op.axis[1], io, oi)
    assert (visits(s, C, A, (n, 3)) == 1).all()


@pytest.mark.parametrize("n", [5, 7, 8])
@pytest.mark.parametrize("m", [1, 6, 9])
def test_fused_split_fused(n, m):
    s, A, C = copy(n, m)
    f = s[C].fuse(*C.op.axis)
    o, i = s[C].split(f, 5)
    x, y = s[C].split(i, 3)
    s[C].fuse(o, x)
    assert (visits(s, C, A, (n, m)) == 1).all()


def test_tiles_of_tiles():
    s, A, C = copy(11, 13)
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 4, 5)
    s[C].tile(xi, yi, 3, 2)
    assert (visits(s, C, A, (11, 13)) == 1).all()


def test_transformed_and_split():
    s, A, C = copy(11, 6)
    D = te.compute((11, 6), lambda i, j: C[i, j] * 1.0, name="D")
    s = te.create_schedule(D.op)
    p, q, r = s[C].transform_layout(lambda i, j: [i // 4, j, i % 4])
    s[C].split(q, 4)
    s[C].reorder(r, p)
    right(s, [A, D], numbers(11, 6) + 1, inputs=[numbers(11, 6)])


def test_a_loop_is_tested_once():
    """Issue: the same test printed twice, for a split of a split."""
    s, A, C = copy(13, 3)
    o, i = s[C].split(C.op.axis[0], 4)
    s[C].split(i, 4)
    body = str(pipeline.loops(s.state, [A, C]))
    assert body.count("if ") == 1


@pytest.mark.parametrize("domain", [(0, 0), (0, 1), (5, 5), (2, 9), (-3, 4), (-5, -1)])
def test_reduce_domains(domain):
    lo, hi = domain
    A = te.placeholder((20,), name="A")
    k = te.reduce_axis(domain, name="k")
    B = te.compute((3,), lambda i: te.sum(A[k + 6] * 1.0, axis=k), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(k, 3)
    s[B].reorder(ki, B.op.axis[0], ko)
    a = numbers(20)
    want = np.full(3, a[lo + 6 : hi + 6].sum(), "float32")
    right(s, [A, B], want, inputs=[a])


@pytest.mark.parametrize("n", [0, 1])
def test_tiny_extents_through_every_primitive(n):
    s, A, B, k = rows(n, 3)
    C = te.compute((n,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    AS, BL = s.cache_read(A, "global", [B]), s.cache_write(B, "local")
    xo, xi = s[C].split(C.op.axis[0], 4)
    f = s[C].fuse(xo, xi)
    s[C].vectorize(s[C].split(f, nparts=2)[1])
    s[BL].compute_at(s[C], s[C].leaf_iter_vars[0])
    s[B].compute_inline()
    s[AS].storage_align(s[AS].op.axis[0], 8, 1)
    s.rfactor(BL, s[BL].op.reduce_axis[0])
    right(s, [A, C], numbers(n, 3).sum(1) + 1, inputs=[numbers(n, 3)])
