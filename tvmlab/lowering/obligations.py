"""What a schedule still owes: accepted steps whose conditions later steps may still meet. `build` refuses open ones.

These are found from the bounds alone. Building the nest finds more (a tensorized loop that does not match its
intrinsic), and so do the passes: `pipeline.problems` has all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..core.affine import Facts, Lin, lin, number, to_expr
from ..core.affine import bounds as bounds_of
from ..core.build import is_const
from ..core.error import ScheduleError
from ..core.node import Expr, IterVar, Load, Reduce, Select
from ..core.text import show
from ..core.walk import children, constant
from ..expr.tensor import among
from ..schedule.guard import code, loop_lines, named, place
from ..schedule.scopes import is_virtual, rank, thread_key, thread_rank
from ..schedule.state import Stage, State, is_compute, is_input
from .bounds import Bounds, Domain
from .normalise import normalise


def of_bounds(bounds: Bounds) -> list[ScheduleError]:
    """Every open obligation, each with the stages concerned and what would meet it."""
    return [*inlined(bounds), *unread(bounds), *outside(bounds), *threads(bounds), *scopes(bounds), *marks(bounds)]


def _state(bounds: Bounds) -> State:
    return bounds.ready.state


def inlined(bounds: Bounds) -> list[ScheduleError]:
    """A producer computed in a loop of a stage that has no loops, because it is inlined."""
    found = []
    for stage in bounds.ready.stages:
        if stage.attach.kind != "at" or stage.attach.stage in bounds.table or stage.attach.axis is None:
            continue
        state, parent = _state(bounds), _state(bounds).stages[stage.attach.stage]
        found.append(
            ScheduleError(
                "attach-inlined",
                f"{stage.name} is computed at {place(state, parent, stage.attach.axis)}, but {parent.name} is inlined: "
                "it has no loops",
                legal=_common_loops(bounds, stage),
                hint=f"compute {stage.name} in a loop of what reads {parent.name}, or {parent.name} at the root again",
            )
        )
    return found


def unread(bounds: Bounds) -> list[ScheduleError]:
    """Elements read of an inlined stage that it does not have: its expression has a value there, the stage none."""
    found: list[ScheduleError] = []
    state = _state(bounds)
    for stage in state.in_order:
        if stage.index in bounds.table or not is_compute(stage):
            continue
        for reader in filter(is_compute, state.consumers(stage.op)):
            facts = _computed(bounds, reader)
            if facts is not None:
                for x in _certain_reads(reader.op.body, stage):
                    found += _outside_of(stage, reader, x, facts)
    return found


def _computed(bounds: Bounds, stage: Stage) -> Facts | None:
    """The ranges of a stage's axes, where they are numbers; None where nothing is computed."""
    d, ranges = bounds.of.get(stage.index), {}
    for a in stage.root_axes if d is not None else ():
        if a.dom is None or d is None:
            continue
        low, n, begin, extent = d.low[a], d.sizes[a], lin(a.dom.min), lin(a.dom.extent)
        if any(x.terms for x in (low, n, begin, extent)):
            continue
        first, last = max(low.const, begin.const), min(low.const + n.const, begin.const + extent.const) - 1
        if first > last:
            return None
        ranges[a.var] = (number(first), number(last))
    return Facts(ranges)


def _certain_reads(e: Any, stage: Stage) -> Iterator[Load]:
    """Reads of the stage that no condition keeps from happening."""
    if isinstance(e, tuple):
        for x in e[:1] if e and isinstance(e[0], Reduce) else e:
            yield from _certain_reads(x, stage)
    elif isinstance(e, Reduce):
        yield from _certain_reads(tuple(e.sources), stage) if is_const(e.cond, True) else ()
    elif isinstance(e, Load) and among(e.buffer, stage.op.outputs):
        yield e
    elif isinstance(e, Expr) and not (isinstance(e, Select) or getattr(e, "name", "") == "if_then_else"):
        for c in children(e):
            yield from _certain_reads(c, stage)


def _outside_of(stage: Stage, reader: Stage, x: Load, facts: Facts) -> Iterator[ScheduleError]:
    for k, (i, a) in enumerate(zip(x.indices, stage.op.axis, strict=True)):
        form = lin(i)
        lo, hi = bounds_of(form, facts)
        if lo is None or hi is None or a.dom is None or not form.terms or set(form.terms) - set(facts.ranges):
            continue
        first, n = constant(a.dom.min), constant(a.dom.extent)
        if first is not None and n is not None and (lo < first or hi >= first + n):
            yield ScheduleError(
                "out-of-bounds",
                f"{reader.name} reads {stage.name} outside of its shape: index {k} is `{show(i)}`, {lo} to {hi}, "
                f"outside {first} to {first + n - 1}",
                hint=f"{stage.name} is inlined, so its expression would be continued there",
            )


