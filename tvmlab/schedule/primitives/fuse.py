from __future__ import annotations

from ...core import dtype as dt
from ...core.affine import simplify
from ...core.build import binary, const
from ...core.error import ScheduleError
from ...core.node import DATA, ORDERED, REDUCE, IterVar, Range, Var
from ..guard import loop_lines, named, need_kind, need_leaf, need_unbound, warn_lost
from ..state import Fuse, Singleton, Stage, State
from . import StageIndex


def fuse(state: State, stage: StageIndex, *axes: IterVar) -> tuple[State, IterVar]:
    """Neighbouring loops become one.

        for i in range(n):                  for f in range(n*m):
            for j in range(m):       ->         S(f//m, f%m)
                S(i, j)

    No axis: a loop of one iteration, outermost. One axis: itself. More than two are fused from the left. Refused:
    loops that are not neighbours, thread or opaque axes, bound axes.
    """
    s = state.stages[stage]
    if not axes:
        one = IterVar(Range(const(0), const(1)), Var("singleton"), DATA)
        return state.with_stage(s.with_leaf([], [one], Singleton(one))), one
    for a in axes:
        need_leaf(state, s, a, "fuse")
        need_kind(state, s, a, (DATA, REDUCE, ORDERED), "fuse", "not a loop that can be fused")
    if len(axes) > 1:
        for a in axes:
            need_unbound(state, s, a, "fuse")
        warn_lost(state, s, axes, "fused")
    fused = axes[0]
    for a in axes[1:]:
        s, fused = _pair(state, s, fused, a)
    return state.with_stage(s), fused


def _pair(state: State, s: Stage, first: IterVar, second: IterVar) -> tuple[Stage, IterVar]:
    if first is second:
        message = f"cannot fuse {named(state, first)} with itself: fusing needs two different loops"
        raise ScheduleError("fuse-same", message)
    at, to = s.leaves.index(first), s.leaves.index(second)
    outer, inner = (second, first) if to == at - 1 else (first, second)
    if abs(to - at) != 1:
        raise ScheduleError(
            "fuse-apart",
            f"cannot fuse {named(state, first)} and {named(state, second)} in stage {s.name}: they are not neighbours",
            where=loop_lines(state, s, [first, second], "these two"),
            hint=f"bring them together first: s[{s.called}].reorder(...)",
        )
    both = outer.dom is not None and inner.dom is not None
    dtype = dt.promote(outer.dtype, inner.dtype)
    extent = simplify(binary("*", outer.dom.extent, inner.dom.extent)) if both else None  # type: ignore[union-attr]
    dom = None if extent is None else Range(const(0, dtype), extent)
    kind = max(outer.iter_type, inner.iter_type)
    fused = IterVar(dom, Var(f"{first.name}.{second.name}.fused", dtype), kind)
    return s.with_leaf([outer, inner], [fused], Fuse(outer, inner, fused)), fused
