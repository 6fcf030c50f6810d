from __future__ import annotations

from collections.abc import Sequence

from ...core.node import IterVar
from ...core.threads import BLOCK, GRID
from ...schedule.state import Stage, State
from ..moves import thread
from . import Steps, Value, data_loops, need_plain, reductions, reorder, split

LABEL = "GPU two-level tile"
VALUES = (Value("threads", "threads each way", 16), Value("each", "elements of a thread, each way", 4))


def steps(state: State, stage: Stage, threads: int, each: int) -> Steps:
    """Blocks of threads share out the result; each thread computes a small tile of it.

        for i:                   ->     for by, bx in blockIdx, for ty, tx in threadIdx:
            for j: S(i, j)                  for ii in range(each):
                                                for ji in range(each): S(...)

    A stage with one data loop gets one dimension of blocks and threads.
    """
    data = data_loops(state, stage, 1, LABEL)[-2:]
    need_plain(state, stage, stage.leaves, LABEL)
    blocks: list[IterVar] = []
    groups: list[IterVar] = []
    inner: list[IterVar] = []
    for a in data:
        (block, rest), _ = yield split(stage, a, threads * each)
        (group, own), _ = yield split(stage, rest, each)
        blocks, groups, inner = [*blocks, block], [*groups, group], [*inner, own]
    yield reorder(stage, *blocks, *groups, *reductions(state, stage), *inner)
    for tags, axes in ((GRID, blocks), (BLOCK, groups)):
        yield from _bound(state, stage, tags, axes)


def _bound(state: State, stage: Stage, tags: Sequence[str], axes: Sequence[IterVar]) -> Steps:
    """The innermost loop is x: neighbouring threads then touch neighbouring elements."""
    for a, tag in zip(axes, reversed(tags[: len(axes)]), strict=True):
        yield "bind", {"stage": stage.index, "ivar": a, "thread_ivar": thread(state, tag)}
