from __future__ import annotations

from ...core.node import DATA, THREAD, IterVar
from ..guard import need_kind, need_leaf
from ..state import State
from . import StageIndex


def parallel(state: State, stage: StageIndex, var: IterVar) -> tuple[State, None]:
    """The loop's iterations run on several CPU threads at once.

        for i in range(n):           ->     for i in parallel(n):
            S(i)                                S(i)

    Refused: a reduction (its iterations update the same elements: a race), scan and opaque axes.
    """
    s = state.stages[stage]
    need_leaf(state, s, var, "parallel")
    need_kind(
        s,
        var,
        (DATA, THREAD),
        "parallel",
        "carries a reduction: its iterations would update the same element at once" if var.iter_type == 2 else "ordered",
        hint=f"to sum in parallel, make partial sums first:  s.rfactor({s.name}, {var.name})" if var.iter_type == 2 else "",
    )
    return state.with_stage(s.with_mark(var, kind="parallel")), None
