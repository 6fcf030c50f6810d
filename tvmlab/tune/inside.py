"""What runs in the children of a tuner: the reference once, then candidates, each compiled and checked, then timed."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..core.error import CallError
from ..face import inputs
from ..face.options import options
from ..face.oracle import expected
from ..face.trial import Ready, Report, checked, ready, timed
from ..runtime import measure
from ..schedule.trace import Trace

_ready: dict[str, Ready] = {}  # those whose turn to be timed comes next, by key


def reference(asked: Mapping[str, Any], report: Report) -> str:
    """Compute what the expression must give, and keep it; who says so, or "" and why nobody can."""
    chosen = options(asked["options"])
    trace = Trace.from_json(asked["trace"])
    args = inputs.sized(trace, None, chosen.sizes, inputs.ordered(trace, asked["args"]))
    made, who = expected(asked, trace, args, chosen, inputs.random(trace, args, chosen.seed))
    return who if made is not None else f"not checked: {who}"


def prepare(asked: Mapping[str, Any], beside: bool, report: Report) -> dict[str, Any]:
    """Compile, run once, and compare. `first`: the seconds of that run, beside whatever else went on.

    `beside`: those that were prepared before stay ready, and lend their arrays: where an array lies moves times.
    """
    if not beside:
        _ready.clear()
    it = ready(asked, report, next(iter(_ready.values()), None))
    took: list[float] = []

    def watched() -> None:
        start = time.perf_counter()
        it.call()
        took.append(time.perf_counter() - start)

    report({"state": "running"})
    found = checked(asked, replace(it, call=watched))
    _ready[asked["key"]] = it
    first = None if it.module.on_device else took[0]  # copies, and a device that wakes up
    return {"check": found["check"], "worst": found["worst"], "wrong": found["wrong"],
            "compile": it.compile, "first": first}  # fmt: skip


def clocked(key: str, agree: float, flush: bool, repeats: int, report: Report) -> dict[str, Any]:
    """Time a candidate that was prepared: nobody else may be running. `repeats`: at most so many, 0 is as is usual."""
    it = _ready.get(key)
    if it is None:
        raise CallError("not-prepared", "another candidate was prepared in this process since")
    report({"state": "running"})
    chosen = it.chosen
    with it.module.clocked(*it.arguments) as clock:
        times, number = timed(
            clock, repeats or chosen.repeats, 1e-3 * chosen.min_ms, chosen.limit / 2, enough=chosen.enough, agree=agree,
            before=measure.flush_cache if flush else None,
        )  # fmt: skip
    return {"times": times, "number": number}
