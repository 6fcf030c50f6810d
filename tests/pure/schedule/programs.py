"""Small programs to schedule, and what is asked of every primitive: pictures, traces that come back, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.pure.passes.schedules import numbers, without
from tvmlab import te
from tvmlab.core.error import TVMError
from tvmlab.core.text import show_program
from tvmlab.face.api import build, create_schedule
from tvmlab.face.handle import Schedule
from tvmlab.lowering import pipeline
from tvmlab.schedule.trace import Trace


def chain(n: Any = 16, m: Any = 8):
    """B = A + 1; C = B * 2."""
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((n, m), lambda i, j: B[i, j] * 2.0, name="C")
    return create_schedule(C.op), A, B, C


def rows(n: Any = 8, m: Any = 16):
    """B[i] = the sum of row i of A."""
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return create_schedule(B.op), A, B, k


def matmul(n: int = 8):
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return create_schedule(C.op), A, B, C, k


def scan(n: int = 6, m: int = 4):
    """Running sums down the rows of X, and one more."""
    X = te.placeholder((n, m), name="X")
    state = te.placeholder((n, m), name="state")
    init = te.compute((1, m), lambda _, i: X[0, i], name="init")
    update = te.compute((n, m), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    S = te.scan(init, update, state, inputs=[X], name="S")
    D = te.compute((n, m), lambda t, i: S[t, i] + 1.0, name="D")
    return create_schedule(D.op), X, init, update, S, D


def extern(n: int = 8):
    """E is what a C function makes of A; C reads it."""
    from tvmlab import tir

    A = te.placeholder((n,), name="A")
    E = te.extern((n,), [A], lambda ins, outs: tir.call_packed("f", ins[0], outs[0]), name="E", dtype="float32")
    C = te.compute((n,), lambda i: E[i] + 1.0, name="C")
    return create_schedule(C.op), A, E, C


def pair(n: int = 8):
    """S and P, made together, and their sum."""
    A = te.placeholder((n,), name="A")
    S, P = te.compute((n,), lambda i: (A[i] + 1.0, A[i] * 2.0), name="T")
    C = te.compute((n,), lambda i: S[i] + P[i], name="C")
    return create_schedule(C.op), A, S, P, C


def text(s: Schedule, args: Any) -> str:
    """The loops as the schedule says, before any pass."""
    return show_program(pipeline.loops(s.state, args))


def step(golden: Any, s: Schedule, args: Any, act: Callable[[], Any], part: str = "", **more: Any) -> Any:
    """Golden loops before and after a step, which must differ; the trace comes back from code and from JSON."""
    before = str(without(s, args))
    result = act()
    after = str(without(s, args))
    assert before != after
    golden(before, f"{part}before")
    golden(after, f"{part}after")
    comes_back(s, args, **more)
    return result


def comes_back(s: Schedule, args: Any, **more: Any) -> None:
    """The trace from its code, from its JSON and replayed is the same, and so are its loops."""
    scope = {t.name.replace(".", "_"): t for stage in s.at(0).stages for t in stage.op.outputs}
    again = {**scope, **more, "te": te}
    exec(s.to_code(), again)
    assert again["s"].trace.same(s.trace), s.to_code()
    assert Trace.from_json(s.trace.to_json()).same(s.trace)
    assert text(Schedule(s.trace.replay(s.trace.outputs)), args) == text(s, args)


def right(s: Schedule, args: Any, *want: np.ndarray, inputs: list[np.ndarray]) -> None:
    """The interpreter, which reports races, reads outside and reads of nothing, finds these numbers."""
    outs = [np.full(w.shape, np.nan if w.dtype.kind == "f" else 77, w.dtype) for w in want]
    build(s, args, "interp")(*inputs, *outs)
    for have, w in zip(outs, want, strict=True):
        np.testing.assert_array_equal(have, w)


def refusal(kind: type, call: Callable[[], Any]) -> str:
    """The whole message; every refusal is of this kind, and of the classic TVMError too."""
    try:
        call()
    except kind as e:
        assert isinstance(e, TVMError)
        return str(e)
    raise AssertionError(f"nothing was refused, {kind.__name__} was expected")


__all__ = [
    "chain", "comes_back", "extern", "matmul", "numbers", "pair", "refusal", "right", "rows", "scan", "step", "text",
]  # fmt: skip
