"""Changes of steps that can be taken back: edits, moves, deletions, names. They are no steps: no cursor knows them.

Undo takes back the last of them as long as the steps are as it left them, wherever a person looks meanwhile; redo makes
it again, in its turn. What a change replaced is put back as it was, with the same axes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..schedule.trace import Trace
from .history import Branch, Entry, Point

if TYPE_CHECKING:
    from .document import Document

MOST = 50  # changes that can be taken back


@dataclass(frozen=True, eq=False)
class Look:
    """All of a history that a change of steps may change. `lines`: each branch with its steps, places and `coded`."""

    root: Trace
    lines: tuple[tuple[Branch, tuple[Entry, ...], list[Point] | None, bool], ...]
    current: Branch
    cursor: int

    @classmethod
    def of(cls, document: Document) -> Look:
        _ = document.entries  # which may write their code, into new ones
        lines = tuple((b, b.entries, b.points and list(b.points), b.coded) for b in document.branches)
        return cls(document.root, lines, document.current, document.cursor)

    def same(self, other: Look) -> bool:
        """The same steps; the cursor may be elsewhere."""
        return (
            (self.root, self.current) == (other.root, other.current)
            and len(self.lines) == len(other.lines)
            and all(a[0] is b[0] and a[1] is b[1] for a, b in zip(self.lines, other.lines, strict=True))
        )

    def put(self, document: Document) -> None:
        document.branches = [line[0] for line in self.lines]
        for branch, entries, points, coded in self.lines:
            branch.entries, branch.points, branch.coded = entries, points and list(points), coded
        document.current, document.cursor = self.current, self.cursor


@dataclass(frozen=True)
class Change:
    """`name`: what it was, in words: "change of step 2"."""

    name: str
    before: Look
    after: Look


class Edits:
    """Of one document: `done` can be taken back, the last one first, and `undone` made again."""

    def __init__(self) -> None:
        self.done: list[Change] = []
        self.undone: list[Change] = []

    def note(self, name: str, before: Look, after: Look) -> None:
        if not (self.done and self.done[-1].after.same(before)):
            self.done.clear()
        self.undone.clear()
        self.done = [*self.done[1 - MOST :], Change(name, before, after)]

    def to_undo(self, document: Document) -> str:
        """The name of the change that undo takes back; "" when it moves the cursor."""
        return self.done[-1].name if self.done and self.done[-1].after.same(Look.of(document)) else ""

    def to_redo(self, document: Document) -> str:
        if not self.undone or document.cursor != self.undone[-1].before.cursor:  # steps that were undone come first
            return ""
        return self.undone[-1].name if self.undone[-1].before.same(Look.of(document)) else ""

    def undo(self, document: Document) -> bool:
        if not self.to_undo(document):
            return False
        self.undone.append(self.done.pop())
        self.undone[-1].before.put(document)
        return True

    def redo(self, document: Document) -> bool:
        if not self.to_redo(document):
            return False
        self.done.append(self.undone.pop())
        self.done[-1].after.put(document)
        return True
