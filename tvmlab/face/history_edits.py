"""Changes of steps that can be taken back: edits, moves, deletions, names. They are no steps: no cursor knows them.

Undo takes back the last of them once the steps taken since are undone, wherever a person looks; redo makes it again, in
its turn. What a change replaced is put back as it was, with the same axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

from ..schedule.trace import Trace
from .history import Branch, Entry, Point

if TYPE_CHECKING:
    from .document import Document

MOST = 50  # changes that can be taken back
NUMBERS = count(1)


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
        """The same steps on all branches, and the same cursor."""
        return self.cursor == other.cursor and len(self.steps) == len(other.steps) and self.begins(other)

    def begins(self, later: Look) -> bool:
        """Has nothing changed since but steps that were added, and undone again?"""
        mine, others = self.rest, later.rest
        return (
            (self.root, self.current) == (later.root, later.current)
            and later.cursor <= len(self.steps)
            and later.steps[: len(self.steps)] == self.steps
            and mine == others
        )

    @property
    def steps(self) -> list[tuple[object, ...]]:
        """Of the current branch, each by what it is: its code may be written anew."""
        return next([_is(e) for e in entries] for b, entries, *_ in self.lines if b is self.current)

    @property
    def rest(self) -> list[tuple[Branch, list[tuple[object, ...]]]]:
        """The other branches."""
        return [(b, [_is(e) for e in entries]) for b, entries, *_ in self.lines if b is not self.current]

    def put(self, document: Document) -> None:
        document.branches = [line[0] for line in self.lines]
        for branch, entries, points, coded in self.lines:
            branch.entries, branch.points, branch.coded = entries, points and list(points), coded
        document.current, document.cursor = self.current, self.cursor


@dataclass(frozen=True)
class Change:
    """`name`: what it was, in words: "change of step 2". `number`: another for each."""

    number: int
    name: str
    before: Look
    after: Look


class Edits:
    """Of one document: `done` can be taken back, the last one first, and `undone` made again."""

    def __init__(self) -> None:
        self.done: list[Change] = []
        self.undone: list[Change] = []

    def note(self, name: str, before: Look, after: Look) -> None:
        self.undone.clear()
        self.done = [*self.done[1 - MOST :], Change(next(NUMBERS), name, before, after)]

    @property
    def last(self) -> int:
        """The number of the last change that is in force; 0 for none."""
        return self.done[-1].number if self.done else 0

    def to_undo(self, document: Document) -> str:
        """The name of the change that undo takes back; "" when it moves the cursor."""
        return self.done[-1].name if self.done and self.done[-1].after.begins(Look.of(document)) else ""

    def to_redo(self, document: Document) -> str:
        """The same for redo; steps that were undone after the change are taken first."""
        return self.undone[-1].name if self.undone and self.undone[-1].before.same(Look.of(document)) else ""

    def undo(self, document: Document) -> bool:
        if not self.to_undo(document):
            return False
        change = replace(self.done.pop(), after=Look.of(document))  # with the steps that were taken since
        change.before.put(document)
        self.undone.append(change)
        return True

    def redo(self, document: Document) -> bool:
        if not self.to_redo(document):
            return False
        self.done.append(self.undone.pop())
        self.done[-1].after.put(document)
        return True


def _is(e: Entry) -> tuple[object, ...]:
    return e.id, id(e.args), e.name, e.note, e.off
