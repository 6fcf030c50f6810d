"""What a schedule implies, under the classic names: `te.schedule.InferBound(s)`, `AutoInlineInjective(s)`, read graphs.

(Release 0.6: `tvm.schedule`.)
"""

# ruff: noqa: N802, F401
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ..core.affine import to_expr
from ..core.build import const
from ..core.error import MissingName
from ..core.node import Buffer, Const, Expr, IterVar, Load, Range, Stmt, Var
from ..core.walk import substitute, walk
from ..expr.scan import ScanOp
from ..expr.tensor import ComputeOp, Operation, PlaceholderOp, Tensor, post_order
from ..lowering import pipeline
from ..lowering.bounds import ranges
from ..schedule.state import Fuse, Rebase, Singleton, Split, Transform
from .handle import Schedule, StageHandle, create_schedule

Stage = StageHandle

__all__ = [
    "AutoInlineBroadcast", "AutoInlineElemWise", "AutoInlineInjective", "Buffer", "CreateAttachPath", "CreateReadGraph",
    "Fuse", "GetSubGraph", "InferBound", "IterVar", "PostDFSOrder", "Rebase", "ScanFixPointAnalysis", "ScanGetBody",
    "Schedule", "ScheduleOps", "Singleton", "Split", "Stage", "Transform", "create_schedule",
]  # fmt: skip


def InferBound(sch: Schedule) -> dict[IterVar, Range]:
    """The range of every axis that gets a loop, or that a loop is derived from."""
    return ranges(sch.state)


def ScheduleOps(sch: Schedule, bounds: Any = None, debug_keep_trivial_loop: bool = False) -> Stmt:
    """The loop nest before any pass."""
    ends = [t for s in sch.state.in_order if s.is_output or isinstance(s.op, PlaceholderOp) for t in s.op.outputs]
    states = {t for s in sch.state.in_order for t in getattr(s.op, "state_placeholder", ())}
    return pipeline.loops(sch.state, [t for t in ends if t not in states]).body


# ---------------------------------------------------------------- inlining by kind


def AutoInlineElemWise(sch: Schedule) -> None:
    """Inline every compute whose reads are at exactly its own axes, in order."""
    _inline(sch, lambda op, x: list(x.indices) == [a.var for a in op.axis])


def AutoInlineBroadcast(sch: Schedule) -> None:
    """Inline every compute that reads at some of its axes in order, or at constants."""
    _inline(sch, _broadcasts)


def AutoInlineInjective(sch: Schedule) -> None:
    """Inline every compute that is no reduction."""
    _inline(sch, lambda op, x: True)


def _broadcasts(op: ComputeOp, x: Load) -> bool:
    own: dict[Any, int] = {a.var: k for k, a in enumerate(op.axis)}
    places = [own.get(i, -1) for i in x.indices if not isinstance(i, Const)]
    return -1 not in places and places == sorted(set(places))


def _inline(sch: Schedule, fits: Any) -> None:
    for stage in sch.state.in_order:
        op = stage.op
        if stage.is_output or not isinstance(op, ComputeOp) or op.is_reduction or len(op.outputs) > 1:
            continue
        if stage.attach.kind == "root" and not stage.relations and all(fits(op, x) for b in op.body for x in _reads(b)):
            sch[op].compute_inline()


def _reads(e: Expr) -> Iterable[Load]:
    return (x for x in walk(e) if isinstance(x, Load))


# ---------------------------------------------------------------- graphs


def CreateReadGraph(ops: Sequence[Operation]) -> dict[Operation, list[Tensor]]:
    """Each operation that the given ones depend on -> the tensors it reads."""
    return {op: list(op.inputs) for op in post_order(list(ops))}


def PostDFSOrder(ops: Sequence[Operation], graph: Any = None) -> list[Operation]:
    """The operations, producers first."""
    return post_order(list(ops))


def GetSubGraph(outputs: Sequence[Tensor], inputs: Sequence[Tensor], include_inputs: bool = False) -> list[Operation]:
    """The operations between inputs and outputs."""
    ends = {t.op for t in inputs}
    between: dict[Operation, bool] = {}

    def depends(op: Operation) -> bool:
        if op not in between:
            between[op] = op in ends or any([depends(t.op) for t in op.inputs])  # noqa: C419
        return between[op]

    found = [op for op in post_order([t.op for t in outputs]) if depends(op)]
    return [op for op in found if include_inputs or op not in ends]


def CreateAttachPath(sch: Schedule) -> dict[Operation, list[IterVar]]:
    """Each operation -> the loops it is computed in, innermost first."""
    state = sch.state
    found = {}
    for stage in state.in_order:
        path: list[IterVar] = []
        at = state.attach_of(stage)
        while at.axis is not None:
            parent = state.stages[at.stage]
            own = [at.axis] if at.axis not in parent.leaves else parent.leaves[: parent.leaves.index(at.axis) + 1]
            path += reversed(own)
            at = state.attach_of(parent)
        found[stage.op] = path
    return found


def ScanGetBody(scan: ScanOp) -> list[Operation]:
    """The operations of a scan's step: those between its states and its updates, and itself."""
    depends: dict[Operation, bool] = {t.op: True for t in scan.state_placeholder}
    found: list[Operation] = []

    def visit(op: Operation) -> bool:
        if op not in depends:
            depends[op] = False
            depends[op] = any([visit(t.op) for t in op.inputs])  # noqa: C419
            if depends[op]:
                found.append(op)
        return depends[op]

    for t in scan.updates:
        visit(t.op)
    return [*dict.fromkeys([*found, *(t.op for t in scan.updates)]), scan]


def ScanFixPointAnalysis(scan: ScanOp) -> dict[IterVar, Expr]:
    """Each spatial axis of a scan -> 1 if it never mixes: state t at index i depends on earlier states at i only."""
    names: dict[IterVar, tuple[int, int]] = {}
    rest = list(scan.axis[1:])
    for n, state in enumerate(scan.state_placeholder):
        for k in range(1, state.ndim):
            names[rest.pop(0)] = (n, k)
    return {a: const(int(_fixed(scan, n, k))) for a, (n, k) in names.items()}


def _fixed(scan: ScanOp, n: int, k: int) -> bool:
    """Follow dimension k of update n through the step's operations: it must reach the states as dimension k again."""
    seen: set[tuple[Any, int]] = set()
    todo: list[tuple[Any, int]] = [(scan.updates[n], k)]
    states = {t: i for i, t in enumerate(scan.state_placeholder)}
    body = set(ScanGetBody(scan))
    while todo:
        tensor, dim = todo.pop()
        if (tensor, dim) in seen:
            continue
        seen.add((tensor, dim))
        op = tensor.op
        if not isinstance(op, ComputeOp):
            return False
        v = op.axis[dim].var
        for x in _reads(op.body[tensor.value_index]):
            if x.buffer not in states and x.buffer.op not in body:
                continue
            places = [p for p, i in enumerate(x.indices) if i is v]
            if len(places) != 1 or any(v in walk(i) for p, i in enumerate(x.indices) if p != places[0]):
                return False
            if x.buffer not in states:
                todo.append((x.buffer, places[0]))
            elif (places[0], states[x.buffer]) != (k, n):
                return False
    return True


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from difflib import get_close_matches

    close = get_close_matches(name, __all__, 4) or __all__
    raise MissingName("unknown-name", f"there is no te.schedule.{name}", legal=[f"te.schedule.{n}" for n in close])
