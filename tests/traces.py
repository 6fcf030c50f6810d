"""Random schedules of small programs with odd extents: the third oracle. Steps that are refused are left out."""

from __future__ import annotations

import random
from collections.abc import Callable
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


def random_case(seed: int, steps: int = 10) -> Case:
    rng = random.Random(seed)
    case = rng.choice(PROGRAMS)(rng)
    for _ in range(rng.randrange(steps + 1)):
        try:
            _step(rng, case.schedule)
        except LabError:
            pass
    return case


def _step(rng: random.Random, s: Schedule) -> None:
    stages = [h for h in s.stages if h.leaf_iter_vars]
    h = rng.choice(stages)
    leaves = h.leaf_iter_vars
    a = rng.choice(leaves)
    act = rng.choice(ACTS)
    if act == "split":
        h.split(a, factor=rng.choice((1, 2, 3, 4, 5))) if rng.random() < 0.7 else h.split(a, nparts=rng.choice((1, 2, 3)))
    elif act == "fuse":
        at = leaves.index(a)
        if at + 1 < len(leaves) and leaves[at + 1].iter_type == a.iter_type:
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
        h.transform_layout(rng.choice((lambda i, j: [j, i], lambda i, j: [i // t, j, i % t], lambda i, j: [j // t, i, j % t])))


ACTS = (
    "split", "split", "split", "fuse", "reorder", "reorder", "vectorize", "unroll", "parallel", "compute_at", "compute_at",
    "compute_at", "inline", "cache_write", "cache_read", "rfactor", "layout",
)  # fmt: skip
