"""The program after each lowering pass, with the milliseconds the pass took."""

from __future__ import annotations

import time
from dataclasses import replace
from weakref import WeakKeyDictionary

from ..core.deep import deep
from ..core.error import LabError
from ..core.program import Program
from ..face.verdict import arguments
from ..lowering import pipeline
from ..lowering.config import DEFAULT
from ..schedule.state import State
from ..schedule.trace import Trace
from .card import card
from .loops import lines, plain
from .payload import Line, Pass

FIRST = "loops of the schedule"
MOST_LINES = 2000  # of one program; a longer one ends with a line that says so

_MADE: WeakKeyDictionary[State, list[Pass]] = WeakKeyDictionary()


def passes(trace: Trace) -> list[Pass]:
    """What a build does to the loops: first the nest that the schedule gives, then the program after each pass.

    Where something is owed, the passes for flat memory, which only a build runs, are left out. A schedule that has no
    loops has one entry, which says why.
    """
    found = _MADE.get(trace.state)
    if found is None:
        found = _MADE[trace.state] = _passes(trace)
    return found


@deep
def _passes(trace: Trace) -> list[Pass]:
    config = replace(DEFAULT, snapshots=True)
    start = time.perf_counter()
    try:
        nest = pipeline.loops(trace.state, arguments(trace), problems=[])
        spent = (time.perf_counter() - start) * 1e3
        program = pipeline.run(nest, pipeline.READABLE, config, [])
        if not program.notes:
            program = pipeline.run(program, pipeline.FLAT, config)
    except (LabError, ValueError, TypeError) as e:
        said = [plain(0, f"# {t}") for t in card(e)["text"].splitlines()]
        return [{"name": FIRST, "ms": (time.perf_counter() - start) * 1e3, "changed": True, "lines": said}]
    made: list[Pass] = [{"name": FIRST, "ms": spent, "changed": True, "lines": _shown(nest, trace)}]
    before = nest
    for s in program.snapshots:
        same = s.program.functions == before.functions
        shown = made[-1]["lines"] if same else _shown(s.program, trace)
        made.append({"name": words(s.name), "ms": s.ms, "changed": shown != made[-1]["lines"], "lines": shown})
        before = s.program
    return made


def _shown(program: Program, trace: Trace) -> list[Line]:
    found = lines(replace(program, notes=(), remarks=()), trace)
    if len(found) > MOST_LINES:
        found = [*found[:MOST_LINES], plain(0, f"# ... {len(found) - MOST_LINES} more lines")]
    return found


def words(name: str) -> str:
    return name.replace("_", " ")
