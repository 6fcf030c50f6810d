"""Schedules for GPUs that the tests of several targets print, compile and run."""

import numpy as np

import tvmlab
from tvmlab import te
from tvmlab.lowering import pipeline
from tvmlab.target import Target, get


def split(schedule, args, target="opencl"):
    """The program as the target's printer takes it."""
    program = tvmlab.lower(schedule, args)
    return pipeline.run(program, (*pipeline.FLAT, *get(target).passes))


def text(schedule, args, target="opencl"):
    return get(target).source(split(schedule, args, target), Target(target))


def body(source):
    """The kernel's statements: without its head, the indices of the thread, and what follows."""
    lines = source.splitlines()
    start = next(k for k, line in enumerate(lines) if "void " in line and "main_" in line)
    first = next(k for k in range(start, len(lines)) if lines[k].endswith(" {"))
    end = lines.index("}", first)
    return "\n".join(x[4:] for x in lines[first + 1 : end] if "Idx." not in x and "_id(" not in x)


def axes(*tags):
    return [te.thread_axis(t) for t in tags]


def matmul(n=64, m=64, l=64, block=16, tile=4, step=8, dtype="float32"):
    """Tiles in shared memory, sums in registers; any sizes."""
    A, B = te.placeholder((n, l), dtype, name="A"), te.placeholder((l, m), dtype, name="B")
    k = te.reduce_axis((0, l), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    AA, BB = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    AL, BL = s.cache_read(AA, "local", [C]), s.cache_read(BB, "local", [C])
    CL = s.cache_write(C, "local")
    bx, by, tx, ty = axes("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y")
    i, j = s[C].op.axis
    io, ii = s[C].split(i, factor=block)
    jo, ji = s[C].split(j, factor=block)
    yo, yi = s[C].split(ii, factor=tile)
    xo, xi = s[C].split(ji, factor=tile)
    s[C].reorder(io, jo, yo, xo, yi, xi)
    for axis, thread in ((io, by), (jo, bx), (yo, ty), (xo, tx)):
        s[C].bind(axis, thread)
    s[CL].compute_at(s[C], xo)
    ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=step)
    s[CL].reorder(ko, ki, *s[CL].op.axis)
    for stage, at in ((AA, ko), (BB, ko), (AL, ki), (BL, ki)):
        s[stage].compute_at(s[CL], at)
    for stage in (AA, BB):
        f = s[stage].fuse(*s[stage].op.axis)
        a, b = s[stage].split(f, factor=block // tile)
        c, d = s[stage].split(a, factor=block // tile)
        s[stage].bind(d, ty)
        s[stage].bind(b, tx)
    return s, [A, B, C]


def elementwise(n, dtype, f, threads=8, lanes=1):
    """C[i] = f(A, B, i), one thread for `lanes` neighbouring elements."""
    A, B = te.placeholder((n,), dtype, name="A"), te.placeholder((n,), dtype, name="B")
    C = te.compute((n,), lambda i: f(A, B, i), name="C")
    s = te.create_schedule(C.op)
    o, v = s[C].split(C.op.axis[0], lanes)
    b, t = s[C].split(o, threads)
    s[C].bind(b, te.thread_axis("blockIdx.x"))
    s[C].bind(t, te.thread_axis("threadIdx.x"))
    if lanes > 1:
        s[C].vectorize(v)
    return s, [A, B, C]


def two_kernels(n=30):
    """B is computed whole before C is, in memory of the host's."""
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((n,), lambda i: B[n - 1 - i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    for t in (B, C):
        o, i = s[t].split(t.op.axis[0], 8)
        s[t].bind(o, te.thread_axis("blockIdx.x"))
        s[t].bind(i, te.thread_axis("threadIdx.x"))
    return s, [A, C]


def symbolic():
    """Rows and columns that the call brings."""
    n, m = te.var("n"), te.var("m")
    A = te.placeholder((n, m), name="A")
    C = te.compute((n, m), lambda i, j: A[i, j] * 2.0 + j.astype("float32"), name="C")
    s = te.create_schedule(C.op)
    o, i = s[C].split(C.op.axis[1], 16)
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.y"))
    s[C].bind(o, te.thread_axis("blockIdx.x"))
    s[C].bind(i, te.thread_axis("threadIdx.x"))
    return s, [A, C]


def data(shape, dtype, seed=0):
    """Numbers of both signs, and zeros."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith("float"):
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(0 if dtype.startswith("u") else -100, 100, shape).astype(dtype)


def arrays(args):
    return [data(tuple(int(n) for n in a.shape), a.dtype, k) for k, a in enumerate(args)]


def wanted(schedule, args, given):
    """What the interpreter makes of it: the last array."""
    made = [a.copy() for a in given]
    tvmlab.build(schedule, args, target="interp")(*made)
    return made[-1]
