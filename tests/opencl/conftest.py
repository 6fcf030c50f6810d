"""Skipped, with the reason, where no OpenCL device builds kernels."""

import pytest

from tvmlab.runtime import gpu


@pytest.fixture(autouse=True)
def opencl():
    there = gpu.listing("opencl")
    if not there.devices:
        pytest.skip(there.why)
    return there.devices[0]
