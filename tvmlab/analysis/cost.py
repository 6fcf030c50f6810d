"""A rough time of a program as a sum of parts, each of which one kind of reason answers for.

Only the proportions matter: `reasons` asks how much less the slower program would take if one part of it were that of
the faster one. Cycles are of one core; bytes are those that come into each cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .facts import Access, Facts, Inner
from .machine import Cache, Machine
from .metrics import LINE, Metrics
from .roofline import Traffic, active_cores, traffic

CALL = 20.0  # flops that a mathematical function is worth
ACCESS = 0.5  # cycles of a load or a store that hits
TURN = 1.0  # of an iteration of an innermost loop
START = 4.0  # of starting one
ASKED = 1.5  # of a condition
MASKED = 1.0  # of a mask, per vector
UPDATE = 2.0  # of storing what the next iteration loads again, per vector
GATHER = 1.0  # of an element of a vector that is not contiguous
JUMP, PAGE_JUMP = 2.0, 5.0  # of moving to another line, to another page
PAGE = 4096
WAY = 4096  # bytes of a way of the first cache: addresses that far apart share a set
LATENCY = 4.0  # cycles until the sum of two floats is there
LAUNCH = 5e-6  # seconds of starting a parallel loop

Parts = dict[str, float]


@dataclass(frozen=True)
class Cost:
    """Cycles: `arithmetic`, `access` (per buffer), `turns` (per stage) and `updates` one element at a time, `width`:
    what vectors divide them by; `starts` of inner loops, `guards`, `gathers`, `waits` (of a sum for its last term),
    `hops` (to another line with each element), `jumps` (after a row of them).

    Bytes: `moved` into each level, per buffer, as if all of every line were used; `waste`: the others. `spread`: how
    many cores' worth of work is done at a time; `cores` that take part; `launches` of parallel loops.
    """

    arithmetic: float
    access: Parts
    turns: Parts
    width: float
    updates: float
    starts: Parts
    guards: float
    gathers: float
    waits: float
    hops: Parts
    jumps: Parts
    moved: dict[str, Parts]
    waste: dict[str, float]
    spread: float
    cores: int
    launches: float

    def seconds(self, machine: Machine) -> float:
        wide = (self.arithmetic + total(self.access) + total(self.turns) + self.updates) / self.width
        rest = total(self.starts) + self.guards + self.gathers + self.waits + total(self.hops) + total(self.jumps)
        seconds = (wide + rest) / (machine.ghz * 1e9 * self.spread) + self.launches * LAUNCH
        for level, buffers in self.moved.items():
            seconds += (total(buffers) + self.waste[level]) / machine.bandwidth(level, self.cores)
        return seconds

    def with_(self, **changes: object) -> Cost:
        return replace(self, **changes)  # type: ignore[arg-type]

    def scaled(self, k: float) -> Cost:
        """With k times the work, at the same traffic."""
        return self.with_(
            **{name: getattr(self, name) * k for name in ("arithmetic", "updates", "guards", "gathers", "waits")},
            **{name: times(getattr(self, name), k) for name in ("access", "turns", "starts", "hops", "jumps")},
        )


def total(parts: Mapping[str, float]) -> float:
    return sum(parts.values())


def times(parts: Parts, k: float) -> Parts:
    return {name: v * k for name, v in parts.items()}


def cost(f: Facts, machine: Machine, auto: bool = True) -> Cost:
    """The parts of a program's time. `auto`: simple innermost loops are made vectors by the compiler."""
    m = f.metrics
    native = machine.lanes(m.bits)
    arithmetic = sum(w.flops + w.calls * CALL for w in f.work) / machine.pipes
    turns = _sum((x.stage, x.iterations * TURN) for x in f.inner)
    access = _sum((a.buffer, a.held * ACCESS) for a in f.accesses)

    def wide_(lanes: int, trip: int, fits: bool = True) -> int:
        """What vectors divide the time by."""
        if lanes == 1 and auto and trip >= native:
            return native
        return max(1, min(lanes, native)) if fits else 1

    wide = sum((w.flops + w.calls * CALL) / wide_(w.lanes, w.trip) for w in f.work) / machine.pipes
    wide += sum(a.held * ACCESS / wide_(a.lanes, a.trip, a.stride in (0, 1)) for a in f.accesses)
    wide += sum(x.iterations * TURN / wide_(*_vectors(x)) for x in f.inner)
    changed = [a for a in f.accesses if a.updates and not a.local]
    updates = sum(a.held * UPDATE for a in changed)
    wide += sum(a.held * UPDATE / wide_(a.lanes, a.trip) for a in changed)
    whole = arithmetic + total(access) + total(turns) + updates
    lines = traffic(m, machine)
    filled = {name: n / LINE for name, n in lines[0].buffers.items()}  # lines that come into the first cache
    first = machine.caches[0]
    moved, waste = _traffic(m, machine, lines)

    def jumps(rows: bool) -> Parts:
        """To another line, after whole rows of them or with each element."""
        mine = [a for a in f.accesses if a.step >= machine.line and (a.run >= machine.line) == rows]
        return _sum((a.buffer, _jumps(a, filled.get(a.buffer, 0.0), first)) for a in mine)

    return Cost(
        arithmetic=arithmetic, access=access, turns=turns, width=whole / wide if wide else 1.0, updates=updates,
        starts=_sum((x.stage, x.starts * START) for x in f.inner),
        guards=sum(g.times * ASKED for g in f.guards)
        + sum(a.elements / native * MASKED for a in f.accesses if a.masked),
        gathers=sum(a.elements * GATHER for a in f.accesses if a.lanes > 1 and a.stride not in (0, 1)),
        waits=sum(_wait(a, native) for a in f.accesses), hops=jumps(False), jumps=jumps(True),
        moved=moved, waste=waste, spread=spread(m, machine.cores), cores=active_cores(m, machine),
        launches=sum(r.runs for r in m.regions if r.tasks > 1),
    )  # fmt: skip


