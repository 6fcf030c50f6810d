"""Devices: where arrays live and modules run. `cpu(0)`; one that this process cannot reach says so by `.exist`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.error import LabError

# The classic numbers of device types, and the names each goes by.
TYPES = {
    "cpu": 1, "cuda": 2, "opencl": 4, "vulkan": 7, "metal": 8, "vpi": 9, "rocm": 10, "ext_dev": 12, "hexagon": 14,
    "webgpu": 15,
}  # fmt: skip
ALIASES = {
    "llvm": "cpu", "numba": "cpu", "interp": "cpu", "c": "cpu", "stackvm": "cpu", "gpu": "cuda", "nvptx": "cuda",
    "cl": "opencl", "mtl": "metal",
}  # fmt: skip
NAMES = {number: name for name, number in TYPES.items()}
PRESENT = {"cpu"}  # kinds this process can allocate on; a target's runtime adds its own


class DeviceError(LabError, ValueError):
    """A device that cannot be used here."""


@dataclass(frozen=True)
class Device:
    """One device: `device_type` (a classic number, 1 = cpu) and `device_id`."""

    device_type: int
    device_id: int = 0

    @property
    def kind(self) -> str:
        return NAMES[self.device_type]

    @property
    def exist(self) -> bool:
        """Can arrays be put there, and modules run, in this process?"""
        return self.kind in PRESENT

    # What a CPU has no number for is None, as in the classic API.
    max_threads_per_block = warp_size = compute_version = device_name = multi_processor_count = None
    max_shared_memory_per_block = max_clock_rate = max_thread_dimensions = None

    def sync(self, stream: Any = None) -> None:
        """Wait for what runs there: nothing on a CPU, where a call returns when its work is done."""
        self.require()

    def require(self) -> Device:
        """Itself, or an error where it does not exist."""
        if not self.exist:
            raise DeviceError(
                "device-missing", f"there is no device {self} in this process",
                legal=[f"{name}(0)" for name in sorted(PRESENT)],
            )  # fmt: skip
        return self

    def __repr__(self) -> str:
        return f"{self.kind}({self.device_id})"


def device(dev_type: str | int, dev_id: int = 0) -> Device:
    """A device by name, target text or classic number: `device("cpu")`, `device("llvm -mcpu=skylake")`, `device(1)`."""
    if isinstance(dev_type, str):
        word = (dev_type.split() or [""])[0]
        number = TYPES.get(ALIASES.get(word, word))
    else:
        number = dev_type if dev_type in NAMES else None
    if number is None:
        raise DeviceError("unknown-device", f"unknown device type {dev_type!r}", legal=[*TYPES, *ALIASES])
    return Device(number, dev_id)


def _maker(name: str) -> Any:
    def make(dev_id: int = 0) -> Device:
        return device(name, dev_id)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The {name} device of that number."
    return make


cpu, cuda, gpu, rocm, opencl, cl = map(_maker, ("cpu", "cuda", "gpu", "rocm", "opencl", "cl"))
metal, mtl, vulkan, vpi, ext_dev, hexagon, webgpu = map(
    _maker, ("metal", "mtl", "vulkan", "vpi", "ext_dev", "hexagon", "webgpu")
)
