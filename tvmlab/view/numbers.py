"""The modelled numbers of a trace's program, with the loops under their ids."""

from __future__ import annotations

from weakref import WeakKeyDictionary

from ..analysis.metrics import Metrics as Counts
from ..analysis.metrics import metrics as count
from ..core.error import LabError
from ..core.program import Program
from ..schedule.guard import name as called
from ..schedule.state import State
from ..schedule.trace import Trace
from .ids import axis_id
from .payload import Level, Metrics

_COUNTS: WeakKeyDictionary[Program, Counts | str] = WeakKeyDictionary()
_FLOPS: WeakKeyDictionary[State, float | None] = WeakKeyDictionary()  # of unscheduled programs


def metrics(program: Program, start: Program | None, trace: Trace) -> Metrics:
    """`start`: the program before any step, whose arithmetic `redundancy` is over; None where it has no loops."""
    counts = counted(program)
    if isinstance(counts, str):
        return unknown(counts)
    base = base_flops(trace, program if not len(trace) else start)
    return {
        "flops": counts.flops, "read": counts.read, "written": counts.written, "unique": counts.unique,
        "redundancy": counts.redundancy(base), "tasks": counts.tasks, "lanes": counts.lanes,
        "levels": levels(counts, trace.state), "exact": counts.exact, "why": counts.why,
    }  # fmt: skip


def unknown(why: str) -> Metrics:
    """Of a schedule that has no loops, or whose loops the model cannot take."""
    return {
        "flops": None, "read": None, "written": None, "unique": None, "redundancy": None, "tasks": None, "lanes": None,
        "levels": [], "exact": False, "why": why,
    }  # fmt: skip


def counted(program: Program) -> Counts | str:
    """The counts, or why there are none; counted once."""
    if program not in _COUNTS:
        _COUNTS[program] = _counted(program)
    return _COUNTS[program]


def _counted(program: Program) -> Counts | str:
    try:
        return count(program)
    except (LabError, ValueError, TypeError) as e:
        return e.message if isinstance(e, LabError) else str(e)
    except OverflowError:  # extents beyond 2^63
        return "the sizes are too large to be counted"


def base_flops(trace: Trace, start: Program | None) -> float | None:
    first = trace.prefix(0).state
    if first not in _FLOPS:
        counts = counted(start) if start is not None else ""
        _FLOPS[first] = None if isinstance(counts, str) else counts.flops
    return _FLOPS[first]


def levels(counts: Counts, state: State) -> list[Level]:
    """One per loop of the tree. Of loops that are in the program twice (the start of a sum) the one that moves more."""
    found: dict[str, Level] = {}
    for x in counts.levels:
        axis = x.origin.axis if x.origin is not None else None
        loop = axis_id(state, axis) if axis is not None else ""
        if axis is None or not loop or x.bytes is None or x.moved is None:
            continue
        if loop not in found or found[loop]["moved"] < x.moved:
            found.pop(loop, None)  # it stands where the one is that moves more
            name = called(state, axis)
            found[loop] = {"id": loop, "name": name, "depth": x.depth, "bytes": x.bytes, "moved": x.moved}
    return list(found.values())
