from __future__ import annotations

from ...core.node import DATA, REDUCE, IterVar
from ..guard import name, need_kind, need_leaf, need_unbound
from ..state import State
from . import StageIndex


def parallel(state: State, stage: StageIndex, var: IterVar) -> tuple[State, None]:
    """The loop's iterations run on several CPU threads at once.

        for i in range(n):           ->     for i in parallel(n):
            S(i)                                S(i)

    Refused: a reduction (its iterations update the same elements: a race), scan and opaque axes, a bound axis.
    """
    s = state.stages[stage]
    need_leaf(state, s, var, "parallel")
    need_kind(
        state,
        s,
        var,
        (DATA,),
        "parallel",
        "carries a reduction: its iterations would update the same element at once"
        if var.iter_type == REDUCE
        else "a scan: each iteration needs the one before",
        hint=f"to sum in parallel, make partial sums first:  s.rfactor({s.name}, {name(state, var)})" if var.iter_type == REDUCE else "",
    )
    need_unbound(state, s, var, "parallel")
    return state.with_stage(s.with_mark(var, kind="parallel")), None
