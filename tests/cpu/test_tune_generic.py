"""Random points of the space of any expression, compiled, against NumPy."""

import pytest

from tests.expressions import CASES, differing
from tvmlab.tune import packing


@pytest.mark.parametrize("name", CASES)
def test_compiled_points_compute_the_same(name):
    right, why = differing(name, "llvm", 4)
    assert right, why


@pytest.mark.parametrize("name", CASES)
def test_points_that_a_session_begins_with_compute_the_same(name):
    right, why = differing(name, "llvm", 4, first=True)
    assert right, why


def test_compiled_points_with_copies_compute_the_same(monkeypatch):
    monkeypatch.setattr(packing, "CACHED", 0)
    monkeypatch.setattr(packing, "OFTEN", 0)
    right, why = differing("matmul of odd sizes", "llvm", 7, seed=2)
    assert right >= 3, why


@pytest.mark.slow
@pytest.mark.parametrize("target", ["llvm", "interp"])
@pytest.mark.parametrize("name", CASES)
def test_more_points_compute_the_same(name, target):
    right, why = differing(name, target, 24, seed=11)
    assert right >= 9, why
