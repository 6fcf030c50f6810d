"""The gallery's GPU schedules and random bound ones on `cuda` and `opencl`: what NumPy has, at odd sizes."""

import numpy as np
import pytest

import tvmlab
from tests.bound import arrays, random_bound
from tests.cpu.test_kernels_gpu import CASES, check, run
from tests.kernels import staged
from tests.pure.passes.test_warp_memory import rotated
from tvmlab.core.error import BuildError
from tvmlab.kernels import matmul
from tvmlab.runtime import gpu

TARGETS = ("cuda", "opencl")
SEEDS = [("cuda", seed) for seed in range(50)] + [("opencl", seed) for seed in range(25)]  # PoCL compiles longer


@pytest.fixture(params=TARGETS)
def target(request):
    """Skipped, with the reason, where nothing runs it."""
    there = gpu.listing(request.param)
    if not there.devices:
        pytest.skip(there.why)
    return request.param


@pytest.mark.parametrize("name, shape", CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
def test_the_gallery(target, name, shape):
    run(name, shape, target)


@pytest.mark.parametrize("target, seed", SEEDS, indirect=["target"])
def test_random_schedules(target, seed):
    case = random_bound(1000 + seed)
    given = arrays(case)
    try:
        module = tvmlab.build(case.schedule, case.args, target)
    except BuildError as e:  # a sum that every thread of the block computes in shared memory, without a register
        assert "update the same element" in str(e)
        return
    module(*given)
    for got, want in zip(given[len(case.inputs) :], case.expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_matmul_of_several_blocks_and_tiles(target):
    s, args = matmul.gpu(m=50, n=70, k=37, rows=16, columns=32, depth=4, each=2)
    check(s, args, lambda a, b: a @ b, target)


@pytest.mark.parametrize("scope", ["shared", "shared.dyn"])
def test_shared_memory_by_its_classic_tag(target, scope):
    check(*staged(100, 32, scope), lambda a: a[::-1] * 2, target)


def test_the_default_schedule(target):
    """Whatever is not bound: a program with a sum that others read."""
    case = random_bound(3)
    fresh = tvmlab.te.create_schedule([t.op for t in case.args[len(case.inputs) :]])
    fresh.default(target)
    given = arrays(case)
    tvmlab.build(fresh, case.args, target)(*given)
    for got, want in zip(given[len(case.inputs) :], case.expected, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("warps", [1, 4])
def test_memory_of_warps(target, warps):
    s, args, (a,), (expected,) = rotated(warps=warps)
    b = np.full_like(expected, np.nan)
    tvmlab.build(s, args, target)(a, b)
    np.testing.assert_array_equal(b, expected)
