"""What a notebook shows of schedules, stages, tensors, programs and verdicts: HTML with the text kept as text.

Colours are of middle lightness, so that they can be read on white and on black; style stands on the elements, since
a notebook that is not trusted loses style sheets and variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from itertools import groupby
from typing import Any

from ..core.error import LabError
from ..core.hooks import put
from ..core.node import REDUCE, IterVar, Load, Stmt
from ..core.program import Origin, Program
from ..core.text import PRE, coloured, program_lines, show
from ..expr.tensor import ComputeOp, PlaceholderOp, Tensor
from ..face.api import lower
from ..face.handle import Schedule, StageHandle
from ..face.verdict import SIGNS, Moves, Verdict, arguments
from ..schedule.guard import extent, name
from ..schedule.state import Stage, State, is_input

GREY, RED, GREEN, ORANGE = "#80868b", "#d9534f", "#3d9950", "#c77c11"
STAGES = ("#3f87d9", "#d0702a", "#3d9950", "#b05cc6", "#c2528b", "#2b9a9f", "#a08315")  # taken in turn
THREAD = "#2b9a9f"
MARKS = {"parallel": "#d0702a", "vectorized": "#3f87d9", "unrolled": "#b05cc6", "tensorized": "#3d9950"}
VERDICTS = {"+": GREEN, "x": RED, "?": ORANGE, "=": GREY}
BOX = "border-left:3px solid {};padding:1px 0 1px 8px;margin:4px 0"
MOST_LINES, MOST_LETTERS = 200, 240  # of what is shown; printing shows it all

Colours = Mapping[str, str]  # stage name -> colour


# ---------------------------------------------------------------- small parts


def ink(text: Any, colour: str = GREY, bold: bool = False) -> str:
    return f'<span style="color:{colour}{";font-weight:bold" if bold else ""}">{escape(str(text))}</span>'


def pre(inside: str) -> str:
    return f'<pre style="{PRE}">{inside}</pre>'


def box(inside: str, colour: str) -> str:
    return f'<div style="{BOX.format(colour)}">{inside}</div>'


def code(text: str, space: str = "nowrap") -> str:
    return f'<code style="white-space:{space};background:transparent;color:inherit;padding:0">{coloured(text)}</code>'


def page(*parts: str) -> str:
    return f'<div style="font-size:13px;line-height:1.5">{"".join(parts)}</div>'


def stage_colours(state: State) -> Colours:
    """A colour for each stage that computes something, in order."""
    own = [s.name for s in state.in_order if not is_input(s)]
    return {n: STAGES[i % len(STAGES)] for i, n in enumerate(reversed(own))}


# ---------------------------------------------------------------- loops


@put("html", Program)
def program(p: Program, colours: Colours | None = None) -> str:
    """The program's text; a bar in the margin says which stage a line computes, where there are several."""
    lines = list(program_lines(p))
    stages = owners([node for _, _, node in lines])
    if colours is None:
        colours = dict(zip(dict.fromkeys(filter(None, reversed(stages))), STAGES * len(stages), strict=False))
    rows = []
    for stage, group in groupby(zip(stages[:MOST_LINES], lines, strict=False), key=lambda x: x[0]):
        inside = "\n".join(coloured(cut("    " * depth + text)) for _, (depth, text, _) in group)
        colour = colours.get(stage, "transparent")
        rows.append(f'<div style="border-left:3px solid {colour};padding-left:7px">{inside}</div>')
    if len(lines) > MOST_LINES:
        rows.append(ink(f"# ... {len(lines) - MOST_LINES} more lines: print it to see them"))
    return pre("".join(rows))


def owners(nodes: list[Any]) -> list[str]:
    """The stage that each line computes. A line that belongs to none (a guard) goes with the line below it."""
    found: list[str] = []
    for node in reversed(nodes):
        origin = getattr(node, "origin", None)
        below = found[-1] if found and isinstance(node, Stmt) else ""
        found.append(origin.stage if isinstance(origin, Origin) else below)
    return found[::-1]


def cut(line: str) -> str:
    return line if len(line) <= MOST_LETTERS else line[:MOST_LETTERS] + " ..."


# ---------------------------------------------------------------- schedules


@put("html", Schedule)
def schedule(s: Schedule) -> str:
    """Head, loops, the tree of stages, what is owed."""
    colours, names = stage_colours(s.state), [op.name for op in s.outputs]
    steps = f"{len(s.trace)} step" + "s" * (len(s.trace) != 1)
    head = f"<div><b>schedule of {escape(', '.join(names))}</b> {ink(f'· {steps}')}</div>"
    return page(head, _loops(s, colours), tree(s, colours), _owed(s))


def _loops(s: Schedule, colours: Colours) -> str:
    try:
        return program(lower(s, arguments(s.trace), simple_mode=True), colours)
    except LabError as e:
        return box(pre(escape(str(e))), RED)


def _owed(s: Schedule) -> str:
    """Open obligations. (Where the loops cannot be made at all, `_loops` has said why.)"""
    try:
        found = s.check()
    except LabError:
        return ""
    return "".join(box(f"{ink('open:', ORANGE, True)} {escape(o.message)}{_instead(o.legal)}", ORANGE) for o in found)


def _instead(legal: Iterable[str]) -> str:
    found = list(legal)[:4]
    return f"<br>{ink('would close it:')} {', '.join(map(code, found))}" if found else ""


