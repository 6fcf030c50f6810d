"""Kernels on a real CUDA device, in this process, by way of Numba: device arrays, one stream, events for the time.

Not tried yet: it was written where there is no GPU. What is tested is the same source in the simulator, and that
Numba compiles it to PTX.
"""

from __future__ import annotations

import ctypes
import sys
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from ...core import dtype as dt
from ...target.gpu.code import DeviceCode, Launch
from . import fits, session
from .errors import LaunchError
from .session import Report
from .source import module

DRIVERS = ("nvcuda.dll",) if sys.platform == "win32" else ("libcuda.so.1", "libcuda.so")


@cache
def available() -> bool:
    """Is there a driver, a device, and Numba for it, not its simulator?"""
    if not any(map(loads, DRIVERS)):
        return False
    try:
        config, cuda = _numba().config, _numba().cuda
        return not config.ENABLE_CUDASIM and bool(cuda.is_available())
    except Exception:  # a driver that is too old, a Numba without CUDA: then it is not available
        return False


def _numba() -> Any:
    import_module("numba.cuda")
    return import_module("numba")


def loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def devices() -> list[dict[str, Any]]:
    """What there is, in the order of the devices' numbers."""
    return [_described(d) for d in _numba().cuda.list_devices()]


def _described(d: Any) -> dict[str, Any]:
    name = d.name.decode() if isinstance(d.name, bytes) else str(d.name)
    return {
        "name": name, "platform": "CUDA", "type": "GPU", "compute_version": ".".join(map(str, d.compute_capability)),
        "max_threads_per_block": d.MAX_THREADS_PER_BLOCK, "warp_size": d.WARP_SIZE,
        "max_shared_memory_per_block": d.MAX_SHARED_MEMORY_PER_BLOCK, "max_clock_rate": d.CLOCK_RATE,
        "multi_processor_count": d.MULTIPROCESSOR_COUNT,
        "max_thread_dimensions": [d.MAX_BLOCK_DIM_X, d.MAX_BLOCK_DIM_Y, d.MAX_BLOCK_DIM_Z],
        "max_grid_dimensions": [d.MAX_GRID_DIM_X, d.MAX_GRID_DIM_Y, d.MAX_GRID_DIM_Z],
    }  # fmt: skip


class Session(session.Session):
    """One call. Errors of the device come out where the stream is waited for, as LaunchErrors."""

    def __init__(self, place: int, code: DeviceCode, report: Report) -> None:
        super().__init__(code, report)
        self.cuda = _numba().cuda
        self.cuda.select_device(place)
        self.module = _module(code.key, code.source)
        self.stream = self.cuda.stream()
        self.memory: dict[int, Any] = {}
        self.arrays: dict[int, Any] = {}
        self.events: list[tuple[Any, Any]] = []

    @classmethod
    def on(cls, place: int, code: DeviceCode, report: Report) -> Session:
        return cls(place, code, report)

    def upload(self, slot: int, array: Any) -> None:
        self.arrays[slot] = array
        if array.size == 0:  # a device has no memory of 0 bytes
            self.memory[slot] = self.cuda.device_array(1, array.dtype, stream=self.stream)
        else:
            self.memory[slot] = self.cuda.to_device(array.reshape(-1), stream=self.stream)

    def allocate(self, slot: int, nbytes: int) -> None:
        self.memory[slot] = self.cuda.device_array(max(nbytes, 1), np.uint8, stream=self.stream)

    def free(self, slot: int) -> None:
        del self.memory[slot]

    def start(self, launch: Launch) -> None:
        fits.check(launch, self.code, fits.room(_described(self.cuda.get_current_device())))
        args = []
        for param, (what, *rest) in zip(self.params[launch.kernel], launch.args, strict=True):
            args.append(self._typed(rest[0], param.dtype) if what == "buffer" else number(rest[1], param.dtype))
        before, after = self.cuda.event(), self.cuda.event()
        before.record(self.stream)
        try:
            getattr(self.module, launch.kernel)[launch.grid, launch.block, self.stream](*args)
        except Exception as e:
            raise LaunchError("kernel-failed", f"kernel `{launch.kernel}` could not be launched: {e}") from e
        after.record(self.stream)
        self.events.append((before, after))

    def _typed(self, slot: int, dtype: str) -> Any:
        memory, base = self.memory[slot], np.dtype(dt.element(dtype))
        return memory if memory.dtype == base else memory[: memory.nbytes // base.itemsize * base.itemsize].view(base)

    def finish(self) -> float:
        try:
            self.stream.synchronize()
        except Exception as e:
            names = ", ".join(f"`{k.name}`" for k in self.code.kernels)
            raise LaunchError(
                "kernel-failed", f"kernel {names} failed on the device: {e}",
                hint="after an error of this kind CUDA needs a new process: restart the notebook's kernel",
            ) from e  # fmt: skip
        spent = sum(self.cuda.event_elapsed_time(a, b) for a, b in self.events)
        self.events.clear()
        return float(spent) * 1e-3

    def read(self, slot: int) -> Any:
        array = self.arrays[slot]
        if array.size:
            self.memory[slot].copy_to_host(array.reshape(-1), stream=self.stream)
            self.stream.synchronize()
        return array


def number(value: Any, dtype: str) -> Any:
    """A scalar argument of the parameter's type; float16 is computed in float32."""
    if dtype == "float16":
        return np.float32(np.float16(value))
    return bool(value) if dt.is_bool(dtype) else np.dtype(dtype).type(value)


_module = cache(module)
call, more = partial(session.call, Session.on), session.more
again, finish = session.again, session.finish
