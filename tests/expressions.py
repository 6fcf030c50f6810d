"""Expressions without templates: (args, input arrays, what the last argument must be)."""

from __future__ import annotations

import random

import numpy as np

import tvmlab
from tvmlab import te, tune
from tvmlab.tune.candidate import Refused, candidate


def close(got, wanted):
    return np.allclose(got, wanted, rtol=1e-4, atol=1e-4)


def _arrays(*shapes):
    rng = np.random.default_rng(3)
    return [rng.standard_normal(shape).astype("float32") for shape in shapes]


def _matmul(n, m, l, after=False):
    A, B = te.placeholder((n, l), name="A"), te.placeholder((l, m), name="B")
    k = te.reduce_axis((0, l), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    a, b = _arrays((n, l), (l, m))
    if not after:
        return [A, B, C], [a, b], a @ b
    bias = te.placeholder((m,), name="bias")
    D = te.compute((n, m), lambda i, j: C[i, j] + bias[j], name="D")
    E = te.compute((n, m), lambda i, j: te.tanh(D[i, j]), name="E")
    (c,) = _arrays((m,))
    return [A, B, bias, E], [a, b, c], np.tanh(a @ b + c)


def _conv2d(size=7, channels=3, out=5, stride=1):
    A, W = te.placeholder((1, channels, size, size), name="A"), te.placeholder((out, channels, 3, 3), name="W")
    inside = lambda y, x: te.all(y >= 1, y < size + 1, x >= 1, x < size + 1)
    P = te.compute(
        (1, channels, size + 2, size + 2),
        lambda n, c, y, x: te.if_then_else(inside(y, x), A[n, c, y - 1, x - 1], 0.0),
        name="P",
    )
    c, r, q = (te.reduce_axis((0, n), name=name) for n, name in ((channels, "c"), (3, "r"), (3, "q")))
    o = (size - 1) // stride + 1
    C = te.compute(
        (1, out, o, o),
        lambda n, f, y, x: te.sum(P[n, c, y * stride + r, x * stride + q] * W[f, c, r, q], axis=[c, r, q]),
        name="C",
    )
    a, w = _arrays((1, channels, size, size), (out, channels, 3, 3))
    p = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(p, (3, 3), (2, 3))[:, :, ::stride, ::stride]
    return [A, W, C], [a, w], np.einsum("ncyxrq,fcrq->nfyx", windows, w)


def _softmax(n=5, m=11):
    A = te.placeholder((n, m), name="A")
    k, q = te.reduce_axis((0, m), name="k"), te.reduce_axis((0, m), name="q")
    M = te.compute((n,), lambda i: te.max(A[i, k], axis=k), name="M")
    E = te.compute((n, m), lambda i, j: te.exp(A[i, j] - M[i]), name="E")
    S = te.compute((n,), lambda i: te.sum(E[i, q], axis=q), name="S")
    Z = te.compute((n, m), lambda i, j: E[i, j] / S[i], name="Z")
    (a,) = _arrays((n, m))
    e = np.exp(a - a.max(1, keepdims=True))
    return [A, Z], [a], e / e.sum(1, keepdims=True)


def _total(n=37):
    A = te.placeholder((n,), name="A")
    k = te.reduce_axis((0, n), name="k")
    S = te.compute((), lambda: te.sum(A[k], axis=k), name="S")
    (a,) = _arrays((n,))
    return [A, S], [a], a.sum()


def _blur(n=13, m=9):
    A = te.placeholder((n, m), name="A")
    X = te.compute((n, m - 2), lambda i, j: A[i, j] + A[i, j + 1] + A[i, j + 2], name="X")
    Y = te.compute((n - 2, m - 2), lambda i, j: X[i, j] + X[i + 1, j] + X[i + 2, j], name="Y")
    (a,) = _arrays((n, m))
    x = a[:, :-2] + a[:, 1:-1] + a[:, 2:]
    return [A, Y], [a], x[:-2] + x[1:-1] + x[2:]


def _transpose(n=6, m=19):
    A = te.placeholder((n, m), name="A")
    B = te.compute((m, n), lambda i, j: A[j, i], name="B")
    (a,) = _arrays((n, m))
    return [A, B], [a], a.T


CASES = {
    "matmul": lambda: _matmul(16, 24, 8),
    "matmul of odd sizes": lambda: _matmul(13, 7, 17),
    "matmul, bias, tanh": lambda: _matmul(9, 12, 5, after=True),
    "conv2d": _conv2d,
    "conv2d, strided": lambda: _conv2d(8, 2, 4, 2),
    "conv2d, lanes along channels": lambda: _conv2d(7, 5, 19),
    "softmax": _softmax,
    "total": _total,
    "blur": _blur,
    "transpose": _transpose,
}


def differing(name, target, count, seed=7, first=False):
    """(how many of the points were right, why others gave no schedule); a wrong one fails.

    `first`: the points that a session begins with, instead of random ones.
    """
    args, inputs, wanted = CASES[name]()
    task = tune.Task.of(args[-1], args, target)
    refused, right = [], 0
    for point in task.first[:count] if first else [0, *task.space.sample_ints(count - 1, random.Random(seed))]:
        made = candidate(task, point)
        if isinstance(made, Refused):
            refused.append(made.text)
            continue
        s, found = task.instantiate(made.config)
        out = np.full([int(n) for n in args[-1].shape], 3, args[-1].dtype)
        tvmlab.build(s, found, target)(*inputs, out)
        assert close(out, wanted), s.to_code()
        right += 1
    return right, refused
