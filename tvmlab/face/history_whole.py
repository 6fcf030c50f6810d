"""Several acts on a history as one: all of them or, when one is refused, none.

    with as_one(document, "tuning"):                    undo takes all of it back, by that name
        give(document, "e2", {"factor": 32})
        give(document, "e5", {}, off=True)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .history_edits import Look
from .history_replay import taken
from .sandbox import need_changeable

if TYPE_CHECKING:
    from .document import Document


@contextmanager
def whole(document: Document) -> Iterator[None]:
    """Who observes the history is told once, at the end; of what is refused nothing is left."""
    edits, held = document.edits, document._held
    before, done, undone = Look.of(document), list(edits.done), list(edits.undone)
    document._held = []
    try:
        yield
    except BaseException:
        before.put(document)
        edits.done, edits.undone = done, undone
        document.schedule.advance(document.point.trace)
        document._held = []
        raise
    finally:
        changed, document._held = document._held, held
        if changed:
            document._changed()


@contextmanager
def as_one(document: Document, name: str) -> Iterator[None]:
    """Whatever is done inside is one change of that name."""
    need_changeable(document.schedule.trial)
    before, done = Look.of(document), list(document.edits.done)
    with whole(document):
        yield
        after = Look.of(document)
        document.edits.done = done
        if not (after.same(before) and after.begins(before)):
            document.edits.note(name, before, after)


def give(document: Document, id: str, args: Mapping[str, Any], off: bool = False) -> None:
    """Some arguments of a step, as `Entry.args` has them. `off`: it is kept, and not taken.

    Refused: arguments with which it does not apply.
    """
    need_changeable(document.schedule.trial)
    at, entry = document.index(id), document.entry(id)
    made = replace(entry, args={**entry.args, **args}, off=off)
    if not off:
        taken(document.known, made, document.points[at], document._missing(document.entries[:at]))
    rest = document.entries[at + 1 :]
    document._put("change", entry, [*document.entries[:at], made, *rest], document.cursor, at)
