"""Counts of what a program does, from the program alone: `metrics(program)`.

For affine programs they are exact, and equal to what the interpreter counts (`run(count=True)`):

    flops            arithmetic and mathematical functions on floats, per lane
    read, written    bytes loaded and stored, every access counted; a masked access counts all its lanes
    unique           distinct bytes touched; memory that is allocated inside a loop counts once
    levels           per loop: what one run of it touches and moves, see `Level`

Where something depends on data the numbers are bounds (`exact` is false, `why` says what is in the way): counts as if
every guard held, and the whole of a buffer for what is not known of an index. A size that is known only at the call
can be given: `metrics(program, sizes={"n": 1024})`; without it the counts are None.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..core import dtype as dt
from ..core.deep import deep
from ..core.node import Buffer, Const, For
from ..core.program import Function, Origin, Program
from . import domain, image
from .access import Loop, Reader, Site, place
from .domain import Unknown
from .forms import Cons, defined

LINE = 64  # bytes


@dataclass(frozen=True, eq=False)
class Level:
    """What one run of a loop does: all its iterations, with the loops around it at `at`, in the middle of theirs.

    `bytes`: its footprint, distinct bytes touched; `lines`: bytes of the cache lines (64 each) that they lie in.
    `moved`: bytes loaded and stored. `runs`: how often the loop starts in the whole program; `iterations`: of all runs
    together; `total`: bytes moved by all runs. None: not known.
    """

    loop: For
    name: str
    stage: str
    depth: int
    extent: int | None
    bytes: float | None
    moved: float | None
    runs: int | None
    iterations: int | None
    total: float | None
    buffers: dict[str, float]  # footprint per buffer, in bytes
    lines: float | None
    buffer_lines: dict[str, float]
    at: tuple[tuple[str, int], ...]  # outermost first
    parent: int = -1  # its place in the list

    @property
    def origin(self) -> Origin | None:
        return self.loop.origin if isinstance(self.loop.origin, Origin) else None

    @property
    def kind(self) -> str:
        return self.loop.kind


@dataclass(frozen=True, eq=False)
class Region:
    """A parallel loop that is in no other, or a kernel: `tasks` run at once, `runs` times.

    `share`: how much of the work is done in it, 0 to 1.
    """

    name: str
    tasks: int
    runs: int
    share: float
    bytes: float  # moved by all tasks of all runs
    flops: float


@dataclass(frozen=True, eq=False)
class Work:
    """What the statements of one stage do."""

    stores: int = 0  # elements
    flops: int = 0
    read: int = 0
    written: int = 0


@dataclass(frozen=True, eq=False)
class Metrics:
    """See the head of this file. `counted`: the counts are exact; `exact`: the distinct bytes are, too."""

    flops: float | None
    read: float | None
    written: float | None
    unique: float | None
    tasks: int | None
    lanes: int | None
    levels: list[Level]
    exact: bool
    why: str
    counted: bool = True
    loads: dict[str, int] = field(default_factory=dict)  # elements, per buffer
    stores: dict[str, int] = field(default_factory=dict)
    iterations: dict[str, int] = field(default_factory=dict)  # per loop variable
    buffers: dict[str, float] = field(default_factory=dict)  # distinct bytes
    lines: dict[str, float] = field(default_factory=dict)  # bytes of the lines that they lie in
    stages: dict[str, Work] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)
    bits: int = 32  # of the elements that it computes with

    @property
    def moved(self) -> float | None:
        return None if self.read is None or self.written is None else self.read + self.written

    def redundancy(self, base: Metrics | float | None) -> float | None:
        """Arithmetic over that of `base`, the unscheduled program: 1 where nothing is computed twice."""
        before = base.flops if isinstance(base, Metrics) else base
        if self.flops is None or before is None:
            return None
        return self.flops / before if before else 1.0 if not self.flops else None

    def recomputed(self, base: Metrics) -> dict[str, float]:
        """Per stage that stores more often than in `base`: how many times as often."""
        found = {}
        for stage, work in self.stages.items():
            before = base.stages.get(stage)
            if before is not None and before.stores and work.stores > before.stores:
                found[stage] = work.stores / before.stores
        return found


@deep
def metrics(program: Program | Function, sizes: Mapping[str, int] | None = None) -> Metrics:
    """Count a lowered program."""
    fn = program.entry if isinstance(program, Program) else program
    return measured(Reader(fn, sizes).read())


def measured(reader: Reader) -> Metrics:
    """The counts of a function that has been read."""
    return Tally(reader).metrics()


class Tally:
    """Counts over what a reader found."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.known: dict[Any, int | None] = {}
        self.blur: dict[str, None] = dict(reader.blur)

    # ------------------------------------------------------------ how often

    def points(self, loop: Loop, pieces: Iterable[Cons], own: bool = True) -> int | None:
        """How often a place in a loop is reached. `own` false: how often the loop starts."""
        pieces = tuple(pieces)
        key = (loop, own, tuple(tuple(map(id, p)) for p in pieces))
        if key not in self.known:
            self.known[key] = self.counted(loop if own else loop.parent, pieces)
        return self.known[key]

    def counted(self, loop: Loop | None, pieces: Sequence[Cons], fixed: Mapping[Any, int] | None = None) -> int | None:
        fixed = fixed or {}
        box = _box(loop, fixed)
        total = 0
        for piece in pieces:
            cons: Cons = tuple([domain.at(x, fixed) for x in piece]) if fixed else piece
            mine, cons, _ = defined(self.reader, (), cons, dict(box), fixed) if cons else (box, cons, ())
            try:
                total += domain.points(mine, cons)
            except Unknown:
                self.reader.doubt("the guards tie too many loops together to be counted")
                return None
        return total

    # ------------------------------------------------------------ the whole

    def metrics(self) -> Metrics:
        r = self.reader
        loads: Counter[str] = Counter()
        stores: Counter[str] = Counter()
        stages: dict[str, list[int]] = {}
        read = written = flops = 0
        unknown = False
        for b in r.blocks:
            n = self.points(b.loop, b.pieces)
            if n is None:
                unknown = True
                continue
            for name, k in b.loads.items():
                loads[name] += n * k
            for name, k in b.stores.items():
                stores[name] += n * k
            read, written, flops = read + n * b.read, written + n * b.written, flops + n * b.flops
            work = stages.setdefault(b.stage, [0, 0, 0, 0])
            for i, k in enumerate((b.stores.total(), b.flops, b.read, b.written)):
                work[i] += n * k
        buffers, lines = self.footprint(r.top, {})
        unique = sum(buffers.values())
        levels = self.levels()
        regions = self.regions(flops, read + written)
        if unknown or r.endless:
            levels = [
                replace(x, extent=None, bytes=None, lines=None, moved=None, runs=None, iterations=None, total=None)
                for x in levels
            ]
        unknown = unknown or r.endless
        why = next(iter([*r.doubts, *self.blur]), "")
        return Metrics(
            flops=None if unknown else flops, read=None if unknown else read, written=None if unknown else written,
            unique=None if unknown else unique, tasks=_tasks(regions, unknown),
            lanes=self.lanes(), levels=levels, exact=not r.doubts and not self.blur, why=why,
            counted=not r.doubts, loads=dict(loads), stores=dict(stores), iterations=self.iterations(),
            buffers=buffers, lines=lines, stages={k: Work(*v) for k, v in stages.items() if any(v)}, regions=regions,
            bits=r.bits,
        )  # fmt: skip

    def iterations(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for loop in self.reader.loops:
            assert loop.node is not None
            found[loop.node.var.name] += self.points(loop, _pieces(loop)) or 0
        return dict(found)

    def lanes(self) -> int:
        """Of the widest statement that computes, a loop still marked `vectorized` counted as a vector."""
        blocks = [b for b in self.reader.blocks if b.flops]
        if blocks:
            return max(b.lanes * _vectorized(b.loop) for b in blocks)
        return max([s.lanes * _vectorized(s.loop) for s in self.reader.sites], default=1)

    def regions(self, flops: int, moved: int) -> list[Region]:
        found = []
        for loop in self.reader.regions:
            tasks = math.prod([hi - lo + 1 for lo, hi in loop.threads.values()]) if loop.var is None else None
            if tasks is None:
                tasks = max(0, loop.box[1] - loop.box[0] + 1)
            mine_bytes, mine_flops = self.total(loop)
            share = mine_flops / flops if flops else mine_bytes / moved if moved else 1.0
            runs = self.points(loop, loop.pieces, own=False) or 0
            name = loop.node.var.name if loop.node is not None else ""
            found.append(Region(name, tasks, runs, share, mine_bytes, mine_flops))
        return found

    def total(self, loop: Loop) -> tuple[int, int]:
        """Bytes moved and flops of all runs of a loop."""
        moved = flops = 0
        for b in loop.blocks:
            n = self.points(b.loop, b.pieces) or 0
            moved, flops = moved + n * (b.read + b.written), flops + n * b.flops
        return moved, flops

    # ------------------------------------------------------------ footprints

    def footprint(self, loop: Loop, fixed: Mapping[Any, int]) -> tuple[dict[str, float], dict[str, float]]:
        """Distinct bytes touched in a loop with the outer variables fixed, per buffer; and bytes of the lines."""
        by_buffer: dict[Any, list[Site]] = {}
        for s in loop.sites:
            by_buffer.setdefault(s.buffer, []).append(s)
        found: dict[str, float] = {}
        lines: dict[str, float] = {}
        for b, sites in by_buffer.items():
            n, m = self.elements(b, sites, fixed)
            name = b.owner.name
            found[name] = found.get(name, 0) + n * dt.nbytes(b.dtype)
            lines[name] = lines.get(name, 0) + m * LINE
        return found, lines

    def elements(self, b: Buffer, sites: Sequence[Site], fixed: Mapping[Any, int]) -> tuple[int, int]:
        shape = [n.value if isinstance(n, Const) else self.size(n) for n in b.shape]
        per_line = max(1, LINE // dt.nbytes(b.dtype))
        whole = math.prod(n or 0 for n in shape)
        certain = [s for s in sites if s.forms is not None]
        if len(certain) < len(sites):
            return whole, -(-whole // per_line)
        places = [place(s, self.reader, fixed, piece) for s in certain for piece in s.pieces]
        try:
            return image.distinct(places, shape, per_line)
        except Unknown:
            self.blur.setdefault(f"the elements of `{b.name}` are touched in a pattern that has no closed form")
            return whole, -(-whole // per_line)

    def size(self, n: Any) -> int | None:
        form = self.reader.lin(n)
        return form.const if form is not None and not form.terms else None

    def levels(self) -> list[Level]:
        found: list[Level] = []
        where: dict[Loop, int] = {}
        for loop in self.reader.loops:
            where[loop] = len(found)
            parent = loop.parent
            while parent is not None and parent.var is None:
                parent = parent.parent
            found.append(self.level(loop, where.get(parent, -1) if parent is not None else -1))
        return found

    def level(self, loop: Loop, parent: int) -> Level:
        assert loop.node is not None
        origin = loop.node.origin
        name = loop.node.var.name
        stage = origin.stage if isinstance(origin, Origin) else ""
        fixed = self.middle(loop)
        runs = self.points(loop, loop.pieces, own=False)
        iterations = self.points(loop, _pieces(loop))
        total = self.total(loop)[0]
        if fixed is None:
            return Level(loop.node, name, stage, loop.depth, 0, 0, 0, runs, iterations, total, {}, 0, {}, (), parent)
        buffers, lines = self.footprint(loop, fixed)
        touched, held = sum(buffers.values()), sum(lines.values())
        extent = self.counted(loop, _pieces(loop), fixed)
        at = tuple([(v.name, k) for v, k in fixed.items()])
        moved = self.moved(loop, fixed)
        return Level(
            loop.node,
            name,
            stage,
            loop.depth,
            extent,
            touched,
            moved,
            runs,
            iterations,
            total,
            buffers,
            held,
            lines,
            at,
            parent,
        )

    def moved(self, loop: Loop, fixed: Mapping[Any, int]) -> int:
        """Bytes loaded and stored while the loop runs once."""
        total = 0
        for b in loop.blocks:
            if b.read or b.written:
                total += (self.counted(b.loop, b.pieces, fixed) or 0) * (b.read + b.written)
        return total

    def middle(self, loop: Loop) -> dict[Any, int] | None:
        """The outer loops in the middle of the runs that happen; None where the loop never runs."""
        outer = _box(loop.parent, {})
        order = [v for v in outer if v is not loop.var]  # of a thread's own index: the other threads are outside
        for box, pieces in ((_box(loop, {}), _pieces(loop)), (outer, loop.pieces)):  # a run with iterations, or any
            for piece in pieces:
                mine, cons, _ = defined(self.reader, (), piece, dict(box), {}) if piece else (box, piece, ())
                found = domain.middle(order, mine, cons)
                if found is not None:
                    return found
        return None


def _tasks(regions: Sequence[Region], unknown: bool) -> int | None:
    """Of the region that does the most; 1 where nothing is parallel."""
    if not regions:
        return 1
    return None if unknown else max(regions, key=lambda r: r.share).tasks


def _pieces(loop: Loop) -> tuple[Cons, ...]:
    """The conditions inside a loop."""
    return tuple([(*p, *loop.own) for p in loop.pieces]) if loop.own else loop.pieces


def _box(loop: Loop | None, fixed: Mapping[Any, int]) -> dict[Any, tuple[int, int]]:
    """The variables of a loop and of those around it, with their bounds."""
    box: dict[Any, tuple[int, int]] = {}
    for x in loop.path if loop is not None else ():
        for v, r in ((x.var, x.box), *x.threads.items()):
            if v is not None and v not in fixed:
                box[v] = r
    return box


def _vectorized(loop: Loop) -> int:
    return math.prod([x.box[1] - x.box[0] + 1 for x in loop.path if x.node is not None and x.node.kind == "vectorized"])
