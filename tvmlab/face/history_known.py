"""What a history remembers of everything that was ever in it: whose an axis is, what a step was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from ..core.node import IterVar
from ..expr.tensor import Operation, Tensor
from .history import Entry, Point, Ref, Slots
from .history_codec import Table


class Known:
    """Axes and operations by identity, those of replaced steps too; each step as it last was; what steps hold."""

    def __init__(self) -> None:
        self.table, self.slots = Table(), Slots()
        self.axes: dict[IterVar, Ref] = {}  # axes are small, and have no room for a weak reference
        self.operations: WeakKeyDictionary[Operation, Ref] = WeakKeyDictionary()
        self.groups: dict[object, Ref] = {}  # by the group's key
        self.steps: dict[str, Entry] = {}

    def copy(self) -> Known:
        made = Known()
        made.table, made.slots = Table(self.table.objects), self.slots.copy()
        made.axes, made.steps = dict(self.axes), dict(self.steps)
        made.operations, made.groups = self.operations.copy(), dict(self.groups)
        return made

    def place(self, point: Point) -> None:
        """Remember what is there."""
        self.axes.update(point.axis_refs)
        self.operations.update(point.operations)
        self.groups.update((g.key, point.group_refs[n]) for n, g in point.trace.state.groups.items())

    def entries(self, entries: Iterable[Entry]) -> None:
        self.steps.update({e.id: e for e in entries})

    def ref(self, thing: Any) -> Ref | None:
        """The identity of an axis, a tensor (that of its stage) or an operation."""
        if isinstance(thing, IterVar):
            return self.axes.get(thing)
        op = thing.op if isinstance(thing, Tensor) else thing
        return self.operations.get(op) if isinstance(op, Operation) else None

    def now(self, thing: Any, point: Point) -> Any:
        """What it is at `point` (of a group's key: its number); None where it is not."""
        if type(thing) is object:
            return point.groups.get(self.groups.get(thing, ""))
        ref = self.ref(thing)
        if ref is None:
            return None
        if isinstance(thing, IterVar):
            return point.axes.get(ref)
        number = point.stages.get(ref)
        if number is None:
            return None
        op = point.trace.state.stages[number].op
        if not isinstance(thing, Tensor):
            return op
        return op.outputs[thing.value_index] if thing.value_index < op.num_outputs else None
