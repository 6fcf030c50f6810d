"""Reductions whose iterations run on several threads: partial sums per thread, then an all-reduce.

for tx in thread("threadIdx.x", 32):
    part[0] = 0
    for ko in range(n//32):                    # the serial part of the reduction, if any
        part[0] += A[ko*32 + tx]
    total[0] = allreduce_sum(part[0], over=[tx])
    if tx == 0: B[0] = total[0]
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..core.build import all_, binary, const, is_const
from ..core.error import ScheduleError
from ..core.node import Alloc, AllReduce, Buffer, Expr, If, IterVar, Load, Reduce, Stmt, Store, Var
from ..core.text import identifier, show
from ..core.threads import BLOCK
from ..core.walk import seq
from ..expr.reduce import combine
from ..schedule import relations as rel
from ..schedule.scopes import is_virtual, rank
from ..schedule.state import Stage

if TYPE_CHECKING:
    from .bounds import Domain
    from .nest import Nest


def threads_first(stage: Stage) -> Stage:
    """Threads stand outside a reduction's serial loops, wherever the schedule has them: data, threads, serial."""
    reducing = rel.derived_from(stage, stage.op.reduce_axis)
    first = next((k for k, a in enumerate(stage.leaves) if a in reducing), len(stage.leaves))
    rest = stage.leaves[first:]
    inner = [a for a in rest if a not in reducing and stage.mark(a).thread is not None]
    if inner:  # each thread starts its own sum, then runs all of the loops
        stage = replace(stage, leaves=(*stage.leaves[:first], *inner, *[a for a in rest if a not in inner]))
    over = [a for a in stage.leaves if a in reducing and stage.mark(a).thread is not None]
    data = [a for a in stage.leaves if a not in reducing]
    if not over or any(a in reducing for a in stage.leaves[: len(data)]):
        return stage
    serial = [a for a in stage.leaves if a in reducing and a not in over]
    return replace(stage, leaves=(*data, *over, *serial))


def cross_thread(nest: Nest, stage: Stage, d: Domain, r: Reduce) -> Stmt:
    """The nest of a stage with a reduction loop bound to threads."""
    from .nest import guarded, known, to_expr

    reducing = rel.derived_from(stage, stage.op.reduce_axis)
    data = [a for a in stage.leaves if a not in reducing]
    over = [a for a in stage.leaves if a in reducing and stage.mark(a).thread is not None]
    serial = [a for a in stage.leaves if a in reducing and a not in over]
    _check(stage, r, data, stage.leaves[len(data) :])
    _check_threads(stage, d, over)
    guards = nest.guards(stage, d, d.values, d.facts)
    facts = known(d.facts, guards)
    only = nest.predicate(stage, d)
    guards = guards[: len(guards) - len(only)]
    outside = [g for g in guards if not _uses(g[0], d, [*over, *serial])] + only
    cond = all_(*[c for c, _ in guards], nest.value(r.cond, d.env, facts))  # where it does not hold, nothing is read
    sources = tuple(nest.value(x, d.env, facts) for x in r.sources)
    totals = tuple(_cell(f"{stage.name}.red", t.dtype) for t in stage.op.outputs)
    threads = tuple(v for a in over for v in d.loop[a].terms if isinstance(v, Var))
    body: Stmt
    parts: tuple[Buffer, ...] = ()
    if serial:
        parts = tuple(_cell(f"{stage.name}.part", t.dtype) for t in stage.op.outputs)
        fold = _fold(r, parts, sources, cond)
        loop = nest.wrap(stage, d, serial, fold)
        start = seq(*[Store(b, (const(0),), x) for b, x in zip(parts, r.combiner.identity, strict=True)])
        true = const(True, "bool")
        body = seq(start, loop, AllReduce(r.combiner, _read(parts), true, totals, threads))
    else:
        body = AllReduce(r.combiner, sources, cond, totals, threads)
    stores = seq(
        *[
            Store(nest.buffers[t], nest.target(t, d, d.values), Load(b, (const(0),), b.dtype), None, nest.origin(stage))
            for t, b in zip(stage.op.outputs, totals, strict=True)
        ]
    )
    if stage.predicate is None and (rank(d.scope) or 0) < 2:  # one thread stores what all of them hold
        first = all_(*[binary("==", to_expr(d.loop[a]), 0) for a in over])
        stores = If(first, stores)
    body = seq(body, guarded(outside, stores))
    for b in reversed((*parts, *totals)):
        body = Alloc(b, body)
    return nest.wrap(stage, d, data, nest.wrap(stage, d, over, body))


def _check(stage: Stage, r: Reduce, data: list[IterVar], tail: tuple[IterVar, ...]) -> None:
    if any(a in data for a in tail):
        raise ScheduleError(
            "cross-thread-order",
            f"the reduction of {stage.name} runs on threads: its data loops must stand outside its reduction loops",
            hint=f"s[{stage.called}].reorder(<data axes>, <reduction axes>)",
        )
    if r.init:
        raise ScheduleError("cross-thread-init", f"the reduction of {stage.name} has an init and cannot run on threads")


def _check_threads(stage: Stage, d: Domain, over: list[IterVar]) -> None:
    """Only the threads of a block can add up, and only a known number of them."""
    from .nest import to_expr

    data = rel.derived_from(stage, stage.op.axis)
    for a in over:
        tag = stage.mark(a).thread.thread_tag  # type: ignore[union-attr]
        if a in data:
            raise ScheduleError(
                "cross-thread-data",
                f"the reduction of {stage.name} cannot run on {tag}: `{a.name}` holds data too, and its threads would "
                "add up different elements",
                hint="fuse reduction loops with each other only",
            )
        if tag not in BLOCK:
            kind = "a virtual thread" if is_virtual(tag) else "a grid index"
            raise ScheduleError(
                "cross-thread-tag",
                f"the reduction of {stage.name} cannot run on {tag}, which is {kind}: only the threads of a block can "
                f"add up what they have (`{a.name}`)",
                legal=BLOCK,
            )
        if d.sizes[a].terms:
            raise ScheduleError(
                "cross-thread-extent",
                f"the reduction of {stage.name} runs on {tag}, whose extent must be a number, "
                f"not {show(to_expr(d.sizes[a]))}",
                hint=f"split `{a.name}` by the number of threads and bind the inner part",
            )


def _fold(r: Reduce, parts: tuple[Buffer, ...], sources: tuple[Expr, ...], cond: Expr) -> Stmt:
    from .nest import together

    results = combine(r.combiner, _read(parts), sources)
    body = together([Store(b, (const(0),), x) for b, x in zip(parts, results, strict=True)])
    return body if is_const(cond, True) else If(cond, body, likely=True)


def _read(cells: tuple[Buffer, ...]) -> tuple[Expr, ...]:
    return tuple(Load(b, (const(0),), b.dtype) for b in cells)


def _cell(name: str, dtype: str) -> Buffer:
    return Buffer(identifier(name), (const(1),), dtype, scope="local")


def _uses(e: Expr, d: Domain, axes: list[object]) -> bool:
    from ..core.walk import walk

    wanted = {id(v) for a in axes for v in d.loop[a].terms}  # type: ignore[index]
    return any(id(x) in wanted for x in walk(e))
