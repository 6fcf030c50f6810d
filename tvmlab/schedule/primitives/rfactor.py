from __future__ import annotations

from dataclasses import replace as change
from typing import Any

from ...core.affine import Lin, lin, to_expr, var
from ...core.build import all_, binary, const, is_const
from ...core.error import ScheduleError
from ...core.node import DATA, REDUCE, Expr, IterVar, Load, Range, Reduce, Var
from ...core.walk import constant, substitute
from ...core.warning import warn
from ...expr.tensor import ComputeOp, Tensor, axis_of
from .. import relations as rel
from ..guard import loops, name, named, need, need_compute, need_integer, need_leaf, need_movable
from ..state import PLAIN, Stage, State
from ._stages import insert_before, reset, unique_name


def rfactor(state: State, tensor: Tensor, axis: IterVar, factor_axis: int = 0) -> tuple[State, Any]:
    """A reduction loop becomes a data axis of partial results, which a second, short reduction then folds.

                                            for k_inner in range(8):              # data axis: may be parallel, vector
        for k_outer in range(n//8):             for k_outer in range(n//8):
            for k_inner in range(8):  ->            B_rf[k_inner] += A[k_outer*8 + k_inner]
                B += A[k_outer*8 + k_inner] for k_inner_v in range(8):
                                                B += B_rf[k_inner_v]

    Returns the partial results (a list for several outputs); the new axis stands at position `factor_axis` (negative:
    from the end). What was scheduled on the stage is gone: schedule both parts anew. The fold's order changes, so a
    float result may differ in rounding. Refused: an axis that is no loop of a reduction, a loop that mixes data and
    reduction axes, a factor_axis outside the result's dimensions.
    """
    stage = state.stage_of(tensor)
    need_compute(stage, "rfactor")
    need_movable(state, stage, "rfactor")
    need_leaf(state, stage, axis, "rfactor", [REDUCE])
    if axis.iter_type != REDUCE:
        legal = loops(state, stage, [REDUCE])
        raise ScheduleError(
            "rfactor-data",
            f"cannot rfactor {named(state, axis)} in stage {stage.name}: it is no reduction",
            legal=legal,
        )
    op: ComputeOp = stage.op  # type: ignore[assignment]
    position = _position(stage, factor_axis)
    partial, final = _factored(state, stage, op, axis, position)
    _warn_of_loss(state, stage, op)
    state = insert_before(state, stage.index, partial, stage.scope)
    previous = stage.op
    state = state.with_stage(reset(stage, final))
    state = change(state, alias={**state.alias, final: stage.index})
    state = state.replace_tensors(dict(zip(previous.outputs, final.outputs, strict=True)))
    made = list(partial.outputs)
    return state, made[0] if len(made) == 1 else made


def _warn_of_loss(state: State, stage: Stage, op: ComputeOp) -> None:
    """Both parts begin anew, as in the classic stack: what was done to the data axes does not carry over unsaid."""
    mine = rel.derived_from(stage, op.axis)
    done = [a for a in stage.leaves if a in mine and (a not in op.axis or stage.mark(a) != PLAIN)]
    if done:
        warn(f"rfactor makes {stage.name} anew: what was done to {', '.join(name(state, a) for a in done)} is dropped")


def _position(stage: Stage, factor_axis: int) -> int:
    ndim = len(stage.op.axis)
    factor_axis = constant(need_integer(factor_axis, f"rfactor of {stage.name}: factor_axis")) or 0
    at = factor_axis + ndim + 1 if factor_axis < 0 else factor_axis
    need(
        0 <= at <= ndim,
        ScheduleError(
            "factor-axis", f"rfactor of {stage.name}: factor_axis {factor_axis} is outside -{ndim + 1} .. {ndim}"
        ),
    )
    return at


