"""The Schedule Lab in a real browser: from what a person does to everything being painted."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from ..bench import Bench, Row
from ..labacts import WORKS, Work
from ..labdrive import Driven
from ..machine import Others

TITLE = "The lab: in the browser"
STATIC = Path(__file__).parents[3] / "tvmlab" / "view" / "static"
BUDGETS = {  # what -> (milliseconds, which of the numbers has to keep to them)
    "act": ("lab: act to everything painted", 150, "95 %"),
    "preview": ("lab: pointing at an action to its preview", 100, "95 %"),
    "typed": ("lab: a typed value to its preview", 100, "95 %"),
    "select": ("lab: verdicts for a selection", 60, "95 %"),
    "travel": ("lab: the step before, everything painted", 150, "95 %"),
    "first": ("lab: first paint after the cell runs", 400, "half"),
}
MODULE = 120_000


def run(bench: Bench, row: Row) -> None:
    row.heads = ("what", "operator", "times", "half of them, ms", "95 %, ms", "most, ms")
    size = (STATIC / "lab.js").stat().st_size if (STATIC / "lab.js").exists() else None
    row.check("lab: its module", "at most 120 kB", f"{size or 0} bytes", None if size is None else size <= MODULE)
    try:
        found = {w: driven(w, min(len(w.factors), max(1, bench.rounds // 4)), row) for w in WORKS}
    except pytest.skip.Exception as why:
        bench.say(f"without the browser: {why}")
        for what, limit, _ in BUDGETS.values():
            row.check(what, f"under {limit} ms", str(why), None)
        return
    for key, (what, limit, which) in BUDGETS.items():
        told = []
        for work, times in found.items():
            half, most = (float(np.percentile(times[key], p)) for p in (50, 95))
            row.line(what.removeprefix("lab: "), work.name, len(times[key]), f"{half:.0f}", f"{most:.0f}",
                     f"{max(times[key]):.0f}")  # fmt: skip
            row.raw[f"{key} {work.name}"] = {"ms": times[key]}
            told.append((most if which == "95 %" else half, f"{work.name} {half:.0f}, {most:.0f}"))
        met = max(n for n, _ in told) < limit
        row.check(what, f"under {limit} ms ({which})", "; ".join(t for _, t in told) + " ms (half, 95 %)", met)


def driven(work: Work, schedules: int, row: Row) -> dict[str, list[float]]:
    """Milliseconds, by what was done. How busy others were is asked before the server and the browser are gone."""
    from tests.ui import browser

    with (
        tempfile.TemporaryDirectory() as folder,
        browser.serve("jupyterlab", Path(folder)) as server,
        browser.chromium() as chromium,
        browser.tab(chromium, server, work.name) as tab,
    ):
        it = Driven(tab, work)
        with Others([]) as others:
            for factors in work.factors[:schedules]:
                it.schedule(*factors)
        row.others = max(row.others or 0.0, others.share or 0.0)
        return it.times
