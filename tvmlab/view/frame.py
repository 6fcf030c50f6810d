"""A schedule after some step, as a view draws it: tree, loops, modelled numbers, what is owed.

A frame is made once per trace and shared: whoever gets one must not change it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from ..core.deep import deep
from ..core.error import LabError
from ..core.program import Program
from ..expr.extern import ExternOp
from ..face.defaults import bound as threads
from ..face.document import Document
from ..face.verdict import arguments
from ..lowering import pipeline
from ..lowering.blocks import has_threads
from ..lowering.config import DEFAULT, Config
from ..schedule.state import State
from ..schedule.trace import Trace
from . import loops, tree
from .card import card
from .numbers import metrics, unknown
from .payload import Frame

# As `lower(simple_mode=True)`, and a vectorized loop stays the loop that a person can point at.
SHOWN = replace(DEFAULT, disabled=frozenset({"partition_loops", "promote_registers", "vectorize"}))
CHECKED = replace(DEFAULT, disabled=frozenset({"partition_loops", "promote_registers"}))

_FRAMES: WeakKeyDictionary[State, Frame] = WeakKeyDictionary()
_PROGRAMS: WeakKeyDictionary[State, tuple[Program, tuple[str, ...]]] = WeakKeyDictionary()


def frame(trace: Trace) -> Frame:
    """The frame of a trace. A schedule that has no loops (it cannot be lowered) has an `error` instead."""
    found = _FRAMES.get(trace.state)
    if found is None:
        found = _FRAMES[trace.state] = _made(trace)
    return found


def of(document: Document, cursor: int | None = None) -> Frame:
    """The frame of a document at a place in its history (at its cursor without one), in the numbers of its steps."""
    at = document.cursor if cursor is None else cursor
    applied = [n for n, e in enumerate(document.entries[:at], 1) if not e.parked]
    return numbered(frame(document.trace_at(at)), applied)


def known(trace: Trace) -> Frame | None:
    """The frame, if it was made already."""
    return _FRAMES.get(trace.state)


def numbered(found: Frame, numbers: Sequence[int]) -> Frame:
    """The frame with its steps under other numbers: step k of the trace is step `numbers[k - 1]` of a history.

    (A history counts parked steps too, which are not in the trace.) The key stays: the schedule looks the same.
    """
    if all(n == k for k, n in enumerate(numbers, 1)):
        return found
    steps = [0, *numbers]
    made = found.copy()
    made["tree"] = [tree.renumbered(r, steps[r["step"]]) for r in found["tree"]]
    made["loops"] = [{**x, "s": steps[x["s"]]} if "s" in x else x for x in found["loops"]]
    return made


def program(trace: Trace) -> Program:
    """The loops that a frame shows, what is owed among its notes. Raises what stands in the way of any loops."""
    return _lowered(trace)[0]


@deep
def bound(trace: Trace) -> bool:
    """Is a loop bound to threads? Of most schedules the marks say at once that none is."""
    if not any(threads(s) or isinstance(s.op, ExternOp) for s in trace.state.in_order):
        return False
    try:
        return has_threads(program(trace).body)
    except (LabError, ValueError, TypeError):  # there are no loops
        return False


@deep
def _lowered(trace: Trace) -> tuple[Program, tuple[str, ...]]:
    found = _PROGRAMS.get(trace.state)
    if found is None:
        args = arguments(trace)
        shown = _readable(trace, args, SHOWN)
        vectors = any(m.kind == "vectorized" for s in trace.state.in_order for m in s.marks.values())
        if vectors:  # what making vectors of the loops would refuse is owed too
            shown = replace(shown, notes=_readable(trace, args, CHECKED).notes)
        found = _PROGRAMS[trace.state] = (shown, tuple(map(str, shown.notes)))
    return found


def _readable(trace: Trace, args: list[Any], config: Config) -> Program:
    return pipeline.readable(trace.state, args, config=config)


def _made(trace: Trace) -> Frame:
    made: Frame = {
        "key": "", "tree": tree.rows(trace), "loops": [], "metrics": unknown("there are no loops"), "notes": [],
    }  # fmt: skip
    try:
        shown, notes = _lowered(trace)
        made["loops"], made["notes"] = loops.lines(shown, trace), list(notes)
        made["metrics"] = metrics(shown, _start(trace), trace)
    except (LabError, ValueError, TypeError) as e:
        made["error"] = card(e, title="the loops of this schedule")
    made["key"] = key(made)
    return made


def _start(trace: Trace) -> Program | None:
    """The loops before any step."""
    try:
        return program(trace.prefix(0))
    except (LabError, ValueError, TypeError):
        return None


def key(made: Frame) -> str:
    """Equal for frames that look the same, whatever led to them."""
    text = json.dumps([made["tree"], made["loops"], made["notes"], made.get("error")], separators=(",", ":"))
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:16]
