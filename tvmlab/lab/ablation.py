"""A history without each of its steps: what is left, or why the step cannot be taken out."""

from __future__ import annotations

from typing import Any

from ..core.error import LabError
from ..face.api import lower
from ..face.handle import Schedule
from ..face.verdict import arguments
from ..schedule.trace import Trace

Part = tuple[str, Trace | None, str]  # id of the step, the trace without it, or why there is none


def without(document: Any) -> list[Part]:
    """One part per step in force (`document`: of face.document; it is left as it is)."""
    saved = document.to_json()
    in_force = [e.id for e in document.entries[: document.cursor] if not e.parked]
    return [_part(type(document).from_json(saved), id) for id in in_force]


def text_of(trace: Trace) -> str:
    """The program that is built, as text: equal texts run alike."""
    return str(lower(Schedule(trace), arguments(trace)))


def _part(document: Any, id: str) -> Part:
    """Delete the step from a copy, and see what became of the later ones."""
    numbers = {e.id: n for n, e in enumerate(document.entries[: document.cursor], 1)}
    before = {e.id for e in document.entries[: document.cursor] if not e.parked}
    try:
        document.delete(id)
    except LabError as e:
        return id, None, f"cannot be removed: {e.message}"
    now = {e.id for e in document.entries[: document.cursor] if not e.parked}
    lost = [i for i in numbers if i in before - now and i != id]
    if lost:
        steps = ", ".join(str(numbers[i]) for i in lost)
        return id, None, f"cannot be removed: {_steps(steps, len(lost))} it"
    trace: Trace = document.trace_at(document.cursor)
    owed = Schedule(trace).check()
    if owed:
        return id, None, f"cannot be removed: {owed[0].message}"
    return id, trace, ""


def _steps(numbers: str, count: int) -> str:
    return f"step {numbers} needs" if count == 1 else f"steps {numbers} need"
