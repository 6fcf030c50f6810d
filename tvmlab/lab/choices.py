"""The workloads that a lab had before: choosing another operator or other sizes is undone like a step.

A choice is the last act until something is done after it; then undo takes that back first, and the choice after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..face.document import Document
from ..schedule.trace import Trace

MOST = 50  # former workloads that are kept


@dataclass(frozen=True)
class Place:
    """Where a lab is in which history: equal until something is done that is not undone.

    `steps`: those in force; `change`: the last change of a step.
    """

    document: Document
    root: Trace
    cursor: int
    steps: tuple[str, ...]
    change: int

    @classmethod
    def of(cls, lab: Any) -> Place:
        d = lab.document
        return cls(d, d.root, d.cursor, tuple(e.id for e in d.entries[: d.cursor]), d.edits.last)


@dataclass(frozen=True, eq=False)
class Choice:
    """A workload as it was left: its history, expression, arguments and place in the catalogue."""

    document: Document
    root: Trace
    args: Sequence[Any] | None
    workload: str
    kernel: dict[str, Any] | None
    title: str

    @classmethod
    def of(cls, lab: Any) -> Choice:
        return cls(lab.document, lab.document.root, lab.args, lab.workload, lab.kernel, lab.head()["title"])


class Choices:
    """Of one lab. `past`: what was left for another workload, and where the lab was then; `future`: what undo left."""

    def __init__(self) -> None:
        self.past: list[tuple[Choice, Place]] = []
        self.future: list[tuple[Choice, Place]] = []

    def came(self, left: Choice, lab: Any) -> None:
        """Another workload was chosen. What redo would have gone to is not forgotten: undo gets there too."""
        forgotten = [choice for choice, _ in self.future if choice.document is not left.document]
        self.future.clear()
        past = [*((c, Place.of(lab)) for c in forgotten), *self.past, (left, Place.of(lab))]
        self.past = past[-MOST:]

    def to_undo(self, lab: Any, last: bool = False) -> str:
        """What undo goes back from, in words. `last`: only if nothing was done since."""
        if not self.past or (last and self.past[-1][1] != Place.of(lab)):
            return ""
        left = self.past[-1][0]
        if not last and left.document is lab.document:  # other sizes of what is still looked at
            return ""
        return f"choice of {lab.head()['title']}"

    def to_redo(self, lab: Any) -> str:
        return f"choice of {self.future[-1][0].title}" if self.future and self.future[-1][1] == Place.of(lab) else ""

    def undo(self, lab: Any, last: bool = False) -> bool:
        if not self.to_undo(lab, last):
            return False
        now = Choice.of(lab)
        lab.take_up(self.past[-1][0])  # which may be refused: then it stays
        self.past.pop()
        self.future.append((now, Place.of(lab)))
        return True

    def redo(self, lab: Any) -> bool:
        if not self.to_redo(lab):
            return False
        now = Choice.of(lab)
        lab.take_up(self.future[-1][0])
        self.future.pop()
        self.past.append((now, Place.of(lab)))
        return True
