"""The relations of axes: how each stage's loops came from the axes of its tensor, by splits and fusions."""

from __future__ import annotations

from typing import Any

from ...core.node import REDUCE, IterVar
from ...schedule.guard import extent, name
from ...schedule.state import Fuse, Rebase, Relation, Singleton, Split, Stage, State, is_input
from ...schedule.trace import Trace
from ..graphs import Graph
from ..ids import id_of
from ..payload import Picture
from . import Subject
from .graph import safe
from .svg import CODES, plain, themed

LABEL = "Relations"
ABOUT = (
    "From top to bottom: an axis of the tensor, and what splits and fusions made of it; the boxes at the bottom are "
    "the loops that run. Dashed boxes are sums. What the last step made is orange."
)


def draw(subject: Subject) -> Picture:
    state = subject.trace.state
    graph, ids = digraph(subject.trace, subject.before)
    rows = [(s, a) for s in _stages(state) for a in s.axes]
    return {
        "kind": "relations", "svg": themed(graph.svg, ids), "about": ABOUT, "how": "", "dot": plain(graph.source),
        "table": {
            "title": "Where each loop comes from",
            "head": ["stage", "axis", "extent", "comes from", "is"],
            "rows": [_row(state, s, a) for s, a in rows],
            "ids": [id_of(state, s, a) for s, a in rows],
        },
    }  # fmt: skip


def _stages(state: State) -> list[Stage]:
    return [s for s in reversed(state.in_order) if not is_input(s) and s.axes]


def digraph(trace: Trace, before: Trace | None = None) -> tuple[Graph, list[tuple[str, str]]]:
    """The graph as DOT, and (element, id) of what can be pointed at."""
    state, g, ids = trace.state, Graph("relations"), []
    known = set(before.state.refs) if before is not None else None
    g.attr(bgcolor="transparent", rankdir="TB", nodesep="0.2", ranksep="0.3", fontname="Verdana", fontsize="10")
    g.attr("node", shape="box", style="rounded", fontname="Verdana", fontsize="10", margin="0.1,0.04", height="0.3")
    g.attr("edge", fontname="Verdana", fontsize="9", fontcolor=CODES["quiet"], color=CODES["line"], arrowsize="0.6")
    for s in _stages(state):
        with g.subgraph(name=f"cluster_{s.index}") as box:
            title = f'<<FONT COLOR="{CODES["ink"]}"><B>{safe(s.called)}</B></FONT>>'
            box.attr(label=title, color=CODES["line"], style="rounded")
            for j, a in enumerate(s.axes):
                element = f"a{s.index}_{j}"
                ids.append((element, id_of(state, s, a)))
                new = known is not None and a not in known
                _node(box, state, s, a, element, new)
            for k, r in enumerate(s.relations):
                _edges(box, s, r, f"r{s.index}_{k}")
    g.text = "\n".join(": ".join(filter(None, _row(state, s, a)[:4])) for s in _stages(state) for a in s.axes)
    return g, ids


def _node(g: Any, state: State, s: Stage, a: IterVar, element: str, new: bool) -> None:
    style = "rounded,dashed" if a.iter_type == REDUCE else "rounded"
    leaf = a in s.leaves
    ink = CODES["ink" if leaf else "quiet"]
    often = f'<FONT COLOR="{CODES["quiet"]}">{safe(extent(state, a))}</FONT>'
    text = f'<FONT COLOR="{ink}">{safe(name(state, a))}</FONT> {often}'
    colour = CODES["new"] if new else CODES["accent" if leaf else "line"]
    g.node(element, f"<{text}>", id=element, style=style, color=colour, penwidth="2" if new else "1")


def _edges(g: Any, s: Stage, r: Relation, knot: str) -> None:
    place = {a: f"a{s.index}_{j}" for j, a in enumerate(s.axes)}
    tops, bottoms = ends(r)
    word = type(r).__name__.lower()
    if len(tops) == 1:
        for b in bottoms:
            g.edge(place[tops[0]], place[b], label=f" {word}" if b is bottoms[0] else "")
        return
    g.node(knot, f'<<FONT COLOR="{CODES["quiet"]}" POINT-SIZE="9">{word}</FONT>>', shape="plain")
    for t in tops:
        g.edge(place[t], knot, arrowhead="none")
    for b in bottoms:
        g.edge(knot, place[b])


def ends(r: Relation) -> tuple[tuple[IterVar, ...], tuple[IterVar, ...]]:
    """What a relation makes its axes from, and the axes that it makes."""
    if isinstance(r, Split):
        return (r.parent,), (r.outer, r.inner)
    if isinstance(r, Fuse):
        return (r.outer, r.inner), (r.fused,)
    if isinstance(r, Rebase):
        return (r.parent,), (r.rebased,)
    if isinstance(r, Singleton):
        return (), (r.iter,)
    return r.originals, r.transformed


def _row(state: State, s: Stage, a: IterVar) -> list[str]:
    made = next((r for r in s.relations if a in ends(r)[1]), None)
    origin = "an axis of the tensor" if a.iter_type != REDUCE else "an axis that is summed over"
    if made is not None:
        origin = f"{type(made).__name__.lower()} of {', '.join(name(state, x) for x in ends(made)[0]) or 'nothing'}"
    mark = s.mark(a)
    word = mark.thread.thread_tag if mark.thread is not None else mark.kind
    role = f"loop {s.leaves.index(a) + 1}{' ' + word if word else ''}" if a in s.leaves else "no loop any more"
    return [s.called, name(state, a), extent(state, a), origin, role]