def _vectors(x: Inner) -> tuple[int, int]:
    """Lanes of an innermost loop, and iterations of which a compiler can make some."""
    if x.kind == "vector":
        return x.extent, 1
    return 1, 1 if x.blocked else x.extent


def _jumps(a: Access, lines: float, first: Cache) -> float:
    """A jump costs where it leads to a line that is not in the first cache."""
    missed = a.jumps if crowded(a, first) else min(a.jumps, lines / max(1.0, a.run / LINE))
    return missed * (PAGE_JUMP if a.step >= PAGE else JUMP)


def crowded(a: Access, first: Cache) -> bool:
    """Do the rows fall on so few sets of the cache that they push each other out? (512 rows, 4096 bytes apart)"""
    if a.step < LINE or a.step % LINE:
        return False
    starts = WAY // math.gcd(a.step, WAY)  # where in a way the rows begin
    covered = min(1.0, starts * max(1.0, a.run / LINE) * LINE / WAY)
    return a.rows * max(a.run, LINE) > first.size * covered


def _wait(a: Access, native: int) -> float:
    """Cycles that a sum waits for its last addition, beyond those that it adds in."""
    return a.waits * max(0.0, LATENCY - max(1.0, a.apart / native if a.lanes > 1 else a.apart))


def _sum(pairs: Iterable[tuple[str, float]]) -> Parts:
    found: Parts = {}
    for name, value in pairs:
        found[name] = found.get(name, 0.0) + value
    return found


def _traffic(m: Metrics, machine: Machine, lines: list[Traffic]) -> tuple[dict[str, Parts], dict[str, float]]:
    used = traffic(m, machine, lines=False)
    moved, waste = {}, {}
    for a, b in zip(used, lines, strict=True):
        kept = a.bytes / total(a.buffers) if total(a.buffers) else 1.0
        moved[a.source] = times(a.buffers, kept)
        waste[a.source] = max(0.0, b.bytes - a.bytes)
    return moved, waste


def spread(m: Metrics, cores: int) -> float:
    """How many cores' worth of work is done at a time, over the whole run."""
    alone = max(0.0, 1.0 - sum(r.share for r in m.regions))
    took = alone + sum(r.share / in_parallel(r.tasks, cores) for r in m.regions)
    return 1.0 / took if took else 1.0


def in_parallel(tasks: int, cores: int) -> float:
    """The last round leaves cores idle: 5 tasks on 4 cores take as long as 8."""
    return tasks / math.ceil(tasks / cores) if tasks else 1.0
