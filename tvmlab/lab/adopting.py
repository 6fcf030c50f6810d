"""A trial of a tuning session made the lab's: its values become those of the steps, or its steps a branch."""

from __future__ import annotations

from typing import Any

from ..core.error import LabError
from ..core.units import duration
from ..face.history_whole import as_one, give
from ..face.trial import fingerprint
from ..tune.opened import OpenedTask
from ..tune.records import Record, config_of


def adopt(tuning: Any, record: Record) -> str:
    """One change, which one undo takes back; what was done, in words. Refused: what does not fit the steps any more."""
    task, document = tuning.task, tuning.lab.document
    config = config_of(task, record)
    time = "" if record.seconds is None else f" ({duration(record.seconds)})"
    with as_one(document, f"adoption of point {record.index}{time}"):
        if isinstance(task, OpenedTask):
            _values(document, task, config)
        else:
            _branch(document, task, config, f"tuned{time}")
    same = not record.trace or fingerprint(document.schedule.trace) == record.trace
    other = "" if same else " The steps are others than when it was measured, so its time need not hold."
    return f"Point {record.index}{time} is adopted: Undo takes it back.{other}"


def _values(document: Any, task: OpenedTask, config: Any) -> None:
    chosen = task.candidates(config)
    gone = [p.name for p, _ in chosen if all(e.id != p.step for e in document.entries)]
    if gone:
        raise LabError("steps-changed", f"the step of {gone[0]} is gone", hint="undo, or tune the steps as they are")
    for step in dict.fromkeys(p.step for p, _ in chosen):
        own = [c for p, c in chosen if p.step == step]
        taken = [c for p, c in chosen if p.step == step and p.param == "taken"]
        off = any(c.off for c in taken) if taken else document.entry(step).off
        give(document, step, {k: v for c in own for k, v in c.args.items()}, off)
    parked = [e for e in document.entries[: document.cursor] if e.parked and not e.off]
    before = {e.id for e in task.document.entries if e.parked and not e.off}
    if (lost := next((e for e in parked if e.id not in before), None)) is not None:
        raise LabError("steps-changed", f"{lost.label or lost.primitive} could not be taken with it: {lost.reason}")


def _branch(document: Any, task: Any, config: Any, name: str) -> None:
    """From the expression on: what the steps were stays on the branch that they are on."""
    schedule, _ = task.instantiate(config)
    with document.together(name):
        document.schedule.advance(schedule.trace)
        document.follow()
