"""Steps taken again, one after the other: those that do not apply where they stand are parked."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

from ..core.error import ScheduleError
from ..schedule.trace import Step, Trace
from .history import Entry, Point
from .history_codec import Missing, Table, decode, encode
from .history_edit import as_error, need_known
from .history_known import Known
from .history_words import label
from .origins import origin


def entry_of(id: str, trace: Trace, before: Point, table: Table, *, via: str, group: str, evidence: str) -> Entry:
    """The step that `trace` ends with, just taken `before`."""
    step = trace.step
    assert step is not None
    args, said = encode(step.primitive, step.args, before, table), label(step.primitive, step.args, before.trace.state)
    return Entry(
        id, step.primitive, args, step.names, origin(step.where, via), time.time(), where=step.where, group=group,
        evidence=evidence, label=said,
    )  # fmt: skip


def placed(known: Known, entry: Entry, point: Point, missing: Missing) -> Point:
    """The place after the step; raises where it does not apply. Nothing is remembered of it."""
    need_known(entry)
    args = decode(entry.args, point, known.table, missing)
    trace = point.trace + Step(entry.primitive, args, entry.where, entry.names)
    with warnings.catch_warnings():  # what there was to warn of was said when the step was taken
        warnings.simplefilter("ignore")
        _ = trace.state
    return point.after(entry.id, trace, known.slots)


def taken(known: Known, entry: Entry, point: Point, missing: Missing) -> tuple[Point, str]:
    """The place after the step, and the step in words; raises where it does not apply."""
    after = placed(known, entry, point, missing)
    known.place(after)
    assert after.trace.step is not None
    return after, label(entry.primitive, after.trace.step.args, point.trace.state)


OFF = ScheduleError("switched-off", "it is kept, and not taken: another try takes it again")


def replayed(
    known: Known,
    before: Sequence[Entry],
    entries: Sequence[Entry],
    point: Point,
    missing: Callable[[Sequence[Entry]], Missing],
) -> tuple[list[Entry], list[Point]]:
    """The steps `before`, which lead to `point`, with `entries` taken after them; and the places from there on.

    `missing(steps)`: what is said of what is not there after these steps.
    """
    made, points = list(before), [point]
    for entry in entries:
        if entry.off:
            made.append(replace(entry, error=OFF))
            points.append(points[-1])
            continue
        try:
            after, said = taken(known, entry, points[-1], missing(made))
            made.append(replace(entry, error=None, label=said))
            points.append(after)
        except Exception as e:  # a step of a file may hold anything, and no step may bring down the others
            made.append(replace(entry, error=as_error(e)))
            points.append(points[-1])
    return made, points
