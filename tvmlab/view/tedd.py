"""A schedule as three graphs: the dataflow, the tree of attach points, the relations of axes (classic `contrib.tedd`).

`extract` gives the schedule as plain data; the drawings take that data only.
"""

from __future__ import annotations

import warnings
from typing import Any

from ..core.error import LabError
from ..core.node import KIND_NAMES, IterVar
from ..core.text import show
from ..expr.tensor import ComputeOp
from ..face.handle import KINDS, Schedule
from ..face.introspect import InferBound
from ..schedule.state import Fuse, Rebase, Singleton, Split, Stage, State
from .graphs import INK, LINE, QUIET, WIDE, Graph, cell, html, table

COLOURS = {
    "kDataPar": "#FFFFFF", "kThreadIndex": "#2980B9", "kCommReduce": "#FAD7A0", "kOrdered": "#D35400",
    "kOpaque": "#ABB2B9",
    "kUnrolled": "#D2B4DE", "kVectorized": "#AED6F1", "kParallelized": "#F5B7B1", "kTensorized": "#A9DFBF",
}  # fmt: skip
DARK = {"kThreadIndex", "kOrdered"}  # white letters on these
ROOT = "ROOT"

# ---------------------------------------------------------------- the schedule as data


def extract(sch: Schedule, need_range: bool = True) -> dict[str, Any]:
    """The schedule as nested lists and dicts. `need_range`: with the ranges that bound inference gives."""
    state = sch.state
    ranges = _ranges(sch) if need_range else {}
    place = {index: i for i, index in enumerate(state.order)}
    stages = [_stage(state, state.stages[index], place, ranges) for index in state.order]
    groups = [_group(state, g, place) for g in getattr(state, "groups", {}).values()]
    return {"type": "ScheduleTree", "stages": stages, "groups": groups}


def _ranges(sch: Schedule) -> dict[IterVar, Any]:
    try:
        return InferBound(sch)
    except LabError as e:
        warnings.warn(f"ranges could not be inferred: {e}", stacklevel=3)
        return {}


def _stage(state: State, s: Stage, place: dict[int, int], ranges: dict[IterVar, Any]) -> dict[str, Any]:
    i = place[s.index]
    axes = {a: j for j, a in enumerate(s.axes)}
    return {
        "type": "Stage",
        "id": f"Stage_{i}",
        "name": s.name,
        "kind": s.op.kind,
        "scope": s.scope,
        "attach": s.attach.kind,
        "attaching_to": _attach(state, s.attach, place),
        "group": s.group,
        "is_output": s.is_output,
        "compute": _body(s),
        "all_itervars": [_itervar(s, a, f"IterVar_{i}_{j}", ranges) for j, a in enumerate(s.axes)],
        "leaf_itervars": [axes[a] for a in s.leaves],
        "relations": [_relation(r, i, k, axes) for k, r in enumerate(s.relations)],
        "input_tensors": [_tensor_id(state, t, place) for t in s.op.inputs],
        "output_tensors": [
            {
                "type": "Tensor",
                "id": f"Tensor_{i}_{k}",
                "name": t.name,
                "shape": [show(d) for d in t.shape],
                "dtype": t.dtype,
            }
            for k, t in enumerate(s.op.outputs)
        ],
    }


def _attach(state: State, at: Any, place: dict[int, int]) -> list[int] | None:
    """[stage, axis] of the loop that something is computed in; None at the root."""
    if at.axis is None or at.stage not in place:
        return None
    axes = list(state.stages[at.stage].axes)
    return [place[at.stage], axes.index(at.axis)] if at.axis in axes else None


def _group(state: State, g: Any, place: dict[int, int]) -> dict[str, Any]:
    members = [place[s.index] for s in state.in_order if s.group == g.index]
    at = getattr(g, "attach", None)
    return {
        "type": "Group", "id": f"Group_{g.index}", "index": g.index, "members": members,
        "attaching_to": None if at is None else _attach(state, at, place),
    }  # fmt: skip


