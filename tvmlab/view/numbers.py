"""The modelled numbers of a trace's program, with the loops under their ids."""

from __future__ import annotations

from ..core.program import Program
from ..schedule.trace import Trace
from .payload import Metrics


def metrics(program: Program | None, trace: Trace) -> Metrics:
    """None for a schedule that has no loops."""
    return {
        "flops": None, "read": None, "written": None, "unique": None, "redundancy": None, "tasks": None, "lanes": None,
        "levels": [], "exact": False, "why": "there is no model yet" if program else "there are no loops",
    }  # fmt: skip
