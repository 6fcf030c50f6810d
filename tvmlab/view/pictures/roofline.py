"""The roofline: what limits the program on a machine, arithmetic or bytes, with the steps as points.

S. Williams, A. Waterman, D. Patterson: Roofline, CACM 52(4), 2009. Hollow points are modelled, solid ones measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ...analysis.facts import facts, used_lanes
from ...analysis.machine import Machine
from ...analysis.roofline import Roofline, roofline
from ...core.error import LabError
from ...core.units import count
from ...schedule.trace import Trace
from .. import frame as frames
from ..payload import Picture
from . import Point, Subject
from .metrics import shortened
from .svg import Svg

LABEL = "Roofline"
ABOUT = (
    "Across: arithmetic per byte that comes out of memory; up: arithmetic per second. The slanted lines are what the "
    "machine's caches and memory deliver, the flat one what it computes with all cores and full vectors. A hollow "
    "point is what the model expects of a step on this machine, a solid one what was measured here."
)
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 420.0, 300.0, 58.0, 14.0, 22.0, 44.0
MOST_POINTS = 24


@dataclass(frozen=True)
class Placed:
    """A schedule with its place: flops per byte, flops per second by the model, and measured."""

    label: str
    intensity: float
    modelled: float
    measured: float | None
    current: bool
    text: str


def draw(subject: Subject) -> Picture:
    points = subject.points or (Point("this schedule", subject.trace, None, True),)
    placed = [p for x in points[-MOST_POINTS:] if (p := place(x, subject.machine)) is not None]
    return {
        "kind": "roofline", "svg": str(chart(placed, subject.machine)), "about": ABOUT, "how": "modelled",
        "table": {
            "title": f"Steps on the machine {subject.machine.label}",
            "head": ["step", "flops per byte", "GFLOP/s modelled", "GFLOP/s measured", "limited by"],
            "rows": [_row(p) for p in placed],
        },
    }  # fmt: skip


def _row(p: Placed) -> list[str]:
    measured = f"{p.measured / 1e9:.3g}" if p.measured else "not run"
    return [p.label, f"{p.intensity:.3g}", f"{p.modelled / 1e9:.3g}", measured, p.text]


def place(point: Point, machine: Machine) -> Placed | None:
    """None where the model has no numbers: nothing to lower, no arithmetic, sizes that are not known."""
    found, flops = _roofline(point.trace, machine)
    if found is None or not flops or not found.attainable or not found.intensity:
        return None
    measured = flops / point.seconds if point.seconds else None
    return Placed(point.label, found.intensity, found.attainable, measured, point.current, found.text)


def _roofline(trace: Trace, machine: Machine) -> tuple[Roofline | None, float | None]:
    try:
        found = facts(frames.program(trace))
    except (LabError, ValueError, TypeError):
        return None, None
    m = found.metrics
    lanes = max(used_lanes(found, machine.lanes(m.bits)), m.lanes or 1)  # here a vectorized loop is still a loop
    return roofline(m, machine, lanes), m.flops


def chart(placed: Sequence[Placed], machine: Machine) -> Svg:
    svg = Svg(WIDTH, HEIGHT, f"Roofline of {machine.label}")
    peak, memory = machine.peak(), machine.bandwidth("memory")
    xs = [p.intensity for p in placed]
    ys = [y for p in placed for y in (p.modelled, p.measured) if y]
    x = _Scale(min([0.1, *xs]) / 1.5, max([4 * peak / memory, *xs]) * 1.5, LEFT, WIDTH - RIGHT)
    y = _Scale(min([peak / 1000, *ys]) / 1.5, max([peak, *ys]) * 1.6, HEIGHT - BOTTOM, TOP)
    _axes(svg, x, y)
    for name in ["memory", *[c.name for c in reversed(machine.caches)]]:
        _slope(svg, x, y, name, machine.bandwidth(name), peak)
    svg.line([(x(x.low), y(peak)), (x(x.high), y(peak))], "ink", wide=1.5)
    svg.text(x(x.high), y(peak) - 5, f"{count(peak)}FLOP/s, all cores and lanes", "quiet", "end", 12)
    for p in placed:
        _point(svg, x, y, p)
    return svg


class _Scale:
    """Logarithmic, from values to units of the drawing."""

    def __init__(self, low: float, high: float, start: float, end: float) -> None:
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, v: float) -> float:
        part = math.log(v / self.low) / math.log(self.high / self.low)
        return self.start + part * (self.end - self.start)

    def tens(self) -> list[float]:
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        return [10.0**k for k in range(first, last + 1)]


def _axes(svg: Svg, x: _Scale, y: _Scale) -> None:
    svg.line([(LEFT, TOP), (LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, HEIGHT - BOTTOM)], "line")
    for v in x.tens():
        svg.text(x(v), HEIGHT - BOTTOM + 16, f"{v:g}", "quiet", "middle", 12)
    for v in y.tens():
        svg.text(LEFT - 6, y(v) + 4, count(v), "quiet", "end", 12)
    svg.text((LEFT + WIDTH) / 2, HEIGHT - 8, "flops per byte out of memory", "quiet", "middle", 12)
    svg.text(4, 11, "FLOP/s", "quiet", size=12)


def _slope(svg: Svg, x: _Scale, y: _Scale, name: str, rate: float, peak: float) -> None:
    start = max(x.low, y.low / rate)
    end = min(x.high, peak / rate)
    if start >= end:
        return
    memory = name == "memory"
    colour, dash = ("ink", "") if memory else ("line", "4 3")
    svg.line([(x(start), y(start * rate)), (x(end), y(end * rate))], colour, dash, 1.5)
    svg.text(x(start) + 14, y(start * rate) + 5, f"{name} {count(rate)}B/s", "quiet", size=11)


def _point(svg: Svg, x: _Scale, y: _Scale, p: Placed) -> None:
    colour = "new" if p.current else "accent"
    svg.dot(x(p.intensity), y(p.modelled), colour, False, f"{p.label}: modelled, {p.text}")
    if p.measured:
        svg.line([(x(p.intensity), y(p.modelled)), (x(p.intensity), y(p.measured))], colour, "2 2")
        svg.dot(x(p.intensity), y(p.measured), colour, True, f"{p.label}: measured, {count(p.measured)}FLOP/s")
    if p.current:
        right = x(p.intensity) > WIDTH - 170
        at = x(p.intensity) + (-9 if right else 9)
        svg.text(at, y(p.measured or p.modelled) + 4, shortened(p.label, 22), "ink", "end" if right else "start", 12)
