"""Every primitive on shapes that are known when called, of int32 and int64, run by the llvm target."""

import numpy as np
import pytest

from tests.pure.passes.schedules import numbers
from tvmlab import te
from tvmlab.face.api import build


def program(dtype):
    m, n, p = (te.size_var(x, dtype) for x in "mnp")
    A, B = te.placeholder((m, p), name="A"), te.placeholder((p, n), name="B")
    k = te.reduce_axis((0, p), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((m, n), lambda i, j: C[i, j] + 1.0, name="D")
    return te.create_schedule(D.op), A, B, C, D, k


def split(s, A, B, C, D, k):
    xo, xi = s[C].split(C.op.axis[0], 4)
    s[C].split(xo, nparts=3)
    s[C].split(k, nparts=2)


def fuse(s, A, B, C, D, k):
    s[D].split(s[D].fuse(*D.op.axis), 5)
    s[C].fuse(C.op.axis[1], k)


def tile_reorder(s, A, B, C, D, k):
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 4, 3)
    s[C].reorder(xo, yo, k, xi, yi)


def marks(s, A, B, C, D, k):
    jo, ji = s[C].split(C.op.axis[1], 8)
    s[C].reorder(k, ji)
    s[C].vectorize(ji)
    s[C].parallel(C.op.axis[0])
    s[D].unroll(s[D].split(D.op.axis[1], 2)[1])
    s[D].pragma(D.op.axis[0], "auto_unroll_max_step", 4)


def compute_at(s, A, B, C, D, k):
    xo, yo, xi, yi = s[D].tile(*D.op.axis, 4, 3)
    s[C].compute_at(s[D], yo)


def attach_and_fuse(s, A, B, C, D, k):
    i, j = D.op.axis
    s[C].compute_at(s[D], j)
    s[D].split(s[D].fuse(i, j), 3)


def caches(s, A, B, C, D, k):
    CL = s.cache_write(C, "local")
    BB = s.cache_read(B, "global", [CL])
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 2, 4)
    s[CL].compute_at(s[C], yo)
    s[BB].compute_at(s[CL], s[CL].op.reduce_axis[0])


def relayout(s, A, B, C, D, k):
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 2, 4)
    s.cache_write(C, "global")


def rfactor(s, A, B, C, D, k):
    ko, ki = s[C].split(k, 4)
    s.rfactor(C, ki, -1)


def transform_layout(s, A, B, C, D, k):
    p, q, r = s[C].transform_layout(lambda i, j: [i // 4, j, i % 4])
    s[C].vectorize(r)


def align(s, A, B, C, D, k):
    s[C].storage_align(C.op.axis[0], 16, 3)


def double_buffer(s, A, B, C, D, k):
    s[C].compute_at(s[D], D.op.axis[0])
    s[C].double_buffer()


def prefetch(s, A, B, C, D, k):
    s[C].prefetch(B, k, 2)


def virtual_threads(s, A, B, C, D, k):
    xo, xi = s[C].split(C.op.axis[0], nparts=2)
    s[C].bind(xo, te.thread_axis("vthread"))


def group(s, A, B, C, D, k):
    s.create_group(C, [A, B]).compute_at(s[D], D.op.axis[0])


STEPS = (
    split, fuse, tile_reorder, marks, compute_at, attach_and_fuse, caches, relayout, rfactor, transform_layout, align,
    double_buffer, prefetch, virtual_threads, group,
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("step", STEPS, ids=lambda f: f.__name__)
def test_a_shape_known_when_called(step, dtype):
    s, A, B, C, D, k = program(dtype)
    step(s, A, B, C, D, k)
    assert s.check() == []
    module = build(s, [A, B, D], "llvm")
    for m, n, p in ((7, 9, 5), (1, 1, 1), (8, 16, 4), (0, 3, 2), (3, 2, 0)):
        a, b, d = numbers(m, p), numbers(p, n), np.full((m, n), np.nan, "float32")
        module(a, b, d)
        np.testing.assert_array_equal(d, a @ b + 1)
