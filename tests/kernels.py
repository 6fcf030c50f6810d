"""Schedules for GPUs that the tests of several targets print, compile and run."""

import numpy as np

import tvmlab
from tests.loops import buffer, function, load, loop
from tvmlab import te
from tvmlab.core.build import const, if_then_else
from tvmlab.core.node import Let, LetStmt, Load, Ramp, Store, Var
from tvmlab.core.program import Program
from tvmlab.lowering import passes, pipeline
from tvmlab.target import Target, get, interp


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


def staged(n, threads, scope="shared"):
    """C[i] = 2*A[n - 1 - i] by one block, through memory of that scope."""
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[n - 1 - i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    S = s.cache_read(A, scope, [C])
    block = s[C].split(C.op.axis[0], nparts=1)[0]
    s[C].bind(block, te.thread_axis("blockIdx.x"))
    s[S].compute_at(s[C], block)
    for stage, axis in ((s[S], s[S].op.axis[0]), (s[C], s[C].leaf_iter_vars[1])):
        stage.bind(stage.split(axis, factor=threads)[1], te.thread_axis("threadIdx.x"))
    return s, [A, C]


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


# ---------------------------------------------------------------- byte products

SIGNS = [("uint8", "int8"), ("int8", "uint8"), ("int8", "int8"), ("uint8", "uint8")]
FORMS = ("plain", "variables", "let", "chosen", "mirrored")


def dots(n, left="uint8", right="int8", shared=False, form="plain", threads=4, start=0):
    """C[..n..] = dot4(C[..n..], A, B) of each thread. `shared`: four bytes of A meet every lane; A from `start` on."""
    na = 4 if shared else 4 * n
    A, B = buffer("A", (na * threads + start,), left), buffer("B", (4 * n * threads,), right)
    C, tx = buffer("C", (n * threads,), "int32"), Var("tx")
    c, a, b = _row(C, tx, n), _row(A, tx, na, start), _row(B, tx, 4 * n)
    if form == "mirrored":  # no word: from the last byte to the first
        a = Load(A, (Ramp(tx * na + (na - 1), const(-1), na),), a.dtype)
    va, vb = Var("a", a.dtype), Var("b", b.dtype)
    named = te.dot4(c, va, vb)
    value = Let(va, a, Let(vb, b, named)) if form == "let" else named if form == "variables" else te.dot4(c, a, b)
    if form == "chosen":
        value = if_then_else(tx < 3, value, c)
    body = Store(C, c.indices, value)
    if form == "variables":
        body = LetStmt(va, a, LetStmt(vb, b, body))
    program = Program((function([A, B, C], loop(tx, threads, body, thread="threadIdx.x"), name="main"),))
    for name in pipeline.FLAT:
        program = passes.get(name)(program)
    return program


def _row(b, tx, n, start=0):
    """The n elements of thread tx, as a vector."""
    return load(b, tx) if n == 1 else load(b, Ramp(tx * n + start, const(1), n), dtype=f"{b.dtype}x{n}")


def dots_arrays(n, left, right, shared=False, threads=4):
    """Arguments of `dots`, with the largest products and sums that wrap."""
    rng, na = np.random.default_rng(7), 4 if shared else 4 * n
    of = lambda dtype, size: rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, size).astype(dtype)
    a, b, c = of(left, na * threads), of(right, 4 * n * threads), of("int32", n * threads)
    a[:2], b[:2] = np.iinfo(left).max, np.iinfo(right).min or np.iinfo(right).max
    c[0] = -(2**31) if b[0] < 0 else 2**31 - 1
    return [a, b, c]


def dots_wanted(program, given):
    made = [x.copy() for x in given]
    interp.run(program, made)
    return made[-1]


def dots_by_schedule(m=5, n=32, k=12):
    """C[i, j] = sum(A[i, r]*W[j, r]), whose inner 16 x 4 are the intrinsic's: rows are blocks, columns threads."""
    A, W = te.placeholder((m, k), "uint8", name="A"), te.placeholder((n, k), "int8", name="W")
    r = te.reduce_axis((0, k), name="r")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r].astype("int32") * W[j, r].astype("int32"), axis=r), name="C")
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    jo, ji = s[C].split(j, 16)
    ro, ri = s[C].split(r, 4)
    s[C].reorder(i, jo, ro, ji, ri)
    s[C].tensorize(ji, te.get_intrin("dot_16x4_u8s8"))
    s[C].bind(i, te.thread_axis("blockIdx.x"))
    s[C].bind(jo, te.thread_axis("threadIdx.x"))
    return s, [A, W, C]
