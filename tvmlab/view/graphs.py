"""Graphs as pictures: a `graphviz.Digraph` that needs no `dot` program.

    g = Graph("flow"); g.node("a"); g.edge("a", "b"); g        a cell shows the picture; print(g.source) the DOT text

The engine is a self-contained port of Graphviz that pip installs (`graphviz-pure`); without it a `dot` on the path is
used, and without that a notebook shows the text.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sysconfig
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import Any

import graphviz

from ..core.error import LabError

WIDE = "Verdana"  # boxes are measured for this font, which the engine knows; those that may stand in for it fit too
FAMILIES = "Verdana,DejaVu Sans,Arial,Helvetica,sans-serif"


class NoEngine(LabError):
    """Nothing on this system can draw a graph."""


def engine() -> str | None:
    """The program that draws: the one that pip installed, or the system's."""
    own = sysconfig.get_path("scripts")
    return shutil.which("graphviz-pure") or shutil.which("graphviz-pure", path=own) or shutil.which("dot")


def render(dot: str, kind: str = "svg") -> bytes:
    """The picture of a DOT text: svg, png or pdf."""
    program = engine()
    if program is None:
        raise NoEngine(
            "no-graph-engine", "nothing here can draw a graph", legal=["pip install graphviz-pure", "install Graphviz"]
        )
    done = subprocess.run([program, f"-T{kind}"], input=dot.encode(), capture_output=True, check=False)
    if done.returncode:
        raise NoEngine("graph-engine-failed", f"{program} failed: {done.stderr.decode().strip()}")
    return done.stdout


class Graph(graphviz.Digraph):  # type: ignore[misc]  # graphviz has no types
    """`text`: what is shown where no picture can be."""

    text = ""

    @property
    def svg(self) -> str:
        """The picture, without the XML prologue, so that it can stand in a page."""
        made = render(self.source).decode()
        return made[made.index("<svg") :].replace(f'font-family="{WIDE}"', f'font-family="{FAMILIES}"')

    data = svg  # the classic IPython SVG object's name

    def _repr_svg_(self) -> str | None:
        try:
            return self.svg
        except NoEngine:
            return None

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": self.text or self.source}
        picture = self._repr_svg_()
        if picture is not None:
            bundle["image/svg+xml"] = picture
            # shown where a notebook is not trusted yet, and by viewers that take no SVG
            bundle["image/png"] = b64encode(render(self.source, "png")).decode()
        return bundle

    def _repr_image_svg_xml(self) -> str | None:
        return self._repr_svg_()

    def _repr_image_png(self) -> bytes | None:
        return self._drawn("png")

    def _repr_image_jpeg(self) -> bytes | None:
        return self._drawn("jpg")

    def _drawn(self, kind: str) -> bytes | None:
        """The picture, by the same engine as all else; None where that does not draw this kind."""
        try:
            return render(self.source, kind)
        except NoEngine:
            return None

    def __repr__(self) -> str:
        return self.text or f"<graph {self.name}: {self.source.count('->')} edges>"

    def save_picture(self, path: Any) -> None:
        """Write the picture to a file; the name's ending says the kind: .svg, .png, .pdf."""
        path = Path(path)
        path.write_bytes(render(self.source, path.suffix.removeprefix(".")))


# ---------------------------------------------------------------- HTML-like labels

INK, QUIET, LINE, WHITE = "#1F2933", "#6B7785", "#9AA5B1", "#FFFFFF"


def html(text: Any) -> str:
    """Text for the inside of an HTML-like label."""
    return escape(str(text), quote=False)


def cell(
    text: str,
    port: str = "",
    colour: str = WHITE,
    bold: bool = False,
    span: int = 1,
    align: str = "LEFT",
    ink: str = INK,
) -> str:
    """One cell of a table. `text` is escaped; long ones are broken at commas."""
    lines = [html(line) for line in folded(text)]
    body = lines[0] if len(lines) == 1 else "".join(f"{line}<BR ALIGN='LEFT'/>" for line in lines)
    body = f"<B>{body}</B>" if bold else body
    body = f'<FONT COLOR="{ink}">{body}</FONT>' if body else ""
    marks = [
        f'PORT="{port}"' if port else "",
        f'BGCOLOR="{colour}"' if colour else "",
        f'COLSPAN="{span}"' if span > 1 else "",
    ]
    return f'<TD ALIGN="{align}" {" ".join(filter(None, marks))}>{body}</TD>'


def folded(text: str, width: int = 56, most: int = 6) -> list[str]:
    """Lines of at most about `width` letters, broken after blanks and commas; what is too long ends in dots."""
    lines, line = [], ""
    for part in re.findall(r"\S+\s*", text) or [""]:
        if line and len(line) + len(part) > width:
            lines.append(line)
            line = ""
        line += part
    lines.append(line)
    return lines if len(lines) <= most else [*lines[: most - 1], "..."]


def table(rows: list[str], border: str = LINE) -> str:
    """An HTML-like label of rows (each a string of cells)."""
    inside = "".join(f"<TR>{r}</TR>" for r in rows)
    return f'<<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="5" COLOR="{border}">{inside}</TABLE>>'
