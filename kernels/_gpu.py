"""What GPU schedules share: launches, tiles that the threads of a block fetch together, sums across threads.

One schedule serves every GPU target; what differs between devices is how large its tiles are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvmlab import te

from . import _shared

BLOCK = 256  # threads of a block where nothing else decides
WARP = 32
LANES = 4  # float4: the widest access of one thread
SHARED = 32 << 10  # bytes of shared memory that a block may take, so that others fit beside it
BYTES = 4  # of an element, for such estimates


def bind(stage: Any, axis: Any, tag: str) -> None:
    """`axis` runs on blockIdx.x, threadIdx.y, vthread, ..."""
    stage.bind(axis, te.thread_axis(tag))


def flat(stage: Any, threads: int = BLOCK) -> None:
    """All data loops as one, `threads` elements to a block; sums run inside the thread."""
    block, thread = stage.split(stage.fuse(*stage.op.axis), factor=threads)
    bind(stage, block, "blockIdx.x")
    bind(stage, thread, "threadIdx.x")


def lanes(*extents: Any) -> int:
    """4 where all of these are divisible by it: then rows begin where a vector may."""
    return LANES if all(_shared.constant(n, 1) % LANES == 0 for n in extents) else 1


def fetch(s: Any, tensor: Any, reader: Any, at: Any, x: int, y: int = 1, wide: int = 1) -> None:
    """All x * y threads copy the tile `tensor` (in shared memory) together, `wide` elements each at a time."""
    stage = s[tensor]
    stage.compute_at(s[reader], at)
    rest, lane = stage.split(stage.fuse(*stage.op.axis), factor=wide)
    rest, tx = stage.split(rest, factor=x)
    _, ty = stage.split(rest, factor=y)
    bind(stage, ty, "threadIdx.y")
    bind(stage, tx, "threadIdx.x")
    if wide > 1:
        stage.vectorize(lane)


def schedule(outs: Any, plan: Callable[[Any, Any], None], wanted: Callable[[Any], bool]) -> Any:
    """A schedule in which `plan(s, op)` takes care of the operations `wanted`; the rest is inlined, or a kernel."""
    tensors = _shared.as_outputs(outs)
    s = te.create_schedule([t.op for t in tensors])
    ends = {t.op for t in tensors}
    order = _shared.operations(tensors)
    mine = [op for op in order if wanted(op)]
    for op in order:
        if op in mine or not isinstance(op, te.ComputeOp):
            continue
        if op not in ends and _shared.worth_repeating(op, readers(order, op)):
            s[op].compute_inline()
        else:
            flat(s[op])
    for op in mine:
        plan(s, op)
    return s


def readers(order: Sequence[Any], op: Any) -> list[Any]:
    return [r for r in order if op in [t.op for t in r.input_tensors]]


def across(s: Any, op: Any, threads: int = WARP) -> None:
    """One block for each output: its threads take the elements in turn, then add up what they have.

    The innermost reduction loop is split over threadIdx.x; the others stay in the thread.
    """
    stage = s[op]
    if stage.op.axis:
        bind(stage, stage.fuse(*stage.op.axis), "blockIdx.x")
    in_turn(stage, stage.op.reduce_axis[-1], threads)


def in_turn(stage: Any, axis: Any, threads: int) -> None:
    """Every thread has one of each `threads` iterations: neighbours read side by side."""
    _, thread = stage.split(axis, factor=threads)
    bind(stage, thread, "threadIdx.x")


def threads_along(length: int) -> int:
    """How many threads share out so many elements: whole warps, twice as many wherever each would have four."""
    threads = WARP
    while threads < BLOCK and threads * 4 <= length:
        threads *= 2
    return threads


def inline_padding(s: Any, tensor: Any) -> None:
    """A padding stage is computed where it is read: it is a comparison or two."""
    if isinstance(tensor.op, te.ComputeOp) and tensor.op.tag.endswith("pad"):
        s[tensor].compute_inline()
