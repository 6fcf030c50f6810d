"""A rough time of a program as a sum of parts, each of which one kind of reason answers for.

Only the proportions matter: `reasons` asks how much less the slower program would take if one part of it were that of
the faster one. Cycles are of one core; bytes are those that come into each cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from .facts import Access, Facts
from .machine import Machine
from .metrics import LINE, Metrics
from .roofline import Traffic, active_cores, traffic

CALL = 20.0  # flops that a mathematical function is worth
ACCESS = 0.5  # cycles of a load or a store that hits
TURN = 1.0  # of an iteration of an innermost loop
START = 4.0  # of starting one
ASKED = 1.5  # of a condition
MASKED = 1.0  # of a mask, per vector
UPDATE = 1.5  # of storing what the next iteration loads again, per vector
GATHER = 1.0  # of an element of a vector that is not contiguous
JUMP, PAGE_JUMP = 2.0, 5.0  # of moving to another line, to another page
PAGE = 4096
LAUNCH = 5e-6  # seconds of starting a parallel loop

Parts = dict[str, float]


@dataclass(frozen=True)
class Cost:
    """`arithmetic`, `access` (per buffer), `turns` (per stage) and `updates`: cycles, one element at a time; `width`:
    what vectors divide them by. `starts`, `guards`, `gathers`, `hops` (inside a line's length), `jumps` (longer rows):
    cycles. `moved`: bytes into each level per buffer, as if every byte that comes were used; `waste`: the others.
    `spread`: how many cores' worth of work is done at a time; `cores` that take part; `launches`.
    """

    arithmetic: float
    access: Parts
    turns: Parts
    width: float
    updates: float
    starts: Parts
    guards: float
    gathers: float
    hops: Parts
    jumps: Parts
    moved: dict[str, Parts]
    waste: dict[str, float]
    spread: float
    cores: int
    launches: float

    def seconds(self, machine: Machine) -> float:
        wide = (self.arithmetic + total(self.access) + total(self.turns) + self.updates) / self.width
        rest = total(self.starts) + self.guards + self.gathers + total(self.hops) + total(self.jumps)
        seconds = (wide + rest) / (machine.ghz * 1e9 * self.spread) + self.launches * LAUNCH
        for level, buffers in self.moved.items():
            seconds += (total(buffers) + self.waste[level]) / machine.bandwidth(level, self.cores)
        return seconds

    def with_(self, **changes: object) -> Cost:
        return replace(self, **changes)  # type: ignore[arg-type]

    def scaled(self, k: float) -> Cost:
        """With k times the work, at the same traffic."""
        return self.with_(
            **{name: getattr(self, name) * k for name in ("arithmetic", "updates", "guards", "gathers")},
            **{name: times(getattr(self, name), k) for name in ("access", "turns", "starts", "hops", "jumps")},
        )


def total(parts: Mapping[str, float]) -> float:
    return sum(parts.values())


def times(parts: Parts, k: float) -> Parts:
    return {name: v * k for name, v in parts.items()}


def cost(f: Facts, machine: Machine) -> Cost:
    """The parts of a program's time."""
    m = f.metrics
    native = machine.lanes(m.bits)
    arithmetic = sum(w.flops + w.calls * CALL for w in f.work) / machine.pipes
    turns = _sum((x.stage, x.iterations * TURN) for x in f.inner)
    access = _sum((a.buffer, a.held * ACCESS) for a in f.accesses)
    wide = sum((w.flops + w.calls * CALL) / _wide(w.lanes, native) for w in f.work) / machine.pipes
    wide += sum(a.held * ACCESS / (_wide(a.lanes, native) if a.stride in (0, 1) else 1) for a in f.accesses)
    wide += sum(x.iterations * TURN / (_wide(x.extent, native) if x.kind == "vector" else 1) for x in f.inner)
    changed = [a for a in f.accesses if a.updates and not a.local]
    updates = sum(a.held * UPDATE for a in changed)
    wide += sum(a.held / _wide(a.lanes, native) * UPDATE for a in changed)
    whole = arithmetic + total(access) + total(turns) + updates
    far = [a for a in f.accesses if a.step >= machine.line]
    lines = traffic(m, machine)
    filled = {name: n / LINE for name, n in lines[0].buffers.items()}  # lines that come into the first cache
    moved, waste = _traffic(m, machine, lines)
    return Cost(
        arithmetic=arithmetic, access=access, turns=turns, width=whole / wide if wide else 1.0,
        updates=updates,
        starts=_sum((x.stage, x.starts * START) for x in f.inner),
        guards=sum(g.times * ASKED for g in f.guards)
        + sum(a.elements / native * MASKED for a in f.accesses if a.masked),
        gathers=sum(a.elements * GATHER for a in f.accesses if a.lanes > 1 and a.stride not in (0, 1)),
        hops=_sum((a.buffer, _jumps(a, filled.get(a.buffer, 0.0))) for a in far if a.run < machine.line),
        jumps=_sum((a.buffer, _jumps(a, filled.get(a.buffer, 0.0))) for a in far if a.run >= machine.line),
        moved=moved, waste=waste, spread=spread(m, machine.cores), cores=active_cores(m, machine),
        launches=sum(r.runs for r in m.regions if r.tasks > 1),
    )  # fmt: skip


def _wide(lanes: int, native: int) -> int:
    return max(1, min(lanes, native))


def _jumps(a: Access, lines: float) -> float:
    """A jump costs where it leads to a line that is not in the first cache."""
    return min(a.jumps, lines / max(1.0, a.run / LINE)) * (PAGE_JUMP if a.step >= PAGE else JUMP)


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
