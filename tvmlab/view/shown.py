"""A picture of the lab in a cell of its own, or in a file: `lab.picture("roofline")`."""

from __future__ import annotations

import json
from base64 import b64encode
from html import escape
from pathlib import Path
from typing import Any

from ..core.error import LabError
from . import graphs
from .payload import Picture, Table


class Shown:
    """A cell shows the picture; `print` its text twin; `.save(path)` writes a file, of the kind that its name ends in.

    `data` is the picture as data: kind, SVG, table, what it shows, and for graphs the DOT text.
    """

    def __init__(self, data: Picture) -> None:
        self.data = data

    def __repr__(self) -> str:
        return plain(self.data["table"])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None, **_: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": image(self.data["svg"], self.data["table"]["title"])}

    def save(self, path: Any) -> Path:
        """Write `something.svg`, `.json` (the data with the text twin); graphs also as `.dot`, `.png`, `.pdf`."""
        file = Path(path)
        kind = file.suffix.removeprefix(".")
        dot = self.data.get("dot", "")
        legal = [".svg", ".json", *([".dot", ".png", ".pdf"] if dot else [])]
        if f".{kind}" not in legal:
            raise LabError("picture-file", f"{self.data['kind']} is not written as {file.name}", legal=legal)
        if kind in ("png", "pdf"):
            file.write_bytes(graphs.render(dot, kind))
            return file
        texts = {"svg": self.data["svg"], "dot": dot}
        file.write_text(json.dumps(self.data) if kind == "json" else texts[kind], encoding="utf-8")
        return file


def image(svg: str, title: str) -> str:
    """The drawing inside an <img>, where viewers show it that would break an SVG in the page."""
    data = b64encode(svg.encode()).decode()
    return f'<div><img alt="{escape(title)}" src="data:image/svg+xml;base64,{data}" style="max-width:100%"></div>'


def plain(table: Table) -> str:
    """A table as text, its columns one below the other."""
    rows = [table["head"], *table["rows"]]
    widths = [max(len(row[n]) for row in rows) for n in range(len(table["head"]))]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([table["title"], *(f"  {line}" for line in lines)])
