"""Which step made what: the step that made or last marked each loop, and last changed how each stage is computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from ..schedule.state import PLAIN, Stage, State
from ..schedule.trace import Trace
from .ids import Place

_KNOWN: WeakKeyDictionary[State, Mapping[Place, int]] = WeakKeyDictionary()
SIMPLE = ("scope", "group", "double_buffer", "rolling_buffer", "predicate", "align", "layout", "env_threads")


def makers(trace: Trace) -> Mapping[Place, int]:
    """(stage, axis or None) -> the number of the step, 1, 2, ...; what no step touched is not in it."""
    known: Mapping[Place, int] | None = None
    behind: list[Trace] = []
    node: Trace | None = trace
    while node is not None and (known := _KNOWN.get(node.state)) is None:
        behind.append(node)
        node = node.parent
    made: Mapping[Place, int] = known if known is not None else {}
    for t in reversed(behind):
        if t.parent is not None:
            made = _after(made, t.parent.state, t.state, len(t))
        _KNOWN[t.state] = made
    return made


def _after(known: Mapping[Place, int], before: State, after: State, step: int) -> Mapping[Place, int]:
    made = dict(known)
    for i in after.order:
        old, new = before.stages.get(i), after.stages[i]
        if old is new:
            continue
        if old is None or _recast(old, new):
            made[i, None] = step
        there = frozenset(old.axes) if old is not None else frozenset()
        for a in new.axes:
            if a not in there or (old is not None and old.marks.get(a, PLAIN) is not new.marks.get(a, PLAIN)):
                made[i, a] = step
    return made


def _recast(old: Stage, new: Stage) -> bool:
    """Is the stage computed in another way? (An operation made anew because a tensor it reads was is none.)"""
    if any(getattr(old, f) is not getattr(new, f) and getattr(old, f) != getattr(new, f) for f in SIMPLE):
        return True
    a, b = old.attach, new.attach
    if (a.kind, a.stage) != (b.kind, b.stage) or a.axis is not b.axis:
        return True
    if _differ(old.leaves, new.leaves) or _differ(old.relations, new.relations):
        return True
    if any(old.mark(x).intrin is not new.mark(x).intrin for x in new.leaves):
        return True
    same_op = old.op is new.op or (
        not _differ(old.root_axes, new.root_axes) and [t.name for t in old.op.inputs] == [t.name for t in new.op.inputs]
    )
    return not same_op


def _differ(a: Sequence[Any], b: Sequence[Any]) -> bool:
    return len(a) != len(b) or any(x is not y for x, y in zip(a, b, strict=True))
