from __future__ import annotations

from typing import Any

from ...core.affine import simplify
from ...core.build import binary, is_const, to_expr
from ...core.error import ScheduleValueError
from ...core.node import DATA, ORDERED, REDUCE, Expr, IterVar, Range, Var
from ..guard import name, named, need_kind, need_leaf, need_positive, need_unbound, warn_lost
from ..state import Split, State
from . import StageIndex

SPLITTABLE = (DATA, REDUCE, ORDERED)


def split(
    state: State, stage: StageIndex, parent: IterVar, factor: Any = None, nparts: Any = None
) -> tuple[State, tuple[IterVar, IterVar]]:
    """One loop becomes two: by `factor` (the inner extent) or `nparts` (the outer extent).

        for i in range(n):                  for i_outer in range(ceildiv(n, factor)):
            S(i)                     ->         for i_inner in range(factor):
                                                    if i_outer*factor + i_inner < n:
                                                        S(i_outer*factor + i_inner)

    The guard disappears where the factor divides the extent. A factor above the extent is clamped to it. Both loops
    keep the type of the axis. Refused: both or neither of factor and nparts, one that is not positive, an axis that
    is no loop of the stage any more, a thread or opaque axis, a bound axis.
    """
    s = state.stages[stage]
    if (factor is None) == (nparts is None):
        raise ScheduleValueError(
            "factor-or-nparts",
            f"splitting `{name(state, parent) if isinstance(parent, IterVar) else parent}` needs either `factor` (the "
            "inner extent) or `nparts` (the outer extent)",
        )
    need_leaf(state, s, parent, "split")
    need_kind(state, s, parent, SPLITTABLE, "split", "not a loop that can be split")
    what = "factor" if nparts is None else "nparts"
    refusal = f"cannot split {named(state, parent)} in stage {s.name}: {what}"
    size = need_positive(factor if nparts is None else nparts, refusal)
    need_unbound(state, s, parent, "split")
    warn_lost(state, s, [parent], "split")
    outer, inner = children(parent, size, nparts is not None)
    relation = Split(parent, outer, inner, size if nparts is None else None, size if nparts is not None else None)
    return state.with_stage(s.with_leaf([parent], [outer, inner], relation)), (outer, inner)


def children(parent: IterVar, size: Expr, outermost: bool) -> tuple[IterVar, IterVar]:
    """The two axes; their domains are what the declared shape gives (lowering infers the real ones)."""
    extent = parent.dom.extent if parent.dom is not None else None
    size = to_expr(size, parent.dtype)
    other = None if extent is None else ceildiv(extent, size)
    small = size
    if extent is not None and is_const(extent) and is_const(size):
        small = extent if 0 < extent.value < size.value else size  # type: ignore[attr-defined]
    first, second = (small, other) if outermost else (other, small)
    return _axis(parent, "outer", first), _axis(parent, "inner", second)


def ceildiv(a: Expr, b: Expr) -> Expr:
    return simplify(binary("//", binary("-", binary("+", a, b), 1), b))


def _axis(parent: IterVar, which: str, extent: Expr | None) -> IterVar:
    dom = None if extent is None else Range(to_expr(0, parent.dtype), extent)
    return IterVar(dom, Var(f"{parent.name}.{which}", parent.dtype), parent.iter_type)