def _tensor_id(state: State, t: Any, place: dict[int, int]) -> str:
    return f"Tensor_{place[state.stage_of(t).index]}_{t.value_index}"


def _body(s: Stage) -> str:
    if isinstance(s.op, ComputeOp):
        return ", ".join(show(b) for b in s.op.body)
    return s.op.kind


def _itervar(s: Stage, a: IterVar, name: str, ranges: dict[IterVar, Any]) -> dict[str, Any]:
    mark = s.mark(a)
    kind = KINDS.get(mark.kind, 1 if mark.thread is not None else a.iter_type)
    found = ranges.get(a)
    return {
        "type": "IterVar",
        "id": name,
        "name": a.name,
        "itervar_type": f"k{KIND_NAMES[kind]}",
        "properties": {
            "range": f"range({show(found.min)}, {show(found.extent)})" if found is not None else "range(N/A)",
            "thread": None if mark.thread is None else mark.thread.thread_tag,
            "intrin": getattr(mark.intrin, "name", None),
            "pragmas": [key for key, _ in mark.pragmas],
        },
    }


def _relation(r: Any, i: int, k: int, axes: dict[IterVar, int]) -> dict[str, Any]:
    """The relation's kind, and the axes it takes and gives: role -> position among the stage's axes."""
    if isinstance(r, Split):
        size = f"factor {show(r.factor)}" if r.factor is not None else f"nparts {show(r.nparts)}"
        kind, takes, gives = "Split", {"Input": r.parent}, {"Outer": r.outer, "Inner": r.inner}
    elif isinstance(r, Fuse):
        size, kind, takes, gives = "", "Fuse", {"Outer": r.outer, "Inner": r.inner}, {"Fused": r.fused}
    elif isinstance(r, Rebase):
        size, kind, takes, gives = "", "Rebase", {"Parent": r.parent}, {"Rebased": r.rebased}
    elif isinstance(r, Singleton):
        size, kind, takes, gives = "", "Singleton", {}, {"Iter": r.iter}
    else:
        size, kind = "", "Transform"
        takes = {f"In {n}": a for n, a in enumerate(r.originals)}
        gives = {f"Out {n}": a for n, a in enumerate(r.transformed)}
    return {
        "type": f"{kind}_Relation", "id": f"{kind}_Relation_{i}_{k}", "kind": kind, "note": size,
        "takes": {role: axes[a] for role, a in takes.items()}, "gives": {role: axes[a] for role, a in gives.items()},
    }  # fmt: skip


# ---------------------------------------------------------------- drawing


def _graph(name: str, direction: str) -> Graph:
    g = Graph(name)
    g.attr("graph", rankdir=direction, fontname=WIDE, fontsize="12", fontcolor=QUIET, nodesep="0.3", ranksep="0.5")
    g.attr("graph", bgcolor="transparent")  # labels and edges are of middle lightness: seen on white and on black
    g.attr("node", fontname=WIDE, fontsize="11", fontcolor=INK, color=LINE, shape="plaintext", margin="0")
    g.attr("edge", fontname=WIDE, fontsize="10", fontcolor=QUIET, color="#7B8794", arrowsize="0.7")
    return g


def _title(s: dict[str, Any]) -> str:
    scope = f"  ({s['scope']})" if s["scope"] else ""
    return f"{s['name']}{scope}"


def _scope(s: dict[str, Any]) -> str:
    return f"Scope: {s['scope'] or 'default'}"


