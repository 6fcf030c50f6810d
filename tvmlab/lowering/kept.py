"""What a lowering may take over from that of a schedule which differs by a step: domains, buffers and whole nests.

A stage that the step did not touch, of which as much is needed as before, has the same loops as before: they are the
same objects, so whoever compares or checks programs knows at once that there is nothing new in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ..core.affine import Lin
from ..core.node import Buffer, Expr, IterVar, Stmt
from ..core.walk import identical
from ..schedule.state import Attach, Stage, is_input

if TYPE_CHECKING:
    from .bounds import Bounds, Domain
    from .nest import Nest

Forms = Mapping[IterVar, Lin]
Path = Sequence[tuple[Stage, IterVar]]


def domain(old: Bounds | None, new: Bounds, stage: Stage, outer: Path, low: Forms, extent: Forms) -> Domain | None:
    """The domain of the stage as it was; None where it may be another."""
    d = old.of.get(stage.index) if old is not None else None
    if d is None or old is None or not _same_loops(d.stage, stage) or not _same_bodies(old, new, stage):
        return None
    around = d.path[: len(d.path) - len(stage.leaves)]
    if len(around) != len(outer) or any(a is not b for (_, a), (_, b) in zip(around, outer, strict=True)):
        return None
    if not all(same_forms(new.of[s.index], old.of.get(s.index)) for s, _ in outer):
        return None
    labels, before = new.ready.state.labels, old.ready.state.labels
    if any(labels.get(a) != before.get(a) for a in stage.leaves):
        return None
    if not _equal(d.low, low) or any(d.sizes[a].key != extent[a].key for a in extent):
        return None
    return replace(d, stage=stage, path=[*outer, *((stage, a) for a in stage.leaves)])


def same_forms(now: Domain, before: Domain | None) -> bool:
    """Was the one taken over from the other?"""
    return before is not None and now.values is before.values


def _same_loops(a: Stage, b: Stage) -> bool:
    """Is the one stage the other, but for marks that are no threads?"""
    if a is b:
        return True
    same = all(getattr(a, f.name) is getattr(b, f.name) for f in fields(Stage) if f.name not in ("marks", "attach"))
    return same and _same_attach(a.attach, b.attach) and not _threads(a) and not _threads(b)


def _same_attach(a: Attach, b: Attach) -> bool:
    return a is b or (a.kind == b.kind and a.stage == b.stage and a.axis is b.axis)


def _threads(s: Stage) -> bool:
    return any(m.thread is not None for m in s.marks.values())


def _same_bodies(old: Bounds, new: Bounds, stage: Stage) -> bool:
    before, now = old.ready.bodies.get(stage.index), new.ready.bodies.get(stage.index)
    return before is now or (before is not None and now is not None and all(map(_is, before, now)))


def _is(a: Any, b: Any) -> bool:
    return a is b


def _equal(a: Forms, b: Forms) -> bool:
    return a.keys() == b.keys() and all(a[k].key == b[k].key for k in a)


def buffer(old: Buffer | None, new: Buffer) -> Buffer:
    """The buffer as it was, if the new one is no other."""
    if old is None or (old.name, old.dtype, old.scope) != (new.name, new.dtype, new.scope):
        return new
    alike = identical(tuple(old.shape), tuple(new.shape)) and _alike(old.strides, new.strides)
    return old if alike and (old.offset, old.align, old.logical) == (new.offset, new.align, new.logical) else new


def _alike(a: tuple[Expr, ...] | None, b: tuple[Expr, ...] | None) -> bool:
    return a is b or (a is not None and b is not None and identical(a, b))


def nest(old: Nest | None, new: Nest, stage: Stage) -> bool:
    """Take over the stage's nest with all that is computed inside it, unless something in it may be another."""
    if old is None or old.problems or stage.index not in old.nests:
        return False
    inside = list(_inside(new, stage))
    if not all(_untouched(old, new, s) for s in inside):
        return False
    new.nests.update((s.index, old.nests[s.index]) for s in inside)
    new.leaves.update((s.index, old.leaves[s.index]) for s in inside)
    return True


def _inside(new: Nest, stage: Stage) -> Iterator[Stage]:
    """The stage and those attached to its loops, at any depth."""
    yield stage
    for a in stage.leaves:
        for producer in new.attached.get((stage.index, a), ()):
            yield from _inside(new, producer)


def _untouched(old: Nest, new: Nest, stage: Stage) -> bool:
    before = old.bounds
    if before.table.get(stage.index) is not stage or any(m.prefetches for m in stage.marks.values()):
        return False
    if any(_attached(old, stage, a) != _attached(new, stage, a) for a in stage.leaves):
        return False
    return _same_values(old, new, stage)


def leaf(old: Nest | None, new: Nest, stage: Stage) -> Stmt | None:
    """What the innermost loop of the stage does, if nothing in it may be another."""
    if old is None or stage.index not in old.leaves or not _same_values(old, new, stage):
        return None
    return old.leaves[stage.index]


def _same_values(old: Nest, new: Nest, stage: Stage) -> bool:
    """Does the stage compute the same elements from the same elements, in loops of the same variables?"""
    now, before = new.bounds, old.bounds
    if stage.op.kind != "compute" or not same_forms(now.of[stage.index], before.of.get(stage.index)):
        return False
    if any(m.intrin is not None for s in (stage, before.table[stage.index]) for m in s.marks.values()):
        return False
    read = dict.fromkeys(t for t, _ in now.reads_of[stage.index])
    return all(new.buffers[t] is old.buffers.get(t) for t in stage.op.outputs) and all(
        _same_place(old, new, t) for t in read
    )


def _attached(n: Nest, stage: Stage, a: IterVar) -> list[int]:
    return [s.index for s in n.attached.get((stage.index, a), ())]


def _same_place(old: Nest, new: Nest, t: Any) -> bool:
    """Are the elements of a tensor that is read where they were?"""
    if new.buffers.get(t) is not old.buffers.get(t) or (t in new.absolute) != (t in old.absolute):
        return False
    home, index = new.bounds.table[new.ready.home[t]], old.ready.home.get(t)
    before = old.bounds.table.get(index) if index is not None else None
    if before is None or before.layout is not home.layout or before.op.axis != home.op.axis:
        return False
    if is_input(home):
        return is_input(before)
    a, b = old.bounds.of.get(before.index), new.bounds.of.get(home.index)
    return a is b or (a is not None and b is not None and all(a.low[x].key == b.low[x].key for x in home.op.axis))
