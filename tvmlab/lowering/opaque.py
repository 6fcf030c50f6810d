"""Nests of stages that are no te.compute: scans, extern statements (calls of intrinsics are in tensorize.py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.affine import lin, number
from ..core.build import const
from ..core.node import Buffer, Expr, For, IterVar, Load, Stmt, Store, Var
from ..core.text import identifier
from ..core.walk import seq
from ..expr.tensor import among
from ..schedule.state import Stage, is_compute
from .binding import Binder, Region, wide_expr
from .tensorize import tensor_nest

if TYPE_CHECKING:
    from .bounds import Domain
    from .nest import Nest


# ---------------------------------------------------------------- scan


def adopt_scan(nest: Nest, stage: Stage) -> None:
    """The states, their updates and (where the scan alone reads them) their initial values share one memory."""
    op: Any = stage.op
    for out, state, update, init in zip(op.outputs, op.state_placeholder, op.updates, op.init, strict=True):
        buffer = nest.buffers.get(out)
        if buffer is None:
            shape = tuple(out.shape)
            buffer = Buffer(identifier(out.name), shape, out.dtype, scope=nest.bounds.of[stage.index].scope)
            nest.buffers[out] = buffer
        shared = [state, update]
        nest.owned.add(nest.ready.home[update])
        if shares(nest, stage, init):
            shared.append(init)
            nest.owned.add(nest.ready.home[init])
        for t in shared:
            nest.buffers[t] = buffer
            nest.absolute.add(t)
        nest.absolute.add(out)


def shares(nest: Nest, scan: Stage, init: Any) -> bool:
    """May the initial values be computed straight into the state's memory?"""
    home = nest.bounds.table[nest.ready.home[init]]
    readers = [s for s in nest.ready.stages if among(init, s.op.inputs) and s is not scan]
    return (
        is_compute(home)
        and not readers
        and init not in nest.params
        and home.attach.kind == "root"
        and home.layout is None
    )


def scan_nest(nest: Nest, stage: Stage, d: Domain) -> Stmt:
    """init; for t: update"""
    op: Any = stage.op
    table, of = nest.bounds.table, nest.bounds.of
    homes = list(dict.fromkeys(nest.ready.home[t] for t in op.updates))
    updates = seq(*[nest.realize(table[i], seq()) for i in homes])
    loop = nest.wrap(stage, d, stage.leaves, updates)
    for axis in reversed(stage.env_threads):
        v, extent = d.threads[axis.thread_tag], thread_extent(nest, stage, axis)
        loop = For(v, const(0), extent, "thread", loop, axis.thread_tag, nest.origin(stage, axis))
    starts = []
    for out, init in zip(op.outputs, op.init, strict=True):
        home = nest.ready.home[init]
        starts.append(nest.nest(table[home], of[home]) if home in nest.owned else copy(nest, init, out))
    return seq(*starts, loop)


def thread_extent(nest: Nest, scan: Stage, axis: IterVar) -> Expr:
    """As many threads as the axis says, or as the stages in the scan bind."""
    if axis.dom is not None:
        return axis.dom.extent
    for d in nest.bounds.of.values():
        if any(s.index == scan.index for s, _ in d.path):
            for a in d.stage.leaves:
                thread = d.stage.mark(a).thread
                if thread is not None and thread.thread_tag == axis.thread_tag:
                    return wide_expr(d.sizes[a])
    return const(1)


def copy(nest: Nest, source: Any, target: Any) -> Stmt:
    """for i: target[i] = source[i], over the shape of the source"""
    axes = [Var(f"i{k}") for k in range(source.ndim)]
    indices = tuple(axes)
    read = nest.value(Load(source, indices, source.dtype), {}, nest.bounds.facts)
    body: Stmt = Store(nest.buffers[target], indices, read)
    for v, extent in reversed(list(zip(axes, source.shape, strict=True))):
        body = For(v, const(0), extent, "serial", body)
    return body


# ---------------------------------------------------------------- extern


def extern_nest(nest: Nest, stage: Stage, d: Domain) -> Stmt:
    """The statement, over the real buffers."""
    op: Any = stage.op
    binder = Binder(f"cannot compute {stage.name}", d.facts)
    reads = [(b, t, 1) for b, t in zip(op.in_buffers, op.sources, strict=True)]
    writes = [(b, t, 2) for b, t in zip(op.out_buffers, op.outputs, strict=True)]
    for b, t, mask in [*reads, *writes]:
        home = nest.bounds.table[nest.ready.home[t]]
        low, extents = tuple(number(0) for _ in t.shape), tuple(lin(n) for n in t.shape)
        place = lambda p, t=t: nest.located(t, p, d.facts)  # noqa: E731
        binder.bind(b, Region(t.name, nest.buffers[t], low, extents, place, home.layout is not None), mask)
    return binder.apply(op.body, nest.origin(stage))


SPECIAL: dict[str, Callable[[Any, Stage, Any], Stmt]] = {
    "scan": scan_nest, "extern": extern_nest, "tensor_compute": tensor_nest,
}  # fmt: skip