def dataflow(data: dict[str, Any]) -> Graph:
    """Producer -> tensor -> consumer, left to right."""
    g = _graph("Dataflow Graph", "LR")
    lines = []
    for s in data["stages"]:
        ins = [cell("", f"I_{n}", "#E4E7EB") for n in range(len(s["input_tensors"]))]
        outs = [cell("", f"O_{n}", "#E4E7EB") for n in range(len(s["output_tensors"]))]
        middle = f'<TD ALIGN="CENTER" BGCOLOR="{_stage_colour(s)}"><B>{html(s["name"])}</B><BR/>{html(_scope(s))}</TD>'
        g.node(s["id"], table([_column(ins) + middle + _column(outs)]))
        for n, t in enumerate(s["output_tensors"]):
            label = f"{', '.join(t['shape']) or 'scalar'}\n{t['dtype']}"
            g.node(t["id"], label, shape="oval", style="filled", fillcolor="#F5F7FA", margin="0.05,0.02")
            g.edge(f"{s['id']}:O_{n}", t["id"], arrowhead="none")
        for n, t in enumerate(s["input_tensors"]):
            g.edge(t, f"{s['id']}:I_{n}")
        reads = [data["stages"][int(t.split("_")[1])]["name"] for t in s["input_tensors"]]
        lines.append(f"{s['name']}" + (f" <- {', '.join(reads)}" if reads else "  (input)"))
    g.text = "\n".join(lines)
    return g


def _stage_colour(s: dict[str, Any]) -> str:
    if s["kind"] == "placeholder":
        return "#E3F8FF"
    return "#E3F9E5" if s["is_output"] else "#FFFFFF"


def _column(cells: list[str]) -> str:
    """Ports one above the other, as one cell."""
    if not cells:
        return ""
    rows = "".join(f"<TR>{c}</TR>" for c in cells)
    inside = f'<TABLE BORDER="0" CELLBORDER="1" CELLSPACING="0" CELLPADDING="4">{rows}</TABLE>'
    return f'<TD CELLPADDING="0" BORDER="0">{inside}</TD>'


def schedule_tree(data: dict[str, Any]) -> Graph:
    """Each stage under the loop it is computed in, bottom to top."""
    g = _graph("Schedule Tree", "BT")
    _legend(g)
    g.node(ROOT, ROOT, shape="oval", style="filled", fillcolor="#F5F7FA", margin="0.08,0.03")
    for s in data["stages"]:
        rows = [cell(_title(s), "title", _stage_colour(s), bold=True, span=2)]
        rows += [_leaf_row(s["all_itervars"][j], n) for n, j in enumerate(s["leaf_itervars"])]
        rows.append(cell(s["compute"], "body", span=2, ink=QUIET))
        g.node(s["id"], table(rows))
        _attach_edge(g, data, s, f"{s['id']}:title")
    for group in data["groups"]:
        g.node(group["id"], f"Group {group['index']}", shape="box", style="rounded,dashed", margin="0.1,0.05")
        g.edge(group["id"], _target(data, group["attaching_to"]))
    g.text = _tree_text(data)
    return g


def _leaf_row(v: dict[str, Any], n: int) -> str:
    properties = v["properties"]
    notes = [properties["range"], *(f"({properties[k]})" for k in ("thread", "intrin") if properties[k])]
    ink = "#FFFFFF" if v["itervar_type"] in DARK else INK
    colour = COLOURS[v["itervar_type"]]
    text = f"{v['name']} ({v['itervar_type']})  {'  '.join([*notes, *properties['pragmas']])}"
    return cell(str(n), "", colour, ink=ink, align="CENTER") + cell(text, v["id"], colour, ink=ink)


def _attach_edge(g: Graph, data: dict[str, Any], s: dict[str, Any], tail: str) -> None:
    if s["attach"] == "inline":
        own = {t["id"] for t in s["output_tensors"]}
        for reader in [x for x in data["stages"] if own & set(x["input_tensors"])]:
            g.edge(tail, f"{reader['id']}:body", style="dashed", label=" inlined", color=QUIET)
    elif s["attach"] == "root" and s["group"] is not None:
        g.edge(tail, f"Group_{s['group']}", style="dashed")
    else:
        g.edge(tail, _target(data, s["attaching_to"]))


