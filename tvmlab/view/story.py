"""All frames of a schedule's history, packed: a line or a row that several frames share is stored once.

    {"lines": [...], "rows": [...], "frames": [{"key": ..., "loops": [0, 1, 2], "tree": [0, 4], ...}, ...]}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ..face.document import Document
from ..schedule.trace import Trace
from .frame import frame, of
from .payload import Frame, Level, Line, PackedFrame, Row, Story


def story(history: Trace | Document | Sequence[Trace]) -> Story:
    """The frames before and after each step: of a document's current branch, of a trace, or of the traces given."""
    table = _Table()
    packed = [table.pack(f) for f in frames(history)]
    return {"frames": packed, "lines": table.lines, "rows": table.rows, "levels": table.levels}


def frames(history: Trace | Document | Sequence[Trace]) -> Iterator[Frame]:
    """One frame per cursor, 0 to the number of steps; a document's with the numbers its steps have there."""
    if isinstance(history, Trace):
        yield from (frame(history.prefix(n)) for n in range(len(history) + 1))
    elif isinstance(history, Sequence):
        yield from map(frame, history)
    else:
        yield from (of(history, n) for n in range(len(history.entries) + 1))


def unpacked(told: Story, cursor: int) -> Frame:
    """The frame at a cursor, as it was (an error is told by its notes)."""
    f = told["frames"][cursor]
    return {
        "key": f["key"], "tree": [told["rows"][k] for k in f["tree"]], "loops": [told["lines"][k] for k in f["loops"]],
        "metrics": {**f["metrics"], "levels": [told["levels"][k] for k in f["levels"]]}, "notes": f["notes"],
    }  # fmt: skip


class _Table:
    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.rows: list[Row] = []
        self.levels: list[Level] = []
        self.number: dict[str, int] = {}

    def pack(self, f: Frame) -> PackedFrame:
        notes = [*f["notes"], *([f["error"]["text"]] if "error" in f else [])]
        return {
            "key": f["key"], "loops": [self.at(x, self.lines, "line") for x in f["loops"]],
            "tree": [self.at(x, self.rows, "row") for x in f["tree"]], "metrics": {**f["metrics"], "levels": []},
            "levels": [self.at(x, self.levels, "level") for x in f["metrics"]["levels"]], "notes": notes,
        }  # fmt: skip

    def at(self, thing: Any, where: list[Any], kind: str) -> int:
        key = kind + json.dumps(thing)
        found = self.number.get(key)
        if found is None:
            found = self.number[key] = len(where)
            where.append(thing)
        return found
