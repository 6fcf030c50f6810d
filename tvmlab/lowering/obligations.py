"""What a schedule still owes: accepted steps whose conditions later steps may still meet. `build` refuses open ones."""

from __future__ import annotations

from ..core.affine import Lin, lin, to_expr
from ..core.error import ScheduleError
from ..core.node import IterVar
from ..core.text import show
from ..schedule.guard import describe, loop_lines
from ..schedule.scopes import is_virtual, rank, thread_rank
from ..schedule.state import Stage, State, is_input
from .bounds import Bounds, Domain
from .normalise import normalise


def obligations(state: State) -> list[ScheduleError]:
    """Every open obligation, each with the stages concerned and what would meet it."""
    return of_bounds(Bounds(normalise(state)))


def of_bounds(bounds: Bounds) -> list[ScheduleError]:
    return [*outside(bounds), *threads(bounds), *scopes(bounds), *marks(bounds)]


def outside(bounds: Bounds) -> list[ScheduleError]:
    """A producer computed in a loop that some consumer is not inside of."""
    found = []
    for stage, consumer in bounds.outside:
        parent = bounds.table.get(stage.attach.stage)
        axis = stage.attach.axis
        if parent is None or axis is None:
            continue
        place = parent.path(axis)
        legal = _common_loops(bounds, stage)
        found.append(
            ScheduleError(
                "consumer-outside",
                f"{stage.name} is computed at {place}, but {consumer.name}, which reads it, is not inside that loop",
                where=loop_lines(consumer),
                legal=legal,
                hint=f"compute {consumer.name} inside {place} too, or {stage.name} at a loop around all that read it",
            )
        )
    return found


def _common_loops(bounds: Bounds, stage: Stage) -> list[str]:
    """The loops that all consumers are inside of."""
    paths = [
        [(s, a) for s, a in d.path if s.index != stage.index]
        for d in bounds.of.values()
        if any(t in stage.op.outputs for t in d.stage.op.inputs)
    ]
    if not paths:
        return []
    shared = [p for p in paths[0] if all(p[1] in {a for _, a in other} for other in paths[1:])]
    return [f"s[{stage.name}].compute_at(s[{s.name}], {a.name})" for s, a in shared] + [f"s[{stage.name}].compute_root()"]


def threads(bounds: Bounds) -> list[ScheduleError]:
    """Stages that share a thread axis must agree on its extent; virtual threads need a constant one."""
    found: list[ScheduleError] = []
    seen: dict[str, tuple[Lin, Stage, IterVar]] = {}
    for d in bounds.of.values():
        for a in d.stage.leaves:
            thread = d.stage.mark(a).thread
            if thread is None:
                continue
            tag, extent = thread.thread_tag, d.sizes[a]
            if thread_rank(tag) is None and tag != "pipeline":
                found.append(ScheduleError("unknown-thread", f"`{tag}`, which {d.stage.path(a)} is bound to, is no thread axis"))
            if is_virtual(tag):
                if extent.terms:
                    found.append(_not_constant(d.stage, a, tag, extent))
                continue
            if thread.dom is not None and (lin(thread.dom.extent) - extent).key != Lin({}, 0).key:
                found.append(_disagree(tag, d.stage, a, extent, f"{tag} itself", lin(thread.dom.extent)))
            if tag in seen and _same_kernel(bounds, seen[tag][1], d.stage) and (seen[tag][0] - extent).key != Lin({}, 0).key:
                other, stage, axis = seen[tag]
                found.append(_disagree(tag, d.stage, a, extent, stage.path(axis), other))
            seen.setdefault(tag, (extent, d.stage, a))
    return found


def _same_kernel(bounds: Bounds, a: Stage, b: Stage) -> bool:
    """Are the two stages nested in one root stage?"""

    def top(s: Stage) -> int:
        while s.attach.kind in ("at", "scan") and s.attach.stage in bounds.table:
            s = bounds.table[s.attach.stage]
        return s.index

    return top(a) == top(b)


def _not_constant(stage: Stage, a: IterVar, tag: str, extent: Lin) -> ScheduleError:
    return ScheduleError(
        "virtual-extent",
        f"{stage.path(a)} is bound to {tag}, whose extent must be a constant, not {show(to_expr(extent))}",
        hint="split the axis by a constant and bind the part",
    )


def _disagree(tag: str, stage: Stage, a: IterVar, extent: Lin, other: str, wanted: Lin) -> ScheduleError:
    return ScheduleError(
        "thread-extent",
        f"{tag} has {show(to_expr(extent))} threads in {stage.path(a)}, but {show(to_expr(wanted))} in {other}",
        hint="all stages of a kernel run on the same threads: split so that the extents agree",
    )


def scopes(bounds: Bounds) -> list[ScheduleError]:
    """Memory that is private to threads must be filled inside them."""
    found = []
    for d in bounds.of.values():
        stage = d.stage
        if is_input(stage) or stage.is_output or not stage.scope:
            continue
        level = rank(stage.scope) or 0
        outer = d.path[: len(d.path) - len(stage.leaves)]
        if level == 0 or (stage.attach.kind != "root") or outer:
            continue
        readers = [s for s in bounds.ready.stages if any(t in stage.op.outputs for t in s.op.inputs)]
        on_threads = any(s.mark(a).thread is not None for s in (stage, *readers) for a in s.leaves)
        if on_threads:
            found.append(
                ScheduleError(
                    "local-at-root",
                    f"{stage.name} is in {stage.scope} memory, which other threads cannot see, but is computed at the root",
                    legal=_common_loops(bounds, stage)[:-1],
                    hint="compute it inside the thread loops of its consumer",
                )
            )
    return found


def _in_loop(d: Domain) -> bool:
    """Is the stage attached inside a loop? Virtual threads are none."""
    threads = [s.mark(a).thread for s, a in d.path[: len(d.path) - len(d.stage.leaves)]]
    return any(t is None or not is_virtual(t.thread_tag) for t in threads)


def marks(bounds: Bounds) -> list[ScheduleError]:
    """Vector loops need a constant extent; double buffers a loop to run ahead in."""
    found = []
    for d in bounds.of.values():
        for a in d.stage.leaves:
            if d.stage.mark(a).kind == "vectorized" and d.sizes[a].terms:
                found.append(
                    ScheduleError(
                        "vector-extent",
                        f"{d.stage.path(a)} is vectorized: its extent must be a constant, not {show(to_expr(d.sizes[a]))}",
                        hint=f"split it by a constant first and vectorize the inner part of `{describe(a)}`",
                    )
                )
        if d.stage.double_buffer and not _in_loop(d):
            found.append(
                ScheduleError(
                    "double-buffer-root",
                    f"{d.stage.name} is double buffered, but computed at the root: there is no loop to run ahead in",
                    hint=f"attach it: s[{d.stage.name}].compute_at(consumer, axis)",
                )
            )
    return found
