"""The classic features, `tvm.autotvm.feature`: a row per axis, a few curves per buffer.

A row:  ["_itervar_", axis]
        ["_attr_", length, depth from 1, iterations so far, iterations inside, a 0 or 1 for each of ANNOTATIONS]
        ["_arith_", additions, multiplications, divisions]        of floats, straight in it
        ["A_0", stride, -1, count, reuse, thread count, thread reuse]        for each access, by name

As there, the loops are those before any pass, those of one iteration kept, and the initialisation of sums left out.
"""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..analysis.access import Loop, Reader
from ..core.node import Load, Store
from ..core.threads import BLOCK, GRID, LAUNCH
from ..core.walk import walk
from ..face.api import current_config
from ..lowering import pipeline
from .features import operations
from .touch import shape, strides

ANNOTATIONS = (*LAUNCH, "unrolled", "vectorized", "parallel", "serial", "vthread")
COPIES = (".local", ".shared", "_local", "_shared")


@dataclass
class Touch:
    stride: int
    count: int = 1
    reuse: int = 1
    thread_count: int = 0
    thread_reuse: int = 0

    @property
    def numbers(self) -> list[int]:
        return [self.stride, -1, self.count, self.reuse, self.thread_count, self.thread_reuse]


@dataclass(eq=False)
class Axis:
    var: Any
    length: int
    depth: int
    annotation: str
    before: int
    arith: Counter[str] = field(default_factory=Counter)
    touches: dict[str, Touch] = field(default_factory=dict)

    @property
    def inside(self) -> int:
        return max((t.count * t.reuse for t in self.touches.values()), default=-1)

    @property
    def level(self) -> int:
        """2: blocks, 1: threads, 0: in one thread."""
        return 2 if self.annotation in GRID else 1 if self.annotation in (*BLOCK, "parallel") else 0


def get_itervar_feature(sch: Any, args: Sequence[Any], take_log: bool = False) -> list[list[list[Any]]]:
    """A row per axis of the loops, as the head of this file says."""
    size = log if take_log else float
    rows = []
    for axis in axes(sch, args):
        hot = [int(axis.annotation == a) for a in ANNOTATIONS]
        row: list[list[Any]] = [
            ["_itervar_", axis.var],
            ["_attr_", size(axis.length), axis.depth, size(axis.before), size(axis.inside), *hot],
            ["_arith_", *[size(axis.arith[op]) for op in ("add", "mul", "div")]],
        ]
        row += [[name, *map(size, axis.touches[name].numbers)] for name in sorted(axis.touches)]
        rows.append(row)
    return rows


def flatten_itervar_feature(fea: Sequence[Sequence[Sequence[Any]]]) -> np.ndarray:
    """All numbers of the rows, one after the other."""
    return np.array([x for row in fea for pair in row[1:] for x in pair[1:]], dtype=np.float32)


def get_itervar_feature_flatten(sch: Any, args: Sequence[Any], take_log: bool = True) -> np.ndarray:
    return flatten_itervar_feature(get_itervar_feature(sch, args, take_log))


def get_flatten_name(fea: Sequence[Sequence[Sequence[Any]]]) -> list[str]:
    """The name of each number of the flat form: `i.length`, `A_0.stride of i`."""
    attr = ("length", "nest_level", "topdown", "bottomup", *[f"is {a}" for a in ANNOTATIONS])
    parts = {"_attr_": attr, "_arith_": ("add", "mul", "div")}
    touch = ("stride", "mod", "count", "reuse", "thread_count", "thread_reuse")
    names = []
    for row in fea:
        axis = row[0][1].name
        for key, *_ in row[1:]:
            known = parts.get(key)
            names += [f"{axis}.{x}" for x in known] if known else [f"{key}.{x} of {axis}" for x in touch]
    return names


