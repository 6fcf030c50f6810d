from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...core.affine import lin
from ...core.affine import to_expr as form_expr
from ...core.build import const
from ...core.error import ScheduleError, ScheduleTypeError
from ...core.node import DATA, IterVar, Range, Var
from ..guard import loop_lines, need_unbound, warn_lost
from ..layout import Layout
from ..state import Stage, State, Transform, is_compute
from . import StageIndex


def prepare(state: State, args: Mapping[str, Any]) -> dict[str, Any]:
    """The layout function is evaluated once, so that the step is plain data."""
    made = dict(args)
    if callable(made.get("layout")):
        s = state.stages[made["stage"]]
        names = [a.name for a in s.op.axis] or [f"i{k}" for k in range(s.op.output(0).ndim)]
        made["layout"] = Layout.of(made["layout"], names, s.name)
    elif not isinstance(made.get("layout"), Layout):
        name = state.stages[made["stage"]].name
        raise ScheduleTypeError(
            "not-a-layout",
            f"cannot transform the layout of {name} by {made.get('layout')!r}: it is no function",
            hint="give a function of the indices: lambda i, j: [j, i]",
        )
    return made


def transform_layout(state: State, stage: StageIndex, layout: Any) -> tuple[State, Any]:
    """The stage's result is stored in another layout; its loops follow it. Returns the new loops.

        for i in range(1024):               for p in range(74):                     # lambda i, k: [i//14, k, i%14]
            for k in range(1024):    ->         for k in range(1024):
                B[i, k] = A[i, k]                   for r in range(14):
                                                        if p*14 + r < 1024: B[p, k, r] = A[p*14 + r, k]

    Every reader follows. An argument's array must be passed in the new layout. Refused: a layout that cannot be
    inverted, loops that were already split, fused, reordered or bound, an aligned result, a scan's or an extern's.
    """
    s = state.stages[stage]
    if s.layout is not None:
        raise ScheduleError("layout-twice", f"transform_layout of {s.name}: its layout was changed before")
    _check(state, s)
    layout.check([lin(n) for n in s.op.output(0).shape])
    if not is_compute(s):
        return state.with_stage(replace(s, layout=layout)), None
    originals = s.op.axis
    if s.leaves[: len(originals)] != originals:
        raise ScheduleError(
            "layout-scheduled",
            f"cannot transform the layout of {s.name}: its data loops were already split, fused or reordered",
            where=loop_lines(state, s),
            hint="call transform_layout before the other steps on this stage",
        )
    for a in originals:
        need_unbound(state, s, a, "transform the layout of")
    warn_lost(state, s, originals, "replaced")
    axes = _axes(s, layout)
    s = s.with_leaf(originals, axes, Transform(originals, axes, layout))
    return state.with_stage(replace(s, layout=layout)), axes


def _check(state: State, s: Stage) -> None:
    """Whose memory may be in another order?"""
    states = {t for x in state.in_order for t in getattr(x.op, "state_placeholder", ())}
    if s.op.kind in ("scan", "extern") or s.attach.kind == "scan" or states & set(s.op.outputs):
        extern = s.op.kind == "extern"
        why = "an extern statement made its memory" if extern else "it is in the memory of a scan's states"
        raise ScheduleError("layout-fixed", f"cannot transform the layout of {s.name}: {why}, whose layout is fixed")
    if s.align:
        raise ScheduleError(
            "layout-aligned",
            f"cannot transform the layout of {s.name}: storage_align has set its strides",
            hint="call transform_layout first, then align the new dimensions",
        )


def _axes(s: Stage, layout: Layout) -> tuple[IterVar, ...]:
    extents = layout.extents([lin(a.dom.extent) for a in s.op.axis if a.dom is not None])
    names = [e.name if isinstance(e, Var) else f"axis{k}" for k, e in enumerate(layout.outputs)]
    made = []
    for name, extent in zip(names, extents, strict=True):
        made.append(IterVar(Range(const(0), form_expr(extent)), Var(name), DATA))
    return tuple(made)