def outside(bounds: Bounds) -> list[ScheduleError]:
    """A producer computed in a loop that some consumer is not inside of."""
    found = []
    for stage, consumer in bounds.outside:
        parent = bounds.table.get(stage.attach.stage)
        axis = stage.attach.axis
        if parent is None or axis is None:
            continue
        where = place(_state(bounds), parent, axis)
        legal = _common_loops(bounds, stage)
        found.append(
            ScheduleError(
                "consumer-outside",
                f"{stage.name} is computed at {where}, but {consumer.name}, which reads it, is not inside that loop",
                where=loop_lines(_state(bounds), consumer),
                legal=legal,
                hint=f"compute {consumer.name} inside {where} too, or {stage.name} at a loop around all that read it",
            )
        )
    return found


Loops = list[tuple[Stage, IterVar]]


def _around(bounds: Bounds, stage: Stage) -> list[Loops]:
    """The loops that each consumer is inside of."""
    paths = []
    for d in bounds.of.values():
        if any(among(t, stage.op.outputs) for t in d.stage.op.inputs):
            own = len(d.stage.leaves) if d.stage.op.kind == "scan" else 0  # it reads before its own loop
            paths.append([(s, a) for s, a in d.path[: len(d.path) - own] if s.index != stage.index])
    return paths


def _common(paths: list[Loops]) -> Loops:
    return [p for p in paths[0] if all(p[1] in {a for _, a in other} for other in paths[1:])] if paths else []


def _common_loops(bounds: Bounds, stage: Stage) -> list[str]:
    """What computes it in a loop that all consumers are inside of, or at the root."""
    if not (paths := _around(bounds, stage)):
        return []
    inside = [_compute_at(_state(bounds), stage, s, a) for s, a in _common(paths)]
    return [*inside, f"s[{stage.called}].compute_root()"]


def _compute_at(state: State, stage: Stage, parent: Stage, axis: IterVar) -> str:
    return f"s[{stage.called}].compute_at(s[{parent.called}], {code(state, parent, axis)})"


def threads(bounds: Bounds) -> list[ScheduleError]:
    """Stages that share a thread axis must agree on its extent; virtual threads need a constant one."""
    found: list[ScheduleError] = []
    state = _state(bounds)
    seen: dict[object, tuple[Lin, Stage, IterVar]] = {}
    for d in bounds.of.values():
        own: dict[str, IterVar] = {}
        for a in d.stage.leaves:
            thread = d.stage.mark(a).thread
            if thread is None:
                continue
            tag, extent = thread.thread_tag, d.sizes[a]
            if not is_virtual(tag) and own.setdefault(tag, a) is not a:
                found.append(_taken(state, d.stage, a, own[tag], tag))
                continue
            if thread_rank(tag) is None and tag != "pipeline":
                found.append(
                    ScheduleError(
                        "unknown-thread",
                        f"{place(state, d.stage, a)} is bound to `{tag}`, but there are no threads called that",
                        legal=["blockIdx.x", "threadIdx.x", "vthread"],
                    )
                )
                continue
            if is_virtual(tag) and extent.terms:
                found.append(_not_constant(state, d.stage, a, tag, extent))
                continue
            if thread.dom is not None and (lin(thread.dom.extent) - extent).key != Lin({}, 0).key:
                found.append(_disagree(state, tag, d.stage, a, extent, f"{tag} itself", lin(thread.dom.extent)))
            key = thread_key(thread)
            known = key in seen and _same_kernel(bounds, seen[key][1], d.stage)
            if known and (seen[key][0] - extent).key != Lin({}, 0).key:
                other, stage, axis = seen[key]
                found.append(_disagree(state, tag, d.stage, a, extent, place(state, stage, axis), other))
            seen.setdefault(key, (extent, d.stage, a))
    return found


def _same_kernel(bounds: Bounds, a: Stage, b: Stage) -> bool:
    """Are the two stages nested in one root stage?"""

    def top(s: Stage) -> int:
        while s.attach.kind in ("at", "scan") and s.attach.stage in bounds.table:
            s = bounds.table[s.attach.stage]
        return s.index

    return top(a) == top(b)


