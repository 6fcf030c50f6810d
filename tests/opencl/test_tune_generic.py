"""Random points of the space of any expression for GPUs, run by OpenCL, against NumPy."""

import pytest

from tests.expressions import CASES, differing


@pytest.mark.parametrize("name", CASES)
def test_points_compute_the_same(name):
    right, why = differing(name, "opencl", 3, seed=2)
    assert right, why
