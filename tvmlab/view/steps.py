"""The history of a schedule as the lab shows it: the steps of the current branch, what can be edited of each, branches.

history(document)                          as payload.History
edit(document, "e2", {"factor": 32})       what a form sends back: values as in the step's `params`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core.error import LabError
from ..face.document import Document
from ..face.history import Branch, Entry
from ..face.history_edit import need_known
from ..face.verdict import ILLEGAL, idle, judge
from ..schedule.trace import Trace
from .acts import decode
from .frame import frame, known
from .params import params
from .payload import Branch as BranchInfo
from .payload import Frame, History, Metrics, Param, StepInfo

Seconds = Mapping[str, float]  # by id of the step after which it was measured; "" is the start


def history(document: Document, measured: Seconds | None = None, whole: bool = True) -> History:
    """What the history pane shows.

    `measured`: times by step. `whole=False`: metrics and "no effect" only of places whose frames are there already, so
    that nothing needs to be lowered for it.
    """
    times = measured or {}
    frames = [_frame(document.trace_at(n), whole) for n in range(len(document.entries) + 1)]
    return {
        "steps": [_step(document, n, frames, times) for n in range(len(document.entries))],
        "cursor": document.cursor,
        "branches": [_branch(document, b) for b in document.branches],
        "start": _metrics(frames[0]),
        "start_seconds": times.get(""),
        "undo": document.edits.to_undo(document) or _taken(document, document.current.last_before(document.cursor)),
        "redo": document.edits.to_redo(document) or _taken(document, document.current.next_after(document.cursor), -1),
    }


def _taken(document: Document, at: int | None, shift: int = 0) -> str:
    """The step that begins there (`shift` -1: ends there), in words."""
    if at is None:
        return ""
    e = document.entries[at + shift]
    return e.group.partition("#")[0] or e.name or e.label or e.primitive.replace("_", " ")


def _frame(trace: Trace, whole: bool) -> Frame | None:
    return frame(trace) if whole else known(trace)


def _metrics(found: Frame | None) -> Metrics | None:
    """Without the numbers of every loop, which frames have: a film strip draws single numbers only."""
    return None if found is None else {**found["metrics"], "levels": []}


def _branch(document: Document, b: Branch) -> BranchInfo:
    return {"id": b.id, "name": b.name, "steps": len(b.entries), "current": b is document.current}


def _step(document: Document, n: int, frames: list[Frame | None], times: Seconds) -> StepInfo:
    e = document.entries[n]
    reason = e.reason if e.parked else _idle(document, n, frames[n], frames[n + 1])
    return {
        "id": e.id,
        "label": e.label or e.primitive.replace("_", " "),
        "code": e.code,
        "status": "parked" if e.parked else "same" if reason else "ok",
        "reason": reason,
        "name": e.name,
        "note": e.note,
        "origin": {"kind": _kind(e), "label": e.origin.get("label", "")},
        "params": _params(document, n),
        "metrics": None if e.parked else _metrics(frames[n + 1]),
        "seconds": times.get(e.id),
        "group": e.group,
    }


def _kind(e: Entry) -> Any:
    kind = e.origin.get("kind", "")
    return kind if kind in ("widget", "cell", "file") else "file"


def _idle(document: Document, n: int, before: Frame | None, after: Frame | None) -> str:
    """Why a step changed nothing; "" when it did, or when that is not known."""
    if before is None or after is None or "error" in after or not _alike(before, after):
        return ""
    old, new = document.trace_at(n), document.trace_at(n + 1)
    assert new.step is not None
    said = idle(old.state, new.state, new.step.primitive, new.step.args)
    return said or "the loops stay as they are"


def _alike(a: Frame, b: Frame) -> bool:
    """Does a person see the same, whoever made it? Asked of each step after each act: it stops at the first change."""
    if len(a["loops"]) != len(b["loops"]) or len(a["tree"]) != len(b["tree"]) or a["notes"] != b["notes"]:
        return False
    rows = zip(a["tree"], b["tree"], strict=True)
    if any(x["id"] != y["id"] or x["extent"] != y["extent"] or x["mark"] != y["mark"] or x["chips"] != y["chips"]
           for x, y in rows):  # fmt: skip
        return False
    return all(x["d"] == y["d"] and x["t"] == y["t"] for x, y in zip(a["loops"], b["loops"], strict=True))


# ---------------------------------------------------------------- what can be edited


def _params(document: Document, n: int) -> list[Param]:
    """The step's own values, with the choices there are before it; none for a step whose loops are not there."""
    try:
        args, state = document.arguments(n), document.trace_at(n).state
        return params(document.entries[n].primitive, args, state)
    except Exception:  # a parked step may hold anything
        return []


def edit(document: Document, id: str, values: Mapping[str, Any]) -> None:
    """Change values of a step, as its `params` have them ({"axis": id}, {"thread": tag}, ...); the later ones follow.

    Refused: what would not be legal where the step stands.
    """
    n = document.index(id)
    primitive, trace = document.entries[n].primitive, document.trace_at(n)
    need_known(document.entries[n])
    given = _exclusive(primitive, values)
    kept = document.arguments(n, [k for k in document.entries[n].args if k not in given])
    args = {**kept, **{k: v for k, v in given.items() if v is not None}}
    _, made = decode({"primitive": primitive, "args": args}, trace.state)
    found = judge(trace, primitive, made)
    if found.kind == ILLEGAL:
        raise found.error or LabError("illegal", found.reason)
    document.edit(id, {**dict.fromkeys(given), **made})


def _exclusive(primitive: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """What one value takes away: a split has a factor or a number of parts; a loop says whose it is."""
    made = dict(values)
    if primitive == "compute_at" and made.get("scope") is not None:
        made.setdefault("parent", None)
    for one, other in (("factor", "nparts"), ("nparts", "factor")):
        if primitive == "split" and made.get(one) is not None:
            made.setdefault(other, None)
    return made
