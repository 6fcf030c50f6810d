"""Running programs: devices and arrays, modules, timing, packed functions."""

from difflib import get_close_matches
from importlib import import_module
from typing import Any

from ..core.error import MissingName
from .array import NDArray, array, empty, from_dlpack
from .device import Device, DeviceError, cpu, device
from .measure import BenchmarkResult, Comparison, compare
from .module import Module, enabled, load_module
from .packed import get_global_func, list_global_func_names, register_func, remove_global_func

__all__ = [
    "BenchmarkResult", "Comparison", "Device", "DeviceError", "Module", "NDArray", "array", "compare", "cpu", "device",
    "empty", "enabled", "from_dlpack", "get_global_func", "list_global_func_names", "load_module", "register_func",
    "remove_global_func",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Classic names of values and modules: `runtime.convert`, `runtime.ndarray.array`."""
    if name in ("convert", "String"):
        from ..expr import attrs

        return attrs.convert if name == "convert" else attrs.StringImm
    if name == "ndarray":
        return import_module(f"{__name__}.array")
    if name == "gpu":
        return import_module(f"{__name__}.gpu")
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    close = get_close_matches(name, [*__all__, "convert", "String", "ndarray", "gpu"], n=4)
    raise MissingName("unknown-name", f"there is no runtime.{name}", legal=[f"runtime.{n}" for n in close])
