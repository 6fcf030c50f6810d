"""Real schedules through the interpreter after each pass: the same numbers, and nothing to report."""

from collections.abc import Iterator

import numpy as np
import pytest

from tvmlab.core.node import THREAD, IterVar, Var
from tvmlab.core.program import Program
from tvmlab.expr.reduce import reduce_axis
from tvmlab.expr.reduce import sum as total
from tvmlab.expr.tensor import compute, placeholder
from tvmlab.face.api import create_schedule
from tvmlab.lowering import pipeline
from tvmlab.target.interp import run


def thread_axis(tag):
    return IterVar(None, Var(tag), THREAD, tag)


def matmul(n, m, size):
    a, b = placeholder((n, size), name="A"), placeholder((size, m), name="B")
    k = reduce_axis((0, size), "k")
    return a, b, compute((n, m), lambda i, j: total(a[i, k] * b[k, j], axis=k), name="C"), k


def stages(s, args) -> Iterator[Program]:
    """The program as built, and after each pass that changes it."""
    program = pipeline.loops(s.state, args)
    yield program
    for name in (*pipeline.READABLE, *pipeline.FLAT):
        before, program = program, pipeline.run(program, (name,))
        if program is not before:
            yield program


def same_at_every_stage(s, args, want):
    rng = np.random.default_rng(0)
    inputs = [rng.random([d.value for d in t.shape]).astype("float32") for t in args[:-1]]
    expected = want(*inputs)
    for program in stages(s, args):
        result = np.full(expected.shape, np.nan, "float32")
        run(program, [*inputs, result], uninitialised=[program.entry.buffers[-1].name])
        np.testing.assert_allclose(result, expected, rtol=1e-5, err_msg=str(program))


@pytest.mark.parametrize("shape", [(17, 19, 13), (16, 16, 16), (1, 1, 1)])
def test_tiles_vectors_and_parallel_loops(shape):
    a, b, c, k = matmul(*shape)
    s = create_schedule(c.op)
    xo, yo, xi, yi = s[c].tile(c.op.axis[0], c.op.axis[1], 4, 8)
    ko, ki = s[c].split(k, 4)
    s[c].reorder(xo, yo, ko, xi, ki, yi)
    s[c].vectorize(yi)
    s[c].unroll(ki)
    s[c].parallel(xo)
    same_at_every_stage(s, [a, b, c], np.matmul)


def test_a_cache_in_registers():
    a, b, c, _ = matmul(16, 16, 16)
    s = create_schedule(c.op)
    cached = s.cache_write(c, "local")
    xo, yo, _, yi = s[c].tile(c.op.axis[0], c.op.axis[1], 4, 8)
    s[cached].compute_at(s[c], yo)
    s[c].vectorize(yi)
    s[c].parallel(xo)
    same_at_every_stage(s, [a, b, c], np.matmul)


def test_blocks_threads_and_shared_memory():
    a, b, c, k = matmul(16, 16, 16)
    s = create_schedule(c.op)
    shared = s.cache_read(a, "shared", [c])
    i, j = s[c].op.axis
    bx, tx = s[c].split(i, 4)
    by, ty = s[c].split(j, 4)
    ko, ki = s[c].split(k, 4)
    s[c].reorder(bx, by, tx, ty, ko, ki)
    for axis, tag in ((bx, "blockIdx.x"), (by, "blockIdx.y"), (tx, "threadIdx.x"), (ty, "threadIdx.y")):
        s[c].bind(axis, thread_axis(tag))
    s[shared].compute_at(s[c], ko)
    for axis, tag in zip(s[shared].op.axis, ("threadIdx.x", "threadIdx.y")):
        s[shared].bind(axis, thread_axis(tag))
    same_at_every_stage(s, [a, b, c], np.matmul)


@pytest.mark.parametrize("factored", [False, True])
def test_a_reduction_over_threads(factored):
    a = placeholder((8, 32), name="A")
    k = reduce_axis((0, 32), "k")
    b = compute((8,), lambda i: total(a[i, k], axis=k), name="B")
    s = create_schedule(b.op)
    _, ki = s[b].split(k, 16)
    if factored:
        partial = s.rfactor(b, ki)
        s[b].bind(s[b].op.reduce_axis[0], thread_axis("threadIdx.x"))
        s[partial].compute_at(s[b], s[b].op.reduce_axis[0])
    else:
        s[b].bind(ki, thread_axis("threadIdx.x"))
    s[b].bind(s[b].op.axis[0], thread_axis("blockIdx.x"))
    same_at_every_stage(s, [a, b], lambda x: x.sum(1))


def test_virtual_threads():
    a = placeholder((64,), name="A")
    b = compute((64,), lambda i: a[i] + 1.0, name="B")
    s = create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], nparts=2)
    s[b].bind(outer, thread_axis("vthread"))
    s[b].bind(inner, thread_axis("threadIdx.x"))
    same_at_every_stage(s, [a, b], lambda x: x + 1)
