"""A group of stages as people hold it: `g = s.create_group(outputs=E, inputs=A); g.compute_at(s[C], i)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..core.error import ScheduleValueError
from ..core.node import IterVar
from ..schedule.state import Group

if TYPE_CHECKING:
    from .handle import Schedule, StageHandle


class GroupHandle:
    """Stages that move together."""

    def __init__(self, schedule: Schedule, index: int) -> None:
        self.schedule, self.made_as = schedule, index
        self.key = schedule.state.groups[index].key

    @property
    def index(self) -> int:
        """Its number now."""
        groups = self.schedule.state.groups
        if self.made_as in groups and groups[self.made_as].key is self.key:
            return self.made_as
        document = self.schedule.document
        now = document.resolve(self.key) if document is not None else None
        if now is None:
            raise ScheduleValueError("untaken-step", "this group is gone: the step that made it was undone")
        return int(now)

    @property
    def record(self) -> Group:
        return self.schedule.state.groups[self.index]

    @property
    def stages(self) -> list[StageHandle]:
        return [self.schedule[s.op] for s in self.schedule.state.members(self.index)]

    @property
    def group(self) -> GroupHandle | None:
        """The group around this one."""
        parent = self.record.parent
        return None if parent is None else GroupHandle(self.schedule, parent)

    @property
    def attach_type(self) -> int:
        """The classic numbers: 1 root, 4 inside a loop."""
        return 4 if self.record.attach.kind == "at" else 1

    @property
    def attach_ivar(self) -> IterVar | None:
        return self.record.attach.axis

    @property
    def attach_stage(self) -> StageHandle | None:
        at = self.record.attach
        return None if at.kind != "at" else self.schedule[self.schedule.state.stages[at.stage].op]

    def compute_at(self, parent: Any, scope: IterVar) -> None:
        """All stages of the group are computed inside that loop, except those with a place of their own in it."""
        self.schedule.apply("attach_group", self.index, parent, scope)

    def compute_root(self) -> None:
        """The stages are computed whole, before their consumers."""
        self.schedule.apply("detach_group", self.index)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, GroupHandle) and (self.schedule, self.index) == (other.schedule, other.index)

    def __hash__(self) -> int:
        return hash((id(self.schedule), "group", self.index))

    def __repr__(self) -> str:
        at = self.record.attach
        place = "" if at.axis is None else f"  [at {self.schedule.state.stages[at.stage].path(at.axis)}]"
        return f"group({', '.join(s.record.name for s in self.stages)}){place}"
