"""A history as plain data, and back.

    {"schema": 1, "kind": "tvmlab history", "table": ..., "steps": [...], "branches": [...], "current", "cursor", ...}

`table` holds the expression and the objects of steps (see core.serial). A step that several branches share is written
once; branches list steps by number. What this version does not know (a primitive, a class of objects, a field) is kept
and written again as it came.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from ..core import serial
from ..core.error import LabError
from ..expr.tensor import Operation
from ..schedule import primitives
from ..schedule.trace import Trace
from .history import Branch, Entry
from .history_codec import Table, Unread, unread

if TYPE_CHECKING:
    from .document import Document

SCHEMA = 1
KIND = "tvmlab history"
SAVED = (
    "id", "primitive", "args", "names", "origin", "when", "name", "note", "group", "evidence", "label", "code", "off",
)  # fmt: skip
TOP = ("schema", "kind", "table", "steps", "branches", "current", "cursor", "made", "slots", "gone")


class FileError(LabError, ValueError):
    """Data that is no history, or a damaged one."""


# ---------------------------------------------------------------- writing


def to_json(document: Document) -> dict[str, Any]:
    """The history as plain data."""
    document.current.cursor = document.cursor
    _ = document.entries  # which writes their code
    steps: dict[str, tuple[int, Any]] = {}  # each step once, by its text: (number, data)

    def number(entry: Entry) -> int:
        made = _step(entry)
        return steps.setdefault(json.dumps(made, sort_keys=True, default=str), (len(steps), made))[0]

    branches = [
        {"id": b.id, "name": b.name, "steps": [number(e) for e in b.entries], "cursor": b.cursor}
        for b in document.branches
    ]
    table = serial.to_data({"outputs": list(document.root.outputs), "objects": document.known.table.objects})
    return {
        **document.extra,
        "schema": document.extra.get("schema", SCHEMA),
        "kind": KIND,
        "table": table,
        "steps": [made for _, made in steps.values()],
        "branches": branches,
        "current": document.current.id,
        "cursor": document.cursor,
        "made": document.made,
        "slots": {entry: [list(slot) for slot in slots] for entry, slots in document.known.slots.of.items()},
        "gone": _gone(document),
    }


def _gone(document: Document) -> dict[str, str]:
    """The calls of steps that were deleted: others may still name what they made."""
    there = {e.id for b in document.branches for e in b.entries}
    return {id: e.code for id, e in document.known.steps.items() if id not in there}


def _step(entry: Entry) -> dict[str, Any]:
    made = {name: getattr(entry, name) for name in SAVED}
    made = {**made, "args": dict(entry.args), "names": list(entry.names), "origin": dict(entry.origin)}
    return {**entry.extra, **{k: v for k, v in made.items() if v or k in ("id", "primitive", "args")}}


# ---------------------------------------------------------------- reading


def from_json(data: Any) -> Document:
    """The history again, on a schedule of its own."""
    if isinstance(data, (str, bytes)):
        try:
            data = json.loads(data)
        except (ValueError, RecursionError) as e:
            raise _damaged(f"it is no JSON: {e}") from None
    if not isinstance(data, Mapping):
        raise _damaged(f"a {type(data).__name__} is no history")
    try:
        return _trace(data) if "version" in data and "kind" not in data else _history(data)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as e:
        if isinstance(e, LabError):
            raise
        what = f"it lacks {e}" if isinstance(e, KeyError) else f"{type(e).__name__}: {e}"
        raise _damaged(what) from None


def _damaged(why: str) -> FileError:
    return FileError("damaged-history", f"this cannot be opened as a history of schedule steps: {why}")


def _trace(data: Mapping[str, Any]) -> Document:
    """A saved trace, from before there were histories."""
    from .document import Document
    from .handle import Schedule

    document = Document.of(Schedule(Trace.from_json(json.dumps(data))))
    document.given = "a trace, saved without history"
    return document


def _history(data: Mapping[str, Any]) -> Document:
    from .document import Document
    from .handle import Schedule

    if data["kind"] != KIND or not isinstance(data["schema"], int):
        raise _damaged(f"it is of kind {data['kind']!r}")
    table = serial.from_data(data["table"], unread)
    document = Document(Schedule(Trace(_outputs(table["outputs"]))))
    document.schedule.document = document
    document.known.table = Table(table["objects"])
    document.known.slots.of = {str(e): [(str(k), str(n)) for k, n in slots] for e, slots in data["slots"].items()}
    document.extra = {k: v for k, v in data.items() if k not in TOP or k == "schema"}
    entries = [_entry(item) for item in data["steps"]]
    gone = [Entry(str(id), "", {}, code=str(code)) for id, code in data.get("gone", {}).items()]
    document.known.entries([*gone, *entries])
    document.branches = [_branch(item, entries) for item in data["branches"]]
    document.made = _made(data["made"], document.branches, [*gone, *entries])
    document.current = next((b for b in document.branches if b.id == data["current"]), document.branches[0])
    document.cursor = _within(data["cursor"], document.current)
    document.given = _given(data["schema"], document)
    document.schedule.advance(document.point.trace)
    return document


def _outputs(found: Any) -> list[Operation]:
    strange = next((x for x in found if isinstance(x, Unread)), None)
    if strange is not None:
        message = "this was saved by a newer version of tvmlab, whose expression this one cannot read"
        raise FileError("newer-expression", message)
    if not found or not all(isinstance(x, Operation) for x in found):
        raise _damaged("its expression is no list of operations")
    return list(found)


def _entry(item: Mapping[str, Any]) -> Entry:
    known = {name: item[name] for name in SAVED if name in item}
    if not isinstance(item["args"], Mapping) or not re.fullmatch(r"[\w-]+", item["id"]):
        raise _damaged(f"step {item['id']!r} has no arguments, or no name")
    for f in fields(Entry):
        if f.name in known and f.type == "str" and not isinstance(known[f.name], str):
            raise _damaged(f"`{f.name}` of step {item['id']} is no text")
    origin = {k: str(v) for k, v in dict(item.get("origin", {"kind": "file", "label": ""})).items()}
    plain = {"off": item.get("off") is True, "names": tuple(map(str, item.get("names", ())))}
    made = Entry(**{**known, **plain, "origin": origin})
    when = float(item.get("when", 0))
    return replace(made, when=when, extra={k: v for k, v in item.items() if k not in SAVED})


def _branch(item: Mapping[str, Any], entries: list[Entry]) -> Branch:
    numbers = item["steps"]
    if not all(isinstance(n, int) and 0 <= n < len(entries) for n in numbers):
        raise _damaged(f"branch {item['name']!r} has steps that are not there")
    made = Branch(str(item["id"]), str(item["name"]), tuple(entries[n] for n in numbers))
    if len({e.id for e in made.entries}) < len(made.entries):
        raise _damaged(f"branch {made.name!r} has a step twice")
    made.cursor = _within(item["cursor"], made)
    return made


def _made(said: Any, branches: list[Branch], entries: list[Entry]) -> int:
    """How many ids were given out, whatever the file says of it: the next one must be new."""
    ids = [b.id for b in branches]
    if len(set(ids)) < len(ids):
        raise _damaged("two of its branches have the same id")
    numbers = [e.group.rpartition("#")[2] for e in entries]
    found = [re.fullmatch(r"[a-z](\d{1,9})", id) for id in (*ids, *(e.id for e in entries), *numbers)]
    return max(int(said), *(int(x[1]) for x in found if x is not None), 0)


def _within(cursor: Any, branch: Branch) -> int:
    return max(0, min(int(cursor), len(branch.entries)))


def _given(schema: int, document: Document) -> str:
    """What was not understood, in words."""
    strange = sorted({e.primitive for b in document.branches for e in b.entries} - set(primitives.names()))
    parts = [f"saved by a newer version of tvmlab (schema {schema})"] if schema > SCHEMA else []
    parts += [f"not known here, and kept: {', '.join(strange)}"] if strange else []
    parked = [e for e in document.entries if e.parked]
    parts += [f"{len(parked)} step{'s' * (len(parked) != 1)} parked"] if parked else []
    return "; ".join(parts)
