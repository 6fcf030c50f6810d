"""The workloads that a lab had before: choosing another one is undone like a step, with all the steps of the former."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..face.document import Document

MOST = 10  # former workloads that are kept


@dataclass(frozen=True, eq=False)
class Choice:
    """A workload as it was left: its history, arguments and place in the catalogue."""

    document: Document
    args: Sequence[Any] | None
    workload: str
    kernel: dict[str, Any] | None
    title: str
    at: tuple[int, int]

    @classmethod
    def of(cls, lab: Any) -> Choice:
        return cls(lab.document, lab.args, lab.workload, lab.kernel, lab.head()["title"], _at(lab.document))

    def is_now(self, lab: Any) -> bool:
        """Has nothing happened since it was left?"""
        return lab.document is self.document and self.at == _at(self.document)


def _at(document: Document) -> tuple[int, int]:
    return document.cursor, len(document.entries)


class Choices:
    """Of one lab. `past`: what was left for another workload, `future`: what was left by undoing that."""

    def __init__(self) -> None:
        self.past: list[Choice] = []
        self.future: list[tuple[Choice, Choice]] = []  # what redo leaves, and where it goes

    def leave(self, lab: Any) -> None:
        """Another workload is chosen now."""
        self.past = [*self.past[1 - MOST :], Choice.of(lab)]
        self.future.clear()

    def to_undo(self, lab: Any) -> str:
        """What undo goes back to where no step is left to undo, in words."""
        return f"choice of {lab.head()['title']}" if self.past else ""

    def to_redo(self, lab: Any) -> str:
        return f"choice of {self.future[-1][1].title}" if self.future and self.future[-1][0].is_now(lab) else ""

    def undo(self, lab: Any) -> bool:
        if not self.past:
            return False
        left, back = Choice.of(lab), self.past.pop()
        lab.take_up(back)
        self.future.append((Choice.of(lab), left))
        return True

    def redo(self, lab: Any) -> bool:
        if not self.to_redo(lab):
            return False
        left, there = self.future.pop()
        self.past.append(left)
        lab.take_up(there)
        return True
