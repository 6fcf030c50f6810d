"""PoCL on a processor that is younger than the LLVM inside it.

PoCL 3 asks LLVM for the processor's name, gets `generic` for one that it does not know, and then refuses that name
itself: nothing builds ("unknown target CPU 'generic'", pocl/pocl issues 512 and 1049). The name is a pointer in PoCL's
record of the device. Here it is made to point to a processor that LLVM knows and whose instructions this one has. Runs
in the child process of the OpenCL runner only.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

REFUSED = "unknown target CPU 'generic'"
UNKNOWN = b"generic\0"
RECORD = 1024  # bytes of a device's record that are looked at: behind its end others may point to the same text
FLAGS = Path("/proc/cpuinfo")
KNOWN = (  # a processor, and what it needs, the most capable one first
    (b"skylake-avx512", {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd", "avx2", "fma", "bmi2"}),
    (b"haswell", {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe"}),
    (b"nehalem", {"sse4_2", "popcnt"}),
)
_kept: list[Any] = []  # the names live as long as the process


def repair(device: Any, flags: Path = FLAGS) -> str:
    """Give a device of PoCL a processor's name that its LLVM knows; the name, "" where nothing could be done."""
    there = _flags(flags)
    name = next((n for n, needed in KNOWN if needed <= there), None)
    places = _places(device.int_ptr) if name is not None else []
    if name is None or len(places) != 1:  # none or several: this is another record than the one that is meant
        return ""
    text = ctypes.create_string_buffer(name)
    _kept.append(text)
    ctypes.c_uint64.from_address(places[0]).value = ctypes.addressof(text)
    return name.decode()


def _flags(path: Path) -> set[str]:
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return set(next((x for x in lines if x.startswith("flags")), "").partition(":")[2].split())


def _places(record: int) -> list[int]:
    """Where in the record a pointer to the text "generic" lies."""
    memory = _readable()
    found = []
    for at in range(record, record + RECORD, 8):
        if not _inside(at, 8, memory):
            break
        pointer = ctypes.c_uint64.from_address(at).value
        if _inside(pointer, len(UNKNOWN), memory) and ctypes.string_at(pointer, len(UNKNOWN)) == UNKNOWN:
            found.append(at)
    return found


def _readable() -> list[tuple[int, int]]:
    """The ranges of addresses that this process may read."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return []
    parts = [line.split() for line in lines]
    ranges = [p[0].split("-") for p in parts if p[1].startswith("r")]
    return [(int(lo, 16), int(hi, 16)) for lo, hi in ranges]


def _inside(address: int, size: int, ranges: list[tuple[int, int]]) -> bool:
    return any(lo <= address and address + size <= hi for lo, hi in ranges)
