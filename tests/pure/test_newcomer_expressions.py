"""What people who know Python and NumPy write first, and what they are told."""

import inspect

import pytest

from tvmlab import te
from tvmlab.core.node import Bin, Reduce

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
