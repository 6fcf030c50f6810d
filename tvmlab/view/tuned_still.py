"""The still twin of a figure, for viewers that cannot draw one: what `tuned_figures` makes, as SVG.

It draws what these figures have: lines, dots and crosses, heat maps, bars, parallel axes, linear and logarithmic axes,
categories. What it does not know it leaves out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from html import escape, unescape
from typing import Any

from .pictures.svg import COLOURS, Svg
from .tuned_figures import LINE, Json, decades

WIDTH, SIZE = 680.0, 11
NAMES = {colour: name for name, colour in COLOURS.items()}
VIRIDIS = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))  # at 0, 1/4, ... 1


def still(figure: Json) -> str:
    layout = figure["layout"]
    svg = Svg(WIDTH, layout["height"], plain(layout["title"]["text"].replace("<br>", " ")))
    lines = layout["title"]["text"].split("<br>")
    for n, line in enumerate(lines):
        svg.text(12, 20 + LINE * n, plain(line), "ink", size=12, bold=True)
    for note in layout.get("annotations", ()):
        for n, line in enumerate(note["text"].split("<br>")):
            svg.text(WIDTH / 2, layout["height"] / 2 + 16 * n, plain(line), "quiet", "middle")
    for trace in figure["data"]:
        if trace["type"] == "parcoords":
            _parallel(svg, trace)
    for end in ("", "2"):
        of = [t for t in figure["data"] if t["type"] in DRAW and t.get("xaxis", "x") == f"x{end}"]
        if of:
            _panel(svg, layout, of, end)
    return str(svg)


def plain(text: str) -> str:
    """Without the marks that Plotly understands."""
    return unescape(re.sub(r"<[^>]*>", "", text))


# ---------------------------------------------------------------- axes


class Axis:
    """From values to places in the drawing."""

    def __init__(self, said: Json, values: Sequence[Any], start: float, end: float) -> None:
        self.start, self.end, self.log = start, end, said.get("type") == "log"
        self.words: list[Any] | None = None
        if said.get("type") == "category":
            self.words = list(said.get("categoryarray") or dict.fromkeys(values))
            self.low, self.high = -0.5, len(self.words) - 0.5
            return
        low, high = said.get("range") or (min(values, default=0.0), max(values, default=1.0))
        low = min(low, 0.0) if said.get("rangemode") == "tozero" else low
        if self.log:
            low, high = math.log10(low) - 0.05, math.log10(high) + 0.05
        room = 0.04 * (high - low) or 0.5
        self.low, self.high = low if said.get("rangemode") == "tozero" else low - room, high + room

    def __call__(self, v: Any) -> float:
        if self.words is not None:
            v = self.words.index(v)
        elif self.log:
            v = math.log10(v)
        part = (float(v) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self, most: int) -> list[tuple[Any, str]]:
        if self.words is not None:
            step = max(1, math.ceil(len(self.words) / most))
            return [(w, str(w)) for w in self.words[::step]]
        return [(v, f"{v:g}") for v in (_tens(self.low, self.high) if self.log else _round(self.low, self.high, most))]


def _tens(low: float, high: float) -> list[float]:
    """1, 2, 5, 10, ... or only powers of ten, between 10**low and 10**high."""
    found = decades(10**low, 10**high, (1,) if high - low > 3 else (1, 2, 5))
    return found or [float(f"{10 ** ((low + high) / 2):.3g}")]


def _round(low: float, high: float, most: int) -> list[float]:
    size = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(m * size for m in (1, 2, 5, 10, 20) if (high - low) / (m * size) <= most)
    return [n * step for n in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _panel(svg: Svg, layout: Json, traces: Sequence[Json], end: str) -> None:
    """One pair of axes with what is drawn on it."""
    down = LINE * layout["title"]["text"].count("<br>")
    xs, ys = ([v for t in traces for v in t[k]] for k in "xy")
    across, up = layout[f"xaxis{end}"], layout[f"yaxis{end}"]
    words = [len(str(w)) for w in (ys if up.get("type") == "category" else ())]
    room = 60.0 + max(0.0, 6.2 * max(words, default=0) - 40)
    a, b = across.get("domain", (0.0, 1.0))
    left, right, top, bottom = 12 + room, WIDTH - 40, 64.0 + down, svg.height - 48
    wide, high = right - left, bottom - top
    below, above = up.get("domain", (0.0, 1.0))
    x = Axis(across, xs, left + a * wide, left + b * wide)
    y = Axis(up, ys, bottom - below * high, bottom - above * high)
    svg.line([(x.start, y.end), (x.start, y.start), (x.end, y.start)], "line")
    for v, text in x.ticks(8 if end or b < 1 else 12):
        svg.text(x(v), y.start + 16, plain(text)[:12], "quiet", "middle", SIZE)
    for v, text in y.ticks(max(3, int((y.start - y.end) / 18))):
        svg.text(x.start - 6, y(v) + 4, plain(text), "quiet", "end", SIZE)
    svg.text((x.start + x.end) / 2, y.start + 36, plain(across["title"]["text"]), "quiet", "middle", SIZE)
    svg.text(x.start, y.end - 8, plain(up["title"]["text"]), "quiet", "start", SIZE)
    for t in traces:
        DRAW[t["type"]](svg, t, x, y)
    _legend(svg, [t for t in traces if t.get("name") and layout.get("showlegend", True)], x.end, 40 + down)


def _legend(svg: Svg, traces: Sequence[Json], right: float, y: float) -> None:
    for t in reversed(traces):
        right -= 24 + 6.2 * len(t["name"])
        svg.text(right + 12, y, t["name"], "quiet", size=SIZE)
        if "markers" in t["mode"]:
            _marks(svg, t, [(right, y - 4)])
        else:
            svg.line([(right - 8, y - 4), (right + 8, y - 4)], NAMES.get(t["line"]["color"], "accent"), wide=2)


# ---------------------------------------------------------------- what stands on them


def _scatter(svg: Svg, t: Json, x: Axis, y: Axis) -> None:
    points = [(x(a), y(b)) for a, b in zip(t["x"], t["y"])]
    if "lines" in t["mode"] and points:
        line = t["line"]
        if line.get("shape") == "hv":
            points = points[:1] + [p for (_, b), (c, d) in zip(points, points[1:]) for p in ((c, b), (c, d))]
        svg.line(points, NAMES.get(line["color"], "accent"), "2 3" if line.get("dash") else "", line.get("width", 2))
    if "markers" in t["mode"]:
        _marks(svg, t, [(x(a), y(b)) for a, b in zip(t["x"], t["y"])])


def _marks(svg: Svg, t: Json, points: Sequence[tuple[float, float]]) -> None:
    marker, hints = t.get("marker", {}), t.get("text") or [t.get("name", "")] * len(points)
    colour = marker.get("color", "")
    name = NAMES.get(colour if isinstance(colour, str) and colour else t.get("line", {}).get("color", ""), "accent")
    if marker.get("symbol") == "x-thin":
        arms = [(px - 4, py + s * 4, px + 4, py - s * 4) for px, py in points for s in (-1, 1)]
        return svg.lines(arms, NAMES.get(marker["line"]["color"], "bad"), 2)
    full = not str(marker.get("symbol", "")).endswith("open")
    for (px, py), text in zip(points, hints):
        svg.dot(px, py, name, full, plain(str(text).split("<br>")[0]), marker.get("size", 6) / 2.6)


def _heat(svg: Svg, t: Json, x: Axis, y: Axis) -> None:
    known = [v for row in t["z"] for v in row if v is not None]
    low, high = min(known, default=0.0), max(known, default=1.0)
    wide, tall = (x.end - x.start) / len(t["x"]), (y.start - y.end) / len(t["y"])
    for b, row, hints in zip(t["y"], t["z"], t["customdata"]):
        for a, v, text in zip(t["x"], row, hints):
            if v is not None:
                paint = _paint(v, low, high)
                _rect(svg, x(a) - wide / 2, y(b) - tall / 2, wide - 1, tall - 1, paint, text)
    _key(svg, t["colorbar"], low, high)


def _key(svg: Svg, bar: Json, low: float, high: float) -> None:
    """What the colours mean, along the upper edge."""
    ticks = list(zip(bar.get("tickvals", ()), bar.get("ticktext", ())))
    svg.text(WIDTH - 260, 36, plain(bar["title"]["text"]), "quiet", "end", SIZE)
    for n, (v, text) in enumerate(ticks[:: max(1, math.ceil(len(ticks) / 6))]):
        _rect(svg, WIDTH - 250 + 40 * n, 27, 10, 10, _paint(v, low, high), "")
        svg.text(WIDTH - 238 + 40 * n, 36, text, "quiet", size=10)


def _bars(svg: Svg, t: Json, x: Axis, y: Axis) -> None:
    tall = 0.7 * (y.start - y.end) / len(t["y"])
    for a, b, colour, text in zip(t["x"], t["y"], t["marker"]["color"], t["text"]):
        svg.rect(x(0), y(b) - tall / 2, x(a) - x(0), tall, NAMES.get(colour, "line"), text)
        svg.text(x(a) + 5, y(b) + 4, text, "quiet", size=SIZE)


DRAW = {"scatter": _scatter, "heatmap": _heat, "bar": _bars}


def _parallel(svg: Svg, t: Json) -> None:
    dims, top, bottom = t["dimensions"], 76.0, svg.height - 24
    xs = [70 + k * (WIDTH - 140) / max(1, len(dims) - 1) for k in range(len(dims))]
    scales = [Axis({"range": d.get("range")}, d["values"], bottom, top) for d in dims]
    colours = t["line"]["color"]
    low, high = min(colours), max(colours)
    for n in sorted(range(len(colours)), key=lambda n: -colours[n]):  # the fastest on top
        paint = _paint(colours[n], low, high)
        line = " ".join(f"{x:.1f},{s(d['values'][n]):.1f}" for x, s, d in zip(xs, scales, dims))
        svg.parts.append(f'<polyline fill="none" stroke="{paint}" stroke-opacity="0.8" points="{line}"/>')
    for k, (x, s, d) in enumerate(zip(xs, scales, dims)):
        svg.line([(x, top), (x, bottom)], "line")
        svg.text(x, top - 12 - 14 * (k % 2), plain(d["label"]), "quiet", "middle", SIZE)
        for v, text in zip(d.get("tickvals", ()), d.get("ticktext", ())):
            svg.text(x - 4, s(v) + 4, plain(text), "quiet", "end", 9)


def _rect(svg: Svg, x: float, y: float, wide: float, tall: float, paint: str, text: str) -> None:
    hint = f"<title>{escape(plain(text.replace('<br>', ', ')))}</title>" if text else ""
    size = f'width="{wide:.1f}" height="{tall:.1f}"'
    svg.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{paint}">{hint}</rect>')


def _paint(v: float, low: float, high: float) -> str:
    """The colour of a value: the lowest is the brightest, since it is the fastest."""
    return shade(1 - (v - low) / (high - low) if high > low else 0.5)


def shade(part: float) -> str:
    """A colour of the scale that the figures use, 0..1."""
    at = min(max(part, 0.0), 1.0) * (len(VIRIDIS) - 1)
    k = min(int(at), len(VIRIDIS) - 2)
    mixed = (round(a + (at - k) * (b - a)) for a, b in zip(VIRIDIS[k], VIRIDIS[k + 1]))
    return "#" + "".join(f"{v:02x}" for v in mixed)
