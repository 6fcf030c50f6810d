from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...core.build import as_bool
from ..state import State
from . import StageIndex


def set_store_predicate(state: State, stage: StageIndex, predicate: Any) -> tuple[State, None]:
    """The stage stores only where the condition holds, over thread variables: `threadIdx.x == 0`.

        for tx in thread("threadIdx.x", 32):   ->   for tx in thread("threadIdx.x", 32):
            B[0] = ...                                  if tx == 0: B[0] = ...
    """
    return state.with_stage(replace(state.stages[stage], predicate=as_bool(predicate))), None
