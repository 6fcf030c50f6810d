"""The kernel's part of the Schedule Lab: how long it thinks, without a browser, each answer for the first time."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from typing import Any

from tvmlab.face import verdict
from tvmlab.lab import requests
from tvmlab.lab.app import Lab
from tvmlab.view import frame, preview, story

from ..bench import Bench, Row, median_ms
from ..labacts import WORKS, Step, Work, act, opened

TITLE = "The lab: the kernel's part"
MOST = 150_000  # bytes of a lab's state at rest


def run(bench: Bench, row: Row) -> None:
    row.heads = ("what", *(w.name for w in WORKS))
    timed = {w.name: measured(w, bench.rounds) for w in WORKS}
    for what in timed[WORKS[0].name]:
        row.line(f"{what}, ms", *(median_ms(timed[w.name][what]) for w in WORKS))
        row.raw[what] = {w.name: timed[w.name][what] for w in WORKS}
    states = [len(json.dumps(at_rest(w).state(), separators=(",", ":"))) for w in WORKS]
    row.line("state of a lab at rest, 12 steps, bytes", *states)
    row.check("lab: state at rest, 12 steps", "under 150 kB", f"{max(states) / 1e3:.0f} kB", max(states) < MOST)


def measured(work: Work, rounds: int) -> dict[str, list[float]]:
    """Seconds, per part, of every step of the schedules."""
    times: dict[str, list[float]] = {}

    def timed(what: str, call: Callable[[], Any]) -> Any:
        start = time.perf_counter()
        found = call()
        times.setdefault(what, []).append(time.perf_counter() - start)
        return found

    for rows, columns in work.factors[: max(1, rounds // 4)]:
        lab = opened(work)
        forget()
        for step in work.steps(rows, columns):
            _one(lab, step, timed)
        timed("still copy", lab.screen.bundle)
    return times


def _one(lab: Lab, step: Step, timed: Callable[[str, Callable[[], Any]], Any]) -> None:
    """Select, look at what would be, take the step, and see what there is then."""
    lab.selection = [step.id]
    timed("verdicts of a selection", lab.actions)
    todo: Any = act(lab, step)
    timed("preview", lambda: preview.preview(lab.schedule, todo))
    timed("take the step", lambda: requests.apply(lab, {"act": todo}))
    timed("tree, loops and numbers", lambda: frame.frame(lab.schedule.trace))
    timed("head", lab.head)
    timed("history", lab.history)
    timed("packed history", lambda: story.story(lab.document))


def forget() -> None:
    """No answer is there already."""
    for kept in (verdict._taken, verdict._judged, verdict._lowered, verdict._loops):
        kept.cache_clear()
    frame._FRAMES.clear()
    frame._PROGRAMS.clear()


def at_rest(work: Work) -> Lab:
    lab = opened(work)
    for step in work.steps(*work.factors[0]):
        requests.apply(lab, {"act": act(lab, step)})
    for axis in (f"{work.rows}.outer", f"{work.columns}.outer"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a split takes a mark away
            lab.apply("split", axis, factor=2)
    assert len(lab.document.entries) == 12
    return lab
