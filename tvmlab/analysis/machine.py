"""Machines as a few numbers: caches, vectors, cores, bandwidths. `get("teach-1")`, `names()`, `get("this machine")`.

Presets are round numbers of a kind of machine, not of one product. Of this machine the cores, the vector width and the
caches are read from the system; its speeds cannot be read, and are those of the preset that is nearest.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ..core.error import MissingName
from ..core.units import size

THIS = "this machine"
CPU = Path("/sys/devices/system/cpu")
INFO = Path("/proc/cpuinfo")


@dataclass(frozen=True)
class Cache:
    """`size` and `line` in bytes; `rate`: bytes per cycle that one core gets from it. `shared`: by all cores."""

    name: str
    size: int
    line: int
    rate: float
    shared: bool = False


@dataclass(frozen=True)
class Machine:
    """`ghz`: 10^9 cycles of a core per second; `pipes`: vector instructions of floats per cycle, two flops a lane each.

    `memory`: bytes per second that all cores together get from memory; one core gets at most `memory_one`.
    """

    name: str
    label: str
    cores: int
    ghz: float
    vector_bits: int
    pipes: int
    caches: tuple[Cache, ...]
    memory: float
    memory_one: float
    about: str = ""

    def lanes(self, bits: int = 32) -> int:
        """Elements of so many bits in a vector."""
        return max(1, self.vector_bits // bits)

    def peak(self, bits: int = 32, cores: int | None = None, lanes: int | None = None) -> float:
        """Flops per second: of all cores with full vectors, or of some cores with some lanes."""
        n = min(self.cores, cores or self.cores)
        wide = self.lanes(bits) if lanes is None else max(1, min(lanes, self.lanes(bits)))
        return n * self.ghz * 1e9 * self.pipes * 2 * wide

    def bandwidth(self, level: str, cores: int | None = None) -> float:
        """Bytes per second from a cache (`L1`, ...) or from `memory`, for that many cores."""
        n = min(self.cores, cores or self.cores)
        if level == "memory":
            return min(self.memory, n * self.memory_one)
        return n * next(c for c in self.caches if c.name == level).rate * self.ghz * 1e9

    @property
    def line(self) -> int:
        return self.caches[0].line

    @property
    def lines(self) -> list[str]:
        """What it is, a line each."""
        shared = {True: ", shared", False: " per core"}
        return [
            f"{self.cores} cores at {self.ghz:g} GHz",
            f"vectors of {self.vector_bits} bits, {self.peak() / 1e9:.0f} GFLOP/s float32",
            *(f"{c.name} {size(c.size)}{shared[c.shared]}, lines of {c.line} bytes" for c in self.caches),
            f"memory {self.memory / 1e9:g} GB/s",
            *([self.about] if self.about else []),
        ]


KIB, MIB = 1 << 10, 1 << 20

PRESETS = {
    m.name: m
    for m in (
        Machine(
            "laptop-x86", "Laptop, x86 with AVX2", 4, 3.0, 256, 2,
            (Cache("L1", 32 * KIB, 64, 64), Cache("L2", 512 * KIB, 64, 32), Cache("L3", 8 * MIB, 64, 10, True)),
            40e9, 15e9,
        ),
        Machine(
            "server-avx512", "Server, x86 with AVX-512", 32, 2.6, 512, 2,
            (Cache("L1", 48 * KIB, 64, 128), Cache("L2", 2 * MIB, 64, 48), Cache("L3", 60 * MIB, 64, 8, True)),
            250e9, 12e9,
        ),
        Machine(
            "apple-like", "Laptop, ARM with 128-bit vectors", 8, 3.2, 128, 4,
            (Cache("L1", 128 * KIB, 128, 48), Cache("L2", 16 * MIB, 128, 24, True)),
            150e9, 60e9,
        ),
        Machine(
            "teach-1", "Teaching machine, tiny caches", 4, 1.0, 128, 1,
            (Cache("L1", 1 * KIB, 64, 16), Cache("L2", 8 * KIB, 64, 8)),
            4e9, 2e9,
            "so small that the effects show in small examples",
        ),
    )
}  # fmt: skip
DEFAULT = "laptop-x86"


def names() -> list[str]:
    """The machines there are; this one first, where it can be read."""
    return [*([THIS] if this_machine() is not None else []), *PRESETS]


def get(name: str | Machine | None = None) -> Machine:
    """The machine of that name, as it is now; without a name this one, or where it cannot be read a laptop."""
    if isinstance(name, Machine):
        return name
    if name is None or name == THIS:
        found = this_machine()
        if found is not None or name is None:
            return found or PRESETS[DEFAULT]
    if name not in PRESETS:
        raise MissingName("unknown-machine", f"there is no machine `{name}`", legal=names())
    return PRESETS[name]


# ---------------------------------------------------------------- this machine


@cache
def this_machine(cpu: Path = CPU, info: Path = INFO) -> Machine | None:
    """What the system says of itself; None where it does not say how large its caches are."""
    sizes = _from_folder(cpu / "cpu0" / "cache") or _from_sysconf()
    if "L1" not in sizes:
        return None
    text = _text(info)
    bits = _vector_bits(text)
    near = PRESETS["server-avx512" if bits >= 512 else "laptop-x86" if bits == 256 else "apple-like"]
    rates = {c.name: c.rate for c in near.caches}
    caches = tuple(
        Cache(name, n, line, rates.get(name, 8), name == "L3" or (name == "L2" and near.name == "apple-like"))
        for name, (n, line) in sorted(sizes.items())
    )
    cores = _cores()
    return replace(
        near, name=THIS, label="This machine", cores=cores, ghz=_ghz(cpu, text) or near.ghz, vector_bits=bits,
        caches=caches, memory=min(near.memory, cores * near.memory_one), about="speeds are assumed, not measured",
    )  # fmt: skip


def _from_folder(folder: Path) -> dict[str, tuple[int, int]]:
    """Linux: a folder per cache. Name -> (bytes, bytes of a line)."""
    found = {}
    for index in sorted(folder.glob("index*")):
        level, kind, text = (_text(index / part).strip() for part in ("level", "type", "size"))
        line = _text(index / "coherency_line_size").strip()
        if kind in ("Data", "Unified") and level.isdigit() and text[:-1].isdigit():
            scale = {"K": KIB, "M": MIB}.get(text[-1], 1)
            found[f"L{level}"] = int(text[:-1]) * scale, int(line) if line.isdigit() else 64
    return found


def _from_sysconf() -> dict[str, tuple[int, int]]:
    found = {}
    for level, name in ((1, "LEVEL1_DCACHE"), (2, "LEVEL2_CACHE"), (3, "LEVEL3_CACHE")):
        n, line = _sysconf(f"SC_{name}_SIZE"), _sysconf(f"SC_{name}_LINESIZE")
        if n > 0:
            found[f"L{level}"] = n, line if line > 0 else 64
    return found


def _sysconf(name: str) -> int:
    try:
        return os.sysconf(name)
    except (ValueError, OSError, AttributeError):
        return 0


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _vector_bits(info: str) -> int:
    words = set(info.split())
    if "avx512f" in words:
        return 512
    return 256 if "avx2" in words or "avx" in words else 128


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1


def _ghz(cpu: Path, info: str) -> float | None:
    most = _text(cpu / "cpu0" / "cpufreq" / "cpuinfo_max_freq").strip()
    if most.isdigit():
        return round(int(most) / 1e6, 2)
    now = [line.split(":")[1].strip() for line in info.splitlines() if line.startswith("cpu MHz") and ":" in line]
    try:
        return round(float(now[0]) / 1e3, 2) if now else None
    except ValueError:
        return None
