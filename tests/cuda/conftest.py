"""Skipped, with the reason, where there is neither a GPU nor Numba's simulator."""

import pytest

from tvmlab.runtime import gpu


@pytest.fixture(autouse=True)
def device():
    there = gpu.listing("cuda")
    if not there.devices:
        pytest.skip(there.why)
    return there.devices[0]


@pytest.fixture
def simulator(device):
    """For what only the simulator does: it finds faults that a GPU goes on with."""
    if not device.emulated:
        pytest.skip("there is a GPU")
    return device
