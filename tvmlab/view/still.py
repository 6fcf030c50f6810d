"""A lab where nothing moves: the card in a saved notebook, and the page that travels in time without a kernel.

The card is plain HTML whose style stands on the elements, so that viewers which take scripts and style sheets away
still show the tree and the loops. The page holds the widget's module and the document; nothing is fetched.
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from ..core.text import PRE, coloured
from . import rich
from .payload import Document, Head, Line, Row
from .shown import image

STATIC = Path(__file__).parent / "static"
MOST_CARD = 60_000  # bytes of a card: it is saved in the notebook
MOST_LINES = 200
INDENT = "&nbsp;" * 5  # letters, since some viewers take all style away


def card(document: Document, folded: bool = True) -> str:
    """The still copy: head, tree, loops, calls, and the dataflow as an image."""
    state = document["state"]
    head, frame = state["head"], state["frame"]
    parts = [tree(frame["tree"]), part("Loops", loops(frame["loops"])), part("Code", _pre(head["calls"]))]
    parts += [image(p["svg"], p["table"]["title"]) for p in document["pictures"] if p["kind"] == "graph"]
    inside = "".join(parts)
    if len(inside) > MOST_CARD:
        inside = "".join(parts[:3])
    summary = f"<b>{escape(head['title'])}</b> {rich.ink(summed_up(head, len(state['history']['steps'])))}"
    if not folded:
        return rich.page(f"<div>{summary}</div>", inside)
    return rich.page(f"<details><summary>{summary}</summary>{inside}</details>")


def summed_up(head: Head, steps: int) -> str:
    """`5 steps · legal · 6.1 ms measured`"""
    taken = f"{steps} step" + "s" * (steps != 1)
    words = [taken, head["badge"]["text"]]
    if head["time"] and head["time"] != "not run":
        words.append(f"{head['time']} measured")
    return "· " + " · ".join(words)


def text(document: Document) -> str:
    """The same as plain text."""
    state = document["state"]
    head = state["head"]
    tree = state["frame"]["tree"]
    rows = ["    " * r["level"] + " ".join([r["name"], r["extent"], *r["chips"]]).rstrip() for r in tree]
    return "\n".join([f"{head['title']} {summed_up(head, len(state['history']['steps']))}", *rows])


def tree(rows: list[Row]) -> str:
    """The schedule tree, a line per stage and loop."""
    lines = []
    for r in rows:
        name = f"<b>{escape(r['name'])}</b>" if r["kind"] != "loop" else escape(r["name"])
        words = " ".join(rich.ink(c, rich.MARKS.get(r["mark"], rich.GREY)) for c in r["chips"])
        lines.append(f"<div>{INDENT * r['level']}{name} {rich.ink(r['extent'])} {words}</div>")
    return f'<div style="margin:5px 0">{"".join(lines)}</div>'


def loops(lines: list[Line]) -> str:
    shown = ["    " * line["d"] + line["t"] for line in lines[:MOST_LINES]]
    if len(lines) > MOST_LINES:
        shown.append(f"# ... {len(lines) - MOST_LINES} more lines")
    return _pre("\n".join(shown))


def part(title: str, inside: str) -> str:
    return f"<details open><summary>{escape(title)}</summary>{inside}</details>"


def _pre(inside: str) -> str:
    return f'<pre style="{PRE}">{coloured(inside)}</pre>'


# ---------------------------------------------------------------- a page


PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>body {{ margin: 12px; font-family: sans-serif; color-scheme: light dark }} {style}</style>
</head>
<body>
{body}
</body>
</html>
"""
LIVE = """<div id="lab"></div>
<noscript>{card}</noscript>
<script type="application/json" id="document">{document}</script>
<script type="text/plain" id="module">{module}</script>
<script type="module">
const text = (id) => document.getElementById(id).textContent;
const url = URL.createObjectURL(new Blob([text("module")], {{ type: "text/javascript" }}));
const {{ open }} = await import(url);
const lab = document.getElementById("lab");
open(lab, JSON.parse(text("document")));
// Its keys work at once; inside of another page (a notebook, say) the focus is not ours.
if (self === top) (lab.querySelector("[data-home]") ?? lab.querySelector("button")).focus({{ preventScroll: true }});
</script>"""


def page(document: Document, mode: str = "live") -> str:
    """One file: with `mode="live"` a reader can travel in time, with "still" it holds no script at all."""
    title = escape(document["state"]["head"]["title"])
    still = card(document, folded=False)
    if mode == "still":
        return PAGE.format(title=title, style="", body=still)
    module, style = ((STATIC / name).read_text(encoding="utf-8") for name in ("lab.js", "lab.css"))
    body = LIVE.format(card=still, document=json.dumps(document).replace("<", "\\u003c"), module=_inert(module))
    return PAGE.format(title=title, style=style, body=body)


def _inert(text: str) -> str:
    """No text may end the script element it stands in."""
    return text.replace("</", "<\\/").replace("<!--", "<\\!--")
