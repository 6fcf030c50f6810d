"""Work on shared memory that threads of a block do all over again, because nobody shared it out: worth a remark.

    for threadIdx_x in thread("threadIdx.x", 77):
        for ax in range(64):                      all 77 threads fetch all of A.shared
            A_shared[ax] = A[ax]
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ..core.node import Load
from ..core.threads import BLOCK
from ..expr.tensor import ComputeOp
from ..schedule.scopes import rank
from ..schedule.state import Stage
from .bounds import Bounds, Domain

Threads = dict[str, int]  # tag -> how many, 0 where that is not a number


def remarks(bounds: Bounds) -> Iterator[str]:
    """Of each stage in shared memory that not all thread axes of its kernel share out."""
    for d in bounds.of.values():
        if rank(d.scope or "global") != 1 or not isinstance(d.stage.op, ComputeOp):
            continue
        if d.stage.predicate is not None or any(d.stage.mark(a).kind == "tensorized" for a in d.stage.leaves):
            continue  # a condition, or an intrinsic, may share out the work
        if all(not n.terms and n.const == 1 for n in d.sizes.values()):
            continue  # one element: there is nothing to share out
        idle = _idle(bounds, d)
        if idle:
            yield _said(d.stage, idle, len(_own(d.stage)) > 0)


def _own(stage: Stage) -> set[str]:
    """The thread axes that share out its loops."""
    return {t.thread_tag for a in stage.leaves if (t := stage.mark(a).thread) is not None}


def _idle(bounds: Bounds, d: Domain) -> Threads:
    """Thread axes of the kernel, of more than one thread, that no loop of the stage is bound to."""
    top, known, found = _top(bounds, d.stage), _own(d.stage), {}
    for other in bounds.of.values():
        if _top(bounds, other.stage) != top:
            continue
        for a in other.stage.leaves:
            thread = other.stage.mark(a).thread
            if thread is None or thread.thread_tag not in BLOCK:
                continue
            size = other.sizes[a]
            n = 0 if size.terms else size.const
            if n != 1 and thread.thread_tag not in known:
                found[thread.thread_tag] = n
    return {t: found[t] for t in BLOCK if t in found}


def _top(bounds: Bounds, stage: Stage) -> int:
    """The root stage that it is nested in."""
    while stage.attach.kind in ("at", "scan") and stage.attach.stage in bounds.table:
        stage = bounds.table[stage.attach.stage]
    return stage.index


def _said(stage: Stage, idle: Threads, partly: bool) -> str:
    """`all 77 threads of threadIdx.x fetch all of AA (A.shared): bind an axis of it to threadIdx.x, ...`"""
    many = "" if 0 in idle.values() else f"{prod(idle.values())} "
    tags = " and ".join(idle)
    does = "fetch" if isinstance(stage.op.body[0], Load) else "compute"
    what = "the same elements" if partly else "all"
    name = stage.name if stage.called == stage.name else f"{stage.called} ({stage.name})"
    return f"all {many}threads of {tags} {does} {what} of {name}: bind an axis of it to {tags}, to share that out"
