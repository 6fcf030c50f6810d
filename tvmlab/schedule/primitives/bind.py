from __future__ import annotations

from ...core.error import ScheduleError, ScheduleTypeError
from ...core.node import DATA, REDUCE, THREAD, IterVar
from ...core.threads import BLOCK
from ...core.warning import warn
from ..guard import loop_lines, named, need_kind, need_leaf, rfactor_hint, warn_lost
from ..scopes import is_virtual, thread_rank
from ..state import Stage, State
from . import StageIndex


def bind(state: State, stage: StageIndex, ivar: IterVar, thread_ivar: IterVar) -> tuple[State, None]:
    """The loop's iterations run on the threads of a thread axis, all at once.

        for i in range(256):         ->     for i in thread("threadIdx.x", 256):
            S(i)                                S(i)

    A reduction axis may be bound to `threadIdx`: the threads then reduce together. To bind an axis again, or one that
    was marked parallel, replaces what was said before, with a warning. Refused: a thread axis that is none, scan and
    opaque axes, a reduction on blocks or virtual threads, which cannot reduce together. Stages that share a thread
    axis must give it equal extents (checked when built).
    """
    s = state.stages[stage]
    need_leaf(state, s, ivar, "bind")
    if not isinstance(thread_ivar, IterVar) or thread_ivar.iter_type != THREAD:
        raise ScheduleTypeError(
            "not-a-thread",
            f"cannot bind {named(state, ivar)} in stage {s.name} to {getattr(thread_ivar, 'name', thread_ivar)!r}: "
            "it is no thread axis",
            hint='make one with te.thread_axis("threadIdx.x")',
        )
    need_kind(state, s, ivar, (DATA, REDUCE), "bind", "not a loop whose iterations can run at once")
    if ivar.iter_type == REDUCE:
        _need_together(state, s, ivar, thread_ivar.thread_tag)
    before = s.mark(ivar).thread
    if before is not None and before is not thread_ivar:
        change = f"was bound to {before.thread_tag}, now to {thread_ivar.thread_tag}"
        warn(f"{named(state, ivar)} of stage {s.name} {change}")
    warn_lost(state, s, [ivar], f"bound to {thread_ivar.thread_tag}")
    return state.with_stage(s.with_mark(ivar, thread=thread_ivar, kind="")), None


def _need_together(state: State, s: Stage, axis: IterVar, tag: str) -> None:
    """Only the threads of one block can reduce together."""
    if tag == "pipeline" or (thread_rank(tag) == 1 and not is_virtual(tag)):
        return
    raise ScheduleError(
        "bind-reduction",
        f"cannot bind {named(state, axis)} in stage {s.name} to {tag}",
        where=loop_lines(state, s, [axis], f"carries a reduction, and {_who(tag)} cannot reduce together"),
        legal=BLOCK,
        hint=rfactor_hint(state, s, axis, f"spread a reduction over {_who(tag)}"),
    )


def _who(tag: str) -> str:
    return "virtual threads" if is_virtual(tag) else "blocks"