def _not_constant(state: State, stage: Stage, a: IterVar, tag: str, extent: Lin) -> ScheduleError:
    return ScheduleError(
        "virtual-extent",
        f"{place(state, stage, a)} is bound to {tag}, whose extent must be a constant, not {show(to_expr(extent))}",
        hint="split the axis by a constant and bind the part",
    )


def _taken(state: State, stage: Stage, a: IterVar, other: IterVar, tag: str) -> ScheduleError:
    return ScheduleError(
        "thread-twice",
        f"{named(state, other)} and {named(state, a)} of stage {stage.name} are both bound to {tag}",
        where=loop_lines(state, stage, [other, a], tag),
        hint=f"fuse them and bind the fused axis, or bind one of them to another thread axis than {tag}",
    )


def _disagree(state: State, tag: str, stage: Stage, a: IterVar, extent: Lin, other: str, wanted: Lin) -> ScheduleError:
    return ScheduleError(
        "thread-extent",
        f"{tag} has {show(to_expr(extent))} threads in {place(state, stage, a)}, but {show(to_expr(wanted))} in "
        f"{other}",
        hint="all stages of a kernel run on the same threads: split so that the extents agree",
    )


def scopes(bounds: Bounds) -> list[ScheduleError]:
    """Memory that is private to threads must be filled inside them."""
    spread = [(d.stage, a) for d in bounds.of.values() for a in d.stage.leaves if _is_spread(d.stage, a)]
    settled = {stage.index for stage, _ in spread}
    private = {s.index: s for s, *_ in bounds.private.values() if s.index not in settled}
    settled |= set(private)
    found = [_private(bounds, stage) for stage in private.values()]
    found += [_spread(bounds, *at) for at in spread]
    for d in bounds.of.values():
        if d.stage.index not in settled and _lost_at_root(bounds, d):
            found.append(
                ScheduleError(
                    "local-at-root",
                    f"{d.stage.name} is in {d.stage.scope} memory, which other threads cannot see, but is computed at "
                    "the root",
                    legal=[_compute_at(_state(bounds), d.stage, s, a) for s, a in _inside(bounds, d.stage)],
                    hint="compute it inside the thread loops of its consumer",
                )
            )
    return found


def _lost_at_root(bounds: Bounds, d: Domain) -> bool:
    """Is it in memory that those who read it, in threads of their own, cannot see?"""
    stage = d.stage
    if is_input(stage) or stage.is_output or not rank(stage.scope or "global") or stage.attach.kind != "root":
        return False
    if len(d.path) > len(stage.leaves):
        return False
    readers = [s for s in bounds.ready.stages if any(among(t, stage.op.outputs) for t in s.op.inputs)]
    marked = (t for s in (stage, *readers) for a in s.leaves if (t := s.mark(a).thread) is not None)
    return any(not is_virtual(t.thread_tag) for t in marked)


def _inside(bounds: Bounds, stage: Stage, scope: str = "") -> Loops:
    """The loops of its readers that are inside all threads which have memory of that scope each."""
    common, level = _common(_around(bounds, stage)), rank(scope or stage.scope or "global") or 0
    tags = [t.thread_tag if (t := s.mark(a).thread) is not None else "" for s, a in common]
    own = [k for k, tag in enumerate(tags) if (r := thread_rank(tag)) is not None and r < level]
    return common[own[-1] :] if own else common


def _in_loop(d: Domain) -> bool:
    """Is the stage attached inside a loop? Virtual threads are none."""
    threads = [s.mark(a).thread for s, a in d.path[: len(d.path) - len(d.stage.leaves)]]
    return any(t is None or not is_virtual(t.thread_tag) for t in threads)


def _is_spread(stage: Stage, a: IterVar) -> bool:
    """Do threads share out the loop that fills memory of which each of them has its own?"""
    thread = stage.mark(a).thread
    level = None if thread is None else thread_rank(thread.thread_tag)
    if thread is None or level is None or is_virtual(thread.thread_tag) or stage.is_output or not stage.scope:
        return False
    return (rank(stage.scope) or 0) > level and not (
        stage.scope.startswith("warp") and thread.thread_tag == "threadIdx.x"
    )


