"""The gallery's GPU schedules and random bound ones on `cuda`: what NumPy has, at odd sizes."""

import numpy as np
import pytest

import tvmlab
from tests.bound import arrays, random_bound
from tests.cpu.test_kernels_gpu import CASES, check, run
from tests.pure.passes.test_warp_memory import rotated
from tvmlab.core.error import BuildError
from tvmlab.kernels import matmul


@pytest.mark.parametrize("name, shape", CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
def test_the_gallery(name, shape):
    run(name, shape, "cuda")


@pytest.mark.parametrize("seed", range(80))
def test_random_schedules(seed):
    case = random_bound(1000 + seed)
    given = arrays(case)
    try:
        module = tvmlab.build(case.schedule, case.args, "cuda")
    except BuildError as e:  # a sum that every thread of the block computes in shared memory, without a register
        assert "update the same element" in str(e)
        return
    module(*given)
    for got, want in zip(given[len(case.inputs) :], case.expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_matmul_of_several_blocks_and_tiles():
    s, args = matmul.gpu(m=50, n=70, k=37, rows=16, columns=32, depth=4, each=2)
    check(s, args, lambda a, b: a @ b, "cuda")


def test_the_default_schedule():
    """Whatever is not bound: a program with a sum that others read."""
    case = random_bound(3)
    fresh = tvmlab.te.create_schedule([t.op for t in case.args[len(case.inputs) :]])
    fresh.default("cuda")
    given = arrays(case)
    tvmlab.build(fresh, case.args, "cuda")(*given)
    for got, want in zip(given[len(case.inputs) :], case.expected, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("warps", [1, 4])
def test_memory_of_warps(warps):
    s, args, (a,), (expected,) = rotated(warps=warps)
    b = np.full_like(expected, np.nan)
    tvmlab.build(s, args, "cuda")(a, b)
    np.testing.assert_array_equal(b, expected)
