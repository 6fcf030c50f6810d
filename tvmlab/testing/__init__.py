"""Helpers of tests, under their classic names: `tvmlab.testing.assert_allclose(actual, desired, rtol=1e-5)`."""

# ruff: noqa: F401
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..names import lazy
from ..runtime.device import Device, device
from ..runtime.module import enabled
from . import utils


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """AssertionError when the arrays differ by more than the tolerances; shapes must agree."""
    import numpy as np

    a, b = (x.numpy() if hasattr(x, "numpy") else np.asanyarray(x) for x in (actual, desired))
    np.testing.assert_allclose(a.shape, b.shape)
    np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, verbose=True)


def device_enabled(target: Any) -> bool:
    """Can programs for the target be built and run here?"""
    from ..target import Target

    name = target.name if isinstance(target, Target) else str(target)
    return enabled(name) and device(name.split()[0] if name else "cpu").exist


def enabled_targets() -> list[tuple[str, Device]]:
    """(target, device) of what tests should run on."""
    return [("llvm", device("cpu"))]


def _skip(reason: str) -> Callable[[Any], Any]:
    """Mark a test as skipped: pytest's mark where pytest is there; a plain call does nothing."""

    def decorate(f: Any) -> Any:
        @functools.wraps(f)
        def skipped(*args: Any, **kwargs: Any) -> None:
            print(f"skipped: {getattr(f, '__name__', f)}: {reason}")

        try:
            import pytest
        except ImportError:
            return skipped
        return pytest.mark.skip(reason=reason)(skipped)

    return decorate


def _feature(there: bool, reason: str = "") -> Callable[..., Any]:
    """A classic decorator, with or without arguments: `@requires_llvm`, `@requires_cuda()`."""

    def apply(*args: Any, **kwargs: Any) -> Any:
        mark: Callable[[Any], Any] = (lambda f: f) if there else _skip(reason)
        return mark(args[0]) if args and callable(args[0]) else mark

    return apply


requires_llvm = requires_x86 = requires_package = requires_openblas = _feature(True)
uses_gpu = _feature(True)
requires_gpu = requires_cuda = requires_tensorcore = _feature(False, "classic tests of GPUs are not run")
requires_cudnn = requires_cublas = _feature(False, "no vendor's library is called")
requires_opencl = requires_vulkan = requires_metal = requires_rocm = requires_webgpu = requires_cudagraph = requires_gpu
requires_nvcc = requires_gpu
requires_hexagon = requires_rpc = requires_micro = requires_ethosn = _feature(False, "not there yet")


def parametrize_targets(*targets: Any) -> Any:
    """Run a test `f(target, dev)` once per target that is there."""
    if len(targets) == 1 and callable(targets[0]):
        return _parametrized([t for t, _ in enabled_targets()])(targets[0])
    return _parametrized([t for t in targets if device_enabled(t)])


def _parametrized(targets: Sequence[Any]) -> Callable[[Any], Any]:
    import pytest

    return pytest.mark.parametrize("target, dev", [(t, device(str(t).split()[0])) for t in targets])


def parameter(*values: Any, ids: Any = None, by_dict: Any = None) -> Any:
    """A pytest fixture that takes each of the values."""
    import pytest

    return pytest.fixture(params=values, ids=ids)(lambda request: request.param)


def main() -> None:
    """Run the calling file's tests."""
    import inspect
    import sys

    import pytest

    frame = inspect.stack()[1]
    sys.exit(pytest.main([frame.filename, *sys.argv[1:]]))


__getattr__, __dir__ = lazy(__name__, {})
