from __future__ import annotations

from ...core.node import DATA, IterVar
from ..guard import need_kind, need_leaf
from ..state import State
from . import StageIndex

WHY = {
    2: "carries a reduction: its iterations all update the same element",
    3: "a scan: each iteration needs the one before",
    1: "a thread axis",
    4: "opaque",
}


def vectorize(state: State, stage: StageIndex, var: IterVar) -> tuple[State, None]:
    """The loop's iterations become the lanes of vector operations.

        for j in range(8):           ->     C[j:j + 8] = A[j:j + 8] + 1
            C[j] = A[j] + 1

    The extent must be constant when lowered. A guard that depends on the lane becomes a mask. Refused: reduction,
    scan, thread and opaque axes.
    """
    s = state.stages[stage]
    need_leaf(state, s, var, "vectorize")
    need_kind(
        s,
        var,
        (DATA,),
        "vectorize",
        WHY.get(var.iter_type, ""),
        hint=f"to vectorize a reduction, make partial sums first:  s.rfactor({s.name}, {var.name})" if var.iter_type == 2 else "",
    )
    return state.with_stage(s.with_mark(var, kind="vectorized")), None
