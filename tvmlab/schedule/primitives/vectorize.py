from __future__ import annotations

from ...core.node import DATA, ORDERED, REDUCE, IterVar
from ..guard import need_kind, need_leaf, need_unbound, rfactor_hint
from ..state import State
from . import StageIndex

WHY = {
    REDUCE: "carries a reduction: its iterations all update the same element",
    ORDERED: "a scan: each iteration needs the one before",
}


def vectorize(state: State, stage: StageIndex, var: IterVar) -> tuple[State, None]:
    """The loop's iterations become the lanes of vector operations.

        for j in range(8):           ->     C[j:j + 8] = A[j:j + 8] + 1
            C[j] = A[j] + 1

    The extent must be constant when lowered. A guard that depends on the lane becomes a mask. Refused: reduction,
    scan, thread and opaque axes, a bound axis.
    """
    s = state.stages[stage]
    need_leaf(state, s, var, "vectorize", (DATA,))
    need_kind(
        state,
        s,
        var,
        (DATA,),
        "vectorize",
        WHY.get(var.iter_type, ""),
        hint=rfactor_hint(state, s, var, "vectorize a reduction"),
    )
    need_unbound(state, s, var, "vectorize", (DATA,))
    return state.with_stage(s.with_mark(var, kind="vectorized")), None
