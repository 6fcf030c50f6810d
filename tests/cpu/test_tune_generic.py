"""Random points of the space of any expression, compiled, against NumPy."""

import pytest

from tests.expressions import CASES, differing


@pytest.mark.parametrize("name", CASES)
def test_compiled_points_compute_the_same(name):
    right, why = differing(name, "llvm", 4)
    assert right, why


@pytest.mark.slow
@pytest.mark.parametrize("target", ["llvm", "interp"])
@pytest.mark.parametrize("name", CASES)
def test_forty_points_compute_the_same(name, target):
    right, why = differing(name, target, 40, seed=11)
    assert right >= 20, why
