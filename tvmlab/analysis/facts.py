"""What the reasons need to know of a program beside its metrics: the shape of its innermost loops.

`facts(program)`: how each access moves through memory, which conditions are asked where, how short the inner loops are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ..core import dtype as dt
from ..core.deep import deep
from ..core.node import Const, Store
from ..core.program import Function, Program
from ..core.walk import identical, walk
from .access import Block, Loop, Reader, Site
from .forms import short
from .metrics import Metrics, Tally


@dataclass(frozen=True, eq=False)
class Access:
    """A place in the program that loads or stores.

    `elements`: over the whole run. `lanes`: of one access. `loop`: the innermost loop, or the vectorized one, by which
    the place moves; `stride`: by how many elements with it (0: it stays, None: not known). `held`: `elements` without
    the repetitions that a register saves, where inner loops stay at one place. `run`: bytes in a row before it jumps;
    `jumps`: how often it does; `step`: bytes of a jump, `jump_loop`: the loop that makes it. `updates`: it stores what
    it has just loaded and changed. `local`: to memory that the program allocates.
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
    updates: bool
    local: bool
    masked: bool

    @property
    def bytes(self) -> int:
        return self.elements * self.size


@dataclass(frozen=True, eq=False)
class Inner:
    """An innermost loop: how often it starts, and how many iterations all starts make. `kind`: of the loop."""

    name: str
    stage: str
    kind: str
    extent: int
    starts: int
    iterations: int


@dataclass(frozen=True, eq=False)
class Asked:
    """A condition, how often it is asked, and whether in an innermost loop."""

    text: str
    loop: str
    times: int
    inner: bool


class Work(NamedTuple):
    """A straight piece that computes, over the whole run. `calls`: of the flops, mathematical functions."""

    flops: int
    calls: int
    lanes: int


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
    return Facts(
        m,
        [_access(s, reader, tally) for s in reader.sites],
        _inner(reader, tally),
        _guards(reader, tally),
        [_work(b, tally) for b in reader.blocks if b.flops],
        tuple(b.owner.name for b in fn.buffers),
        {b.owner.name: (b.size or 0) * dt.nbytes(b.dtype) for b in reader.allocated},
    )


def _work(b: Block, tally: Tally) -> Work:
    n = tally.points(b.loop, b.pieces) or 0
    return Work(n * b.flops, n * b.calls, b.lanes)


# ---------------------------------------------------------------- accesses


def _access(s: Site, reader: Reader, tally: Tally) -> Access:
    times = tally.points(s.loop, s.pieces if s.node.mask is None else s.loop.pieces) or 0
    moves = _moves(s, reader)
    loop, stride = next(((name, step) for name, step, n in moves if n > 1), ("", 0))
    run, passed, jump_loop, step = _run(moves)
    b, elements = s.buffer, times * s.lanes
    size = dt.nbytes(b.dtype)
    allocated = any(b is x or b.owner is x for x in reader.allocated)
    return Access(
        b.owner.name, _stage(s), s.store, elements, size, s.lanes, loop, stride if s.forms is not None else None,
        elements / _stays(moves), run * size, elements / passed, jump_loop, step * size,
        s.store and isinstance(s.node, Store) and _updates(s.node), allocated, s.node.mask is not None,
    )  # fmt: skip


def _stays(moves: list[tuple[str, int, int]]) -> int:
    """How often in a row an access is to one place."""
    times = 1
    for _, step, n in moves:
        if step and n > 1:
            break
        times *= max(n, 1)
    return times


def _stage(s: Site) -> str:
    origin = getattr(s.node, "origin", None) or next(
        (x.node.origin for x in reversed(s.loop.path) if x.node is not None and x.node.origin is not None), None
    )
    return getattr(origin, "stage", "")


def _updates(s: Store) -> bool:
    return any(
        getattr(x, "buffer", None) is s.buffer and identical(x.indices, s.indices)  # type: ignore[attr-defined]
        for x in walk(s.value)
        if hasattr(x, "indices")
    )


def _moves(s: Site, reader: Reader) -> list[tuple[str, int, int]]:
    """(loop, elements that the place moves by with it, extent), innermost first; the lanes of a vector come first."""
    if s.forms is None:
        return []
    weights, total = [], 1
    for n in reversed(s.buffer.shape):
        weights.append(total)
        total *= n.value if isinstance(n, Const) else 1
    weights.reverse()

    def stride(v: object) -> int:
        return sum(f.terms.get(v, 0) * w for f, w in zip(s.forms or (), weights, strict=True))

    lanes = [("", stride(s.lane), s.lanes)] if s.lane is not None else []
    loops = [x for x in reversed(s.loop.path) if x.var is not None and x.node is not None]
    return lanes + [(x.node.var.name, stride(x.var), x.box[1] - x.box[0] + 1) for x in loops if x.node is not None]


def _run(moves: list[tuple[str, int, int]]) -> tuple[int, int, str, int]:
    """Elements in a row, accesses on the way, and the loop and the step of the jump that ends it."""
    row = passed = 1
    for name, step, n in moves:
        step = abs(step)
        if n <= 1:
            continue
        if step > row:
            return row, passed, name, step
        passed *= n
        if step == row:
            row *= n
        elif step:  # the rows overlap
            row += step * (n - 1)
    return row, passed, "", 0


# ---------------------------------------------------------------- loops and conditions


def _inner(reader: Reader, tally: Tally) -> list[Inner]:
    """The innermost loops: unrolled ones are none, a vector statement is one of its own."""
    found = []
    busy: dict[Loop, bool] = {}  # loops with statements of their own -> are they scalar
    for s in reader.sites:
        if s.store:
            loop = _counting(s.loop)
            if s.lanes > 1 or s.loop is not loop and _vector(s.loop):
                found.append(_virtual(s, reader, tally))
            busy[loop] = busy.get(loop, True) and s.lanes == 1
    for x, scalar in busy.items():
        if x.node is not None and scalar and not any(_counts(c) for c in x.children):
            starts = tally.points(x, x.pieces, own=False) or 0
            iterations = tally.points(x, [(*p, *x.own) for p in x.pieces]) or 0
            extent = x.box[1] - x.box[0] + 1
            stage = getattr(x.node.origin, "stage", "")
            found.append(Inner(x.node.var.name, stage, x.node.kind, extent, starts, iterations))
    return found


def _virtual(s: Site, reader: Reader, tally: Tally) -> Inner:
    """The loop that a vector statement stands for."""
    times = tally.points(s.loop, s.loop.pieces if s.node.mask is not None else s.pieces) or 0
    if s.lanes == 1:  # the loop is still there
        extent = s.loop.box[1] - s.loop.box[0] + 1
        return Inner(_name(s.loop), _stage(s), "vector", extent, times // max(extent, 1), times)
    return Inner("", _stage(s), "vector", s.lanes, times, times * s.lanes)


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


def _guards(reader: Reader, tally: Tally) -> list[Asked]:
    found = []
    for g in reader.guards:
        times = tally.points(g.loop, g.pieces) or 0
        found.append(Asked(short(g.cond), _name(g.loop), times, not g.loop.children))
    return found


def _name(loop: Loop) -> str:
    return loop.node.var.name if loop.node is not None else ""
