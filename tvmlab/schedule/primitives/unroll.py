from __future__ import annotations

from ...core.node import IterVar
from ..guard import need_leaf, need_unbound
from ..state import State
from . import StageIndex


def unroll(state: State, stage: StageIndex, var: IterVar) -> tuple[State, None]:
    """The loop is written out.

        for k in range(3):           ->     S(0); S(1); S(2)
            S(k)

    A mark until code is generated, so the printed loops stay short. The extent must be constant when
    lowered. Refused: a bound axis.
    """
    s = state.stages[stage]
    need_leaf(state, s, var, "unroll")
    need_unbound(state, s, var, "unroll")
    return state.with_stage(s.with_mark(var, kind="unrolled")), None
