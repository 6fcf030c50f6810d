from __future__ import annotations

from dataclasses import replace

from ...core.affine import lin
from ...core.node import DATA, IterVar, Range, Var
from ...core.build import const
from ..state import Rebase, Singleton, Stage, State, is_compute


def normalize(state: State) -> tuple[State, None]:
    """Loops that start at 0, and one loop at least: what lowering does by itself, made visible.

        for k in range(10, n):                  for k in range(n - 10):
            S(k)                       ->           S(k + 10)

    A stage without loops gets a `singleton` of one iteration.
    """
    for stage in state.in_order:
        if is_compute(stage) and stage.attach.kind != "inline":
            state = state.with_stage(_rebased(stage))
    return state, None


def _rebased(stage: Stage) -> Stage:
    if not stage.leaves:
        one = IterVar(Range(const(0), const(1)), Var("singleton", "int32"), DATA)
        return stage.with_leaf([], [one], Singleton(one))
    for axis in [a for a in stage.root_axes if a in stage.leaves and a.dom is not None and stage.mark(a).thread is None]:
        lo = lin(axis.dom.min)  # type: ignore[union-attr]
        if lo.terms or lo.const:
            domain = Range(const(0, axis.dtype), axis.dom.extent)  # type: ignore[union-attr]
            moved = IterVar(domain, Var(axis.name, axis.dtype), axis.iter_type)
            marks = {moved if a is axis else a: m for a, m in stage.marks.items()}
            stage = replace(stage.with_leaf([axis], [moved], Rebase(axis, moved)), marks=marks)
    return stage
