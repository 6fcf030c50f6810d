"""Tests that run kernels on an OpenCL device: without one they are skipped, and say so."""

import pytest


def _reason() -> str:
    try:
        import pyopencl
    except ImportError:
        return "pyopencl is not installed: pip install 'pyopencl[pocl]'"
    try:
        platforms = pyopencl.get_platforms()
    except pyopencl.LogicError:
        platforms = []
    return "" if platforms else "there is no OpenCL platform: pip install 'pyopencl[pocl]'"


REASON = _reason()


def pytest_collection_modifyitems(items):
    for item in items:
        if REASON and "tests/opencl" in item.path.as_posix():
            item.add_marker(pytest.mark.skip(reason=REASON))
