from __future__ import annotations

from ...core.node import DATA, REDUCE, IterVar
from ..guard import need_kind, need_leaf, need_unbound, rfactor_hint
from ..state import State
from . import StageIndex


def parallel(state: State, stage: StageIndex, var: IterVar) -> tuple[State, None]:
    """The loop's iterations run on several CPU threads at once.

        for i in range(n):           ->     for i in parallel(n):
            S(i)                                S(i)

    Refused: a reduction (its iterations update the same elements: a race), scan and opaque axes, a bound axis.
    """
    s = state.stages[stage]
    need_leaf(state, s, var, "parallelize", (DATA,))
    need_kind(
        state,
        s,
        var,
        (DATA,),
        "parallelize",
        "carries a reduction: its iterations would update the same element at once"
        if var.iter_type == REDUCE
        else "a scan: each iteration needs the one before",
        hint=rfactor_hint(state, s, var, "sum in parallel"),
    )
    need_unbound(state, s, var, "parallelize", (DATA,))
    return state.with_stage(s.with_mark(var, kind="parallel")), None
