"""Random schedules around a tensorized product: caches, attached producers, any order of the loops outside."""

import random

import numpy as np
import pytest

from tests.intrins import UNWRITTEN
from tvmlab import te, tir
from tvmlab.face.api import build, create_schedule


def gemm(m, n, k, parts):
    """c[i, j] = sum(a[i, r]*b[j, r])"""
    a, b, r = te.placeholder((m, k), name="a"), te.placeholder((n, k), name="b"), te.reduce_axis((0, k), "r")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[j, r], axis=r), name="c")

    def part(buffers, start, add):
        ib = tir.ir_builder.create()
        x, y, z = (ib.buffer_ptr(t) for t in buffers)
        with ib.for_range(0, m, "p") as p, ib.for_range(0, n, "q") as q:
            if start:
                z[p, q] = 0.0
            if add:
                with ib.for_range(0, k, "t") as t:
                    z[p, q] = z[p, q] + x[p, t] * y[q, t]
        return ib.get()

    def fcompute(ins, outs):
        made = {"b": (True, True), "i": (True, False), "u": (False, True)}
        return tuple(part((*ins, *outs), *made[p]) if p in parts else None for p in "biu")

    return te.decl_tensor_intrin(c.op, fcompute, name="gemm")


def program(rng):
    """(schedule, arguments, expected result of two arrays)"""
    m, n, k = (rng.choice([1, 2, 3, 4]) for _ in range(3))
    rows, columns, depth = (x * rng.choice([1, 2, 3, 4]) for x in (m, n, k))
    A, B = te.placeholder((rows, depth), name="A"), te.placeholder((columns, depth), name="B")
    r = te.reduce_axis((0, depth), "r")
    P = te.compute((rows, depth), lambda i, j: A[i, j] + 1.0, name="P")
    C = te.compute((rows, columns), lambda i, j: te.sum(P[i, r] * B[j, r], axis=r), name="C")
    D = te.compute((rows, columns), lambda i, j: C[i, j] * 2.0, name="D")
    s = create_schedule(D.op)
    T = s.cache_write(C, "global") if rng.random() < 0.4 else C
    producers = [P] + ([s.cache_read(B, "global", [T])] if rng.random() < 0.4 else [])
    (io, ii), (jo, ji) = (s[T].split(a, part) for a, part in zip(s[T].op.axis, (m, n), strict=True))
    ro, ri = s[T].split(s[T].op.reduce_axis[0], k)
    outer = [io, jo, ro]
    rng.shuffle(outer)
    if rng.random() < 0.3:
        at = rng.randrange(3)
        outer[at : at + 1] = s[T].split(outer[at], 2)
    s[T].reorder(*outer, ii, ji, ri)
    s[T].tensorize(ii, gemm(m, n, k, rng.choice(["biu", "bu", "iu"])))
    for producer in producers:
        if rng.random() < 0.6:
            s[producer].compute_at(s[T], rng.choice(outer))
    if T is not C and rng.random() < 0.7:
        s[T].compute_at(s[C], s[C].split(s[C].op.axis[0], m)[0])
    if rng.random() < 0.5:
        s[C].compute_at(s[D], s[D].split(D.op.axis[0], m)[0])
    return s, [A, B, D], lambda a, b: 2 * (a + 1) @ b.T


@pytest.mark.parametrize("target", ["interp", "llvm"])
@pytest.mark.parametrize("seed", range(30))
def test_any_schedule_around_it_computes_the_same(seed, target):
    s, args, expected = program(random.Random(seed))
    numbers = np.random.default_rng(seed)
    a, b = (numbers.integers(-3, 4, [int(n) for n in t.shape]).astype("float32") for t in args[:2])
    d = np.full([int(n) for n in args[2].shape], UNWRITTEN, "float32")
    f = build(s, args, target)
    f(a, b, d)
    assert (d == expected(a, b)).all()
