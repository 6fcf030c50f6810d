"""Large programs: long chains, long expressions, numbers beyond int32. What would explode is refused with numbers."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import tvmlab
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.deep import deep
from tvmlab.core.error import BuildError, ExpressionError, LabError, ScheduleError


def chain(n, place=None):
    """n stages, each the one before plus 1."""
    A = te.placeholder((8,), name="A")
    stages = [A]
    for k in range(n):
        previous = stages[-1]
        stages.append(te.compute((8,), _plus_one(previous), name=f"S{k}"))
    s = te.create_schedule(stages[-1].op)
    for stage, reader in zip(stages[1:-1], stages[2:], strict=True):
        if place == "inline":
            s[stage].compute_inline()
        elif place == "at":
            s[stage].compute_at(s[reader], reader.op.axis[0])
    return s, A, stages[-1]


def _plus_one(previous):
    return lambda i: previous[i] + 1.0


def run(s, *args, target="interp"):
    A, B = args
    b = np.zeros(8, "float32")
    tvmlab.build(s, args, target)(np.arange(8, dtype="float32"), b)
    return b


@pytest.mark.parametrize("place", [None, "inline", "at"])
def test_chains_of_stages_deeper_than_pythons_stack(place):
    s, A, B = chain(400, place)
    assert run(s, A, B).tolist() == [400.0 + i for i in range(8)]
    assert len(str(tvmlab.lower(s, [A, B]))) > 400
    assert sys.getrecursionlimit() < 10_000


@pytest.mark.parametrize("side", ["left", "right"])
def test_an_expression_of_thousands_of_terms(side):
    A = te.placeholder((8,), name="A")

    def body(i):
        total = A[i]
        for _ in range(2000):
            total = total + 1.0 if side == "left" else 1.0 + total
        return total

    B = te.compute((8,), body, name="B")
    assert run(te.create_schedule(B.op), A, B).tolist() == [2000.0 + i for i in range(8)]


def test_deep_work_may_be_interrupted_and_raises_what_it_raises():
    def sink(n):
        if n == 0:
            raise KeyError("bottom")
        return sink(n - 1)

    with pytest.raises(KeyError, match="bottom"):
        deep(sink)(5000)
    assert refused(LabError, lambda: deep(sink)(10**7)).startswith("this program is nested too deep to be compiled")


def test_inlined_diamonds_are_refused_with_the_copies_counted():
    A = te.placeholder((8,), name="A")
    stages = [A]
    for k in range(40):
        stages.append(te.compute((8,), _doubled(stages[-1]), name=f"S{k}"))
    s = te.create_schedule(stages[-1].op)
    for stage in stages[1:-1]:
        s[stage].compute_inline()
    message = refused(ScheduleError, lambda: tvmlab.lower(s, [A, stages[-1]]))
    assert message.startswith("inlining makes the expression of S39 about 5e+12 nodes long (the limit is 100000)\n")
    assert "S0 is copied about 5e+11 times" in message
    for stage in stages[5:-1:8]:
        s[stage].compute_root()
    assert np.allclose(run(s, A, stages[-1]), np.arange(8) * 2.0**40)


def _doubled(previous):
    return lambda i: previous[i] + previous[i]


def test_an_expression_that_doubles_itself_is_refused():
    A = te.placeholder((8,), name="A")

    def body(i):
        x = A[i]
        for _ in range(50):
            x = x * x
        return x

    assert refused(ExpressionError, lambda: te.compute((8,), body, name="B")) == (
        "the expression of B is about 3e+15 nodes long, the limit is 100000\n"
        "  a part that is used several times is computed each time: give it a te.compute of its own and read that"
    )


def test_nested_clamps_and_choices_in_an_index_do_not_explode():
    A = te.placeholder((64,), name="A")

    def clamped(i):
        for k in range(40):
            i = te.max(te.min(i + k, 63), 0)
        return A[i]

    def chosen(i):
        for k in range(5):
            i = te.if_then_else(i > k, i - 1, i + 1)
        return A[te.max(te.min(i, 63), 0)]

    for body in (clamped, chosen):
        B = te.compute((64,), body, name="B")
        tvmlab.lower(te.create_schedule(B.op), [A, B])


@pytest.mark.parametrize("n", [2**31, 2**32 + 4])
def test_shapes_and_indices_beyond_int32(n):
    A = te.placeholder((n,), "int8", name="A")
    B = te.compute((4,), lambda i: A[i * (n // 4)], name="B")
    program = tvmlab.lower(te.create_schedule(B.op), [A, B])
    assert "-" not in str(program)
    a, b = np.zeros(n, "int8"), np.zeros(4, "int8")  # memory that is not touched takes none
    a[:: n // 4][:4] = [1, 2, 3, 4]
    tvmlab.build(program, target="interp")(a, b)
    assert b.tolist() == [1, 2, 3, 4]


def test_a_temporary_larger_than_memory_is_refused_before_anything_runs():
    A = te.placeholder((4,), name="A")
    M = te.compute((10**13,), lambda i: A[i % 4], name="M")
    B = te.compute((4,), lambda i: M[i * 10**12], name="B")
    s = te.create_schedule(B.op)
    message = refused(BuildError, lambda: tvmlab.build(s, [A, B], "interp"))
    assert message.startswith("`M` (float32[3000000000001]) takes 1.12e+04 GiB, this machine has ")
    assert message.endswith("\n  compute it in parts: s[M].compute_at(consumer, axis)")
