"""The space of any expression for GPUs: each stage at the root is a kernel whose loops are bound to blocks and threads.

    blockIdx.y, blockIdx.x, vthreads, threadIdx.y, threadIdx.x:      tiles of the last two axes of a sum, cut in four
        for blocks of what is summed:                                the inputs come into shared memory, if so chosen
            for inside them, for the tile of a thread: C.local += ...
        C = C.local

A stage without sums shares its elements out to threads; one with a single result has its sum shared out. What a device
allows (threads, shared memory) is not known here: a candidate is checked against it before it is compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import prod
from typing import Any

from ..core.error import ScheduleError
from ..core.node import IterVar
from ..core.walk import constant
from ..expr.scalar import thread_axis
from ..expr.tensor import Operation
from ..face.handle import Schedule
from .pieces import CODE, Piece

THREADS = (64, 128, 256, 512, 32)
LARGEST = 64  # iterations of a loop inside a block


def define(cfg: Any, p: Piece) -> None:
    """The choices of one stage; the first candidate of each makes plain code."""
    if p.always:
        return
    if p.inline:
        cfg.define_knob(f"{p.name}.place", ["inline", "root"])
    if not p.folds or not p.op.axis:
        cfg.define_knob(f"{p.name}.threads", list(THREADS))
        cfg.define_knob(f"{p.name}.each", [1, 2, 4, 8])
        return
    for a in p.op.axis[-2:]:
        _split(cfg, p.split(a), a, 4)
    for a in p.op.reduce_axis:
        _split(cfg, p.split(a), a, 2)
    cfg.define_knob(f"{p.name}.shared", [0, 1])
    cfg.define_knob(f"{p.name}.unroll", [0, 16, 64])


def _split(cfg: Any, name: str, a: IterVar, parts: int) -> None:
    if (constant(a.extent) or 0) > 0:
        cfg.define_split(name, a, policy="verbose", num_outputs=parts, max_factor=LARGEST)
        return
    few = [[-1, *[1] * (parts - 2), f] for f in (1, 4, 8, 16)]
    cfg.define_split(name, a, policy="candidate", num_outputs=parts, candidate=few)


class Builder:
    """The steps of one configuration. Readers are built before what they read."""

    def __init__(self, cfg: Any, s: Schedule) -> None:
        self.cfg, self.s = cfg, s

    def chosen(self, p: Piece, what: str, default: Any = None) -> Any:
        name = f"{p.name}.{what}"
        return self.cfg[name].val if name in self.cfg else default

    def build(self, p: Piece) -> None:
        if self.chosen(p, "place", "inline" if p.always else "root") == "inline":
            self.s[p.op].compute_inline()
        elif not p.op.axis:
            self.single(p)
        elif p.folds:
            self.tiled(p)
        else:
            self.flat(p)

    def flat(self, p: Piece) -> None:
        """All elements in a row: those of a thread lie as far apart as a block has threads."""
        stage = self.s[p.op]
        axes = list(stage.op.axis)
        fused = stage.fuse(*axes) if len(axes) > 1 else axes[0]
        rest, thread = stage.split(fused, factor=self.chosen(p, "threads"))
        block, each = stage.split(rest, factor=self.chosen(p, "each"))
        stage.reorder(block, thread, each)
        bind(stage, block, "blockIdx.x")
        bind(stage, thread, "threadIdx.x")

    def single(self, p: Piece) -> None:
        """One result: the threads of one block share out its sum, where there is one."""
        stage = self.s[p.op]
        axes = list(stage.op.reduce_axis)
        if not axes or p.op.num_outputs > 1:
            bind(stage, stage.fuse(), "threadIdx.x")
            return
        fused = stage.fuse(*axes) if len(axes) > 1 else axes[0]
        _, thread = stage.split(fused, factor=self.chosen(p, "threads"))
        bind(stage, thread, "threadIdx.x")

    def tiled(self, p: Piece) -> None:
        """A sum for each element: made in registers, for a tile of tiles."""
        outputs = list(p.op.outputs)
        made = self.s.cache_write(outputs if len(outputs) > 1 else outputs[0], "local")
        core = (made[0] if isinstance(made, list) else made).op
        stage = self.s[p.op]
        axes = list(stage.op.axis)
        batch, tiles = axes[:-2], axes[-2:]
        sizes = [self.sizes(p, a) for a in p.op.axis[-2:]]
        levels = [self.cut(stage, a, size) for a, size in zip(tiles, sizes, strict=True)]
        stage.reorder(*batch, *(loops[k] for k in range(4) for loops in levels))
        names = "yx"[-len(levels) :]
        for k, tag in enumerate(("blockIdx.{}", "vthread", "threadIdx.{}")):
            for loops, name, size in zip(levels, names, sizes, strict=True):
                if tag != "vthread" or size[k] > 1:
                    bind(stage, loops[k], tag.format(name))
        if batch:
            bind(stage, stage.fuse(*batch) if len(batch) > 1 else batch[0], "blockIdx.z")
        self.s[core].compute_at(stage, levels[-1][2])
        block = self.summed(p, core)
        if self.chosen(p, "shared"):
            self.fetch(core, block, [size[2] for size in sizes])

    def sizes(self, p: Piece, a: IterVar) -> list[int]:
        return list(self.cfg[p.split(a)].size)

    def cut(self, stage: Any, axis: IterVar, size: Sequence[int]) -> list[IterVar]:
        """Loops with these lengths, the outermost one with what is left."""
        loops = []
        for inside in list(accumulate(size[:0:-1], lambda a, b: a * b))[::-1]:
            outer, axis = stage.split(axis, factor=inside)
            loops.append(outer)
        return [*loops, axis]

    def summed(self, p: Piece, core: Operation) -> IterVar:
        """The loops of a thread; the last one over blocks of what is summed."""
        stage = self.s[core]
        tile = list(stage.op.axis)
        pairs = [self.cut(stage, axis, self.sizes(p, own))
                 for own, axis in zip(p.op.reduce_axis, stage.op.reduce_axis, strict=True)]  # fmt: skip
        outer, inner = [a for a, _ in pairs], [b for _, b in pairs]
        stage.reorder(*outer, *inner, *tile)
        lengths = [self.sizes(p, a)[3] for a in p.op.axis[-2:]]
        if prod(lengths) > CODE:
            raise ScheduleError("generic-tile", f"the tile of a thread of {p.name} has more than {CODE} elements")
        if prod(lengths) <= self.chosen(p, "unroll"):
            for a in tile[-2:]:
                stage.unroll(a)
        return outer[-1]

    def fetch(self, core: Operation, block: IterVar, threads: Sequence[int]) -> None:
        """What is read, in shared memory: the threads of a block copy it together."""
        for t in dict.fromkeys(core.inputs):
            if not t.shape:
                continue
            stage = self.s[self.s.cache_read(t, "shared", [core])]
            stage.compute_at(self.s[core], block)
            axes = list(stage.op.axis)
            rest = stage.fuse(*axes) if len(axes) > 1 else axes[0]
            for n, name in zip(reversed(threads), "xy", strict=False):
                rest, thread = stage.split(rest, factor=n)
                bind(stage, thread, f"threadIdx.{name}")


def bind(stage: Any, axis: IterVar, tag: str) -> None:
    stage.bind(axis, thread_axis(tag))
