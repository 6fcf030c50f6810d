"""A state made ready for lowering: inlined bodies substituted, attach points moved to loops that still exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..core.node import Expr, IterVar
from ..expr.tensor import ComputeOp, Tensor
from ..schedule.state import Attach, Fuse, Rebase, Split, Stage, State
from .crossthread import threads_first
from .inline import inline


@dataclass(frozen=True, eq=False)
class Ready:
    """The stages that get loops, producers first; `home`: the stage index of each tensor; `bodies` after inlining."""

    state: State
    stages: tuple[Stage, ...]
    home: Mapping[Any, int]
    bodies: Mapping[int, tuple[Expr, ...]]
    remarks: tuple[str, ...]

    def __getitem__(self, index: int) -> Stage:
        return self._table[index]

    @property
    def _table(self) -> dict[int, Stage]:
        return {s.index: s for s in self.stages}


def normalise(state: State) -> Ready:
    """Substitute inlined stages into their readers; repair attach points that were split or fused since."""
    inlined: dict[Tensor, ComputeOp] = {}
    bodies: dict[int, tuple[Expr, ...]] = {}
    home: dict[Any, int] = {}
    kept: list[Stage] = []
    remarks: list[str] = []
    opaque = {t for s in state.in_order if not isinstance(s.op, ComputeOp) for t in s.op.inputs}
    for stage in state.in_order:
        op = stage.op
        home.update(dict.fromkeys(op.outputs, stage.index))
        if stage.attach.kind == "inline":
            if op.outputs[0] not in opaque:
                inlined[op.outputs[0]] = op  # type: ignore[assignment]
                continue
            remarks.append(f"{stage.name} is read by an operation that is no te.compute: it stays at the root")
            stage = replace(stage, attach=Attach())
        if isinstance(op, ComputeOp):
            bodies[stage.index] = inline(op, inlined) if inlined else op.body
        place = state.attach_of(stage)
        kept.append(stage if place is stage.attach else replace(stage, attach=place))
    table = {s.index: s for s in kept}
    for scan in [s for s in kept if s.op.kind == "scan"]:
        for index in cell(scan.op, home, table):
            if table[index].attach.kind == "root":  # the stages of a scan's cell run inside its loop
                table[index] = replace(table[index], attach=Attach("at", scan.index, scan.op.axis[0]))
    kept = list(table.values())
    return Ready(state, tuple(threads_first(_repair(s, table)) for s in kept), home, bodies, tuple(remarks))


def _repair(stage: Stage, table: Mapping[int, Stage]) -> Stage:
    at = stage.attach
    if at.kind not in ("at", "scan") or at.stage not in table or at.axis is None:
        return stage
    axis = current(table[at.stage], at.axis)
    return stage if axis is at.axis else replace(stage, attach=replace(at, axis=axis))


def current(parent: Stage, axis: IterVar) -> IterVar:
    """An attach axis split since is its inner child, one fused as the inner part the fused axis."""
    moved = True
    while axis not in parent.leaves and moved:
        moved = False
        for r in parent.relations:
            if isinstance(r, Split) and r.parent is axis:
                axis, moved = r.inner, True
            elif isinstance(r, Fuse) and r.inner is axis:
                axis, moved = r.fused, True
            elif isinstance(r, Rebase) and r.parent is axis:
                axis, moved = r.rebased, True
    return axis


def cell(scan: Any, home: Mapping[Any, int], table: Mapping[int, Stage]) -> list[int]:
    """The stages between a scan's states and its updates, updates left out: those that depend on a state."""
    depends: dict[Any, bool] = dict.fromkeys(scan.state_placeholder, True)
    found: dict[int, None] = {}
    updates = {t.op for t in scan.updates}

    def visit(t: Any) -> bool:
        if t not in depends:
            depends[t] = False
            below = [visit(x) for x in t.op.inputs]  # each of them: visiting notes what it finds
            depends[t] = any(below)
            if depends[t] and t.op not in updates and home.get(t) in table:
                found[home[t]] = None
        return depends[t]

    for t in scan.updates:
        visit(t)
    return list(found)
