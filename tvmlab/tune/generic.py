"""A space for any expression: no template is needed.

    task = Task.of(C, [A, B, C], "llvm");  s, args = task.instantiate(task.space.get(7))

Each stage that nobody has scheduled yet gets its choices, named by the stage: `C.place`, `C.i`, `C.k`, `C.order` ...

    for i, j in tiles of tiles: S0 S1 S2              S: the loops over the result, R: over what is summed, in levels,
        for k in blocks: R0 R1                        R before S1, between or after S2, as the order says
            C[i, j] += ...

The stages are placed from the outputs backwards: at the root, inside a loop of the stage that reads them, or inlined.
What a sum reads again and again may be copied first, into panels (packing.py): `C.pack.B`. Vectors are along the last
axis, or, of a convolution, along the channels: `C.lanes`, which says where the weights are copied for it.
An order of stages that cannot be is an InstantiationError that says why. What a person has scheduled stays as it is.
The spaces for GPUs are in generic_gpu.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any

from ..core.error import ScheduleError
from ..core.node import IterVar
from ..core.text import show
from ..core.walk import constant
from ..expr.tensor import ComputeOp, Operation, Tensor
from ..face.handle import Schedule
from ..lowering.bounds import Bounds
from ..lowering.normalise import normalise
from ..lowering.obligations import of_bounds
from ..schedule import identity
from ..schedule.state import State
from ..schedule.trace import Trace, operations
from ..target.base import Target
from . import generic_gpu, generic_start, packing
from .dispatch import get_config
from .flop import compute_flop
from .pieces import CODE, Piece, plan
from .space import Space
from .task import Task

ORDERS = ("S0 S1 R0 R1 S2", "S0 R0 S1 R1 S2", "S0 S1 R0 S2 R1", "S0 R0 R1 S1 S2")
PLACES = ("first", "tile", "inner", "block")  # loops of the reader: S0's first, S0's last, S1's last, R0's last
LONGEST = 64  # iterations of an inner loop


def task_of(outputs: Any, args: Sequence[Any], target: Any = None) -> GenericTask:
    """The task of tensors, operations or a schedule. `args`: what the function takes."""
    trace = outputs.trace if isinstance(outputs, Schedule) else Trace(operations("Task.of", outputs))
    return GenericTask(trace, tuple(args), target)


class GenericTask(Task):
    """Without a template. Its workload names the outputs, and a hash of the expressions and steps."""

    def __init__(self, trace: Trace, args: Sequence[Any], target: Any = None) -> None:
        self.trace, self.tensors = trace, tuple(args)
        self.target = Target(target or Target.current() or "llvm")
        made = [f"{t.name}: {t.dtype}[{', '.join(map(show, t.shape))}]" for op in trace.outputs for t in op.outputs]
        super().__init__("generic", [", ".join(made), identity.of(trace)], self.target)
        self.func = Generic(trace, self.tensors, bool(self.target.kind.threads) and self.target.name != "interp")

    @cached_property
    def first(self) -> list[int]:
        """Points that a session begins with."""
        return [] if self.func.gpu else generic_start.points(self.space, plan(self.trace.state, self.tensors))

    def _collected(self) -> Space:
        """The choices are told apart by their places: their names have those of loops in them."""
        space = super()._collected()
        space.identity = [[knob.kind, knob.described()] for knob in space.space_map.values()]
        return space

    def __reduce__(self) -> Any:
        state = self.trace.state
        places = [(state.stage_of(a).index, a.value_index) for a in self.tensors]
        return _restored, (self.trace.to_json(), places, str(self.target))


def _restored(text: str, places: Sequence[tuple[int, int]], target: str) -> GenericTask:
    trace = Trace.from_json(text)
    args = [trace.state.stages[i].op.outputs[k] for i, k in places]
    return GenericTask(trace, args, target)


# ---------------------------------------------------------------- the choices


class Generic:
    """The template of a task without one."""

    name, code_hash = "generic", None

    def __init__(self, trace: Trace, tensors: Sequence[Tensor], gpu: bool = False) -> None:
        self.trace, self.tensors, self.gpu = trace, tensors, gpu

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def function(self, *_: Any) -> tuple[Schedule, list[Any]]:
        """The schedule of the configuration in force."""
        cfg = get_config()
        s = Schedule(self.trace)
        pieces = plan(self.trace.state, self.tensors)
        for p in pieces:
            (generic_gpu.define if self.gpu else define)(cfg, p)
        if not cfg.flop:
            cfg.add_flop(work(s))
        made = generic_gpu.Builder(cfg, s) if self.gpu else Builder(cfg, s, pieces)
        for p in reversed(pieces):
            made.build(p)
        bounds = Bounds(normalise(s.state))
        found = of_bounds(bounds)
        if found:
            raise found[0]
        for p in pieces:
            for copy in p.copies:
                packing.check(bounds, p.op, s.state.stage_of(copy))
        return s, list(self.tensors)


def define(cfg: Any, p: Piece) -> None:
    """The choices of one stage; the first candidate of each makes plain code. One that may be inlined gets few."""
    if p.always:
        return
    if not p.kept:
        places = PLACES if any(isinstance(r, ComputeOp) and r.reduce_axis for r in p.readers) else PLACES[:3]
        cfg.define_knob(f"{p.name}.place", [*["inline"] * p.inline, "root", *places])
    for a in p.op.axis[-1:] if p.inline else p.op.axis:
        _split(cfg, p, a, p.levels)
    for a in p.op.reduce_axis:
        _split(cfg, p, a, 2)
    if p.folds:
        cfg.define_knob(f"{p.name}.order", list(ORDERS))
        cfg.define_knob(f"{p.name}.cache", [0, 1])
    if p.lanes:
        cfg.define_knob(f"{p.name}.lanes", packing.lanes_choices(p.op, p.lanes))
    for name in p.reread:
        cfg.define_knob(f"{p.name}.pack.{name}", list(packing.AT))
    cfg.define_knob(f"{p.name}.parallel", list(range(min(len(p.op.axis), 3) + 1)))
    if p.inline:
        return
    if len(p.op.axis) > 1:
        cfg.define_knob(f"{p.name}.swap", [0, 1])
    cfg.define_knob(f"{p.name}.unroll", [0, 8, 64])
    if p.op.axis:
        cfg.define_knob(f"{p.name}.vectorize", [1, 0])


def _split(cfg: Any, p: Piece, a: IterVar, parts: int) -> None:
    n, name = constant(a.extent), p.split(a)
    if n is not None and n > 0:
        cfg.define_split(name, a, policy="verbose", num_outputs=parts, max_factor=LONGEST)
        return
    few = [[-1, *[1] * (parts - 2), f] for f in (1, 4, 8, 16, 32)]  # its length is known when it is called, or is 0
    cfg.define_split(name, a, policy="candidate", num_outputs=parts, candidate=few)


def work(s: Schedule) -> float:
    """The operations; of what has none (a copy), or cannot be counted, the elements that are written."""
    try:
        return float(compute_flop(s))
    except RuntimeError:
        shapes = [[constant(n) or 1 for n in t.shape] for op in s.outputs for t in op.outputs]
        return float(sum(map(prod, shapes)))


# ---------------------------------------------------------------- a configuration


Group = list[tuple[IterVar, int]]  # loops, each with its length (0: not a number)


def lengths_of(n: int, size: Sequence[int]) -> list[int]:
    """The lengths of a split of n (0: not known), the first one too."""
    return [-(-n // prod(size[1:])), *size[1:]]


class Builder:
    """The steps of one configuration. Readers are built before what they read."""

    def __init__(self, cfg: Any, s: Schedule, pieces: Sequence[Piece]) -> None:
        self.cfg, self.s = cfg, s
        self.of: dict[Operation, Piece] = {p.op: p for p in pieces}

    def chosen(self, p: Piece, what: str, default: Any = None) -> Any:
        name = f"{p.name}.{what}"
        return self.cfg[name].val if name in self.cfg else default

    def build(self, p: Piece) -> None:
        p.place = self.chosen(p, "place", "inline" if p.always else "root")
        if p.place == "inline":
            self.s[p.op].compute_inline()
            return
        if p.place == "root":
            self.root(p)
            return
        p.home = self.reader_of(p)
        p.place = self.within(p)
        axis = self.loop_for(p)
        if axis is None:  # its reader's loops would run once
            p.home = None
            self.root(p)
            return
        if self.lanes(p)[0] is not None:
            raise ScheduleError("generic-lanes", f"the lanes of {p.name} are its last axis's: it is not at the root")
        self.s[p.op].compute_at(self.s[_stage_of_loop(self.s.state, axis)], axis)
        self.inner(p, dict(zip(p.op.axis, self.s[p.op].op.axis, strict=True)), p.op)
        self.pack(p, p.op)

    def lanes(self, p: Piece) -> tuple[IterVar | None, str]:
        """The axis whose loop is the lanes in the last one's place, if one is, and where what it indexes is copied."""
        return packing.lanes_chosen(p.op, self.chosen(p, "lanes", packing.LAST) if p.lanes else packing.LAST)

    def pack(self, p: Piece, core: Operation) -> None:
        """Copies of what its sum reads, where chosen, at the loop chosen or the next one further out that there is."""
        tiles = {a: lengths_of(constant(a.extent) or 0, self.size(p, a))[-1] for a in p.op.axis}
        lanes, at = self.lanes(p)
        copied = [(t, self.chosen(p, f"pack.{name}")) for name, t in p.reread.items()]
        copied += [(t, at) for t in (p.lanes[lanes] if lanes is not None else ())]
        for t, place in copied:
            if not place:
                continue
            copy = packing.pack(self.s, p.op, t, core, tiles)
            p.copies.append(copy.op.output(0))
            first = (p.home or p).loops.get("first")
            axis = {"first": first, "block": p.loops.get("block", first)}.get(place)
            if axis is not None:
                copy.compute_at(self.s[_stage_of_loop(self.s.state, axis)], axis)

    def loop_for(self, p: Piece) -> IterVar | None:
        """The loop at its place, or the next one further out that there is."""
        assert p.home is not None
        readers = self.readers(p)
        if p.place == "block" and len(readers) == 1 and "block" in readers[0].loops:
            return readers[0].loops["block"]
        for place in reversed(PLACES[: PLACES.index(p.place) + 1]):
            if place in p.home.loops:
                return p.home.loops[place]
        return None

    def reader_of(self, p: Piece) -> Piece:
        """The stage at the root whose loops run all that reads `p`."""
        homes = {h: None for r in self.readers(p) for h in [r.home or r]}
        if len(homes) == 1:
            return next(iter(homes))
        names = ", ".join(h.name for h in homes)
        raise ScheduleError(
            "generic-many-readers", f"{p.name} cannot be computed inside one of its readers: there are several, {names}"
        )

    def readers(self, p: Piece) -> list[Piece]:
        """Those that read it once what is inlined is."""
        found: dict[Piece, None] = {}
        for op in p.readers:
            r = self.of[op]
            found.update(dict.fromkeys(self.readers(r) if r.place == "inline" else [r]))
        return list(found)

    def within(self, p: Piece) -> str:
        """The place asked for, or further out: no loop further in than the places of all its readers."""
        limits = [PLACES.index(r.place) for r in self.readers(p) if r.home is not None]
        return PLACES[min([PLACES.index(p.place), *limits])]

    # ------------------------------------------------------------ loops

    def root(self, p: Piece) -> None:
        """A nest of its own: tiles of tiles; with a cache, the sums are made in one that a tile fills."""
        core, axes = self.cache(p)
        stage = self.s[p.op]
        whole = core is None and p.folds
        levels = self.spatial(p, stage)
        folded = self.folded(p, p.op) if whole else [[], []]
        nest = self.ordered(p, levels, folded)
        _reorder(stage, nest)
        self.finish(p, p.op, levels, folded)
        self.in_parallel(p, levels)
        around = levels[0] + (levels[1] if len(levels) > 2 else [])
        named = {"first": levels[0][:1], "tile": levels[0], "inner": around}
        p.loops = {k: v[-1][0] for k, v in named.items() if v}
        if whole and folded[0]:
            p.loops["block"] = folded[0][-1][0]
        if core is not None:
            self.s[core].compute_at(stage, p.loops["inner"])
            self.inner(p, axes, core)
        self.pack(p, core or p.op)

    def cache(self, p: Piece) -> tuple[Operation | None, dict[IterVar, IterVar]]:
        """The stage that makes the sums of a tile, if chosen, and its loop for each axis of `p`, the lanes last."""
        lanes, _ = self.lanes(p)
        wanted = p.folds and bool(self.chosen(p, "cache")) and self.tiled(p)
        if lanes is not None and not wanted:
            raise ScheduleError("generic-lanes", f"the lanes of {p.name} are its last axis's: no tile has a cache")
        if not wanted:
            return None, {}
        outputs = list(p.op.outputs)
        made = self.s.cache_write(outputs if len(outputs) > 1 else outputs[0], "local")
        stage = self.s[made[0] if isinstance(made, list) else made]
        if lanes is None:
            return stage.op, dict(zip(p.op.axis, stage.op.axis, strict=True))
        own = sorted(p.op.axis, key=lambda a: a is lanes)
        order = [p.op.axis.index(a) for a in own]
        loops = stage.transform_layout(lambda *at: [at[k] for k in order])  # what a vector adds to lies together
        return stage.op, dict(zip(own, loops, strict=True))

    def tiled(self, p: Piece) -> bool:
        """Does any loop run around the innermost tile?"""
        lengths = [lengths_of(constant(a.extent) or 0, self.size(p, a)) for a in p.op.axis]
        return any(n != 1 for own in lengths for n in own[:-1])

    def spatial(self, p: Piece, stage: Any) -> list[Group]:
        """The loops over the result, level by level."""
        levels: list[Group] = [[] for _ in range(p.levels)]
        for own, axis in zip(p.op.axis, stage.op.axis, strict=True):
            self.cut(stage, axis, constant(axis.extent) or 0, self.size(p, own), levels)
        if self.chosen(p, "swap"):
            levels[0] = levels[0][::-1]
        return levels

    def size(self, p: Piece, axis: IterVar) -> list[int]:
        """How an axis is cut; an axis without a choice gives one loop of the outermost level."""
        name = p.split(axis)
        return list(self.cfg[name].size) if name in self.cfg else [-1]

    def cut(self, stage: Any, axis: IterVar, n: int, size: Sequence[int], levels: Sequence[Group]) -> None:
        """Split as said, into loops for the levels; where a loop would run once there is none."""
        lengths = lengths_of(n, size)
        real = [k for k, length in enumerate(lengths) if length != 1] or [0]
        for k, after in pairwise(real):
            outer, axis = stage.split(axis, factor=prod(lengths[after:]))
            levels[k].append((outer, lengths[k]))
        levels[real[-1]].append((axis, lengths[real[-1]]))

    def folded(self, p: Piece, op: Operation) -> list[Group]:
        """The loops over what is summed, in two levels."""
        found: list[Group] = [[], []]
        stage = self.s[op]
        for own, axis in zip(p.op.reduce_axis, stage.op.reduce_axis, strict=True):
            self.cut(stage, axis, constant(axis.extent) or 0, self.size(p, own), found)
        return found

    def ordered(self, p: Piece, spatial: Sequence[Group], folded: Sequence[Group]) -> Group:
        """S0 R0 S1 ... as the order says."""
        if not any(folded):
            return [loop for level in spatial for loop in level]
        words = self.chosen(p, "order").split()
        groups = {f"R{k}": g for k, g in enumerate(folded)}
        groups.update({f"S{k + 3 - len(spatial)}": g for k, g in enumerate(spatial)})
        return [loop for word in words for loop in groups.get(word, ())]

    def inner(self, p: Piece, axes: Mapping[IterVar, IterVar], core: Operation) -> None:
        """The loops of a stage that is computed inside another: one level of tiles. `axes`: `p`'s -> the loop."""
        stage = self.s[core]
        outer: Group = []
        tile: Group = []
        for own, axis in axes.items():
            self.cut(stage, axis, 0, [-1, *self.size(p, own)[1:][-1:]], [outer, tile])
        folded = self.folded(p, core) if p.folds else [[], []]
        nest = self.ordered(p, [outer, tile], folded)
        _reorder(stage, nest)
        self.finish(p, core, [outer, tile], folded)
        if folded[0]:
            p.loops["block"] = folded[0][-1][0]

    def finish(self, p: Piece, op: Operation, levels: Sequence[Group], folded: Sequence[Group]) -> None:
        """The innermost loops: the last one in vectors, others written out."""
        stage, last = self.s[op], levels[-1]
        if prod(n or 1 for _, n in last) > CODE:
            raise ScheduleError("generic-tile", f"the inner tile of {p.name} has more than {CODE} elements")
        lanes = last[-1] if last and self.chosen(p, "vectorize", 1) and last[-1][1] > 1 else None
        innermost = not folded[1] or not self.chosen(p, "order").endswith("R1")
        if lanes is not None and innermost:
            stage.vectorize(lanes[0])
        limit, count = self.chosen(p, "unroll", 0), 1
        rest = [loop for loop in last if loop is not lanes or not innermost]
        order = [*folded[1], *rest] if innermost else [*rest, *folded[1]]
        for a, n in reversed(order):
            count *= n
            if not 0 < count <= limit:
                break
            if n > 1:
                stage.unroll(a)

    def in_parallel(self, p: Piece, levels: list[Group]) -> None:
        """The outermost loops as one, shared out to the processors."""
        count = min(self.chosen(p, "parallel", 0), len(levels[0]))
        if not count:
            return
        stage = self.s[p.op]
        outer = [a for a, _ in levels[0][:count]]
        fused = stage.fuse(*outer) if count > 1 else outer[0]
        levels[0] = [(fused, 0), *levels[0][count:]]
        stage.parallel(fused)


def _reorder(stage: Any, nest: Group) -> None:
    """The loops in this order, if they are not."""
    order = [a for a, _ in nest]
    if any(a is not b for a, b in zip(order, stage.leaf_iter_vars, strict=True)):
        stage.reorder(*order)


def _stage_of_loop(state: State, axis: IterVar) -> Operation:
    owner = state.owner(axis)
    assert owner is not None
    return owner.op
