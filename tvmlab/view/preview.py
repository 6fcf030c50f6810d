"""What an act would make of the schedule, before it is applied: the tree, the loops that change, the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..analysis.machine import Machine
from ..analysis.roofline import traffic
from ..core.deep import deep
from ..core.error import LabError
from ..core.units import size
from ..face import recipes
from ..face.handle import Schedule
from ..face.verdict import ILLEGAL, OWES, Move, taken
from ..schedule.trace import Trace
from .actions import explained, sign, verdict_of
from .card import card
from .diff import diff
from .frame import frame, program
from .numbers import counted
from .payload import Act, Delta, Frame, Level, Metrics, Preview
from .words import label, why

MOST_LEVELS = 4


@deep
def preview(schedule: Schedule | Trace, act: Act, machine: Machine | None = None) -> Preview:
    """Of an act that is refused: the schedule as it is, and the card that says why.

    `machine`: whose caches the traffic out of memory is modelled for; without one it is left out.
    """
    trace = schedule if isinstance(schedule, Trace) else schedule.trace
    primitive, args, verdict = verdict_of(trace, act)
    old = frame(trace)
    move = Move(primitive, args, label(primitive) if primitive.startswith(recipes.PREFIX) else primitive)
    made: Preview = {
        "act": act, "sign": sign(verdict), "reason": why(verdict), "tree": old["tree"], "diff": [], "deltas": [],
        "card": explained(trace, move, verdict),
    }  # fmt: skip
    if verdict.kind == ILLEGAL:
        return made
    try:
        then = after(trace, primitive, args)
        new = frame(then)
    except LabError as e:
        made["card"] = card(e, f"the loops after {primitive}")
        return made
    made["tree"], made["diff"] = new["tree"], diff(old["loops"], new["loops"])
    if verdict.kind != OWES:  # there are numbers of a schedule that is whole
        made["deltas"] = deltas(old, new, _traffic(trace, machine), _traffic(then, machine))
    return made


@deep
def beside(trace: Trace, then: Trace, act: Act, machine: Machine | None = None, wrong: str = "") -> Preview:
    """Another schedule of the same expression beside this one. `wrong`: what is known against it."""
    old, new = frame(trace), frame(then)
    return {
        "act": act, "sign": "x" if wrong else "+", "reason": wrong, "tree": new["tree"],
        "diff": diff(old["loops"], new["loops"]), "card": None,
        "deltas": deltas(old, new, _traffic(trace, machine), _traffic(then, machine)),
    }  # fmt: skip


def refused(trace: Trace, act: Act, error: LabError, title: str = "") -> Preview:
    """Of what cannot be: the schedule as it is, and why."""
    return {
        "act": act, "sign": "x", "reason": error.message, "tree": frame(trace)["tree"], "diff": [], "deltas": [],
        "card": card(error, title),
    }  # fmt: skip


def _traffic(trace: Trace, machine: Machine | None) -> dict[str, float]:
    """Modelled bytes that come out of each place behind the first cache."""
    counts = counted(program(trace)) if machine is not None and "error" not in frame(trace) else ""
    if isinstance(counts, str) or machine is None or counts.flops is None or counts.moved is None:
        return {}
    return {t.source: t.bytes for t in traffic(counts, machine)}


def after(trace: Trace, primitive: str, args: Mapping[str, Any]) -> Trace:
    """The trace with the step, or with all steps of a recipe."""
    if primitive.startswith(recipes.PREFIX):
        return recipes.traces(trace, primitive, args)[-1]
    return taken(trace, primitive, args)


# ---------------------------------------------------------------- numbers, before and after


def deltas(
    old: Frame, new: Frame, before: Mapping[str, float] | None = None, after: Mapping[str, float] | None = None
) -> list[Delta]:
    """Arithmetic, bytes moved, traffic, footprints, parallel tasks, vector width; nothing where there is no model.

    `before`, `after`: bytes that come out of each cache and of memory.
    """
    was, now = before or {}, after or {}
    a, b = old["metrics"], new["metrics"]
    found = [
        _share("arithmetic", a["flops"], b["flops"]),
        _share("bytes moved", _moved(a), _moved(b)),
        *(_share(f"traffic from {x}", was.get(x), n) for x, n in now.items() if x == "memory" or was.get(x) != n),
        *_footprints(a["levels"], b["levels"]),
        _count("parallel tasks", a["tasks"], b["tasks"]),
        _count("vector width", a["lanes"], b["lanes"]),
    ]
    about = "" if a["exact"] and b["exact"] else "about "
    return [{**d, "text": d["text"] if d["text"] == "=" else about + d["text"]} for d in found if d is not None]


def _moved(m: Metrics) -> float | None:
    return None if m["read"] is None or m["written"] is None else m["read"] + m["written"]


def _share(name: str, before: float | None, after: float | None) -> Delta | None:
    """Less is better; as a part of what it was."""
    if before is None or after is None:
        return None
    better = None if before == after else after < before
    return {"name": name, "before": before, "after": after, "text": share(before, after), "better": better}


def share(before: float, after: float) -> str:
    """ "-62 %", "x 3.0" from twice as much on, "=" """
    if before == after:
        return "="
    if before == 0 or after / before >= 2:
        return f"{_short(before)} -> {_short(after)}" if before == 0 else f"x {after / before:.3g}"
    percent = 100 * (after / before - 1)
    return f"{percent:+.0f} %" if abs(percent) >= 1 else f"{percent:+.1g} %"


def _count(name: str, before: int | None, after: int | None) -> Delta | None:
    """More is better."""
    if before is None or after is None:
        return None
    if before == after:
        return {"name": name, "before": before, "after": after, "text": "=", "better": None}
    return {"name": name, "before": before, "after": after, "text": f"{before} -> {after}", "better": after > before}


def _footprints(old: Sequence[Level], new: Sequence[Level]) -> list[Delta]:
    """What each loop touches in one run: of the loops where that is new or another, the outermost first."""
    known = {x["id"]: x["bytes"] for x in old}
    found: list[Delta] = []
    for x in new:
        before = known.get(x["id"])
        if before == x["bytes"] or len(found) == MOST_LEVELS:
            continue
        better = None if before is None else x["bytes"] < before
        text = size(x["bytes"])
        if before is not None:
            text = share(before, x["bytes"]) if size(before) == text else f"{size(before)} -> {text}"
        name = f"footprint of {x['name']}"
        found.append({"name": name, "before": before, "after": x["bytes"], "text": text, "better": better})
    return found


def _short(n: float) -> str:
    return f"{n:.3g}"
