"""Reductions over threads for the tests of the passes that lower them: schedules, inputs, what NumPy says."""

from itertools import count

import numpy as np

from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.core.node import Barrier, Seq
from tvmlab.core.walk import rewrite, walk
from tvmlab.face.api import create_schedule, lower
from tvmlab.lowering.pipeline import FLAT
from tvmlab.lowering.pipeline import run as run_passes
from tvmlab.target import interp
from tvmlab.target.interp.writer import Options

FOLDS = {
    "sum": (te.sum, lambda a, axis: a.sum(axis)),
    "min": (te.min, lambda a, axis: a.min(axis)),
    "max": (te.max, lambda a, axis: a.max(axis)),
    "prod": (te.prod, lambda a, axis: a.prod(axis)),
}


def threads(name):
    return te.thread_axis(f"threadIdx.{name}")


def numbers(*shape, dtype="float32", powers=False):
    made = np.random.default_rng(3).integers(-8, 9, shape)
    return (np.where(made % 3, np.sign(made) + (made == 0), 2) if powers else made).astype(dtype)


def flat(s, args, *passes):
    """The program after the passes that a reduction over threads comes to."""
    return run_passes(lower(s, args), (*FLAT, *passes))


def computed(program, inputs, outputs):
    """What the program leaves in arrays of these (shape, dtype), from NaN or a number that is no result."""
    made = [np.full(shape, 77 if np.dtype(dtype).kind in "iu" else np.nan, dtype) for shape, dtype in outputs]
    interp.run(program, [*inputs, *made])
    return made


def check(s, args, inputs, expected, *passes):
    """Run the schedule after these passes against NumPy; the program."""
    program = flat(s, args, *passes)
    for have, want in zip(computed(program, inputs, [(w.shape, w.dtype) for w in expected]), expected, strict=True):
        np.testing.assert_array_equal(have, want)
    return program


def rows(fold="sum", n=3, x=4, y=1, over="x", serial=1, dtype="float32", each=1):
    """Rows summed by a block of x * y threads, `over` x, y or xy; the other dimension takes rows. `serial`: steps.

    `each`: how many rows a block does one after another.
    """
    make, numpy = FOLDS[fold]
    sizes = {"x": x, "y": y}
    other = "".join(t for t in "xy" if t not in over)
    length = int(np.prod([sizes[t] for t in over])) * serial - (serial > 1)  # no multiple, if there are serial steps
    A, k = te.placeholder((n, length), dtype, name="A"), te.reduce_axis((0, length), name="k")
    B = te.compute((n,), lambda i: make(A[i, k], axis=k), name="B")
    s = create_schedule(B.op)
    left = k
    for t in over[:-1] if serial == 1 else over:
        left, inner = s[B].split(left, sizes[t])
        s[B].bind(inner, threads(t))
    if serial == 1:
        s[B].bind(left, threads(over[-1]))
    i = B.op.axis[0]
    if other:
        i, inner = s[B].split(i, sizes[other])
        s[B].bind(inner, threads(other))
    i, _ = s[B].split(i, each)
    s[B].bind(i, te.thread_axis("blockIdx.x"))
    a = numbers(n, length, dtype=dtype, powers=fold == "prod")
    return s, [A, B], [a], [numpy(a, 1).astype(dtype)]


def best(n=3, k=24, parts=8, ties=True):
    """argmax and max of rows; `ties`: without it, of equal values the one on the left of the combiner wins."""
    V, r = te.placeholder((n, k), name="V"), te.reduce_axis((0, k), name="k")

    def wins(a, b):
        return te.any(a[1] > b[1], te.all(a[1].equal(b[1]), a[0] < b[0])) if ties else a[1] >= b[1]

    argmax = te.comm_reducer(
        lambda a, b: (te.if_then_else(wins(a, b), a[0], b[0]), te.if_then_else(wins(a, b), a[1], b[1])),
        lambda t0, t1: (te.const(2**30, t0), te.min_value(t1)),
        name="argmax",
    )
    I, M = te.compute((n,), lambda i: argmax((r.var, V[i, r]), axis=r), name="T")
    s = create_schedule(I.op)
    _, inner = s[I].split(r, parts)
    s[I].bind(inner, threads("x"))
    s[I].bind(I.op.axis[0], te.thread_axis("blockIdx.x"))
    v = numbers(n, k)
    return s, [V, I, M], [v], [v.argmax(1).astype("int32"), v.max(1)]


def softmax(scope="local", n=6, k=20, parts=8, each=3):
    """Two reductions in a loop of the kernel, one after the other: (A - max) * sum(A - max), exact in integers.

    In local memory each thread keeps the results, and no barrier stands between the two.
    """
    A = te.placeholder((n, k), "int32", name="A")
    r1, r2 = te.reduce_axis((0, k), name="r1"), te.reduce_axis((0, k), name="r2")
    M = te.compute((n,), lambda i: te.max(A[i, r1], axis=r1), name="M")
    E = te.compute((n, k), lambda i, j: A[i, j] - M[i], name="E")
    S = te.compute((n,), lambda i: te.sum(E[i, r2], axis=r2), name="S")
    Z = te.compute((n, k), lambda i, j: E[i, j] * S[i], name="Z")
    s = create_schedule(Z.op)
    s[E].compute_inline()
    i, j = Z.op.axis
    io, ii = s[Z].split(i, each)
    _, ji = s[Z].split(j, parts)
    s[Z].bind(io, te.thread_axis("blockIdx.x"))
    s[Z].bind(ji, threads("x"))
    for T in (M, S):
        s[T].compute_at(s[Z], ii)
        s[T].set_scope(scope)
        _, inner = s[T].split(T.op.reduce_axis[0], parts)
        s[T].bind(inner, threads("x"))
    a = numbers(n, k, dtype="int32")
    e = a - a.max(1, keepdims=True)
    return s, [A, Z], [a], [e * e.sum(1, keepdims=True, dtype="int32")]


def barriers(program):
    return [x for x in walk(program.body) if isinstance(x, Barrier)]


def without_barrier(program, number):
    """The program without its barrier of that number."""
    position = count()

    def rule(x):
        return Seq(()) if isinstance(x, Barrier) and next(position) == number else None

    return program.map_bodies(lambda body: rewrite(body, rule))


def races(program, inputs, expected):
    """Does the interpreter see a race?"""
    code = interp.prepare(program, Options(init=False))
    try:
        interp.run(code, [*inputs, *[np.zeros_like(w) for w in expected]])
    except LabError as e:
        return e.rule == "thread-race"
    return False
