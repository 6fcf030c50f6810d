"""CUDA C++ on a CUDA device, by way of cuda.core: NVRTC compiles the text, the driver launches it. In a child process.

Written against cuda.core 1.x; it has not run on a GPU yet. What is tested is everything around the calls of the driver
(class `Gpu`), with a stand-in that has their real signatures.

Before and after each array lie some bytes that no kernel may touch; they are looked at when the call is over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from ...core import dtype as dt
from ...target.cuda_c import check
from ...target.gpu.code import DeviceCode, Launch
from ..array import address
from . import fits, session
from .errors import LaunchError
from .session import Report

GUARD = 256  # bytes before and after each array; arrays begin at multiples of it, as vectors need
MARK = 0xA5  # what they hold
STRICT = "-fmad=false"


def devices(report: Report) -> list[dict[str, Any]]:
    """What there is for this process, in the order of the devices' numbers. (cuda.core's own list counts by NVML, which
    a container may lack, and which knows nothing of CUDA_VISIBLE_DEVICES.)"""
    driver, core = _driver(), _core()
    asked(driver.cuInit(0))
    (count,) = asked(driver.cuDeviceGetCount())
    return [described(core.Device(i)) for i in range(count)]


def described(d: Any) -> dict[str, Any]:
    p = d.properties
    return {
        "name": d.name, "platform": "CUDA", "type": "GPU",
        "compute_version": f"{p.compute_capability_major}.{p.compute_capability_minor}",
        "max_threads_per_block": p.max_threads_per_block, "warp_size": p.warp_size,
        "max_shared_memory_per_block": p.max_shared_memory_per_block, "max_clock_rate": p.clock_rate,
        "multi_processor_count": p.multiprocessor_count,
        "max_thread_dimensions": [p.max_block_dim_x, p.max_block_dim_y, p.max_block_dim_z],
        "max_grid_dimensions": [p.max_grid_dim_x, p.max_grid_dim_y, p.max_grid_dim_z],
    }  # fmt: skip


# ---------------------------------------------------------------- the driver


def _core() -> Any:
    return import_module("cuda.core")


def _driver() -> Any:
    return import_module("cuda.bindings.driver")


def asked(answer: tuple[Any, ...]) -> tuple[Any, ...]:
    """What the driver answers, without its status, which is an error unless it is 0."""
    status, *rest = answer
    if int(status):
        raise RuntimeError(f"the CUDA driver says {status!s}")
    return tuple(rest)


class Gpu:
    """One device: every call of the driver that a session needs is here. Work is done in the order it is asked for."""

    def __init__(self, place: int) -> None:
        self.core = _core()
        self.device = self.core.Device(place)
        self.device.set_current()
        self.stream = self.device.create_stream()
        most = self.device.properties.max_shared_memory_per_block_optin
        self.room = replace(fits.room(described(self.device)), shared=most)

    def memory(self, nbytes: int, mark: int) -> Any:
        """Memory of that size, every byte of which is `mark`."""
        made = self.device.allocate(nbytes, stream=self.stream)
        made.fill(mark, stream=self.stream)
        return made

    def release(self, memory: Any) -> None:
        memory.close(self.stream)

    def write(self, at: int, array: Any) -> None:
        """Copy an array to an address of the device."""
        asked(_driver().cuMemcpyHtoDAsync(at, address(array), array.nbytes, self.stream.handle))

    def read(self, at: int, array: Any) -> None:
        """Copy from an address of the device into an array."""
        asked(_driver().cuMemcpyDtoHAsync(address(array), at, array.nbytes, self.stream.handle))
        self.stream.sync()

    def kernel(self, code: DeviceCode, name: str) -> Any:
        made, shared = self._compiled(code).get_kernel(name), code.kernel(name).asked
        if shared:
            what = _driver().CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            asked(_driver().cuKernelSetAttribute(what, shared, made.handle, self.device.device_id))
        return made

    def _compiled(self, code: DeviceCode) -> Any:
        """Machine code of the text, made once for each kind of device."""
        return _machine_code(code.source, f"sm_{self.device.arch}", STRICT in code.options)

    def launch(self, kernel: Any, launch: Launch, args: list[Any], shared: int) -> tuple[Any, Any]:
        """Two events, before and after it. `shared`: bytes that are asked for."""
        timed = self.core.EventOptions(timing_enabled=True)
        before = self.stream.record(options=timed)
        config = self.core.LaunchConfig(grid=launch.grid, block=launch.block, shmem_size=shared)
        self.core.launch(self.stream, config, kernel, *args)
        return before, self.stream.record(options=timed)

    def wait(self) -> None:
        self.stream.sync()

    def seconds(self, before: Any, after: Any) -> float:
        return float(after - before) * 1e-3


@cache
def _gpu(place: int) -> Gpu:
    return Gpu(place)


@cache
def _machine_code(source: str, arch: str, strict: bool) -> Any:
    return check.machine_code(source, arch, strict)


# ---------------------------------------------------------------- a call


@dataclass(frozen=True)
class Held(session.Held):
    gpu: Gpu
    memory: Any
    place: int
    nbytes: int

    def bytes(self) -> Any:
        made = np.empty(self.nbytes, np.uint8)
        if self.nbytes:
            self.gpu.read(self.place, made)
        return made


class Session(session.Session):
    """`places`: the address of each array, between its guards. Errors of kernels come out where they are waited for."""

    def __init__(self, place: int, code: DeviceCode, report: Report) -> None:
        super().__init__(code, report)
        self.gpu = _gpu(place)
        self.kernels = {k.name: self.gpu.kernel(code, k.name) for k in code.kernels}
        self.memory: dict[int, Any] = {}
        self.places: dict[int, int] = {}
        self.arrays: dict[int, Any] = {}
        self.events: list[tuple[Any, Any]] = []
        self.wait = len(code.kernels) > 1  # after each, so that the one that fails is known

    @classmethod
    def on(cls, place: int, code: DeviceCode, report: Report) -> Session:
        return cls(place, code, report)

    def upload(self, slot: int, array: Any) -> None:
        self.allocate(slot, array.nbytes)
        self.arrays[slot] = array
        if array.nbytes:
            self.gpu.write(self.places[slot], array)

    def allocate(self, slot: int, nbytes: int) -> None:
        try:
            self.memory[slot] = self.gpu.memory(nbytes + 2 * GUARD, MARK)
        except Exception as e:
            name = self.names.get(slot, slot)
            raise LaunchError("device-memory", f"`{name}` takes {nbytes} bytes, which the device refuses: {e}") from e
        self.places[slot], self.sizes[slot] = int(self.memory[slot].handle) + GUARD, nbytes

    def held(self, slot: int) -> Held:
        return Held(self.gpu, self.memory[slot], self.places[slot], self.sizes[slot])

    def take(self, slot: int, held: Held) -> None:
        self.memory[slot], self.places[slot], self.sizes[slot] = held.memory, held.place, held.nbytes

    def free(self, slot: int) -> None:
        self.look_around(slot)
        self.gpu.release(self.memory.pop(slot))

    def start(self, launch: Launch) -> None:
        fits.check(launch, self.code, self.gpu.room)
        args = []
        for param, (what, *rest) in zip(self.params[launch.kernel], launch.args, strict=True):
            args.append(self.places[rest[0]] if what == "buffer" else number(rest[1], param.dtype))
        if self.code.sites is not None:
            args += [self.places[session.FAULTS], *self.watched(launch)]
        try:
            shared = self.code.kernel(launch.kernel).asked
            self.events.append(self.gpu.launch(self.kernels[launch.kernel], launch, args, shared))
            if self.wait:
                self.gpu.wait()
        except Exception as e:
            raise lost(f"kernel `{launch.kernel}`", e) from e

    def finish(self) -> float:
        try:
            self.gpu.wait()
        except Exception as e:
            raise lost(f"kernel {', '.join(f'`{k.name}`' for k in self.code.kernels)}", e) from e
        spent = sum(self.gpu.seconds(a, b) for a, b in self.events)
        self.events.clear()
        return spent

    def read(self, slot: int) -> Any:
        self.look_around(slot)
        array = self.arrays[slot]
        if array.nbytes:
            self.gpu.read(self.places[slot], array)
        return array

    def look_around(self, slot: int) -> None:
        at, before, after = self.places[slot], np.empty(GUARD, np.uint8), np.empty(GUARD, np.uint8)
        sides = ((at - GUARD, before), (at + self.sizes[slot], after))
        for place, found in sides:
            self.gpu.read(place, found)
        changed = [found != MARK for _, found in sides]
        for (place, found), x in zip(sides, changed, strict=True):
            if x.any():
                found[:] = MARK
                self.gpu.write(place, found)
        self.refuse_written(slot, *changed)


def lost(who: str, e: Exception) -> LaunchError:
    """After an error of this kind a process can do nothing more with the device."""
    return LaunchError(
        session.LOST, f"{who} failed on the device: {e}",
        hint="most often an index outside an array; on target interp the same program names the statement",
    )  # fmt: skip


def number(value: Any, dtype: str) -> Any:
    """A scalar argument as the kernels take it: a bool is one byte, a float16 is one."""
    return np.dtype("uint8" if dt.is_bool(dtype) else dtype).type(value)


call, more = partial(session.call, Session.on), session.more
again, finish, fetch = session.again, session.finish, session.fetch
