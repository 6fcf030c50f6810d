"""How much each loop touches, against the caches of a machine; and the program's numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ...analysis.machine import Cache, Machine
from ...core.units import count, size
from ..frame import frame
from ..payload import Level, Metrics, Picture
from . import Subject
from .svg import Svg

LABEL = "Metrics"
ABOUT = (
    "One bar per loop: the distinct bytes that its body touches while the loop runs once (its footprint), on a "
    "scale of powers of two. The lines are the caches of the machine: where a bar ends left of a line, the data stays "
    "in that cache from one iteration of the loop around it to the next. The lab draws a thin bar under each: the "
    "bytes that are loaded and stored meanwhile. Nothing was run."
)
LEFT, RIGHT, TOP, BAR, GAP = 130.0, 90.0, 34.0, 16.0, 8.0
WIDTH = 560.0
MOST_BARS = 40


def draw(subject: Subject) -> Picture:
    """`levels` of the frame as bars; everything else in the table."""
    m = frame(subject.trace)["metrics"]
    return {
        "kind": "metrics", "svg": str(chart(m["levels"], subject.machine)), "about": ABOUT, "how": "modelled",
        "table": {
            "title": "Modelled numbers" if m["exact"] else f"Modelled numbers: bounds ({m['why']})",
            "head": ["what", "bytes touched", "bytes moved", "stays in"],
            "rows": [*summary(m), *[_row(x, subject.machine) for x in m["levels"]]],
            "ids": [*[""] * len(summary(m)), *[x["id"] for x in m["levels"]]],
        },
    }  # fmt: skip


def summary(m: Metrics) -> list[list[str]]:
    """The whole program, a line each."""
    moved = None if m["read"] is None or m["written"] is None else m["read"] + m["written"]
    rows = [
        ["whole program", size(m["unique"]), size(moved), ""],
        ["arithmetic", f"{count(m['flops'])} operations", "", ""],
        ["parallel tasks", count(m["tasks"]), "", ""],
        ["vector width", f"{m['lanes']} lanes" if m["lanes"] else "?", "", ""],
    ]
    if m["redundancy"] is not None and m["redundancy"] > 1.005:
        rows.append(["computed again", f"{m['redundancy']:.3g} times the arithmetic needed", "", ""])
    return rows


def _row(x: Level, machine: Machine) -> list[str]:
    return [f"loop {x['name']}", size(x["bytes"]), size(x["moved"]), home(x["bytes"], machine.caches)]


def home(n: float, caches: Sequence[Cache]) -> str:
    """The first cache that holds so many bytes."""
    return next((c.name for c in caches if n <= c.size), "memory")


def chart(levels: Sequence[Level], machine: Machine) -> Svg:
    shown = levels[:MOST_BARS]
    height = TOP + (BAR + GAP) * max(len(shown), 1) + (16 if len(levels) > MOST_BARS else 4)
    svg = Svg(WIDTH, height, "Bytes that each loop touches, and the caches they fit into")
    most = max([*(x["bytes"] for x in shown), *(c.size for c in machine.caches), 2.0])
    scale = (WIDTH - LEFT - RIGHT) / math.log2(most)

    def at(n: float) -> float:
        return LEFT + max(0.0, math.log2(max(n, 1.0))) * scale

    for k, c in enumerate(machine.caches):
        svg.line([(at(c.size), TOP - 6), (at(c.size), height)], "line", "3 3")
        svg.text(at(c.size), 12 + 11 * (k % 2), f"{c.name} {size(c.size)}", "quiet", "middle", 10)
    for k, x in enumerate(shown):
        y = TOP + k * (BAR + GAP)
        fits = home(x["bytes"], machine.caches)
        svg.text(12 + 8 * min(x["depth"], 8), y + 12, shortened(x["name"], 16 - min(x["depth"], 8)))
        svg.rect(LEFT, y, at(x["bytes"]) - LEFT, BAR, "accent", f"{x['name']}: {size(x['bytes'])}, {fits}", x["id"])
        svg.text(at(x["bytes"]) + 6, y + 12, size(x["bytes"]), "ink", size=10)
    if len(levels) > MOST_BARS:
        svg.text(LEFT, height - 4, f"and {len(levels) - MOST_BARS} more loops: see the table", "quiet", size=10)
    return svg


def shortened(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
