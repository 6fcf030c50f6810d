"""Running programs: devices and arrays, modules, timing, packed functions."""

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
