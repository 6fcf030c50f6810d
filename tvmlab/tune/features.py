"""What a cost model sees of a program: a vector of fixed length, read off its loops, the same for every operator.

    NAMES                 what each column is: "heaviest.first load.reuse bytes"
    vector(program)       the columns of a lowered program
    of(schedule, args)    the same, from the loops before the passes: what they do to marks is known beforehand

Each of the heaviest statements has columns of its own, in the order of their work; the rest is in the sums. Counts and
bytes are logarithms (of 1 + x, to the base 2), so that a model of small shapes says something about large ones; what
does not change with the size, such as vector lengths and bytes per operation, is in them as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..analysis.access import Reader, Site
from ..core import dtype as dt
from ..core.node import COMPARE, Bin, Call, Cast, Load, Select, Store
from ..core.program import Program
from ..core.threads import BLOCK, GRID, LAUNCH
from ..core.walk import children
from ..lowering import pipeline
from .touch import Access, Nest

HEAVY = ("heaviest", "second", "third")  # statements with columns of their own
ACCESSES = ("store", "first load", "second load", "third load")
SAMPLES = 10  # of the arithmetic intensity
HELD = (512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20)  # bytes of a memory that things may stay in
THREADS = (*LAUNCH, "vthread")
SCOPES = ("local", "shared", "global")
KINDS = {
    "+": "add", "-": "add", "*": "mul", "/": "div", "//": "div", "%": "div", "truncdiv": "div", "truncmod": "div",
    "min": "min max", "max": "min max",
}  # fmt: skip
OPS = (
    *(f"{t} {op}" for t in ("float", "int") for op in ("add", "mul", "div", "min max", "compare", "call")),
    "other op", "select", "cast",
)  # fmt: skip
MARKS = ("vectorized", "unrolled", "parallel")
MARK = ("loops", "product", "innermost", "place", "sums")
ACCESS = (
    "is there", "read", "write", "bytes per element", "bytes", "unique bytes", "lines", "unique lines", "reuse by loop",
    "reuse by others", "reuse iterations", "reuse bytes", "reuse count", "bytes per reuse", "lines per reuse", "stride",
    "stays", "steps by one", "local", "shared", "body elements", "body lines", "body loads",
)  # fmt: skip
BODY = ("instances", "sums", "flops per byte", "flops per load", "chains", "loops outside", "run")
SHAPE = ("loops", "code loops", "outer product", "flops", "guards", "conditions", "extent 1", "extent 2", "extent 3")
PER_STATEMENT = (
    "share", *SHAPE, *OPS, *(f"{m} {what}" for m in MARKS for what in MARK), *THREADS, *(f"body {x}" for x in BODY),
    *(f"intensity {k}" for k in range(SAMPLES)), *(f"{a}.{x}" for a in ACCESSES for x in ACCESS),
)  # fmt: skip
WHOLE = (
    "statements", "flops", "moved bytes", "unique bytes", "stores", "loop iterations", "unrolled statements",
    *(f"{s} {x}" for s in SCOPES for x in ("buffers", "bytes", "largest")),
    "tasks", "blocks", "threads", "bytes per flop", *(f"traffic beyond {n}" for n in HELD),
    *(f"lines beyond {n}" for n in HELD),
)  # fmt: skip
NAMES = (*WHOLE, *(f"{h}.{x}" for h in HEAVY for x in PER_STATEMENT))


def of(schedule: Any, args: Sequence[Any]) -> np.ndarray:
    """The columns of a schedule, from its loops before the passes: a third of the time that all of them take."""
    return vector(pipeline.loops(schedule.state, args))


def vector(program: Program) -> np.ndarray:
    """The columns of a lowered program, as NAMES says."""
    return np.array(columns(program), dtype=np.float32)


def columns(program: Program) -> list[float]:
    reader = Reader(program.entry).read()
    found = statements(reader)
    found.sort(key=lambda s: -s.work)
    total = sum(s.work for s in found) or 1
    row = whole(reader, found)
    for s in found[: len(HEAVY)]:
        row += s.row(total, found)
    return row + [0.0] * (len(NAMES) - len(row))


# ---------------------------------------------------------------- statements


def statements(reader: Reader) -> list[Statement]:
    """A store with the loads of its value and of its indices; loads of a condition go with the store that follows."""
    groups: list[list[Site]] = []
    waiting: list[Site] = []
    for site in reader.sites:
        if site.store:
            groups.append([site, *waiting])
            waiting = []
        elif groups and groups[-1][0].loop is site.loop:
            groups[-1].append(site)
        else:
            waiting.append(site)
    return [Statement(reader, g) for g in groups]


class Statement:
    """A store and what it takes. `work`: its operations and accesses, all iterations together."""

    def __init__(self, reader: Reader, sites: Sequence[Site]) -> None:
        store = sites[0]
        assert isinstance(store.node, Store)
        self.site, self.sites = store, sites
        self.nest = nest = Nest(reader, store.loop, store.lane, store.lanes)
        self.accesses = list(_accesses(nest, sites))
        self.ops = dict.fromkeys(OPS, 0.0)
        for op in operations(store.node.value):
            self.ops[op] += 1
        self.flops = sum(self.ops[f"float {x}"] for x in ("add", "mul", "div", "min max", "call"))
        self.loads = sum(a.count for a in self.accesses)
        self.work = nest.inside[0] * (1 + self.loads + sum(self.ops.values()))
        sizes = [(a.elements, a.lines, a.size) for a in self.accesses]
        levels = range(nest.depth + 1)
        self.bytes = [sum([e[k] * size for e, _, size in sizes]) for k in levels]
        self.sums = [k for k in range(nest.depth) if k not in self.accesses[0].used]

    def row(self, total: float, others: Sequence[Statement]) -> list[float]:
        nest, body = self.nest, self.nest.body
        code = [n for n, kind in zip(nest.extents, nest.kinds, strict=True) if kind == "serial" and n > 1]
        inner = [n for n in nest.extents if n > 1][::-1][:3]
        row: list[float] = [
            self.work / total, nest.depth, len(code), log(nest.inside[0]), log(nest.inside[0] * self.flops),
            sum(map(len, self.site.pieces)), len(self.site.pieces) - 1,
            *[log(n) for n in inner], *[0.0] * (3 - len(inner)),
        ]  # fmt: skip
        row += self.ops.values()
        for mark in MARKS:
            row += self.mark(mark)
        row += [log(nest.extents[nest.threads.index(tag)]) if tag in nest.threads else 0.0 for tag in LAUNCH]
        virtual = [n for n, k in zip(nest.extents, nest.kinds, strict=True) if k == "vthread"]
        row.append(log(math.prod(virtual)) if virtual else 0.0)
        row += self.body(body)
        row += self.intensity()
        counted = 0
        for a in self.accesses[: len(ACCESSES)]:
            row += self.access(a, body, others)
            counted += 1
        return row + [0.0] * ((len(ACCESSES) - counted) * len(ACCESS))

    def mark(self, kind: str) -> list[float]:
        """How many loops have it, how long they are together, and how and where the innermost of them is."""
        nest = self.nest
        at = [k for k in range(nest.depth) if nest.kinds[k] == kind]
        if not at:
            return [0.0] * len(MARK)
        last = at[-1]
        product = math.prod([nest.extents[k] for k in at])
        return [len(at), log(product), log(nest.extents[last]), nest.depth - last, sum(k in self.sums for k in at)]

    def body(self, level: int) -> list[float]:
        """The code inside the innermost loop that is one: what it computes on what it loads, and what waits."""
        nest = self.nest
        copies = nest.inside[level]
        lanes = math.prod([n for n, kind in zip(nest.extents, nest.kinds, strict=True) if kind == "vectorized"])
        loads = sum([a.elements[level] for a in self.accesses if a.reads])
        adds = bool(level) and (level - 1) in self.sums  # what it stores, the next iteration adds to
        chains = self.accesses[0].elements[level] / lanes
        run = nest.extents[level - 1] if level else 1
        return [
            log(copies / lanes), float(adds), self.flops * copies / (self.bytes[level] or 1),
            self.flops * copies / (loads or 1), log(chains), float(level), log(run),
        ]  # fmt: skip

    def intensity(self) -> list[float]:
        """Operations per byte touched, from one iteration to all: at ten points, evenly far on a logarithmic scale."""
        ops = max(1.0, self.flops)
        done = [math.log2(ops * n) for n in self.nest.inside[::-1]]
        value = [math.log2(1 + ops * n / (b or 1)) for n, b in zip(self.nest.inside[::-1], self.bytes[::-1])]
        at = [done[0] + (done[-1] - done[0]) * k / (SAMPLES - 1) for k in range(SAMPLES)]
        return interpolated(at, done, value)

    def access(self, a: Access, body: int, others: Sequence[Statement]) -> list[float]:
        nest = self.nest
        inner = a.innermost()
        count, iterations, distance, kind = self.reuse(a, others)
        stride = abs(a.strides[inner]) if inner >= 0 else 0
        last = next((k for k in range(nest.depth - 1, -1, -1) if nest.extents[k] > 1), -1)
        moved = nest.inside[0] * (a.count + a.writes) * a.size
        lines = a.lines[0]
        passes = nest.inside[0] / max(1, a.elements[0])
        scope = a.buffer.scope
        return [
            1.0, a.reads, a.writes, a.size, log(moved), log(a.elements[0] * a.size), log(lines * passes), log(lines),
            kind == "loop", kind == "others", log(iterations), log(distance), log(count), log(moved / max(1, count)),
            log(lines * passes / max(1, count)), log(stride), last not in a.used, last in a.used and stride == 1,
            scope == "local", scope.startswith("shared"), log(a.elements[body]), log(a.lines[body]), log(a.count),
        ]  # fmt: skip

    def reuse(self, a: Access, others: Sequence[Statement]) -> tuple[float, float, float, str]:
        """How often, after how many iterations and bytes, and because of what elements are touched again."""
        k = a.again()
        if k >= 0:
            return self.nest.extents[k], self.nest.inside[k + 1], self.bytes[k + 1], "loop"
        sharing = [s for s in others if s is not self and any(x.buffer is a.buffer for x in s.accesses)]
        if not sharing:
            return 1.0, 0.0, 0.0, "none"
        other = max(sharing, key=lambda s: self.common(s))
        level = self.common(other)
        apart = self.nest.inside[level] + other.nest.inside[level]
        return len(sharing) + 1.0, apart, self.bytes[level] + other.bytes[level], "others"

    def common(self, other: Statement) -> int:
        """How many loops they have in common."""
        count = 0
        for mine, theirs in zip(self.nest.loops, other.nest.loops):
            if mine is not theirs:
                break
            count += 1
        return count

    def traffic(self, held: int) -> tuple[float, float]:
        """Bytes, and lines, that come from beyond a memory which keeps what one run of a loop touches, if it fits."""
        level = next((k for k, b in enumerate(self.bytes) if b <= held), self.nest.depth)
        runs = self.nest.inside[0] / self.nest.inside[level]
        return self.bytes[level] * runs, runs * sum([a.lines[level] for a in self.accesses])


def _accesses(nest: Nest, sites: Sequence[Site]) -> Iterator[Access]:
    """The store first; then what is loaded along the innermost loop, what it leaves alone last."""
    groups: dict[Any, list[Site]] = {}
    for s in sites:
        form = tuple([frozenset(f.terms.items()) for f in s.forms]) if s.forms is not None else id(s)
        groups.setdefault((s.buffer, form), []).append(s)
    store, *loads = [Access(nest, g) for g in groups.values()]
    last = next((k for k in range(nest.depth - 1, -1, -1) if nest.extents[k] > 1), -1)
    loads.sort(key=lambda a: (last not in a.used, -a.elements[0] * a.size))
    yield store
    yield from loads


def operations(e: Any) -> Iterator[str]:
    """The arithmetic of a value by kind; none of that in the indices of its loads."""
    t = type(e)
    if t is Load:
        return
    if t is Bin:
        kind = "float" if dt.is_float(e.a.dtype) else "int"
        if e.op in KINDS:
            yield f"{kind} {KINDS[e.op]}"
        else:
            yield f"{kind} compare" if e.op in COMPARE else "other op"
    elif t is Call:
        if e.name == "if_then_else":
            yield "select"
        elif e.name != "likely":
            yield f"{'float' if dt.is_float(e.dtype) else 'int'} call"
    elif t is Select:
        yield "select"
    elif t is Cast:
        yield "cast"
    for c in children(e):
        yield from operations(c)


# ---------------------------------------------------------------- the program


def whole(reader: Reader, found: Sequence[Statement]) -> list[float]:
    flops = sum(s.flops * s.nest.inside[0] for s in found)
    moved = sum(s.nest.inside[0] * sum((a.count + a.writes) * a.size for a in s.accesses) for s in found)
    touched: dict[Any, int] = {}
    for s in found:
        for a in s.accesses:
            touched[a.buffer] = max(touched.get(a.buffer, 0), a.elements[0] * a.size)
    row: list[float] = [
        len(found), log(flops), log(moved), log(sum(touched.values())), log(sum(s.nest.inside[0] for s in found)),
        log(sum(s.nest.inside[0] / s.nest.inside[s.nest.body] for s in found)),
        log(sum(s.nest.inside[s.nest.body] / s.site.lanes for s in found)),
    ]  # fmt: skip
    for scope in SCOPES:
        sizes = [dt.nbytes(b.dtype) * (b.size or 0) for b in reader.allocated if b.scope.startswith(scope)]
        row += [len(sizes), log(sum(sizes)), log(max(sizes, default=0))]
    main = found[0].nest if found else None
    for kinds in (("parallel",), GRID, BLOCK):
        row.append(log(_product(main, kinds)) if main is not None else 0.0)
    row.append(moved / (flops or moved or 1))
    beyond = [[s.traffic(n) for s in found] for n in HELD]
    per = flops or sum(s.nest.inside[0] for s in found) or 1
    row += [math.log2(1e-6 + sum(b for b, _ in level) / per) for level in beyond]
    row += [math.log2(1e-6 + sum(x for _, x in level) / per) for level in beyond]
    return row


def _product(nest: Nest, kinds: Sequence[str]) -> int:
    """Iterations of the loops of some kinds together."""
    return math.prod([n for n, k, tag in zip(nest.extents, nest.kinds, nest.threads) if k in kinds or tag in kinds])


def log(x: float) -> float:
    return math.log2(1.0 + x)


def interpolated(at: Sequence[float], x: Sequence[float], y: Sequence[float]) -> list[float]:
    """Values of a piecewise linear curve; `x` does not fall."""
    found, k = [], 0
    for t in at:
        while k + 2 < len(x) and x[k + 1] < t:
            k += 1
        if len(x) < 2 or x[k + 1] <= x[k]:
            found.append(y[min(k + 1, len(y) - 1)] if len(x) > 1 and t > x[k] else y[k])
        else:
            part = min(1.0, max(0.0, (t - x[k]) / (x[k + 1] - x[k])))
            found.append(y[k] + part * (y[k + 1] - y[k]))
    return found
