from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.affine import Lin, lin, to_expr, var
from ...core.build import all_, binary, const
from ...core.error import ScheduleError
from ...core.node import DATA, Expr, IterVar, Load, Range, Reduce, Var
from ...core.walk import replace, substitute
from ...expr.intrin import TensorComputeOp
from ...expr.tensor import ComputeOp, Operation, Tensor, substitute_many
from .. import relations as rel
from ..guard import describe, need_compute, need_movable
from ..scopes import known, rank
from ..state import Stage, State, Transform
from ._stages import insert_before, reset, unique_name


def cache_write(state: State, tensor: Any, scope: str) -> tuple[State, Any]:
    """The tensor is computed into memory `scope` first, then copied out; returns the cache.

                                            for i: C_local[i] = f(i)
        for i: C[i] = f(i)           ->     for i: C[i] = C_local[i]

    The reduction moves to the cache stage; the data axes stay with the tensor. Data loops that were split or reordered
    before give the cache its layout. A list of all outputs of one operation is cached together. Refused: anything but
    te.compute, outputs left out, a reduction axis that was split before.
    """
    many = isinstance(tensor, (list, tuple))
    tensors: Sequence[Tensor] = list(tensor) if many else [tensor]
    if not tensors:
        raise ScheduleError("no-tensors", "cache_write of an empty list")
    if rank(scope) is None:
        raise ScheduleError("unknown-scope", f"there is no storage scope `{scope}`", legal=known())
    stage = state.stage_of(tensors[0])
    _check(state, stage, tensors)
    cache, outer = (_cached_call if isinstance(stage.op, TensorComputeOp) else _cached)(state, stage, scope)
    state = insert_before(state, stage.index, cache, scope)
    previous = stage.op
    state = state.with_stage(reset(stage, outer))
    state = _alias(state, outer, stage.index)
    state = state.replace_tensors(dict(zip(previous.outputs, outer.outputs, strict=True)))
    made = list(cache.outputs)
    return state, made if many else made[0]


def _alias(state: State, op: Any, index: int) -> State:
    from dataclasses import replace as change

    return change(state, alias={**state.alias, op: index})


def _check(state: State, stage: Stage, tensors: Sequence[Tensor]) -> None:
    if not isinstance(stage.op, TensorComputeOp):
        need_compute(stage, "cache the result of")
    need_movable(state, stage, "cache the result of")
    given = {(state.stage_of(t).index, t.value_index) for t in tensors}
    homes = list(dict.fromkeys(state.stage_of(t).name for t in tensors))
    if len(homes) > 1:
        raise ScheduleError(
            "cache-one-stage",
            f"cannot cache {' and '.join(homes)} together: they are computed by different stages",
            legal=[f"s.cache_write({n}, scope)" for n in homes],
        )
    wanted = {(stage.index, k) for k in range(stage.op.num_outputs)}
    if given != wanted:
        raise ScheduleError(
            "cache-all-outputs",
            f"cannot cache part of {stage.name}: its {stage.op.num_outputs} outputs are computed together",
            legal=[f"s.cache_write([all outputs of {stage.name}], scope)"],
        )
    if any(isinstance(r, Transform) for r in stage.relations):
        raise ScheduleError("cache-transformed", f"cannot cache {stage.name} after transform_layout: cache it first")
    reducing = rel.derived_from(stage, stage.op.reduce_axis) - set(stage.op.reduce_axis)
    if reducing:
        split = [describe(state, a) for a in stage.leaves if a in reducing]
        raise ScheduleError(
            "cache-split-reduction",
            f"cannot cache {stage.name}: its reduction was already split ({', '.join(split)})",
            hint="call cache_write first, then split the reduction in the cache stage",
        )


def _cached(state: State, stage: Stage, scope: str) -> tuple[ComputeOp, ComputeOp]:
    """The cache's operation, and the copy that takes the original's place."""
    op: ComputeOp = stage.op  # type: ignore[assignment]
    roots = {a: lin(a.dom.extent) for a in op.axis if a.dom is not None}
    data = rel.derived_from(stage, op.axis)
    leaves = [a for a in stage.leaves if a in data]
    plain = list(stage.relations)
    sizes = rel.extents(stage, {**roots, **{a: lin(a.dom.extent) for a in op.reduce_axis if a.dom}}) if plain else roots
    axes = [_axis(a, sizes[a]) for a in leaves]
    at: dict[IterVar, Lin] = {a: var(c.var) for a, c in zip(leaves, axes, strict=True)}
    back = rel.values_up(stage, at, sizes)
    guards = [_below(back[p], sizes[p]) for p in rel.padded(stage, sizes) if p in back and p in data]
    values: dict[Any, Any] = {a.var: to_expr(back[a], a.dtype) for a in op.axis}
    bodies = substitute_many(op.body, lambda b: _guarded(substitute(b, values), guards))
    name = unique_name(state, f"{op.name}.{scope}")
    cache = ComputeOp(name, axes, bodies, op.tag, op.attrs)
    down = rel.values_down(stage, {a: var(a.var) for a in op.axis}, sizes)
    indices = tuple(to_expr(down[a], a.dtype) for a in leaves)
    reads = [Load(t, indices, t.dtype) for t in cache.outputs]
    return cache, ComputeOp(op.name, op.axis, reads, op.tag, op.attrs)


def _cached_call(state: State, stage: Stage, scope: str) -> tuple[Operation, Operation]:
    """The same of a tensor intrinsic's call: the call moves to the cache stage, with all that the intrinsic makes."""
    op: TensorComputeOp = stage.op  # type: ignore[assignment]
    if stage.relations:
        raise ScheduleError(
            "cache-split-call",
            f"cannot cache {stage.name} after its loops were split: a tensor intrinsic makes it, whose layout is fixed",
            hint="call cache_write first",
        )
    axes = [IterVar(a.dom, Var(f"{a.name}.c", a.dtype), a.iter_type) for a in op.axis]
    cache = op.over(unique_name(state, f"{op.name}.{scope}"), axes)
    outer = [a if a.iter_type == DATA else IterVar(a.dom, Var(a.name, a.dtype), DATA) for a in op.axis]
    reads = [Load(t, tuple(a.var for a in outer), t.dtype) for t in cache.outputs]
    return cache, ComputeOp(op.name, outer, reads, op.tag, op.attrs)


def _axis(a: IterVar, extent: Lin) -> IterVar:
    return IterVar(Range(const(0, a.dtype), to_expr(extent, a.dtype)), Var(f"{a.name}.c", a.dtype), DATA)


def _below(value: Lin, extent: Lin) -> Expr:
    return binary("<", to_expr(value), to_expr(extent))


def _guarded(body: Expr, guards: list[Expr]) -> Expr:
    """Padding of the cache's layout is never read: it may hold anything, but must not read outside the inputs."""
    if not guards:
        return body
    if isinstance(body, Reduce):
        return replace(body, cond=all_(body.cond, *guards))
    from ...core.build import if_then_else

    return if_then_else(all_(*guards), body, const(0, body.dtype))
