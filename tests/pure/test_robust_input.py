"""Input of the wrong kind, and values at the edges: an error that names the thing, or the same result everywhere."""

from __future__ import annotations

import numpy as np
import pytest

import tvmlab
from tests.expr_fuzz import disagreements
from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core.error import BuildError, ExpressionError, LabError, ScheduleTypeError, TVMError

A = te.placeholder((8,), name="A")
k = te.reduce_axis((0, 8), name="k")
C = te.compute((8,), lambda i: A[i] + 1.0, name="C")


@pytest.mark.parametrize(
    "kind, call, message",
    [
        (TypeError, lambda: te.placeholder((4,), name=None), "the name of a tensor must be a string, not None"),
        (TypeError, lambda: te.var(3), "the name of a variable must be a string, not 3"),
        (TypeError, lambda: te.placeholder((4,), 1.5), "a dtype is a string such as 'float32', not 1.5"),
        (
            TypeError,
            lambda: te.compute((4,), None),
            "te.compute takes a function of the axes, such as `lambda i: A[i] + 1`, not None",
        ),
        (
            TypeError,
            lambda: te.sum(A[k], axis=[]),
            "sum: the axis is a te.reduce_axis, or a list of them, not []\n"
            '  k = te.reduce_axis((0, n), name="k"); te.compute(..., lambda i: sum(A[i, k], axis=k))',
        ),
        (TVMError, lambda: te.reduce_axis(-1), "a domain's end must not lie before its begin: -1"),
        (TVMError, lambda: te.reduce_axis((0, 1.5)), "a domain's begin and end are integers, not 1.5 (float32)"),
        (ExpressionError, lambda: A[True], "an index of A is a bool: True\n  cast it to int32"),
        (
            ExpressionError,
            lambda: A[0] + 10**40,
            f"{10**40} does not fit any integer type\n  write it as a float if that is meant",
        ),
        (
            ExpressionError,
            lambda: te.sum(A[k] > 0.0, axis=k),
            "sum of bool gives int32: a reduction keeps its type\n  cast what is reduced: x.astype('int32')",
        ),
        (
            LabError,
            lambda: tvmlab.lower(te.create_schedule(C.op), [A, C, C]),
            "`C` is passed twice: arguments 1 and 2\n  each array is one argument",
        ),
        (
            BuildError,
            lambda: tvmlab.build(te.create_schedule(C.op), [A], "interp"),
            "`C` is an output of this schedule, but not among the arguments\n  add C to the list of arguments",
        ),
        (
            TypeError,
            lambda: tvmlab.lower(te.create_schedule(C.op), C),
            "lower: the arguments are a list of tensors, buffers and variables, not Tensor(shape=[8], op.name=C)\n"
            "  lower(s, [A, B, C])",
        ),
        (
            ScheduleTypeError,
            lambda: te.create_schedule(C.op).cache_write(C, None),
            "cache_write: `scope` must be a string, not None",
        ),
    ],
)
def test_refused(kind, call, message):
    assert refused(kind, call) == message


@pytest.mark.parametrize("body", [[], (), "x", None, {}])
def test_a_body_that_is_no_expression(body):
    assert refused(TypeError, lambda: te.compute((4,), lambda i: body, name="B")) == (
        "te.compute B: the function must return an expression, several of them, or a tensor intrinsic's call, "
        f"not {body!r}"
    )


def test_numpys_own_types_are_dtypes():
    given = (np.float16, np.dtype("int8"), np.bool_)
    assert [te.placeholder((4,), t).dtype for t in given] == ["float16", "int8", "bool"]


def evaluate(body, x, dtype=None):
    X = te.placeholder(x.shape, str(x.dtype), name="X")
    B = te.compute(x.shape, lambda i: body(X, i), name="B")
    b = np.zeros(x.shape, B.dtype)
    tvmlab.build(te.create_schedule(B.op), [X, B], "interp")(x, b)
    return b.tolist()


def test_arithmetic_on_data_may_overflow():
    x = np.array([2**31 - 1, 0], "int32")
    assert evaluate(lambda X, i: (X[i] + 1 > X[i]).astype("int32"), x) == [0, 1]
    assert evaluate(lambda X, i: tir.Select(X[i] >= 0, (X[i] * 4) // 4, 0), x) == [-1, 0]


def test_nextafter_of_float16():
    x = np.array([0.0, 1.0, -1.0, 65504.0, np.nan, -0.0], "float16")
    up = evaluate(lambda X, i: te.nextafter(X[i], tir.const(float("inf"), "float16")), x)
    assert np.array_equal(up, np.nextafter(x, np.float16(np.inf)), equal_nan=True)


@pytest.mark.parametrize("name", ["for", "A B", "ä", "ﬁ", "𝐀", "x" * 300, "1a", "a\nb", "np", "R", "malloc", ""])
def test_names_of_any_kind(name):
    X = te.placeholder((4,), name=name)
    Y = te.compute((4,), lambda i: X[i] + 1.0, name=name)
    s = te.create_schedule(Y.op)
    y = np.zeros(4, "float32")
    tvmlab.build(s, [X, Y], "interp", name=name)(np.zeros(4, "float32"), y)
    assert y.tolist() == [1.0] * 4
    compile(str(tvmlab.lower(s, [X, Y], name=name)).replace(": float32[4]", ""), "<shown>", "exec")


@pytest.mark.parametrize("seed", range(12))
def test_random_expressions_run_on_the_interpreter(seed):
    assert disagreements(seed, ["interp"]) == []
