"""Random schedules of small programs with odd extents: the third oracle. Steps that are refused are left out."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.core.node import REDUCE
from tvmlab.face.api import create_schedule
from tvmlab.face.handle import Schedule

SIZES = (1, 2, 3, 5, 7, 8, 13, 16)


@dataclass
class Case:
    """A schedule, its arguments, the arrays of the inputs, the expected outputs."""

    schedule: Schedule
    args: list[Any]
    inputs: list[np.ndarray]
    expected: list[np.ndarray]


def _array(rng: random.Random, *shape: int, dtype: str = "float32") -> np.ndarray:
    generator = np.random.default_rng(rng.randrange(1 << 30))
    if dtype.startswith("float"):
        return generator.integers(-8, 9, shape).astype(dtype)  # exact sums, whatever the order
    return generator.integers(0, 100, shape).astype(dtype)


def matmul(rng: random.Random) -> Case:
    m, n, p = (rng.choice(SIZES) for _ in range(3))
    A, B = te.placeholder((m, p), name="A"), te.placeholder((p, n), name="B")
    k = te.reduce_axis((0, p), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((m, n), lambda i, j: C[i, j] + 1.0, name="D")
    a, b = _array(rng, m, p), _array(rng, p, n)
    return Case(create_schedule(D.op), [A, B, D], [a, b], [a @ b + 1])


def blur(rng: random.Random) -> Case:
    h, w = rng.choice(SIZES) + 2, rng.choice(SIZES) + 2
    A = te.placeholder((h, w), name="A")
    X = te.compute((h, w - 2), lambda i, j: A[i, j] + A[i, j + 1] + A[i, j + 2], name="X")
    Y = te.compute((h - 2, w - 2), lambda i, j: X[i, j] + X[i + 1, j] + X[i + 2, j], name="Y")
    a = _array(rng, h, w)
    x = a[:, :-2] + a[:, 1:-1] + a[:, 2:]
    return Case(create_schedule(Y.op), [A, Y], [a], [x[:-2] + x[1:-1] + x[2:]])


def conv(rng: random.Random) -> Case:
    """Padded, strided one-dimensional convolution over channels."""
    c, n, stride = rng.choice((1, 2, 3)), rng.choice(SIZES), rng.choice((1, 2))
    A, W = te.placeholder((c, n), name="A"), te.placeholder((c, 3), name="W")
    P = te.compute((c, n + 2), lambda q, i: te.if_then_else(te.all(i >= 1, i < n + 1), A[q, i - 1], 0.0), name="P")
    r, q = te.reduce_axis((0, 3), name="r"), te.reduce_axis((0, c), name="q")
    out = (n - 1) // stride + 1
    Y = te.compute((out,), lambda i: te.sum(P[q, i * stride + r] * W[q, r], axis=[q, r]), name="Y")
    a, w = _array(rng, c, n), _array(rng, c, 3)
    p = np.pad(a, ((0, 0), (1, 1)))
    y = np.array([sum(p[:, i * stride + t] @ w[:, t] for t in range(3)) for i in range(out)], "float32")
    return Case(create_schedule(Y.op), [A, W, Y], [a, w], [y])


def softmax(rng: random.Random) -> Case:
    """max, difference, sum: reductions that are read by others (integers, exact)."""
    m, n = rng.choice(SIZES), rng.choice(SIZES)
    A = te.placeholder((m, n), name="A", dtype="int32")
    k, k2 = te.reduce_axis((0, n), name="k"), te.reduce_axis((0, n), name="k2")
    M = te.compute((m,), lambda i: te.max(A[i, k], axis=k), name="M")
    E = te.compute((m, n), lambda i, j: M[i] - A[i, j], name="E")
    S = te.compute((m,), lambda i: te.sum(E[i, k2], axis=k2), name="S")
    Z = te.compute((m, n), lambda i, j: E[i, j] * S[i], name="Z")
    a = _array(rng, m, n, dtype="int32")
    e = a.max(1, keepdims=True) - a
    return Case(create_schedule(Z.op), [A, Z], [a], [(e * e.sum(1, keepdims=True)).astype("int32")])


def argmax(rng: random.Random) -> Case:
    m, n = rng.choice(SIZES), rng.choice(SIZES)
    V, I = te.placeholder((m, n), name="V"), te.placeholder((m, n), name="I", dtype="int32")
    k = te.reduce_axis((0, n), name="k")
    best = te.comm_reducer(
        lambda x, y: (te.if_then_else(_wins(x, y), x[0], y[0]), te.if_then_else(_wins(x, y), x[1], y[1])),
        lambda t0, t1: (te.const(2**30, t0), te.min_value(t1)),
        name="argmax",
    )
    T = te.compute((m,), lambda i: best((I[i, k], V[i, k]), axis=k), name="T")
    v, index = _array(rng, m, n), np.tile(np.arange(n, dtype="int32"), (m, 1))
    return Case(create_schedule(T[0].op), [V, I, T[0], T[1]], [v, index], [v.argmax(1).astype("int32"), v.max(1)])


def _wins(x: Any, y: Any) -> Any:
    """The larger value, and of equal ones the smaller index: commutative, so any order gives the same."""
    return te.any(x[1] > y[1], te.all(x[1].equal(y[1]), x[0] < y[0]))


def transpose(rng: random.Random) -> Case:
    m, n = rng.choice(SIZES), rng.choice(SIZES)
    A = te.placeholder((m, n), name="A")
    B = te.compute((n, m), lambda i, j: A[j, i] * 2.0, name="B")
    C = te.compute((n * m,), lambda i: B[i // m, i % m] + 1.0, name="C")
    a = _array(rng, m, n)
    return Case(create_schedule(C.op), [A, C], [a], [(a.T * 2).reshape(-1) + 1])


PROGRAMS: tuple[Callable[[random.Random], Case], ...] = (matmul, blur, conv, softmax, argmax, transpose)


def bytes_(rng: random.Random) -> Case:
    """Sums of products of bytes, in 32 bits; and wrapping ones, in 8."""
    m, n, kind = rng.choice(SIZES), rng.choice(SIZES), rng.choice(("int8", "uint8"))
    A, B = te.placeholder((m, n), kind, name="A"), te.placeholder((n,), kind, name="B")
    k, q = te.reduce_axis((0, n), name="k"), te.reduce_axis((0, n), name="q")
    D = te.compute((m,), lambda i: te.sum(A[i, k].astype("int32") * B[k].astype("int32"), axis=k), name="D")
    W = te.compute((m,), lambda i: te.sum(A[i, q] * B[q], axis=q), name="W")
    Y = te.compute((m,), lambda i: D[i] + W[i].astype("int32"), name="Y")
    a, b = _array(rng, m, n, dtype=kind), _array(rng, n, dtype=kind)
    wide = a.astype("int32") @ b.astype("int32")
    return Case(create_schedule(Y.op), [A, B, Y], [a, b], [wide + wide.astype(kind).astype("int32")])


def volume(rng: random.Random) -> Case:
    """Three dimensions of float64, summed over a reduction that begins at 1; perhaps of extent 0."""
    c, h, w = (rng.choice((0, 1, 2, 3, 5, 8)) for _ in range(3))
    A = te.placeholder((c, h, w), "float64", name="A")
    S = te.compute((c, h, w), lambda i, y, x: A[i, y, x] * 2.0, name="S")
    r = te.reduce_axis((1, max(c, 1)), name="r")
    Y = te.compute((h, w), lambda y, x: te.sum(S[r, y, x] - S[r - 1, y, x], axis=r), name="Y")
    a = _array(rng, c, h, w, dtype="float64")
    y = 2 * (a[1:] - a[:-1]).sum(0) if c > 1 else np.zeros((h, w))
    return Case(create_schedule(Y.op), [A, Y], [a], [y])


def sized(rng: random.Random) -> Case:
    """Shapes that are known when called: a matmul, a bias, a maximum of its rows."""
    wide = rng.random() < 0.3
    m, n, p = (te.size_var(x, "int64" if wide else "int32") for x in "mnp")
    A, B, b = te.placeholder((m, p), name="A"), te.placeholder((p, n), name="B"), te.placeholder((n,), name="b")
    k = te.reduce_axis((0, p), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((m, n), lambda i, j: C[i, j] + b[j], name="D")
    shape = rng.choice(SIZES), rng.choice(SIZES), rng.choice(SIZES)
    left, right, bias = _array(rng, shape[0], shape[2]), _array(rng, shape[2], shape[1]), _array(rng, shape[1])
    return Case(create_schedule(D.op), [A, B, b, D], [left, right, bias], [left @ right + bias])


def two(rng: random.Random) -> Case:
    """Two outputs of one operation, a third of another; all read one intermediate."""
    m, n = rng.choice(SIZES), rng.choice(SIZES)
    A = te.placeholder((m, n), "int32", name="A")
    B = te.compute((m, n), lambda i, j: A[i, j] - 3, name="B")
    S, P = te.compute((m, n), lambda i, j: (B[i, j] + j, B[i, j] * i), name="T")
    R = te.compute((n, m), lambda j, i: B[i, j] + A[i, j], name="R")
    a = _array(rng, m, n, dtype="int32")
    i, j = np.mgrid[:m, :n].astype("int32")
    return Case(create_schedule([S.op, R.op]), [A, S, P, R], [a], [a - 3 + j, (a - 3) * i, (2 * a - 3).T.copy()])


def gather(rng: random.Random) -> Case:
    """Rows chosen by an array: the region that is read is not known."""
    m, n, q = rng.choice(SIZES), rng.choice(SIZES), rng.choice(SIZES)
    A, I = te.placeholder((m, n), name="A"), te.placeholder((q,), "int32", name="I")
    B = te.compute((m, n), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((q, n), lambda i, j: B[I[i], j] * 2.0, name="C")
    a, chosen = _array(rng, m, n), np.array([rng.randrange(m) for _ in range(q)], "int32")
    return Case(create_schedule(C.op), [A, I, C], [a, chosen], [(a[chosen] + 1) * 2])


def running(rng: random.Random) -> Case:
    """A scan: sums down the rows, of a scaled input, halved after."""
    m, n = rng.choice(SIZES) + 1, rng.choice(SIZES)
    X = te.placeholder((m, n), "int32", name="X")
    Z = te.compute((m, n), lambda t, i: X[t, i] * 2, name="Z")
    state = te.placeholder((m, n), "int32", name="state")
    init = te.compute((1, n), lambda _, i: Z[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + Z[t, i], name="update")
    scan = te.scan(init, update, state, inputs=[X], name="scan")
    Y = te.compute((m, n), lambda t, i: scan[t, i] + 1, name="Y")
    x = _array(rng, m, n, dtype="int32")
    return Case(create_schedule(Y.op), [X, Y], [x], [(2 * x).cumsum(0, dtype="int32") + 1])


MORE = (*PROGRAMS, bytes_, volume, sized, two, gather, running)


def random_case(seed: int, steps: int = 10, programs: tuple[Callable[[random.Random], Case], ...] = PROGRAMS) -> Case:
    return random_steps(random.Random(seed), steps, programs)


def random_steps(rng: random.Random, steps: int, programs: tuple[Callable[[random.Random], Case], ...] = MORE) -> Case:
    """A program with up to that many random steps; those that are refused are left out."""
    case = rng.choice(programs)(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # marks that later steps drop
        for _ in range(rng.randrange(steps + 1)):
            with suppress(LabError):
                _step(rng, case.schedule, MORE_ACTS if programs is MORE else ACTS)
    return case


def _step(rng: random.Random, s: Schedule, acts: tuple[str, ...]) -> None:
    stages = [h for h in s.stages if h.leaf_iter_vars]
    h = rng.choice(stages)
    leaves = h.leaf_iter_vars
    a = rng.choice(leaves)
    act = rng.choice(acts)
    if act == "split":
        by_factor = rng.random() < 0.7
        h.split(a, **{"factor": rng.choice((1, 2, 3, 4, 5))} if by_factor else {"nparts": rng.choice((1, 2, 3))})
    elif act == "fuse":
        at = leaves.index(a)
        if at + 1 < len(leaves) and (acts is MORE_ACTS or leaves[at + 1].iter_type == a.iter_type):
            h.fuse(a, leaves[at + 1])
    elif act == "reorder":
        some = rng.sample(leaves, rng.randrange(1, len(leaves) + 1))
        h.reorder(*some)
    elif act in ("vectorize", "unroll", "parallel"):
        getattr(h, act)(a)
    elif act == "compute_at":
        readers = [r for r in s.stages if h.op.outputs[0] in r.op.inputs]
        if readers and not h.is_output:
            r = rng.choice(readers)
            if r.leaf_iter_vars:
                h.compute_at(r, rng.choice(r.leaf_iter_vars))
    elif act == "inline":
        h.compute_inline()
    elif act == "cache_write":
        outs = list(h.op.outputs)
        s.cache_write(outs if len(outs) > 1 else outs[0], rng.choice(("global", "local")))
    elif act == "cache_read" and h.op.inputs:
        s.cache_read(rng.choice(list(h.op.inputs)), "global", [h.op])
    elif act == "rfactor":
        if a.iter_type == REDUCE:
            s.rfactor(h.op.outputs[0], a, rng.choice((0, -1)))
    elif act == "layout" and len(h.op.axis) == 2 and not h.is_output:
        t = rng.choice((2, 3, 4))
        layouts = (lambda i, j: [j, i], lambda i, j: [i // t, j, i % t], lambda i, j: [j // t, i, j % t])
        h.transform_layout(rng.choice(layouts))
    elif act == "align" and h.op.axis:
        h.storage_align(rng.choice(list(h.op.axis)), rng.choice((2, 4, 8)), rng.choice((0, 1, 3)))
    elif act in ("double_buffer", "compute_root"):
        getattr(h, act)()
    elif act == "vthread":
        h.bind(a, te.thread_axis("vthread"))
    elif act == "pragma":
        h.pragma(a, *rng.choice((("auto_unroll_max_step", 16), ("unroll_explicit", True), ("unroll", None))))
    elif act == "prefetch" and h.op.inputs:
        h.prefetch(rng.choice(list(h.op.inputs)), a, rng.choice((1, 2)))
    elif act == "scope":
        h.set_scope(rng.choice(("global", "local", "shared")))
    elif act == "singleton":
        h.fuse()


ACTS = (
    "split", "split", "split", "fuse", "reorder", "reorder", "vectorize", "unroll", "parallel",
    "compute_at", "compute_at", "compute_at", "inline", "cache_write", "cache_read", "rfactor", "layout",
)  # fmt: skip
MORE_ACTS = (
    *ACTS, "align", "align", "double_buffer", "double_buffer", "compute_root", "vthread", "pragma", "prefetch", "scope",
    "singleton",
)  # fmt: skip
