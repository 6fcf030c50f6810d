"""Programs with kernels, by schedules and by hand."""

from dataclasses import replace

import numpy as np

from tests.loops import buffer, function
from tvmlab import te
from tvmlab.core.build import const
from tvmlab.core.node import Call, Evaluate
from tvmlab.core.program import Program
from tvmlab.core.walk import seq
from tvmlab.runtime import Module
from tvmlab.target.base import Target


def bound(extent, expression, dtype="float32", factor=32, arrays=1, **options):
    """B[i] = expression(A[i], ..., i), in blocks of `factor` threads: the schedule and its arguments."""
    inputs = [te.placeholder((extent,), dtype, name=f"A{k}") for k in range(arrays)]
    B = te.compute((extent,), lambda i: expression(*[A[i] for A in inputs], i), name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], factor=factor)
    s[B].bind(outer, te.thread_axis("blockIdx.x"))
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    return s, [*inputs, B]


def tiled(n=20, m=18, l=13):
    """A matmul whose tiles of A lie in shared memory, with guards everywhere."""
    A, B = te.placeholder((n, l), name="A"), te.placeholder((l, m), name="B")
    k = te.reduce_axis((0, l), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    shared, local = s.cache_read(A, "shared", [C]), s.cache_write(C, "local")
    by, bx, ty, tx = (te.thread_axis(f"{x}Idx.{d}") for x in ("block", "thread") for d in "yx")
    io, jo, ii, ji = s[C].tile(*s[C].op.axis, 8, 8)
    for axis, thread in ((io, by), (jo, bx), (ii, ty), (ji, tx)):
        s[C].bind(axis, thread)
    s[local].compute_at(s[C], ji)
    ko, _ = s[local].split(s[local].op.reduce_axis[0], factor=8)
    s[shared].compute_at(s[local], ko)
    y, x = s[shared].op.axis
    s[shared].bind(y, ty)
    s[shared].bind(x, tx)
    return s, [A, B, C]


def module(params, body, grid=(1, 1, 1), block=(32, 1, 1), target="cuda", name="k"):
    """A module of one kernel, written by hand: `body` with its thread loops."""
    tags = [f"{x}Idx.{d}" for x in ("block", "thread") for d in "xyz"]
    launch = tuple((t, const(e)) for t, e in zip(tags, (*grid, *block), strict=True))
    kernel = replace(function(params, body, name=name), attrs=(("kernel", True), ("launch", launch)))
    args = [p.data if hasattr(p, "data") else p for p in params]
    call = Call(name, (*map(const, (*grid, *block)), *args), "int32", "launch")
    program = Program((function(params, seq(Evaluate(call)), name="main"), kernel))
    record = Target(target)
    return Module(program.entry, record, record.kind.compile(program, record))


__all__ = ["bound", "buffer", "module", "np", "tiled"]