def _target(data: dict[str, Any], at: list[int] | None) -> str:
    if at is None:
        return ROOT
    stage = data["stages"][at[0]]
    axis = stage["all_itervars"][at[1]]["id"]
    return f"{stage['id']}:{axis}" if at[1] in stage["leaf_itervars"] else f"{stage['id']}:title"


def _tree_text(data: dict[str, Any]) -> str:
    lines = []
    for s in data["stages"]:
        at = s["attaching_to"]
        where = "inlined" if s["attach"] == "inline" else ROOT
        if at is not None:
            parent = data["stages"][at[0]]
            where = f"{parent['name']}.{parent['all_itervars'][at[1]]['name']}"
        lines.append(f"{_title(s)}  at {where}")
        for j in s["leaf_itervars"]:
            v = s["all_itervars"][j]
            lines.append(f"    {v['name']} ({v['itervar_type']}) {v['properties']['range']}")
    return "\n".join(lines)


def itervar_relations(data: dict[str, Any]) -> Graph:
    """How the loops of each stage came about, top to bottom."""
    g = _graph("IterVar Relationship Graph", "TB")
    _legend(g)
    lines = []
    for i, s in enumerate(data["stages"]):
        if not s["all_itervars"]:  # an input
            continue
        with g.subgraph(name=f"cluster_{i}") as c:
            c.attr(label=f"{_title(s)}", style="rounded", color=LINE, labeljust="l", fontname=WIDE, margin="10")
            leaves = set(s["leaf_itervars"])
            for j, v in enumerate(s["all_itervars"]):
                colour, dark = COLOURS[v["itervar_type"]], v["itervar_type"] in DARK
                name = cell(v["name"], "", colour, bold=j in leaves, ink="#FFFFFF" if dark else INK)
                c.node(v["id"], table([name + cell(v["properties"]["range"], ink=QUIET)]))
            for r in s["relations"]:
                c.node(r["id"], _relation_label(r))
                for role, j in r["takes"].items():
                    c.edge(s["all_itervars"][j]["id"], f"{r['id']}:{_port(role)}")
                for role, j in r["gives"].items():
                    c.edge(f"{r['id']}:{_port(role)}", s["all_itervars"][j]["id"])
        lines += [f"{s['name']}: {_relation_text(s, r)}" for r in s["relations"]]
    g.text = "\n".join(lines) or "no relations: nothing was split or fused"
    return g


def _port(role: str) -> str:
    return role.replace(" ", "_")


def _relation_label(r: dict[str, Any]) -> str:
    """Inputs above, the relation's name, outputs below."""
    width = max(len(r["takes"]), len(r["gives"]), 1)

    def row(roles: dict[str, int]) -> str:
        spans = [width // len(roles) + (k < width % len(roles)) for k in range(len(roles))]
        return "".join(
            cell(role, _port(role), "#F5F7FA", span=n, align="CENTER", ink=QUIET)
            for role, n in zip(roles, spans, strict=True)
        )

    middle = cell(f"{r['kind']} {r['note']}".strip(), bold=True, span=width, align="CENTER", colour="#E4E7EB")
    rows = [row(r["takes"])] if r["takes"] else []
    return table([*rows, middle, *([row(r["gives"])] if r["gives"] else [])])


def _relation_text(s: dict[str, Any], r: dict[str, Any]) -> str:
    names = [v["name"] for v in s["all_itervars"]]
    takes, gives = ([names[j] for j in r[side].values()] for side in ("takes", "gives"))
    return f"{r['kind']} {r['note']}".strip() + f": {', '.join(takes) or '-'} -> {', '.join(gives)}"


def _legend(g: Graph) -> None:
    """What the colours mean."""
    with g.subgraph(name="cluster_legend") as c:
        c.attr(label="", color="transparent")
        cells = [
            cell(k.removeprefix("k"), "", colour, ink="#FFFFFF" if k in DARK else INK, align="CENTER")
            for k, colour in COLOURS.items()
        ]
        c.node("legend", table(["".join(cells[:5]), "".join(cells[5:]) + cell("")]))
