"""The dataflow: what is computed from what, how much data goes along, and where each stage is computed."""

from __future__ import annotations

from html import escape
from typing import Any

from ...core import dtype as dt
from ...core.text import show
from ...core.units import size
from ...core.walk import constant
from ...schedule.guard import extent, name
from ...schedule.state import Stage, State, is_input
from ...schedule.trace import Trace
from ..graphs import Graph
from ..ids import id_of
from ..payload import Picture
from . import Subject
from .svg import CODES, plain, themed

LABEL = "Graph"
MOST_LOOPS = 8  # in a box; the tree shows them all
ABOUT = (
    "Each box is a stage: a tensor, and the loops that compute it; an arrow is a tensor that is read, with its bytes. "
    "A dashed line leads to the loop that a stage is computed in. What the last step changed is orange."
)


def draw(subject: Subject) -> Picture:
    state, graph = subject.trace.state, digraph(subject.trace, subject.before)
    ids = [(f"n{s.index}", id_of(state, s)) for s in state.in_order]
    return {
        "kind": "graph", "svg": themed(graph.svg, ids), "about": ABOUT, "how": "", "dot": plain(graph.source),
        "table": {
            "title": "What is computed from what",
            "head": ["stage", "reads", "computed", "loops", "size"],
            "rows": [_row(state, s) for s in state.in_order],
            "ids": [name for _, name in ids],
        },
    }  # fmt: skip


def digraph(trace: Trace, before: Trace | None = None) -> Graph:
    """The graph as DOT; stages in the order of their making, so that a step moves as little as it can."""
    state, was = trace.state, before.state if before is not None else None
    g = Graph("flow")
    g.attr(bgcolor="transparent", rankdir="TB", nodesep="0.2", ranksep="0.35", fontname="Verdana")
    g.attr("node", shape="box", style="rounded", fontname="Verdana", fontsize="13", margin="0.12,0.06")
    g.attr("edge", fontname="Verdana", fontsize="11", fontcolor=CODES["quiet"], color=CODES["line"], arrowsize="0.7")
    for i in sorted(state.order):
        s = state.stages[i]
        new = was is not None and _look(was, was.stages.get(i)) != _look(state, s)
        colour, width = (CODES["new"], "2") if new else (CODES["line"], "1")
        g.node(f"n{i}", _label(state, s), id=f"n{i}", color=colour, penwidth=width)
    for i in sorted(state.order):
        _edges(g, state, state.stages[i])
    g.text = "\n".join(_sentence(state, s) for s in state.in_order)
    return g


def _edges(g: Graph, state: State, s: Stage) -> None:
    for t in s.op.inputs:
        producer = state.stage_of(t)
        g.edge(f"n{producer.index}", f"n{s.index}", label=f" {size(nbytes(t))}")
    at = state.attach_of(s)
    if at.axis is not None:
        g.edge(
            f"n{s.index}", f"n{at.stage}", label=f" at {name(state, at.axis)}", style="dashed", color=CODES["accent"],
            fontcolor=CODES["accent"], arrowhead="none", constraint="false",
        )  # fmt: skip


def _label(state: State, s: Stage) -> str:
    lines = [f'<FONT COLOR="{CODES["ink"]}"><B>{safe(s.called)}</B></FONT>']
    lines += [f'<FONT COLOR="{CODES["quiet"]}" POINT-SIZE="11">{safe(text)}</FONT>' for text in _look(state, s)]
    return f"<{'<BR/>'.join(lines)}>"


def safe(text: str) -> str:
    return escape("".join(c for c in text if c.isprintable()), quote=False) or " "


def _look(state: State, s: Stage | None) -> tuple[str, ...]:
    """What is written in a box under the name."""
    if s is None:
        return ()
    tensors = ", ".join(f"{t.dtype}[{', '.join(map(show, t.shape))}]" for t in s.op.outputs)
    lines = [tensors + (f" in {s.scope}" if s.scope else "")]
    if is_input(s):
        return (*lines, "input")
    at = state.attach_of(s)
    if at.kind == "inline":
        return (*lines, "inlined where it is read")
    loops = [_loop(state, s, a) for a in s.leaves]
    lines += ["  ".join(loops[k : k + 2]) for k in range(0, min(len(loops), MOST_LOOPS), 2)]
    return (*lines, f"and {len(loops) - MOST_LOOPS} more loops") if len(loops) > MOST_LOOPS else tuple(lines)


def _loop(state: State, s: Stage, axis: Any) -> str:
    mark = s.mark(axis)
    word = mark.thread.thread_tag if mark.thread is not None else mark.kind
    return " ".join(filter(None, [name(state, axis), extent(state, axis), word]))


def nbytes(t: Any) -> float | None:
    """Bytes of a tensor; None where its shape is not a number."""
    total = float(dt.nbytes(t.dtype) * dt.lanes(t.dtype))
    for d in t.shape:
        n = constant(d)
        if n is None:
            return None
        total *= n
    return total


def _where(state: State, s: Stage) -> str:
    at = state.attach_of(s)
    if is_input(s):
        return "input"
    if at.axis is not None:
        return f"at loop {name(state, at.axis)} of {state.stages[at.stage].called}"
    return "inlined" if at.kind == "inline" else "by itself"


def _row(state: State, s: Stage) -> list[str]:
    reads = ", ".join(dict.fromkeys(state.stage_of(t).called for t in s.op.inputs))
    loops = ", ".join(_loop(state, s, a) for a in s.leaves) if not is_input(s) else ""
    volume = ", ".join(size(nbytes(t)) for t in s.op.outputs)
    return [s.called, reads, _where(state, s), loops, f"{volume}{' in ' + s.scope if s.scope else ''}"]


def _sentence(state: State, s: Stage) -> str:
    called, reads, where, loops, volume = _row(state, s)
    what = f"{called} ({volume}), {where}" + (f", reads {reads}" if reads else "")
    return what + (f"; loops {loops}" if loops else "")
