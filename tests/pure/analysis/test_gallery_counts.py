"""Counts of the gallery's operators, and of kernels of threads, against the interpreter."""

from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest

import kernels
from tests.pure.analysis import brute
from tests.pure.analysis.test_counts import compare, nonzero
from tvmlab import lower, te
from tvmlab.analysis.metrics import metrics
from tvmlab.core.error import LabError
from tvmlab.expr.tensor import PlaceholderOp
from tvmlab.target.interp.run import run

OPERATORS = [m.name for m in iter_modules(kernels.__path__) if not m.name.startswith("_")]


def counts_agree(s, args):
    p = lower(s, args, simple_mode=True)
    arrays = [np.ones([int(n) for n in t.shape], t.dtype) for t in args]
    report, m = run(p, arrays, check=False, count=True), metrics(p)
    assert m.counted or m.why
    if m.counted:
        found = (m.flops, nonzero(m.loads), nonzero(m.stores), nonzero(m.iterations))
        assert found == (report.flops, nonzero(report.loads), nonzero(report.stores), nonzero(report.iterations))
    return p, m


@pytest.mark.parametrize("name", OPERATORS)
def test_an_operator(name):
    module = import_module(f"tvmlab.kernels.{name}")
    for shape in module.SMALL[:2]:
        made = module.declare(**shape)
        tensors = list(made) if isinstance(made, (list, tuple)) else [made]
        inputs = [t for t in tensors if isinstance(t.op, PlaceholderOp)]
        outputs = [t for t in tensors if not isinstance(t.op, PlaceholderOp)]
        try:
            p, m = counts_agree(te.create_schedule([t.op for t in outputs]), [*inputs, *outputs])
        except LabError as e:  # a C function, which the interpreter cannot run
            pytest.skip(e.message)
        if m.exact and sum(m.iterations.values()) < 20_000:
            compare(m, *brute.runs(p.body), name)


def test_threads_that_fill_shared_memory_together():
    n = 32
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    copies = [s.cache_read(T, "shared", [C]) for T in (A, B)]
    L = s.cache_write(C, "local")
    by, bx, yi, xi = s[C].tile(*C.op.axis, 8, 8)
    ty, yi = s[C].split(yi, 4)
    tx, xi = s[C].split(xi, 4)
    s[C].reorder(by, bx, ty, tx, yi, xi)
    for axis, tag in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        s[C].bind(axis, te.thread_axis(tag))
    s[L].compute_at(s[C], tx)
    ko, ki = s[L].split(L.op.reduce_axis[0], 4)
    s[L].reorder(ko, ki, *L.op.axis)
    for T in copies:
        s[T].compute_at(s[L], ko)
        rest = s[T].fuse(*T.op.axis)
        for tag in ("threadIdx.y", "threadIdx.x"):
            outer, rest = s[T].split(rest, nparts=2)
            s[T].bind(outer, te.thread_axis((0, 2), tag))
    _, m = counts_agree(s, [A, B, C])
    assert m.exact
    assert (m.tasks, m.flops, m.buffers["A"]) == (64, 2 * n**3, 4 * n * n)
    assert m.loads["A"] == n * n * (n // 8)  # once for each block of columns


def test_a_sum_over_threads():
    A = te.placeholder((5, 40), name="A")
    k = te.reduce_axis((0, 40), name="k")
    S = te.compute((5,), lambda i: te.sum(A[i, k], axis=k), name="S")
    s = te.create_schedule(S.op)
    _, ki = s[S].split(k, 16)
    F = s.rfactor(S, ki)
    (axis,) = s[S].op.reduce_axis
    s[S].bind(axis, te.thread_axis("threadIdx.x"))
    s[S].bind(s[S].op.axis[0], te.thread_axis("blockIdx.x"))
    s[F].compute_at(s[S], axis)
    _, m = counts_agree(s, [A, S])
    assert (m.tasks, m.loads["A"], m.exact) == (80, 200, True)


def test_virtual_threads():
    A = te.placeholder((100,), name="A")
    B = te.compute((100,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    o, i = s[B].split(B.op.axis[0], nparts=3)
    s[B].bind(o, te.thread_axis("vthread"))
    s[B].bind(s[B].split(i, 8)[1], te.thread_axis("threadIdx.x"))
    _, m = counts_agree(s, [A, B])
    assert (m.tasks, m.flops, m.unique) == (8, 100, 800)
