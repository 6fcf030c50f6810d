from __future__ import annotations

from typing import Any

from ...core.node import IterVar
from ..guard import need_leaf
from ..state import State
from . import StageIndex
from .unroll import unroll
from .vectorize import vectorize


def pragma(
    state: State, stage: StageIndex, var: IterVar, pragma_type: str, pragma_value: Any = None
) -> tuple[State, None]:
    """A note on a loop for later passes: `auto_unroll_max_step`, `unroll_explicit`, ... ; a comment in the loops.

    `import_llvm` brings LLVM IR, as text, whose functions call_extern can name; `import_c` C code (it needs clang).
    `unroll` and `vectorize` do what the primitives of that name do.
    """
    if pragma_type == "unroll":
        return unroll(state, stage, var)
    if pragma_type == "vectorize":
        return vectorize(state, stage, var)
    s = state.stages[stage]
    need_leaf(state, s, var, "mark")
    notes = (*s.mark(var).pragmas, (pragma_type, pragma_value))
    return state.with_stage(s.with_mark(var, pragmas=notes)), None
