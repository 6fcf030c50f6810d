"""What people who know Python and NumPy write first, and what they are told."""

import builtins
import inspect
import math

import numpy as np
import pytest

from tests.refusal import refused
from tvmlab import te
from tvmlab.core.node import Bin, Reduce
from tvmlab.core.walk import same

A = te.placeholder((4, 8), name="A")
i, k = te.var("i"), te.reduce_axis((0, 8), name="k")


@pytest.mark.parametrize("axis, said", [(1, "1 (a number counts dimensions in NumPy and topi)"), ("k", "'k'"),
                                        ([], "[]"), (None, "None"), ([k, 1], None)])  # fmt: skip
def test_an_axis_given_by_name_is_a_reduce_axis(axis, said):
    with pytest.raises(TypeError) as e:
        te.sum(A[i, k], axis=axis)
    if said is not None:
        assert str(e.value) == (
            f"sum: the axis is a te.reduce_axis, or a list of them, not {said}\n"
            '  k = te.reduce_axis((0, n), name="k"); te.compute(..., lambda i: sum(A[i, k], axis=k))'
        )


def test_a_reduction_without_axis_is_refused():
    for call in (lambda: te.max(A[i, k]), lambda: te.max(A[i, k], where=i > 1)):
        with pytest.raises(TypeError) as e:
            call()
        assert str(e.value) == (
            "max: no axis to fold A[i, k] over was given\n"
            '  k = te.reduce_axis((0, n), name="k"), then max(..., axis=k); or fold values: max(a, b)'
        )


def test_values_are_folded_and_axes_reduced():
    assert isinstance(te.max(A[i, 0], A[i, 1], A[i, 2]), Bin)
    assert isinstance(te.sum(A[i, k], k), Reduce)
    assert isinstance(te.sum(A[i, k], axis=[k], where=i > 1), Reduce)
    assert isinstance(te.sum(expr=A[i, k], axis=k), Reduce)


def test_reducers_document_themselves():
    assert te.sum.__doc__.startswith("Fold an expression over reduce axes: `sum(A[i, k], axis=k)`.")
    assert all(f.__doc__ for f in (te.sum, te.min, te.max, te.prod, te.all, te.any))
    assert str(inspect.signature(te.sum)).startswith("(expr")


def test_abs_of_python_and_arithmetic_with_numbers_of_numpy():
    assert same(abs(A[i, 1]), te.abs(A[i, 1]))
    two = np.float32(2)
    for made, want in ((two * A[i, 1], 2.0 * A[i, 1]), (two - A[i, 1], 2.0 - A[i, 1]), (A[i, 1] / two, A[i, 1] / 2.0),
                       (two < A[i, 1], A[i, 1] > 2.0), (np.add(A[i, 1], two), A[i, 1] + 2.0)):  # fmt: skip
        assert same(made, want)
    both = np.array([1, 2], "float32") * A[i, 1]
    assert [str(x) for x in both] == [str(np.float32(1) * A[i, 1]), str(two * A[i, 1])]


NO_SEQUENCE = (
    "A[i, 1] is one expression, with nothing in it to go through: Python's sum, max, min and `for` cannot work on it\n"
    "  legal here:  te.sum(x, axis=k), te.max(x, axis=k), te.min(x, axis=k)\n  k is a te.reduce_axis"
)
NO_NUMBER = (
    "A[i, 1] has no value yet: float(...) and the functions of math cannot work on an expression\n"
    '  legal here:  te.exp(x), te.sqrt(x), te.log(x), te.power(x, y), x.astype("float32")\n'
    "  te has the functions of math, under the same names"
)


@pytest.mark.parametrize(
    "call, said",
    [
        (lambda e: builtins.sum(e), NO_SEQUENCE),
        (lambda e: list(e), NO_SEQUENCE),
        (lambda e: math.exp(e), NO_NUMBER),
        (lambda e: float(e), NO_NUMBER),
        (
            lambda e: np.exp(e),
            "np.exp works on numbers and arrays, not on the expression A[i, 1]\n  legal here:  te.exp(A[i, 1])",
        ),
        (
            lambda e: np.maximum(e, 0.0),
            "np.maximum works on numbers and arrays, not on the expression A[i, 1]\n"
            "  legal here:  te.max(A[i, 1], ...)",
        ),
        (
            lambda e: np.sum(e),
            "np.sum works on numbers and arrays, not on the expression A[i, 1]\n"
            "  legal here:  te.sum(A[i, 1], axis=k)\n  k is a te.reduce_axis",
        ),
        (
            lambda e: np.cbrt(e),
            "np.cbrt works on numbers and arrays, not on the expression A[i, 1]\n"
            "  te.compute works with the functions and operators of te",
        ),
    ],
)
def test_functions_of_python_and_numpy_name_ours(call, said):
    assert refused(TypeError, lambda: call(A[i, 1])) == said


def test_max_of_python_and_chained_comparisons_name_ours():
    j = te.var("j")
    hint = "  for max(a, b) and min(a, b) write te.max(a, b) and te.min(a, b); for 2 < i < 5 te.all(2 < i, i < 5)"
    for call in (lambda: max(A[i, 1], 0.0), lambda: 2 < j < 5):
        assert refused(ValueError, call).splitlines()[-1] == hint


def test_division_of_integers_shows_both():
    j = te.var("j")
    assert refused(RuntimeError, lambda: (j + 1) / 2) == (
        "`/` of two integers is ambiguous in (j + 1)/2 (j + 1 and 2 are int32): use `//` (floor), te.truncdiv "
        "(towards zero), or cast one side to a float"
    )
