from __future__ import annotations

from typing import Any

from ...core.error import ScheduleTypeError
from ...core.node import DATA, REDUCE, IterVar
from ..guard import named, need_kind, need_leaf, need_unbound
from ..state import State
from . import StageIndex


def tensorize(state: State, stage: StageIndex, var: IterVar, tensor_intrin: Any) -> tuple[State, None]:
    """Everything inside the loop `var` (it included) becomes one call of a tensor intrinsic.

        for ii in range(16):
            for ki in range(16):     ->     gemv_16(C[io*16], A[io*16, ko*16], x[ko*16])
                C[..] += A[..] * x[..]

    The computation must match the intrinsic's declaration (checked when lowered). Refused: what is no intrinsic,
    a bound axis.
    """
    s = state.stages[stage]
    need_leaf(state, s, var, "tensorize")
    need_kind(state, s, var, (DATA, REDUCE), "tensorize", "not a loop that an intrinsic can replace")
    if not hasattr(tensor_intrin, "op"):
        raise ScheduleTypeError(
            "not-an-intrinsic",
            f"cannot tensorize {named(state, var)} in stage {s.name} with {tensor_intrin!r}: it is no tensor intrinsic",
            hint="declare one with te.decl_tensor_intrin",
        )
    need_unbound(state, s, var, "tensorize")
    return state.with_stage(s.with_mark(var, kind="tensorized", intrin=tensor_intrin)), None
