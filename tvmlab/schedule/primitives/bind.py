from __future__ import annotations

from ...core.error import ScheduleTypeError
from ...core.node import DATA, REDUCE, THREAD, IterVar
from ..guard import need_kind, need_leaf
from ..state import State
from . import StageIndex


def bind(state: State, stage: StageIndex, ivar: IterVar, thread_ivar: IterVar) -> tuple[State, None]:
    """The loop's iterations run on the threads of a thread axis, all at once.

        for i in range(256):         ->     for i in thread("threadIdx.x", 256):
            S(i)                                S(i)

    A reduction axis may be bound to `threadIdx`: the threads then reduce together. Refused: a thread axis that is
    none, scan and opaque axes. Stages that share a thread axis must give it equal extents (checked when built).
    """
    s = state.stages[stage]
    need_leaf(state, s, ivar, "bind")
    if not isinstance(thread_ivar, IterVar) or thread_ivar.iter_type != THREAD:
        raise ScheduleTypeError(
            "not-a-thread",
            f"cannot bind `{ivar.name}` in stage {s.name} to {getattr(thread_ivar, 'name', thread_ivar)!r}: it is no thread axis",
            hint='make one with te.thread_axis("threadIdx.x")',
        )
    need_kind(s, ivar, (DATA, REDUCE), "bind", "not a loop whose iterations can run at once")
    return state.with_stage(s.with_mark(ivar, thread=thread_ivar)), None
