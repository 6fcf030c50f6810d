"""What the reasons need to know of a program beside its metrics: the shape of its innermost loops.

`facts(program)`: how each access moves through memory, which conditions are asked where, how short the inner loops are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core import dtype as dt
from ..core.deep import deep
from ..core.node import Const, Load, Store
from ..core.program import Function, Program
from ..core.walk import identical, walk
from .access import Block, Loop, Reader, Site
from .forms import short
from .metrics import Metrics, Tally

LONG = 16  # additions one after the other that are too many to overlap with others


@dataclass(frozen=True, eq=False)
class Access:
    """A place in the program that loads or stores.

    `elements`: over the whole run. `lanes`: of one access. `loop`: the innermost loop, or the vectorized one, by which
    the place moves; `stride`: by how many elements with it (0: it stays, None: not known). `held`: `elements` without
    the repetitions that a register saves, where inner loops stay at one place. `run`: bytes in a row before it jumps;
    `jumps`: how often it does; `step`: bytes of a jump, `jump_loop`: the loop that makes it, `rows`: its iterations.
    `updates`: it stores what it has just loaded and changed; `waits`: so many times one after the other, each needing
    the result before, in the loop `over`, for `apart` elements at a time. `local`: to memory that the program
    allocates. `trip`: see Work.
    """

    buffer: str
    stage: str
    store: bool
    elements: int
    size: int  # bytes of one element
    lanes: int
    loop: str
    stride: int | None
    held: float
    run: float
    jumps: float
    jump_loop: str
    step: int
    rows: int
    updates: bool
    waits: float
    over: str
    apart: int
    local: bool
    masked: bool
    trip: int

    @property
    def bytes(self) -> int:
        return self.elements * self.size


@dataclass(frozen=True, eq=False)
class Inner:
    """An innermost loop: how often it starts, and how many iterations all starts make. `kind`: of the loop.

    `blocked`: what keeps a compiler from making vectors of it by itself: stride, chain, guard, call, or "".
    """

    name: str
    stage: str
    kind: str
    extent: int
    starts: int
    iterations: int
    blocked: str = ""


@dataclass(frozen=True, eq=False)
class Asked:
    """A condition, how often it is asked, and whether in an innermost loop."""

    text: str
    loop: str
    times: int
    inner: bool


class Work(NamedTuple):
    """A straight piece that computes, over the whole run. `calls`: of the flops, mathematical functions.

    `trip`: iterations of the innermost loop around it, where a compiler can make vectors of that by itself; else 1.
    """

    flops: int
    calls: int
    lanes: int
    trip: int


@dataclass(frozen=True, eq=False)
class Facts:
    """`work`: of each straight piece that computes. `params`: the buffers that are arguments.

    `allocated`: bytes of those that the program allocates.
    """

    metrics: Metrics
    accesses: list[Access] = field(default_factory=list)
    inner: list[Inner] = field(default_factory=list)
    guards: list[Asked] = field(default_factory=list)
    work: list[Work] = field(default_factory=list)
    params: tuple[str, ...] = ()
    allocated: dict[str, int] = field(default_factory=dict)


@deep
def facts(program: Program | Function, sizes: Mapping[str, int] | None = None) -> Facts:
    """The metrics of a lowered program, and the shape of its inner loops."""
    fn = program.entry if isinstance(program, Program) else program
    reader = Reader(fn, sizes).read()
    tally = Tally(reader)
    m = tally.metrics()
    if m.flops is None:
        return Facts(m)
    shape = _Shape(reader, tally)
    return Facts(
        m,
        [shape.access(s) for s in reader.sites],
        shape.inner(),
        shape.guards(),
        [shape.work(b) for b in reader.blocks if b.flops],
        tuple(b.owner.name for b in fn.buffers),
        {b.owner.name: (b.size or 0) * dt.nbytes(b.dtype) for b in reader.allocated},
    )


class _Shape:
    """The innermost loops of a function: unrolled ones are none, a vector statement is one of its own."""

    def __init__(self, reader: Reader, tally: Tally) -> None:
        self.reader, self.tally = reader, tally
        scalar: dict[Loop, bool] = {}
        for s in reader.sites:
            if s.store:
                loop = _counting(s.loop)
                scalar[loop] = scalar.get(loop, True) and s.lanes == 1 and not _vector(s.loop)
        self.loops = {
            x: self.blocked(x)
            for x, alone in scalar.items()
            if x.node is not None and x.var is not None and alone and not any(_counts(c) for c in x.children)
        }

    def blocked(self, x: Loop) -> str:
        """What keeps a compiler from making vectors of an innermost loop."""
        steps = [(s, _stride(s, x.var)) for s in x.sites]
        if any(step is None or abs(step) > 1 for _, step in steps):
            return "stride"
        if any(step == 0 and _sums(s) for s, step in steps):
            return "chain"
        if any(x in g.loop.path for g in self.reader.guards):
            return "guard"
        return "call" if any(b.calls for b in x.blocks) else ""

    def trip(self, loop: Loop) -> int:
        x = _counting(loop)
        return _extent(x) if self.loops.get(x) == "" else 1

    def work(self, b: Block) -> Work:
        n = self.tally.points(b.loop, b.pieces) or 0
        return Work(n * b.flops, n * b.calls, b.lanes, self.trip(b.loop))

    def times(self, s: Site) -> int:
        return self.tally.points(s.loop, s.pieces if s.node.mask is None else s.loop.pieces) or 0

    def access(self, s: Site) -> Access:
        times, moves = self.times(s), _moves(s)
        moving = next((m for m in moves if m.extent > 1), Move("", 0, 1, False))
        run, passed, jump = _run(moves)
        b, elements = s.buffer, times * s.lanes
        size = dt.nbytes(b.dtype)
        waits, over, apart = _waits(moves, times) if _sums(s) else (0.0, "", 1)
        return Access(
            buffer=b.owner.name, stage=_stage(s), store=s.store, elements=elements, size=size, lanes=s.lanes,
            loop=moving.loop, stride=moving.step if s.forms is not None else None, held=elements / _stays(moves),
            run=run * size, jumps=elements / passed, jump_loop=jump.loop, step=abs(jump.step) * size, rows=jump.extent,
            updates=_updates(s), waits=waits, over=over, apart=apart, trip=self.trip(s.loop),
            masked=s.node.mask is not None, local=any(b is x or b.owner is x for x in self.reader.allocated),
        )  # fmt: skip

    def inner(self) -> list[Inner]:
        found = [self.virtual(s) for s in self.reader.sites if s.store and (s.lanes > 1 or _vector(s.loop))]
        for x, blocked in self.loops.items():
            assert x.node is not None
            starts = self.tally.points(x, x.pieces, own=False) or 0
            iterations = self.tally.points(x, [(*p, *x.own) for p in x.pieces]) or 0
            stage = getattr(x.node.origin, "stage", "")
            found.append(Inner(x.node.var.name, stage, x.node.kind, _extent(x), starts, iterations, blocked))
        return found

    def virtual(self, s: Site) -> Inner:
        """The loop that a vector statement stands for."""
        times = self.times(s)
        if s.lanes == 1:  # the loop is still there
            return Inner(_name(s.loop), _stage(s), "vector", _extent(s.loop), times // max(_extent(s.loop), 1), times)
        return Inner("", _stage(s), "vector", s.lanes, times, times * s.lanes)

    def guards(self) -> list[Asked]:
        points = self.tally.points
        return [
            Asked(short(g.cond), _name(g.loop), points(g.loop, g.pieces) or 0, not g.loop.children)
            for g in self.reader.guards
        ]


# ---------------------------------------------------------------- accesses


class Move(NamedTuple):
    """By how many elements a place moves with a loop (of the lanes of a vector: "")."""

    loop: str
    step: int
    extent: int
    unrolled: bool


def used_lanes(f: Facts, native: int) -> float:
    """Elements that a step of the arithmetic does at a time, on vectors of `native` elements: as the program says, and
    all of them where a compiler makes vectors of a plain innermost loop by itself."""
    steps = flops = 0.0
    for w in f.work:
        wide = native if w.lanes == 1 and w.trip >= native else max(1, min(w.lanes, native))
        flops, steps = flops + w.flops, steps + w.flops / wide
    return flops / steps if steps else 1.0


def _stays(moves: list[Move]) -> int:
    """How often in a row an access is to one place."""
    times = 1
    for m in moves:
        if m.step and m.extent > 1:
            break
        times *= max(m.extent, 1)
    return times


def _stage(s: Site) -> str:
    origin = getattr(s.node, "origin", None) or next(
        (x.node.origin for x in reversed(s.loop.path) if x.node is not None and x.node.origin is not None), None
    )
    return getattr(origin, "stage", "")


def _updates(s: Site) -> bool:
    """Does it store what it has just loaded and changed?"""
    node = s.node
    return isinstance(node, Store) and any(
        isinstance(x, Load) and x.buffer is node.buffer and identical(x.indices, node.indices) for x in walk(node.value)
    )


def _sums(s: Site) -> bool:
    """Is it a sum of floats, in which each term waits for the one before?"""
    return dt.is_float(s.buffer.dtype) and _updates(s)


def _weights(s: Site) -> list[int]:
    """By how many elements a step in each dimension moves."""
    weights, total = [], 1
    for n in reversed(s.buffer.shape):
        weights.append(total)
        total *= n.value if isinstance(n, Const) else 1
    return weights[::-1]


def _stride(s: Site, v: object) -> int | None:
    if s.forms is None:
        return None
    return sum(f.terms.get(v, 0) * w for f, w in zip(s.forms, _weights(s), strict=True))


def _moves(s: Site) -> list[Move]:
    """Innermost first; the lanes of a vector come first."""
    if s.forms is None:
        return []
    found = [Move("", _stride(s, s.lane) or 0, s.lanes, True)] if s.lane is not None else []
    for x in reversed(s.loop.path):
        if x.var is not None and x.node is not None:
            unrolled = x.node.kind in ("unrolled", "vectorized")
            found.append(Move(x.node.var.name, _stride(s, x.var) or 0, _extent(x), unrolled))
    return found


def _waits(moves: list[Move], times: int) -> tuple[float, str, int]:
    """How many additions wait for the one before, in which loop, and to how many elements at a time."""
    apart = width = length = 1
    over = ""
    for m in moves:
        if not m.unrolled and m.extent > 1 and m.step:
            break
        if m.step and m.extent > 1:
            apart *= m.extent
            width *= m.extent if m.loop else 1
        else:
            length *= m.extent
            over = over or (m.loop if m.extent > 1 else "")
    return (times / width, over, apart) if length >= LONG else (0.0, "", 1)


def _run(moves: list[Move]) -> tuple[int, int, Move]:
    """Elements in a row, accesses on the way, and the jump that ends it."""
    row = passed = 1
    for m in moves:
        step = abs(m.step)
        if m.extent <= 1:
            continue
        if step > row:
            return row, passed, m
        passed *= m.extent
        if step == row:
            row *= m.extent
        elif step:  # the rows overlap
            row += step * (m.extent - 1)
    return row, passed, Move("", 0, 1, False)


# ---------------------------------------------------------------- loops


def _extent(loop: Loop) -> int:
    return loop.box[1] - loop.box[0] + 1


def _vector(loop: Loop) -> bool:
    return loop.node is not None and loop.node.kind == "vectorized"


def _counts(loop: Loop) -> bool:
    """A loop that costs something to run, or holds one."""
    return (loop.node is not None and loop.node.kind not in ("unrolled", "vectorized")) or any(
        _counts(c) for c in loop.children
    )


def _counting(loop: Loop) -> Loop:
    """The loop itself, or the one around it that is not unrolled."""
    while loop.parent is not None and loop.node is not None and loop.node.kind in ("unrolled", "vectorized"):
        loop = loop.parent
    return loop


def _name(loop: Loop) -> str:
    return loop.node.var.name if loop.node is not None else ""
