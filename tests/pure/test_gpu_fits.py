"""Launches that a device cannot start, whose extents only a call knows: refused with number, limit and loop."""

import numpy as np
import pytest

import tvmlab
from tests.refusal import refused
from tvmlab import te
from tvmlab.runtime.gpu import LaunchError, fits
from tvmlab.target.gpu import DeviceCode, Kernel, Launch, commands

ROOM = fits.Room("the device", 256, (256, 128, 64), 1000, (1000, 100, 100))


def by_its_size():
    """B[i, j], whose rows are bound to blocks and whose columns to threads, whatever their number."""
    n, m = te.size_var("n"), te.size_var("m")
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("blockIdx.y"))
    s[B].bind(B.op.axis[1], te.thread_axis("threadIdx.x"))
    return s, [A, B]


@pytest.fixture(scope="module")
def built():
    return tvmlab.build(*by_its_size(), "opencl").compiled.extra


def checked(built, rows, columns):
    (launch,) = commands(built["host"], [rows, columns])
    fits.check(launch, built["device"], ROOM)


def test_extents_of_a_call(built):
    checked(built, 100, 256)
    assert refused(LaunchError, lambda: checked(built, 3, 257)) == (
        "kernel `main_B` has 257 x 1 x 1 = 257 threads in a block; the device takes 256, at most 256 x 128 x 64\n"
        "    threadIdx.x (257): `j` of stage B\n"
        "  split the axes that are bound to threadIdx by smaller factors"
    )
    assert refused(LaunchError, lambda: checked(built, 101, 5)) == (
        "kernel `main_B` has 101 blocks along blockIdx.y; the device takes 100 there\n"
        "    blockIdx.y (101): `i` of stage B\n"
        "  bind that axis to blockIdx.x, or split it by a larger factor"
    )


def test_one_dimension_may_take_less_than_a_block():
    code = DeviceCode("opencl", "", (Kernel("k", (), 1001), Kernel("few", ())))
    said = refused(LaunchError, lambda: fits.check(Launch("few", (1, 1, 1), (1, 1, 65), ()), code, ROOM))
    assert "1 x 1 x 65 = 65 threads" in said and "at most 256 x 128 x 64" in said
    said = refused(LaunchError, lambda: fits.check(Launch("k", (1, 1, 1), (1, 1, 1), ()), code, ROOM))
    assert said.startswith("kernel `k` takes 1001 bytes of shared memory in a block; the device has 1000")


@pytest.mark.parametrize("target", ["opencl", "cuda"])
def test_a_call_says_it(target):
    """Before a driver does, which may end the process."""
    if not tvmlab.runtime.gpu.listing(target).devices:
        pytest.skip(f"no device for {target}")
    made = tvmlab.build(*by_its_size(), target)
    a, b = np.ones((1, 100_000), "float32"), np.zeros((1, 100_000), "float32")
    said = refused(LaunchError, lambda: made(a, b))
    assert "100000 threads in a block; " in said and "threadIdx.x (100000): `j` of stage B" in said
    a, b = np.ones((3, 40), "float32"), np.zeros((3, 40), "float32")
    made(a, b)
    assert (b == 2).all()
