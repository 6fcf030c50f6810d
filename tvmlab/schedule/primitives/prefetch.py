from __future__ import annotations

from typing import Any

from ...core.build import to_expr
from ...core.node import IterVar
from ...expr.tensor import Tensor
from ..guard import need_integer, need_leaf
from ..state import State
from . import StageIndex


def prefetch(state: State, stage: StageIndex, tensor: Tensor, var: IterVar, offset: Any) -> tuple[State, None]:
    """At each iteration of `var`, fetch into the cache what iteration `var + offset` will read of the tensor.

        for i in range(n):           ->     for i in range(n):
            S(i)                                prefetch(A, <region read at i + offset>)
                                                S(i)
    """
    s = state.stages[stage]
    need_leaf(state, s, var, "prefetch at")
    state.stage_of(tensor)
    distance = to_expr(offset)
    need_integer(s, var, distance, "the offset of a prefetch")
    found = (*s.mark(var).prefetches, (tensor, distance))
    return state.with_stage(s.with_mark(var, prefetches=found)), None