def _spread(bounds: Bounds, stage: Stage, a: IterVar) -> ScheduleError:
    tag = stage.mark(a).thread.thread_tag  # type: ignore[union-attr]
    wide = "global" if tag.startswith("block") else "shared"
    widened = f's[{stage.called}].set_scope("{wide}")'
    legal = [widened] if _settles(bounds, stage, wide) else []
    if not legal and wide == "shared":
        state, inside = _state(bounds), _inside(bounds, stage, wide)
        legal = [f"{widened}; {_compute_at(state, stage, s, x)}" for s, x in inside[:1]]
    return ScheduleError(
        "local-spread",
        f"{stage.name} is in {stage.scope} memory, of which each thread of {tag} has its own, but its loop "
        f"{place(_state(bounds), stage, a)} is shared out over these threads: none of them would see the rest",
        legal=legal,
        hint=f"threads of {tag} meet in {wide} memory; {stage.scope} memory is filled by loops that are not bound",
    )


def _bound(stage: Stage) -> bool:
    return any(stage.mark(a).thread is not None for a in stage.leaves)


def _adds_together(stage: Stage) -> bool:
    """Would all threads of a block, if they share its memory, add to the same elements?"""
    return not _bound(stage) and any(isinstance(x, Reduce) for x in getattr(stage.op, "body", ()))


def _settles(bounds: Bounds, stage: Stage, scope: str) -> bool:
    """Would nothing be owed for its memory if the stage were in that scope? Found by trying."""
    if scope == "global" and (stage.attach.kind != "root" or not _bound(stage)):
        return False  # there is one of it for all blocks; the host would compute it
    if scope != "global" and _adds_together(stage):
        return False
    state = _state(bounds)
    again = Bounds(normalise(state.with_stage(replace(state.stages[stage.index], scope=scope))))
    d = again.of.get(stage.index)
    if d is None or any(s.index == stage.index for s, *_ in again.private.values()) or _lost_at_root(again, d):
        return False
    return not any(_is_spread(d.stage, a) for a in d.stage.leaves)


def _private(bounds: Bounds, stage: Stage) -> ScheduleError:
    """Memory that each thread has of its own, filled where the thread does not run yet.

    Told of the innermost of its threads' loops: what is inside of that is inside of all.
    """
    state, scope = _state(bounds), bounds.of[stage.index].scope if stage.index in bounds.of else stage.scope
    around = [(c, a) for s, c, a in bounds.private.values() if s.index == stage.index]
    consumer, axis = max(around, key=lambda at: [a for _, a in bounds.of[at[0].index].path].index(at[1]))
    tag = consumer.mark(axis).thread.thread_tag  # type: ignore[union-attr]
    wide = "global" if tag.startswith("block") else "shared"
    legal = [_compute_at(state, stage, s, a) for s, a in _inside(bounds, stage, scope)]
    if rank(scope) == 1 and _adds_together(stage):
        inner = [_compute_at(state, stage, s, a) for s, a in _inside(bounds, stage, "local")]
        legal = [f's[{stage.called}].set_scope("local"); {x}' for x in inner]
    widened = f's[{stage.called}].set_scope("{wide}")' if _settles(bounds, stage, wide) else ""
    return ScheduleError(
        "local-outside",
        f"{stage.name} is in {scope or 'local'} memory, of which each thread of {tag} has its own, but it is computed "
        f"outside of {place(state, consumer, axis)}, which is bound to {tag}",
        legal=legal or ([widened] if widened else []),
        hint=f"or put it where all threads see it: {widened}" if legal and widened else "",
    )


NEEDS_CONSTANT = {"vectorized": ("vector-extent", "vectorize"), "unrolled": ("unroll-extent", "unroll")}


def marks(bounds: Bounds) -> list[ScheduleError]:
    """Vector loops and unrolled ones need a constant extent; double buffers a loop to run ahead in."""
    found = []
    state = _state(bounds)
    for d in bounds.of.values():
        for a in d.stage.leaves:
            kind = d.stage.mark(a).kind
            if kind in NEEDS_CONSTANT and d.sizes[a].terms:
                rule, verb = NEEDS_CONSTANT[kind]
                size = show(to_expr(d.sizes[a]))
                found.append(
                    ScheduleError(
                        rule,
                        f"{place(state, d.stage, a)} is {kind}: its extent must be a constant, not {size}",
                        hint=f"split it by a constant first, and {verb} the inner part",
                    )
                )
        if d.stage.double_buffer and not _in_loop(d):
            found.append(
                ScheduleError(
                    "double-buffer-root",
                    f"{d.stage.name} is double buffered, but computed at the root: there is no loop to run ahead in",
                    hint=f"attach it: s[{d.stage.called}].compute_at(consumer, axis)",
                )
            )
    return found
