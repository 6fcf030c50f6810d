"""OpenCL by way of pyopencl. Everything here runs in a child process: a wrong kernel ends it, or never ends.

Before and after each array lie some bytes that no kernel may touch; they are looked at when the call is over. That
finds writes just outside an array, and no reads: for those, and for the index, a program is built with its accesses
checked (target/clike/checked.py).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import Any

import numpy as np

from ...core import dtype as dt
from ...core.error import BuildError
from ...target.gpu.code import DeviceCode, Launch
from . import fits, pocl, session
from .errors import LaunchError
from .session import Report

GUARD = 256  # bytes before and after each array, at least
PROBE = "kernel void probe(global int* A) { A[0] = 1; }"
MARK = 0xA5  # what they hold
NEAR = 2  # lines of the source shown before and after the one that the compiler names
PLACE = re.compile(r":(\d+):(?:\d+:)? *(?:fatal )?error: *(.*)|error: [^\n]*?:(\d+):\d+: *(.*)")


def devices(report: Report) -> dict[str, list[dict[str, Any]]]:
    """`works`: what programs run on, in the order of the devices' numbers: GPUs, accelerators, then processors.
    `broken`: devices whose compiler does not build the simplest kernel, with `why`."""
    works, broken = _devices()
    return {"works": [_described(d) for d in works], "broken": [{**_described(d), "why": why} for d, why in broken]}


# ---------------------------------------------------------------- devices


def _cl() -> Any:
    return import_module("pyopencl")


@cache
def _devices() -> tuple[list[Any], list[tuple[Any, str]]]:
    cl = _cl()

    found = [d for p in cl.get_platforms() for d in _of(p)]
    kinds = (cl.device_type.GPU, cl.device_type.ACCELERATOR)
    found.sort(key=lambda d: next((i for i, k in enumerate(kinds) if d.type & k), len(kinds)))
    tried = [(d, _tried(d)) for d in found]
    return [d for d, why in tried if not why], [(d, why) for d, why in tried if why]


def _tried(device: Any) -> str:
    """What is wrong with it, after what can be done about it; "" if nothing is."""
    why = _trouble(device)
    return _trouble(device) if pocl.REFUSED in why and pocl.repair(device) else why


def _trouble(device: Any) -> str:
    """What its compiler says to the simplest kernel; "" if it builds. One may not know this processor."""
    cl = _cl()

    try:
        cl.Program(cl.Context([device]), PROBE).build(cache_dir=False)
    except cl.Error as e:
        lines = [x for x in str(e).splitlines() if "error:" in x] or str(e).splitlines()
        return lines[0].strip() if lines else "it builds nothing"
    return ""


def _of(platform: Any) -> list[Any]:
    cl = _cl()

    try:
        return list(platform.get_devices())
    except cl.Error:  # a platform without devices
        return []


def _described(d: Any) -> dict[str, Any]:
    cl = _cl()

    p = d.platform
    return {
        "name": d.name.strip(), "platform": p.name.strip(), "platform_id": p.int_ptr, "version": p.version.strip(),
        "type": next((n for n in ("GPU", "CPU", "ACCELERATOR") if d.type & getattr(cl.device_type, n)), "device"),
        "max_threads_per_block": d.max_work_group_size, "max_shared_memory_per_block": d.local_mem_size,
        "max_thread_dimensions": list(d.max_work_item_sizes), "multi_processor_count": d.max_compute_units,
        "max_clock_rate": d.max_clock_frequency * 1000, "memory": d.global_mem_size, "largest": d.max_mem_alloc_size,
        "extensions": d.extensions.split(),
    }  # fmt: skip


@cache
def _context(place: int) -> tuple[Any, Any, Any]:
    cl = _cl()

    device = _devices()[0][place]
    context = cl.Context([device])
    return device, context, cl.CommandQueue(context, properties=cl.command_queue_properties.PROFILING_ENABLE)


# ---------------------------------------------------------------- programs

_programs: dict[tuple[int, str], Any] = {}
_kernels: dict[tuple[int, str, str], Any] = {}


def kernel(place: int, code: DeviceCode, name: str) -> Any:
    """A kernel of a source, which is built once."""
    at = (place, code.key, name)
    if at not in _kernels:
        cl = _cl()

        _kernels[at] = cl.Kernel(program(place, code), name)
    return _kernels[at]


def program(place: int, code: DeviceCode) -> Any:
    found = _programs.get((place, code.key))
    if found is None:
        found = _programs[place, code.key] = _built(place, code)
    return found


def _built(place: int, code: DeviceCode) -> Any:
    cl = _cl()

    device, context, _ = _context(place)
    try:
        return cl.Program(context, code.source).build(options=list(code.options), cache_dir=False)
    except cl.Error as e:
        raise refused(code, str(e), device.name.strip()) from None


def refused(code: DeviceCode, log: str, device: str) -> BuildError:
    """The first complaint of the compiler, with the lines of the source around it, and its loop."""
    lines = code.source.splitlines()
    for m in PLACE.finditer(log):
        number, text = int(m[1] or m[3]), (m[2] or m[4] or "").strip()
        if 0 < number <= len(lines):
            loop = code.places.get(number, "")
            of = f", in {loop}" if loop else ""
            return BuildError(
                "opencl-build", f"the OpenCL compiler of {device} refuses line {number}{of}: {text}",
                where=list(_around(lines, number)), hint="module.source is the whole text",
            )  # fmt: skip
    return BuildError(
        "opencl-build", f"the OpenCL compiler of {device} refuses the program",
        where=[x for x in log.splitlines() if x.strip()][:12],
    )  # fmt: skip


def _around(lines: Sequence[str], number: int) -> Iterator[str]:
    for n in range(max(1, number - NEAR), min(len(lines), number + NEAR) + 1):
        yield f"{'->' if n == number else '  '} {n:4}  {lines[n - 1]}"


# ---------------------------------------------------------------- a call


@dataclass(frozen=True)
class Held(session.Held):
    queue: Any
    whole: Any
    memory: Any
    nbytes: int

    def bytes(self) -> Any:
        made = np.empty(self.nbytes, np.uint8)
        if self.nbytes:
            _cl().enqueue_copy(self.queue, made, self.memory, is_blocking=True)
        return made


class Session(session.Session):
    def __init__(self, place: int, code: DeviceCode, report: Report) -> None:
        super().__init__(code, report)
        self.device, self.context, self.queue = _context(place)
        self.place = place
        program(place, code)
        self.front = max(GUARD, self.device.mem_base_addr_align // 8)  # bits
        self.whole: dict[int, Any] = {}  # with the guards
        self.memory: dict[int, Any] = {}
        self.arrays: dict[int, Any] = {}
        self.events: list[Any] = []
        self.wait = len(code.kernels) > 1  # after each, so that the one that fails is known

    @classmethod
    def on(cls, place: int, code: DeviceCode, report: Report) -> Session:
        return cls(place, code, report)

    def upload(self, slot: int, array: Any) -> None:
        cl = _cl()

        self.allocate(slot, array.nbytes)
        self.arrays[slot] = array
        if array.nbytes:
            cl.enqueue_copy(self.queue, self.memory[slot], array, is_blocking=True)

    def allocate(self, slot: int, nbytes: int) -> None:
        cl = _cl()

        total, there = sum(self.sizes.values()) + self.elsewhere() + nbytes, self.device.global_mem_size
        if nbytes > self.device.max_mem_alloc_size or total > there:
            raise LaunchError(
                "device-memory",
                f"`{self.names.get(slot, slot)}` takes {nbytes / 2**30:.3g} GiB, {total / 2**30:.3g} with what is there"
                f" already; {self.device.name.strip()} gives {self.device.max_mem_alloc_size / 2**30:.3g} at once and "
                f"{there / 2**30:.3g} in all",
            )
        self.sizes[slot] = nbytes
        behind = self._behind(slot)
        made = self.whole[slot] = cl.Buffer(self.context, cl.mem_flags.READ_WRITE, behind + GUARD)
        self.memory[slot] = made.get_sub_region(self.front, behind + GUARD - self.front)
        self._guard(slot)

    def held(self, slot: int) -> Held:
        return Held(self.queue, self.whole[slot], self.memory[slot], self.sizes[slot])

    def take(self, slot: int, held: Held) -> None:
        self.whole[slot], self.memory[slot], self.sizes[slot] = held.whole, held.memory, held.nbytes

    def free(self, slot: int) -> None:
        self.queue.finish()
        self.look_around(slot)
        self.memory.pop(slot).release()
        self.whole.pop(slot).release()
        self.sizes.pop(slot)

    def start(self, launch: Launch) -> None:
        cl = _cl()

        made = kernel(self.place, self.code, launch.kernel)
        fits.check(launch, self.code, self._room(made))
        params = self.params[launch.kernel]
        for i, (param, (what, *rest)) in enumerate(zip(params, launch.args, strict=True)):
            made.set_arg(i, self.memory[rest[0]] if what == "buffer" else number(rest[1], param.dtype))
        if self.code.sites is not None:
            for i, arg in enumerate([self.memory[session.FAULTS], *self.watched(launch)], len(params)):
                made.set_arg(i, arg)
        size = tuple(g * b for g, b in zip(launch.grid, launch.block, strict=True))
        event = cl.enqueue_nd_range_kernel(self.queue, made, size, launch.block)
        self.events.append(event)
        if self.wait:
            event.wait()

    def _room(self, made: Any) -> fits.Room:
        """Of the device; a kernel of many registers may have room for fewer threads."""
        d, cl = self.device, _cl()
        threads = min(d.max_work_group_size, made.get_work_group_info(cl.kernel_work_group_info.WORK_GROUP_SIZE, d))
        return fits.Room(d.name.strip(), threads, tuple(d.max_work_item_sizes), d.local_mem_size)

    def finish(self) -> float:
        self.queue.finish()
        spent = sum(e.profile.end - e.profile.start for e in self.events)
        self.events.clear()
        return float(spent) * 1e-9

    def read(self, slot: int) -> Any:
        cl = _cl()

        self.look_around(slot)
        array = self.arrays[slot]
        if array.nbytes:
            cl.enqueue_copy(self.queue, array, self.memory[slot], is_blocking=True)
        return array

    def look_around(self, slot: int) -> None:
        cl = _cl()
        before, after = np.empty(self.front, np.uint8), np.empty(GUARD, np.uint8)
        cl.enqueue_copy(self.queue, before, self.whole[slot], is_blocking=True)
        cl.enqueue_copy(self.queue, after, self.whole[slot], src_offset=self._behind(slot), is_blocking=True)
        if (before != MARK).any() or (after != MARK).any():
            self._guard(slot)
        self.refuse_written(slot, before != MARK, after != MARK)

    def _guard(self, slot: int) -> None:
        cl = _cl()

        for at, nbytes in ((0, self.front), (self._behind(slot), GUARD)):
            cl.enqueue_fill_buffer(self.queue, self.whole[slot], np.uint8(MARK), at, nbytes)

    def _behind(self, slot: int) -> int:
        """Where the guard behind an array begins."""
        return int(self.front) + -(-self.sizes[slot] // 4) * 4


def number(value: Any, dtype: str) -> Any:
    """A scalar argument as the kernels take it: a bool is one byte, a float16 is rounded, and passed as a float."""
    if dtype == "float16":
        return np.float32(np.float16(value))
    return np.dtype("uint8" if dt.is_bool(dtype) else dtype).type(value)


call, more = partial(session.call, Session.on), session.more
again, finish, fetch = session.again, session.finish, session.fetch
