"""Pictures whose colours follow the page: each colour is a class, and an attribute for pages that know no classes.

    <text class="tv-f-ink" fill="#64748b">        a lab: .tv-f-ink { fill: var(--tv-fg) }; a viewer: middle grey
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

COLOURS = {  # readable on white and on black; paper: on the others
    "ink": "#64748b", "quiet": "#80868b", "line": "#94a3b8", "accent": "#3f87d9", "new": "#d0702a", "good": "#3d9950",
    "bad": "#d9534f", "paper": "#ffffff",
}  # fmt: skip
CODES = {name: f"#0001{n:02x}" for n, name in enumerate(COLOURS)}  # how a colour is named in DOT
FONT = "Verdana,DejaVu Sans,Arial,Helvetica,sans-serif"
_NAMES = {code: name for name, code in CODES.items()}
_TAG = re.compile(r"<(path|text|polygon|polyline|ellipse)\b[^>]*?(?=/?>)")
_PAINT = re.compile(r'\b(fill|stroke)="(#0001[0-9a-f]{2})"')


def themed(svg: str, ids: Iterable[tuple[str, str]] = ()) -> str:
    """A picture that Graphviz drew: its colour codes as classes, its element ids as what a click selects."""
    svg = re.sub(r"<!--.*?-->\n?", "", svg, flags=re.DOTALL)
    svg = _TAG.sub(_classes, svg)
    svg = re.sub(r'<(/?)a\b[^>]*>|<g id="a_[^"]*">(?=<a)', "", svg)
    for element, name in ids:
        svg = svg.replace(f'<g id="{element}" ', f'<g id="{element}" data-id="{escape(name)}" ')
    return svg


def plain(dot: str) -> str:
    """DOT text with the colours themselves, for whoever draws it elsewhere."""
    return re.sub("|".join(_NAMES), lambda m: COLOURS[_NAMES[m.group(0)]], dot)


def _classes(tag: re.Match[str]) -> str:
    text, names = tag.group(0), []
    for attribute, code in _PAINT.findall(text):
        names.append(f"tv-{attribute[0]}-{_NAMES[code]}")
    text = _PAINT.sub(lambda m: f'{m.group(1)}="{COLOURS[_NAMES[m.group(2)]]}"', text)
    return text if not names else text.replace(f"<{tag.group(1)}", f'<{tag.group(1)} class="{" ".join(names)}"', 1)


class Svg:
    """A drawing in a box of so many units; coordinates from the upper left."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self.parts: list[str] = []

    def text(
        self, x: float, y: float, text: str, colour: str = "ink", anchor: str = "start", size: float = 11,
        bold: bool = False,
    ) -> None:  # fmt: skip
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text class="tv-f-{colour}" fill="{COLOURS[colour]}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
            f' font-size="{size:g}"{weight}>{escape(text)}</text>'
        )

    def line(
        self, points: Iterable[tuple[float, float]], colour: str = "line", dash: str = "", wide: float = 1
    ) -> None:
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.parts.append(
            f'<polyline class="tv-s-{colour}" fill="none" stroke="{COLOURS[colour]}" stroke-width="{wide:g}"{dashed}'
            f' points="{drawn}"/>'
        )

    def rect(
        self, x: float, y: float, width: float, height: float, colour: str, hint: str = "", name: str = ""
    ) -> None:
        inside = f"<title>{escape(hint)}</title>" if hint else ""
        self._mark(
            f'<rect class="tv-f-{colour}" fill="{COLOURS[colour]}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 1):.1f}"'
            f' height="{height:.1f}" rx="2">{inside}</rect>',
            name,
        )

    def boxes(
        self, found: Iterable[tuple[float, float, float, float]], colour: str, hint: str = "", name: str = ""
    ) -> None:
        """Rectangles (x, y, width, height) of one colour, as one shape; "": there only to be clicked."""
        drawn = "".join(f"M{x:.4g} {y:.5g}h{w:.4g}v{h:.4g}h{-w:.4g}z" for x, y, w, h in found)
        inside = f"<title>{escape(hint)}</title>" if hint else ""
        paint = f'class="tv-f-{colour}" fill="{COLOURS[colour]}"' if colour else 'fill-opacity="0"'
        self._mark(f'<path {paint} d="{drawn}">{inside}</path>', name)

    def lines(self, found: Iterable[tuple[float, float, float, float]], colour: str = "line", wide: float = 1) -> None:
        """Lines from (x, y) to (x, y) of one colour, as one shape."""
        drawn = "".join(f"M{a:.4g} {b:.5g}L{x:.4g} {y:.5g}" for a, b, x, y in found)
        self.parts.append(
            f'<path class="tv-s-{colour}" fill="none" stroke="{COLOURS[colour]}" stroke-width="{wide:g}" d="{drawn}"/>'
        )

    def dot(self, x: float, y: float, colour: str, full: bool, hint: str = "", radius: float = 5) -> None:
        classes, inside = (f"tv-f-{colour} tv-s-{colour}", COLOURS[colour]) if full else (f"tv-s-{colour}", "none")
        self.parts.append(
            f'<circle class="{classes}" fill="{inside}" stroke="{COLOURS[colour]}" stroke-width="2" cx="{x:.1f}"'
            f' cy="{y:.1f}" r="{radius:g}">'
            f"<title>{escape(hint)}</title></circle>"
        )

    def _mark(self, element: str, name: str) -> None:
        self.parts.append(f'<g data-id="{escape(name)}">{element}</g>' if name else element)

    def __str__(self) -> str:
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}"'
            f' width="{self.width:g}" height="{self.height:g}" font-family="{FONT}" role="img">'
            f"<title>{escape(self.title)}</title>"
            f"{''.join(self.parts)}</svg>"
        )
