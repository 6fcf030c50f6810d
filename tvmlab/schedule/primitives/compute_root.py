from __future__ import annotations

from dataclasses import replace

from ..guard import need_movable
from ..state import ROOT, State
from . import StageIndex


def compute_root(state: State, stage: StageIndex) -> tuple[State, None]:
    """The stage is computed whole, before its consumers: undoes compute_at and compute_inline."""
    s = state.stages[stage]
    need_movable(state, s, "move")
    return state.with_stage(replace(s, attach=ROOT)), None
