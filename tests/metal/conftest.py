"""Skipped, with the reason, where no clang makes libraries; what was checked, and by what, is said at the end."""

import pytest

from tests.metal import harness


@pytest.fixture(autouse=True)
def clang():
    if harness.missing():
        pytest.skip(harness.missing())


def pytest_terminal_summary(terminalreporter):
    done = [r for r in terminalreporter.stats.get("passed", ()) if "tests/metal/" in r.nodeid]
    if done:
        terminalreporter.write_line(f"{len(done)} tests of Metal kernels, run on the CPU: {harness.LABEL}")