def tree(s: Schedule, colours: Colours) -> str:
    """Each stage with its loops, under the stage it is computed in."""
    state = s.state
    under: dict[int, list[Stage]] = {}
    for stage in reversed(state.in_order):
        at = state.attach_of(stage)
        if not is_input(stage):
            under.setdefault(at.stage if at.axis is not None else -1, []).append(stage)
    rows: list[str] = []

    def visit(parent: int, depth: int) -> None:
        for stage in under.get(parent, ()):
            line = stage_row(state, stage, colours.get(stage.name, GREY))
            rows.append(f'<div style="padding-left:{depth * 22}px">{line}</div>')
            visit(stage.index, depth + 1)

    visit(-1, 0)
    inputs = ", ".join(f"{t.name}: {kind(t)}" for i in state.in_order if is_input(i) for t in i.op.outputs)
    rows.append(f"<div>{ink(f'inputs  {inputs}')}</div>" if inputs else "")
    return f'<div style="margin-top:5px">{"".join(rows)}</div>'


def stage_row(state: State, stage: Stage, colour: str) -> str:
    """`C  in local  at io   k 1024 reduce, i 4 unrolled`."""
    at = state.attach_of(stage)
    words = [ink(f"■ {stage.name}", colour, bold=True)]
    words += [ink(f"in {stage.scope}")] if stage.scope else []
    if at.kind == "inline":
        return " ".join([*words, ink("inlined where it is read")])
    if at.axis is not None:
        words.append(ink(f"at {state.stages[at.stage].name}.{name(state, at.axis)}"))
    flags = [n for n in ("double_buffer", "rolling_buffer") if getattr(stage, n)]
    loops = [chip(state, stage, a) for a in stage.leaves]
    return " ".join([*words, *map(ink, flags), "&ensp;", *loops])


def chip(state: State, stage: Stage, axis: IterVar) -> str:
    """One loop: its name, how often it runs, what kind it is."""
    mark = stage.mark(axis)
    word, colour = mark.kind, MARKS.get(mark.kind, GREY)
    if mark.thread is not None:
        word, colour = mark.thread.thread_tag, THREAD
    elif not word and axis.iter_type == REDUCE:
        word = "reduce"
    inside = f"{escape(name(state, axis))} {ink(extent(state, axis))}" + (f" {ink(word, colour)}" if word else "")
    return f'<span style="border:1px solid {colour};border-radius:4px;padding:0 5px;white-space:nowrap">{inside}</span>'


@put("html", StageHandle)
def one_stage(h: StageHandle) -> str:
    state, stage = h.schedule.state, h.record
    colour = stage_colours(state).get(stage.name, GREY)
    row = stage_row(state, stage, colour)
    return page(f"<div>{row}</div>", *[f"<div>{line}</div>" for line in meaning(stage.op.outputs)])


# ---------------------------------------------------------------- tensors


def kind(t: Any) -> str:
    return f"{t.dtype}[{', '.join(map(show, t.shape))}]"


def meaning(outputs: Iterable[Tensor]) -> list[str]:
    """What tensors are, a line each, as HTML: the expression, or the kind of operation and what it reads."""
    return [code(equation(t), "pre-wrap") for t in outputs]


def equation(t: Tensor) -> str:
    """`C[i, j] = sum(A[i, k]*B[k, j], axis=[k])`"""
    if isinstance(t.op, ComputeOp):
        return f"{show(Load(t, tuple(a.var for a in t.op.axis), t.dtype))} = {show(t.op.body[t.value_index])}"
    if isinstance(t.op, PlaceholderOp):
        return f"{t.name}  # an input"
    return f"{t.name} = {t.op.kind}({', '.join(x.name for x in t.op.inputs)})"


@put("text", Tensor)
def tensor_text(t: Tensor) -> str:
    return f"{t.name}: {kind(t)}\n    {equation(t)}"


@put("html", Tensor)
def tensor(t: Tensor) -> str:
    loops = [f"{a.name} {ink(f'in 0..{show(a.dom.extent)}')}" for a in t.op.axis if a.dom is not None]
    sums = [f"{a.name} {ink(f'in 0..{show(a.dom.extent)}, reduced')}" for a in t.op.reduce_axis if a.dom is not None]
    head = f"<div><b>{escape(t.name)}</b>: {escape(kind(t))}</div>"
    ranges = f"<div>{ink('for')} {', '.join([*loops, *sums])}</div>" if isinstance(t.op, ComputeOp) and loops else ""
    return page(head, f"<div>{meaning([t])[0]}</div>", ranges)


# ---------------------------------------------------------------- verdicts


@put("html", Verdict)
def verdict(v: Verdict) -> str:
    colour = VERDICTS[SIGNS[v.kind]]
    lines = [ink(v.kind, colour, bold=True) + (f": {escape(v.reason)}" if v.reason else "")]
    lines += [ink(v.clash)] if v.clash else []
    lines += [f"{ink('owes:', ORANGE)} {escape(o.message)}" for o in v.obligations]
    if v.alternatives:
        lines.append(f"{ink('instead:')} " + ", ".join(code(m.text) for m in v.alternatives))
    return page(box("<br>".join(lines), colour))


@put("html", Moves)
def several(found: Moves) -> str:
    """One line a move: its sign, its code, and why not."""
    cell = '<td style="text-align:left;white-space:nowrap;padding:1px 12px 1px 4px;vertical-align:top">'
    last = cell.replace("nowrap", "normal")
    rows = []
    for m, v in found:
        colour = VERDICTS[SIGNS[v.kind]]
        why = v.reason or "; ".join(o.message for o in v.obligations)
        rows.append(f"<tr>{cell}{ink(v.kind, colour)}</td>{cell}{code(m.text)}</td>{last}{ink(why)}</td></tr>")
    return page(f'<table style="border:0;margin:0">{"".join(rows)}</table>')