def _factored(state: State, stage: Stage, op: ComputeOp, axis: IterVar, position: int) -> tuple[ComputeOp, ComputeOp]:
    r: Reduce = op.body[0]  # type: ignore[assignment]
    by_axis, by_reduction = rel.derived_from(stage, op.axis), rel.derived_from(stage, op.reduce_axis)
    mixed = [x for x in stage.leaves if x in by_axis and x in by_reduction]
    if mixed:
        message = f"cannot rfactor {stage.name}: {named(state, mixed[0])} mixes data and reduction axes"
        raise ScheduleError("rfactor-mixed", message)
    roots = {a: lin(a.dom.extent) for a in (*op.axis, *op.reduce_axis) if a.dom is not None}
    sizes = rel.extents(stage, roots)
    touched = _touched(stage, op, axis)
    reducing = rel.derived_from(stage, touched)
    own = [a for a in op.reduce_axis if a not in touched]  # whole, whatever was done to them; the classic order
    own += [a for a in stage.leaves if a in reducing and a is not axis]
    factored = IterVar(_range(sizes[axis], axis.dtype), Var(axis.name, axis.dtype), DATA)
    kept = [_kept(a, op, sizes[a]) for a in own]
    at: dict[IterVar, Lin] = {axis: var(factored.var), **{a: var(k.var) for a, k in zip(own, kept, strict=True)}}
    back = rel.values_up(stage, at, sizes)
    values: dict[Any, Any] = {}
    for a in op.reduce_axis:
        values[a.var] = to_expr(back[a] + lin(a.dom.min), a.dtype)  # type: ignore[union-attr]
    guards: list[Expr] = [
        binary("<", to_expr(back[p]), to_expr(sizes[p]))
        for p in rel.padded(stage, sizes)
        if p in back and p in reducing
    ]
    cond = all_(substitute(r.cond, values), *guards)
    sources = tuple(substitute(x, values) for x in r.sources)
    data = (*op.axis[:position], factored, *op.axis[position:])
    partial = _partial(unique_name(state, f"{op.name}.rf"), op, r, data, kept, sources, cond)
    return partial, _final(op, r, partial, factored, position)


def _touched(stage: Stage, op: ComputeOp, axis: IterVar) -> tuple[IterVar, ...]:
    """The reduction's root axes that the factored axis was made from, and those fused with them."""
    family = {r: rel.derived_from(stage, (r,)) for r in op.reduce_axis}
    found = {axis}
    for _ in op.reduce_axis:
        for made in family.values():
            if made & found:
                found |= made
    return tuple(r for r in op.reduce_axis if r in found)


def _kept(a: IterVar, op: ComputeOp, size: Lin) -> IterVar:
    """An axis the partial stage folds over: the operation's own where that is whole, else one of the same variable."""
    whole = a in op.reduce_axis and a.dom is not None and is_const(a.dom.min, 0)
    return a if whole else IterVar(_range(size, a.dtype), a.var, REDUCE)


def _partial(
    name: str, op: ComputeOp, r: Reduce, data: Any, kept: list[IterVar], sources: tuple[Expr, ...], cond: Expr
) -> ComputeOp:
    if kept:
        bodies: list[Expr] = [
            Reduce(r.combiner, sources, tuple(kept), cond, i, (), x.dtype) for i, x in enumerate(sources)
        ]
    else:
        from ...core.build import if_then_else

        bodies = [if_then_else(cond, x, i) for x, i in zip(sources, r.combiner.identity, strict=True)]
    return ComputeOp(name, data, bodies, op.tag, op.attrs)


def _final(op: ComputeOp, r: Reduce, partial: ComputeOp, factored: IterVar, position: int) -> ComputeOp:
    """Folds the partial results, in the order of the factored axis."""
    axes = [axis_of(a.dom.extent, a.name, lo=a.dom.min) for a in op.axis if a.dom is not None]
    over = IterVar(factored.dom, Var(f"{factored.name}.v", factored.dtype), REDUCE)
    indices = [a.var for a in axes]
    indices.insert(position, over.var)
    renamed: dict[Any, Any] = {a.var: b.var for a, b in zip(op.axis, axes, strict=True)}
    starts = tuple(substitute(i, renamed) for i in r.init)
    reads = tuple(Load(t, tuple(indices), t.dtype) for t in partial.outputs)
    true = const(True, "bool")
    bodies = [Reduce(r.combiner, reads, (over,), true, i, starts, t.dtype) for i, t in enumerate(partial.outputs)]
    return ComputeOp(op.name, axes, bodies, op.tag, op.attrs)


def _range(extent: Lin, dtype: str) -> Range:
    return Range(const(0, dtype), to_expr(extent, dtype))