def get_buffer_curve_sample_flatten(sch: Any, args: Sequence[Any], sample_n: int = 30) -> np.ndarray:
    """For each buffer of the innermost loops: how count, reuse and iterations grow with one another.

    Four curves, each sampled at 0, 1, ... `sample_n` - 1 on a logarithmic scale: the last value, and how far back.
    """
    found = list(axes(sch, args))
    deepest = max((a.depth for a in found), default=0)
    inner: dict[str, str] = {}
    for axis in reversed(found):
        if axis.depth == deepest:
            for name in sorted(axis.touches):
                inner.setdefault(raw(name), name)
    flat: list[float] = []
    for name in sorted(inner.values()):
        of = [(a, a.touches[name]) for a in found if name in a.touches]
        count = sorted([0.0, *[math.log2(t.count) for _, t in of]])
        reuse = sorted([0.0, *[math.log2(t.reuse) for _, t in of]])
        before = sorted([0.0, *[math.log2(a.before) for a, _ in of]])
        for x, y in ((count, reuse), (reuse, count), (count, before), (before, count)):
            flat += sampled(x, y, sample_n)
    return np.array(flat, dtype=np.float32)


def sampled(x: Sequence[float], y: Sequence[float], n: int) -> Iterator[float]:
    for at in range(n):
        k = bisect.bisect_left(x, at + 1e-6) - 1
        yield y[k]
        yield at - x[k]


def raw(name: str) -> str:
    """Whose copy it is: `A_local_2` -> `A`."""
    name = name.rpartition("_")[0]
    return next((name.partition(c)[0] for c in COPIES if c in name), name)


def log(x: float) -> float:
    return -math.log2(1.0 - x) if x < 0 else math.log2(1.0 + x)


# ---------------------------------------------------------------- the loops


def axes(sch: Any, args: Sequence[Any]) -> Iterator[Axis]:
    """In the order in which they begin."""
    config = replace(current_config(), keep_unit_loops=True)
    reader = Reader(pipeline.loops(sch.state, args, config=config).entry).read()
    summed = {s.buffer for s in reader.sites if not s.store and _added_to(s.buffer, reader)}
    known: dict[Loop, Axis] = {}
    names: Counter[str] = Counter()
    skipped = False
    for site in reader.sites:
        if site.store:
            assert isinstance(site.node, Store)
            skipped = site.buffer in summed and not _adds(site.node)
        if skipped:
            continue
        loops = [x for x in site.loop.path if x.node is not None and x.var is not None]
        path = [_axis(x, known) for x in loops]
        name = site.buffer.owner.name
        _touched(path, [_stride(site, x) for x in loops], f"{name}_{names[name]}")
        names[name] += 1
        if site.store and path:
            path[-1].arith.update(_float_operations(site.node))
    yield from [known[x] for x in reader.loops if x in known]


def _axis(loop: Loop, known: dict[Loop, Axis]) -> Axis:
    if loop not in known:
        above = [x for x in loop.path[:-1] if x.node is not None and x.var is not None]
        length = loop.box[1] - loop.box[0] + 1
        before = math.prod([x.box[1] - x.box[0] + 1 for x in above]) * length
        assert loop.node is not None
        kind = loop.node.thread if loop.node.kind == "thread" else loop.node.kind
        known[loop] = Axis(loop.node.var, length, len(above) + 1, kind, before)
    return known[loop]


def _touched(path: Sequence[Axis], steps: Sequence[int], key: str) -> None:
    """Enter an access into the rows of its loops, from the inside out."""
    count = reuse = 1
    base: dict[int, tuple[int, int]] = {}  # per level: what one of its tasks does
    below: Axis | None = None
    for axis, step in zip(reversed(path), reversed(steps), strict=True):
        if below is not None and axis.level == below.level + 1:
            base[axis.level] = (count, reuse)
        count, reuse = (count * axis.length, reuse) if step else (count, reuse * axis.length)
        touch = axis.touches[key] = Touch(step, count, reuse)
        if axis.level in base:
            touch.thread_count, touch.thread_reuse = count // base[axis.level][0], reuse // base[axis.level][1]
        below = axis


def _stride(site: Any, loop: Loop) -> int:
    if site.forms is None:
        return 1
    steps = strides(site.buffer, shape(site.buffer))
    return sum(f.terms.get(loop.var, 0) * step for f, step in zip(site.forms, steps, strict=True))


def _added_to(buffer: Any, reader: Reader) -> bool:
    return any(s.store and s.buffer is buffer and _adds(s.node) for s in reader.sites)


def _adds(store: Any) -> bool:
    """Does it read what it writes?"""
    return any(isinstance(e, Load) and e.buffer is store.buffer for e in walk(store.value))


def _float_operations(store: Any) -> Iterator[str]:
    for op in operations(store.value):
        kind, _, name = op.partition(" ")
        if kind == "float":
            yield name
