"""Devices: where arrays live and modules run. `cpu(0)`; one that this process cannot reach says so by `.exist`.

The memory of an array on `opencl(0)` or `cuda(0)` is there from the first call that takes it (gpu/resident.py); in
CUDA's simulator, and by way of Numba, each call copies it to the device and back.
"""

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
PRESENT = {"cpu"}  # kinds that are always there
LAUNCHED = ("opencl", "cuda")  # kinds that runtime/gpu looks for, when it is asked
FACTS = (
    "max_threads_per_block warp_size compute_version device_name multi_processor_count max_shared_memory_per_block "
    "max_clock_rate max_thread_dimensions"
).split()


class DeviceError(LabError, ValueError):
    """A device that cannot be used here."""


@dataclass(frozen=True)
class Device:
    """One device: `device_type` (a classic number, 1 = cpu) and `device_id`."""

    device_type: int
    device_id: int = 0
    session = None  # of another machine (rpc/remote.py)

    @property
    def kind(self) -> str:
        return NAMES[self.device_type]

    @property
    def exist(self) -> bool:
        """Can arrays be put there, and modules run and be timed? CUDA's simulator runs modules, but is no device."""
        found = self._found()
        return self.kind in PRESENT or (found is not None and not found.emulated)

    def _found(self) -> Any:
        """What is known of a device with kernels; None where there is none."""
        if self.kind not in LAUNCHED:
            return None
        from .gpu import listing

        there = listing(self.kind).devices
        return there[self.device_id] if self.device_id < len(there) else None

    def __getattr__(self, name: str) -> Any:
        """The classic numbers of a device; what one has no number for is None."""
        if name not in FACTS:
            raise AttributeError(f"a device has no {name!r}")
        found = self._found()
        if found is None:
            return None
        return found.name if name == "device_name" else found.facts.get(name)

    def sync(self, stream: Any = None) -> None:
        """Wait for what runs there: nothing, since a call returns when its work is done."""
        self.require()

    def require(self) -> Device:
        """Itself, or an error where nothing runs on it. (CUDA's simulator is enough.)"""
        if self.kind in PRESENT or self._found() is not None:
            return self
        raise DeviceError(
            "device-missing", f"there is no device {self} in this process", legal=_there(), hint=self._why()
        )

    def _why(self) -> str:
        """What is missing."""
        if self.kind not in LAUNCHED:
            return ""
        from .gpu import listing

        return listing(self.kind).why

    def __repr__(self) -> str:
        return f"{self.kind}({self.device_id})"


def _there() -> list[str]:
    from .gpu import listing

    return [
        *(f"{k}(0)" for k in sorted(PRESENT)),
        *(f"{f.kind}({f.index})" for k in LAUNCHED for f in listing(k).devices),
    ]


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
