"""A cell that makes its schedule anew was run again: the history that its lab shows goes on with the new schedule.

What the cell does now is taken; what was done beyond it is kept: steps that the lab took after the cell's own stay as
steps to be taken again, and where the cell now goes another way, the old line stays as a branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..schedule.trace import Trace
from .history import Entry, Point, start
from .history_codec import encode, same

if TYPE_CHECKING:
    from .document import Document
    from .handle import Schedule


def rerun(document: Document, schedule: Schedule) -> str:
    """Make it the history of that schedule; returns what became of the old steps, in words, or ""."""
    if schedule is document.schedule:
        document.follow()
        return ""
    old, left = document.entries, document.current
    traces = list(_steps(schedule.trace))
    document.schedule.document, document.schedule, schedule.document = None, schedule, document
    document.adopt(schedule.trace.prefix(0))
    point = start(document.root)
    points = [point]
    for entry, trace in zip(old, traces, strict=False):
        if not _equal(document, entry, trace, point):
            break
        point = point.after(entry.id, trace, document.known.slots)
        document.known.place(point)
        points.append(point)
    document.go_on(points, traces[len(points) - 1 :])
    beyond = len(old) - (len(points) - 1)
    if not beyond:
        return ""
    many = f"{beyond} step{'s' * (beyond != 1)}"
    if document.current is left:
        return f"{many} beyond what the cell does: redo takes them again"
    return f"{many} of before are in {left.name}"


def _steps(trace: Trace) -> list[Trace]:
    """The traces after each step, the first one first."""
    return [trace.prefix(n) for n in range(1, len(trace) + 1)]


def _equal(document: Document, entry: Entry, trace: Trace, point: Point) -> bool:
    """Does the trace's last step do the same as the entry did?"""
    step = trace.step
    if step is None or entry.primitive != step.primitive:
        return False
    return same(entry.args, encode(step.primitive, step.args, point, document.known.table), document.known.table)
