"""How fast a program may run on a machine: the traffic between its caches, the roofs, and the one that binds.

The traffic follows from the footprints (a cache of full capacity, least recently used): the outermost loop of which
one iteration fits into a cache keeps its data there from one iteration to the next, so that each of its runs brings in
every line it touches once. Outside of it nothing is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .machine import Machine
from .metrics import LINE, Level, Metrics


@dataclass(frozen=True)
class Holder:
    """A loop of which one iteration (`bytes`) fits into a cache; `traffic`: bytes that all its runs bring in."""

    loop: str
    bytes: float
    traffic: float


@dataclass(frozen=True)
class Traffic:
    """Bytes that come into a cache (`L1`: from what is behind it) or, for `memory`, out of memory.

    `source`: where they come from. `holders`: the loops that keep their data in the cache, most traffic first.
    `over`: the loop around the first of those and the bytes of one of its iterations, which do not fit; else None.
    """

    cache: str
    source: str
    capacity: float
    bytes: float
    buffers: dict[str, float]
    holders: tuple[Holder, ...]
    over: tuple[str, float] | None


@dataclass(frozen=True)
class Roof:
    """`limit`: flops per second that it allows, None where the program has no arithmetic. `seconds`: that it takes."""

    name: str
    limit: float | None
    seconds: float
    bytes: float | None = None
    intensity: float | None = None


@dataclass(frozen=True)
class Roofline:
    """`roofs`: of the caches behind the first, of memory and of arithmetic; `binding` takes longest.

    The first cache is no roof: how many of the loads a compiler spares it, by keeping values in registers, is not known
    here, and counting all of them would put the roof below what is measured.

    `attainable`: flops per second. `intensity`: flops per byte out of memory. `peak`: of the machine's arithmetic with
    all cores and full vectors; the roof of arithmetic is that of the cores and lanes that the program uses.
    """

    roofs: tuple[Roof, ...]
    binding: Roof
    attainable: float | None
    intensity: float | None
    seconds: float
    peak: float
    traffic: tuple[Traffic, ...]
    text: str


def roofline(m: Metrics, machine: Machine, lanes: float | None = None) -> Roofline | None:
    """None where the program's counts are not known. `lanes`: that the arithmetic uses (`facts.used_lanes`); without,
    those of the widest vector in the program."""
    if m.flops is None or m.moved is None:
        return None
    cores = active_cores(m, machine)
    bits = m.bits
    found = traffic(m, machine)
    roofs = [_roof(t.source, t.bytes, m.flops, machine.bandwidth(t.source, cores)) for t in found]
    used = min(float(machine.lanes(bits)), lanes if lanes is not None else m.lanes or 1)
    arithmetic = machine.peak(bits, cores, 1) * used
    if m.flops:
        roofs.append(Roof("arithmetic", arithmetic, m.flops / arithmetic))
    binding = max(roofs, key=lambda r: r.seconds)
    seconds = binding.seconds
    out = found[-1].bytes
    return Roofline(
        tuple(roofs), binding, m.flops / seconds if m.flops and seconds else None, m.flops / out if out else None,
        seconds, machine.peak(bits), tuple(found), _text(binding, m, cores, used, machine),
    )  # fmt: skip


def _roof(name: str, moved: float, flops: float, bandwidth: float) -> Roof:
    intensity = flops / moved if moved else None
    limit = intensity * bandwidth if intensity else None
    return Roof(name, limit, moved / bandwidth, moved, intensity)


def _text(binding: Roof, m: Metrics, cores: int, lanes: float, machine: Machine) -> str:
    if binding.name == "arithmetic":
        used = f"{cores} of {machine.cores} cores, {lanes:.3g} of {machine.lanes(m.bits)} lanes"
        return f"arithmetic is the limit, with {used}"
    return f"the bytes from {binding.name} are the limit"


def active_cores(m: Metrics, machine: Machine) -> int:
    """Cores that have something to do."""
    return max(1, min(machine.cores, m.tasks or 1))


# ---------------------------------------------------------------- traffic


def traffic(m: Metrics, machine: Machine, lines: bool = True) -> list[Traffic]:
    """For each cache, from the first one on. `lines` false: as if every byte of a line that comes in were used."""
    cores = active_cores(m, machine)
    sources = [*(c.name for c in machine.caches[1:]), "memory"]
    found: list[Traffic] = []
    for c, source in zip(machine.caches, sources, strict=True):
        capacity = c.size / cores if c.shared else c.size
        walk = _Walk(m, capacity, lines)
        walk.all()
        holders = tuple(sorted(walk.holders, key=lambda h: -h.traffic))
        over = walk.over.get(holders[0].loop) if holders else None
        moved = sum(walk.buffers.values())
        if found and found[-1].bytes < moved:  # what a smaller cache keeps, a larger one does
            moved = found[-1].bytes
        found.append(Traffic(c.name, source, capacity, moved, walk.buffers, holders, over))
    return found


class _Walk:
    """The loops from outside in, until one iteration fits."""

    def __init__(self, m: Metrics, capacity: float, lines: bool) -> None:
        self.m, self.capacity, self.lines = m, capacity, lines
        self.children: dict[int, list[int]] = {}
        for k, x in enumerate(m.levels):
            self.children.setdefault(x.parent, []).append(k)
        self.buffers: dict[str, float] = {}
        self.holders: list[Holder] = []
        self.over: dict[str, tuple[str, float] | None] = {}

    def footprint(self, x: Level) -> dict[str, float]:
        return x.buffer_lines if self.lines else x.buffers

    def all(self) -> None:
        whole = self.m.lines if self.lines else self.m.buffers
        top = self.children.get(-1, [])
        together = {
            name: max([self.footprint(self.m.levels[k]).get(name, 0) for k in top], default=0) for name in whole
        }
        if not top or sum(together.values()) <= self.capacity:  # what one loop leaves, the next one finds
            self.add(whole, 1)
            self.holders.append(Holder("", sum(together.values()), sum(whole.values())))
            return
        for k in top:
            self.visit(k, None)

    def visit(self, k: int, around: tuple[str, float] | None) -> None:
        x = self.m.levels[k]
        if not x.runs or x.bytes is None:
            return
        inner = self.children.get(k, [])
        one = self.iteration(x, inner)
        if one <= self.capacity or not inner:
            mine = self.footprint(x)
            self.add(mine, x.runs)
            self.holders.append(Holder(x.name, one, sum(mine.values()) * x.runs))
            self.over.setdefault(x.name, around)
            return
        for c in inner:
            self.visit(c, (x.name, one))
        self.outside(x, inner)

    def iteration(self, x: Level, inner: Sequence[int]) -> float:
        """What one iteration of a loop touches: what its loops do, each buffer once."""
        if not x.extent:
            return 0.0
        mine = self.footprint(x)
        total = 0.0
        for name, n in mine.items():
            parts = [self.footprint(self.m.levels[c]).get(name, 0.0) for c in inner if self.m.levels[c].runs]
            total += min(n, max([*parts, LINE if self.lines else min(n, 8)]))
        return total

    def outside(self, x: Level, inner: Sequence[int]) -> None:
        """What statements of the loop itself move, outside of the loops in it."""
        mine = (x.total or 0.0) - sum(self.m.levels[c].total or 0.0 for c in inner)
        if mine > 0:
            names = list(self.footprint(x)) or [""]
            self.add({names[0]: mine}, 1)

    def add(self, buffers: dict[str, float], times: float) -> None:
        for name, n in buffers.items():
            self.buffers[name] = self.buffers.get(name, 0.0) + n * times
