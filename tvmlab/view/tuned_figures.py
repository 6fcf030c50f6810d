"""Pictures of a tuning session as Plotly's JSON: plain data, made without the package, for a figure or a live cell.

Colours are of middle lightness and the ground is left clear, so that they can be read on white and on black.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape, unescape
from math import ceil, floor, log10
from typing import Any

from ..core.units import SHORT, duration
from ..tune import finish, insight
from ..tune.records import Record
from ..tune.result import Table, speed, spread

Json = dict[str, Any]

INK, GRID, CLEAR = "#80868b", "rgba(128,134,139,0.25)", "rgba(0,0,0,0)"
BLUE, ORANGE, RED, GREEN = "#3f87d9", "#d0702a", "#d9534f", "#3d9950"
MOST_KNOBS = 12  # named where a trial is pointed at
MOST_TICKS = 16  # values named along an axis
MOST_CELLS = 40  # values of a knob up to which also those that were never tried have a row
FAST, UNBROKEN = "Viridis", "\u00a0"
TOP, BOTTOM, ROW = 56, 48, 24  # pixels: above and below the axes, of a row of a table
TITLE, LINE = 80, 18  # letters of a line of a title: no viewer folds it; pixels of one more line


# ---------------------------------------------------------------- words and numbers


def unit(seconds: Sequence[float]) -> tuple[float, str]:
    """What times are told in: the unit of the one in the middle."""
    middle = sorted(seconds)[len(seconds) // 2] if seconds else 1e-3
    return next(((u, name) for u, name in SHORT if middle >= u), (1e-9, "ns"))


def called(task: Any) -> str:
    """`matmul(512, 512)`, in half a line."""
    text = f"{task.name}({', '.join(map(value, task.args))})"
    return text if len(text) <= 40 else f"{text[:37]}..."


def value(v: Any) -> str:
    return v if isinstance(v, str) else str(v).replace(" ", "")


def short(v: float) -> float:
    """Enough digits for a picture."""
    return float(f"{v:.5g}")


def hint(n: int, r: Record) -> str:
    """What is said of a trial that is pointed at."""
    lines = [f"<b>trial {n}</b>, point {r.index}{f', {escape(r.worker)}' if r.worker else ''}"]
    if r.seconds is not None:
        lines.append(f"{duration(r.seconds)}{spread(r)}{speed(r)}")
        lines += [] if r.alone else ["one run, beside other work: too slow to be timed further"]
    else:
        lines.append(f"{r.outcome}: {_folded(r.reason)}")
    lines += [f"{escape(str(name))} = {escape(value(v))}" for name, _, v in r.config[:MOST_KNOBS]]
    return "<br>".join(lines + (["..."] if len(r.config) > MOST_KNOBS else []))


def _folded(text: str, width: int = 60, most: int = 240) -> str:
    """A sentence in lines: Plotly does not fold what it shows."""
    lines, words = [""], (text if len(text) <= most else text[:most] + " ...").split()
    for word in words:
        if len(lines[-1]) + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "<br>".join(map(escape, lines))


# ---------------------------------------------------------------- the ground


def axis(title: str, **more: Any) -> Json:
    return {
        "title": {"text": title, "font": {"size": 12}, "standoff": 8}, "gridcolor": GRID, "linecolor": GRID,
        "zeroline": False, "automargin": True, **more,
    }  # fmt: skip


def layout(title: str, height: int = 360, **more: Any) -> Json:
    lines = textwrap.wrap(unescape(title), TITLE) or [""]
    text, room = "<br>".join(escape(line, quote=False) for line in lines), LINE * (len(lines) - 1)
    return {
        "title": {"text": text, "font": {"size": 14}, "x": 0, "xanchor": "left", "y": 1, "yanchor": "top",
                  "yref": "container", "pad": {"l": 12, "t": 10}},
        "height": height + room, "margin": {"l": 60, "r": 16, "t": TOP + room, "b": BOTTOM},
        "font": {"color": INK, "size": 12},
        "paper_bgcolor": CLEAR, "plot_bgcolor": CLEAR, "hovermode": "closest",
        "legend": {"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"}, "uirevision": "tvmlab", **more,
    }  # fmt: skip


def said(title: str, text: str) -> Json:
    """A figure that says why it is empty."""
    note = {"text": _folded(text), "showarrow": False, "xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5}
    nothing = {"visible": False}
    return {"data": [], "layout": layout(title, 160, annotations=[note], xaxis=nothing, yaxis=nothing)}


# ---------------------------------------------------------------- trials


def progress(records: Sequence[Record], title: str, retimed: Sequence[Record] = ()) -> Json:
    """Best so far and every trial by its number; failures as crosses along the top, their reasons on pointing."""
    numbered = list(enumerate(insight.trials(records), 1))
    times = [r.seconds for _, r in numbered if r.seconds is not None]
    scale, name = unit(times)
    top = 1.4 * max(times, default=1e-3) / scale
    data = [
        _best(records, len(numbered), scale, "best so far, by first times" if retimed else "best so far"),
        _dots([x for x in numbered if x[1].ok and x[1].alone], scale, "trial", color=BLUE, size=7),
        _dots([x for x in numbered if x[1].ok and not x[1].alone], scale, "one run only", color=BLUE, size=7,
              symbol="circle-open"),
        _dots([x for x in numbered if not x[1].ok], scale, "failed", top, color=RED, size=9, symbol="x-thin",
              line={"width": 2, "color": RED}),
        _settled(_again(numbered, retimed), len(numbered), scale),
        _dots(_again(numbered, retimed), scale, "timed again", color=GREEN, size=11, symbol="diamond-open"),
    ]  # fmt: skip
    drawn = [t for t in data if t["x"]]
    across = axis("trial", tickformat="d", rangemode="tozero")
    ticks = "D2" if _narrow(times) else 1  # 1, 2, 5, 10; 1, 10
    up = axis(f"time of a run ({name}, logarithmic)", type="log", exponentformat="none", dtick=ticks)
    return {"data": drawn, "layout": layout(title, xaxis=across, yaxis=up)}


def _best(records: Sequence[Record], last: int, scale: float, name: str) -> Json:
    """The line goes on to the last trial."""
    steps = insight.best_so_far(records)
    steps += [(last, steps[-1][1])] if steps else []
    line = {"color": ORANGE, "width": 2, "shape": "hv"}
    return {"type": "scatter", "mode": "lines", "name": name, "line": line, "hoverinfo": "skip",
            "x": [n for n, _ in steps], "y": [short(t / scale) for _, t in steps]}  # fmt: skip


def _settled(again: Sequence[tuple[int, Record]], last: int, scale: float) -> Json:
    """What the best takes by the times that count, from its trial on: the line of first times may end below it."""
    good = [(n, r.seconds) for n, r in again if r.seconds is not None]
    n, took = min(good, key=lambda x: x[1], default=(0, 0.0))
    line = {"color": GREEN, "width": 2, "dash": "dot"}
    return {"type": "scatter", "mode": "lines", "name": "best, timed again", "line": line, "hoverinfo": "skip",
            "x": [n, last + 1] if good else [], "y": [short(took / scale)] * 2 if good else []}  # fmt: skip


def _dots(of: Sequence[tuple[int, Record]], scale: float, name: str, y: float = 0.0, **marker: Any) -> Json:
    """`y`: where those stand that have no time."""
    return {
        "type": "scatter", "mode": "markers", "name": name, "marker": marker, "x": [n for n, _ in of],
        "y": [short(y if r.seconds is None else r.seconds / scale) for _, r in of],
        "text": [hint(n, r) for n, r in of], "hovertemplate": "%{text}<extra></extra>",
    }  # fmt: skip


def _again(numbered: Sequence[tuple[int, Record]], retimed: Sequence[Record]) -> list[tuple[int, Record]]:
    """Of the last end: where the trials of before stand."""
    number = {r.index: n for n, r in numbered}
    return [(number[r.index], r) for r in finish.last(retimed) if r.index in number]


def _narrow(times: Sequence[float]) -> bool:
    """Do they lie so near that a logarithmic axis needs more than its powers of ten?"""
    return not times or max(times) < 100 * min(times)


# ---------------------------------------------------------------- knobs


def landscape(space: Any, records: Sequence[Record], x: str, y: str) -> Json:
    """Colour: the best time at each pair of values. A cross: all trials there failed."""
    found = insight.landscape(space, records, x, y)
    rows, columns = _tried(found.counts), _tried(list(zip(*found.counts)))
    seconds = [[found.seconds[j][i] for i in columns] for j in rows]
    counts = [[found.counts[j][i] for i in columns] for j in rows]
    xs, ys = [value(found.xs[i]) for i in columns], [value(found.ys[j]) for j in rows]
    good = [t for row in seconds for t in row if t is not None]
    scale, name = unit(good)
    cells = [list(zip(*row)) for row in zip(seconds, counts)]  # (seconds, trials)
    heat = {
        "type": "heatmap", "x": xs, "y": ys, "xgap": 1, "ygap": 1, "hoverongaps": False,
        "z": [[None if t is None else short(log10(t / scale)) for t in row] for row in seconds],
        "colorscale": FAST, "reversescale": True,
        "colorbar": {"title": {"text": f"best ({name})"}, **_colours(good, scale)},
        "customdata": [[_cell(x, y, a, b, *cell) for a, cell in zip(xs, row)] for b, row in zip(ys, cells)],
        "hovertemplate": "%{customdata}<extra></extra>",
    }  # fmt: skip
    failed = [(a, b) for b, row in zip(ys, cells) for a, (t, n) in zip(xs, row) if n and t is None]
    crosses = {
        "type": "scatter", "mode": "markers", "x": [a for a, _ in failed], "y": [b for _, b in failed],
        "marker": {"symbol": "x-thin", "size": 8, "line": {"color": RED, "width": 2}}, "showlegend": False,
        "text": [f"{escape(x)} = {escape(a)}<br>{escape(y)} = {escape(b)}<br>every trial failed" for a, b in failed],
        "hovertemplate": "%{text}<extra></extra>",
    }  # fmt: skip
    words = {"type": "category", "showgrid": False}
    across, up = axis(escape(x), categoryarray=xs, **words), axis(escape(y), categoryarray=ys, **words)
    height = 120 + max(240, min(24 * len(ys), 600))
    made = layout(f"Best time by {escape(x)} and {escape(y)}", height, xaxis=across, yaxis=up)
    return {"data": [heat, *([crosses] if failed else [])], "layout": made}


def _tried(lines: Sequence[Sequence[int]]) -> list[int]:
    """The candidates that are shown: of many, those that were tried."""
    return [k for k, counts in enumerate(lines) if any(counts) or len(lines) <= MOST_CELLS]


def _cell(x: str, y: str, a: str, b: str, seconds: float | None, count: int) -> str:
    best = "none succeeded" if seconds is None else f"best {duration(seconds)}"
    return f"{escape(x)} = {escape(a)}<br>{escape(y)} = {escape(b)}<br>{best}, of {count} trial{'s' * (count != 1)}"


def _colours(seconds: Sequence[float], scale: float) -> Json:
    """Ticks of a colour bar whose colours are logarithms."""
    if not seconds:
        return {}
    low, high = min(seconds) / scale, max(seconds) / scale
    ticks = decades(low, high) or [low, high]
    return {"tickvals": [log10(t) for t in ticks], "ticktext": [f"{t:.3g}" for t in ticks]}


def decades(low: float, high: float, steps: Sequence[int] = (1, 2, 5)) -> list[float]:
    """Ticks of a logarithmic axis: 1, 2, 5, 10, 20, ... from low to high."""
    whole = range(floor(log10(low)), ceil(log10(high)) + 1)
    return [v for v in (float(f"{m}e{e}") for e in whole for m in steps) if low <= v <= high]


def parallel(space: Any, records: Sequence[Record]) -> Json:
    """A line for each trial that succeeded, through its value of each knob, coloured by its time."""
    good = sorted((r for r in insight.trials(records) if r.seconds is not None), key=lambda r: -(r.seconds or 0.0))
    title = "Values of the knobs, coloured by time (drag along an axis to pick a range)"
    if not good:
        return said(title, "no trial has succeeded yet")
    at = insight.places(space, good)
    scale, name = unit([r.seconds or 1.0 for r in good])
    times = [short((r.seconds or 1.0) / scale) for r in good]
    logs = [log10(t) for t in times]
    bars = _colours([r.seconds or 1.0 for r in good], scale)
    dims = [_dimension(n, knob, [p[k] for p in at]) for k, (n, knob) in enumerate(space.space_map.items())]
    dims.append({"label": f"time ({name})", "values": logs, **bars})
    line = {"color": logs, "colorscale": FAST, "reversescale": True, "showscale": False}
    data = {"type": "parcoords", "dimensions": [d for d in dims if d], "line": line, "labelfont": {"color": INK},
            "tickfont": {"color": INK, "shadow": "none"}, "rangefont": {"color": CLEAR}}  # fmt: skip
    return {"data": [data], "layout": layout(title, 400, margin={"l": 70, "r": 60, "t": 90, "b": 24})}


def _dimension(name: str, knob: Any, at: Sequence[int]) -> Json:
    """An axis: the values that were tried, in their order; {} of a knob with one value."""
    if len(knob) < 2:
        return {}
    seen = sorted(set(at))
    place = {k: n for n, k in enumerate(seen)}
    named = seen[:: max(1, -(-len(seen) // MOST_TICKS))]
    return {
        "label": escape(name), "values": [place[k] for k in at], "range": [-0.2, max(len(seen) - 1, 1) + 0.2],
        "tickvals": [place[k] for k in named], "ticktext": [value(knob[k].value) for k in named],
    }  # fmt: skip


def importance(space: Any, records: Sequence[Record]) -> Json:
    title = "What each knob alone explains of the variance of log time"
    shares = insight.importance(space, records)
    if shares is None:
        count = sum(r.seconds is not None for r in insight.trials(records))
        return said(title, f"this needs {insight.FEW} trials that succeeded; there are {count}")
    names, values = list(shares)[::-1], [short(100 * v) for v in shares.values()][::-1]
    rest = max(0.0, 100 - sum(values))
    bars: Json = {
        "type": "bar", "orientation": "h", "x": [short(rest), *values], "y": ["<i>together, and noise</i>", *names],
        "marker": {"color": [GRID, *[BLUE] * len(names)]}, "text": [f"{v:.0f} %" for v in (rest, *values)],
        "textposition": "outside", "cliponaxis": False, "hovertemplate": "%{y}: %{x:.1f} %<extra></extra>",
    }  # fmt: skip
    across, up = axis("share of the variance (%)", rangemode="tozero"), axis("", type="category", showgrid=False)
    return {"data": [bars], "layout": layout(title, 110 + 26 * len(bars["y"]), xaxis=across, yaxis=up)}


# ---------------------------------------------------------------- the model


def predictions(records: Sequence[Record], every: int = 8) -> Json:
    """Left: each prediction against what was measured. Right: how well the order agreed, over time."""
    title = "The model's predictions against what was measured"
    guessed = [(n, r) for n, r in enumerate(insight.trials(records), 1) if r.predicted is not None]
    if not guessed:
        return said(title, 'no trial has a prediction: of the searches, "annealing" has a model that makes some')
    name = "GFLOP/s" if all(r.flop for _, r in guessed) else "runs per second"
    ranks = insight.rank_over_time(records, every)
    both = [short(v) for _, r in guessed for v in (r.predicted or 0.0, r.score or 0.0)]
    dots = {
        "type": "scatter", "mode": "markers", "x": [short(r.predicted or 0.0) for _, r in guessed],
        "y": [short(r.score or 0.0) for _, r in guessed], "text": [hint(n, r) for n, r in guessed],
        "hovertemplate": "predicted %{x:.4g}, measured %{y:.4g}<br>%{text}<extra></extra>",
        "marker": {"size": 7, "color": [n for n, _ in guessed], "colorscale": FAST,
                   "colorbar": {"title": {"text": "trial"}, "x": 0.46, "thickness": 10}},
    }  # fmt: skip
    same = {"type": "scatter", "mode": "lines", "x": [min(both), max(both)], "y": [min(both), max(both)],
            "line": {"color": INK, "dash": "dot", "width": 1}, "hoverinfo": "skip"}  # fmt: skip
    line = {
        "type": "scatter", "mode": "lines+markers", "x": [n for n, _ in ranks], "y": [short(v) for _, v in ranks],
        "xaxis": "x2", "yaxis": "y2", "line": {"color": ORANGE}, "marker": {"size": 6},
        "hovertemplate": f"of the last {insight.LATEST * every} up to trial %{{x}}: %{{y:.2f}}<extra></extra>",
    }  # fmt: skip
    made = layout(
        title, xaxis=axis(f"predicted ({name})", domain=[0, 0.44]), yaxis=axis(f"measured ({name})"),
        xaxis2=axis("trial", domain=[0.62, 1], anchor="y2", tickformat="d"),
        yaxis2=axis("rank correlation (Spearman)", anchor="x2", range=[-1.05, 1.05]), showlegend=False,
    )  # fmt: skip
    return {"data": [same, dots, line], "layout": made}


# ---------------------------------------------------------------- what a live cell shows


def board(best: Table, failed: bool = False) -> tuple[list[str], list[list[str]]]:
    """Head and rows of the fastest: place, time, spread, speed, point, knobs, and what is to be said of it."""
    shown = [(n, r, said) for n, (r, said) in enumerate(zip(best, best.remarks), 1) if failed or r.seconds is not None]
    fast, remarks = any(r.flop for _, r, _ in shown), any(said for *_, said in shown)
    names = [str(k[0]) for k in shown[0][1].config] if shown else []
    rows = []
    for n, r, said in shown:
        time = duration(r.seconds) if r.seconds is not None else r.outcome
        apart = f"{r.spread:.1%}" if r.alone and r.spread is not None and len(r.times) > 1 else ""
        gflops = [f"{r.score:.4g}" if r.flop and r.score else ""] if fast else []
        values = [*[value(k[2]) for k in r.config], *[""] * len(names)][: len(names)]
        rows.append([str(n), time, apart, *gflops, str(r.index), *values, *([said] if remarks else [])])
    head = ["", "time", "spread", *(["GFLOP/s"] if fast else []), "point", *names, *(["remarks"] if remarks else [])]
    return head, rows


def with_board(figure: Json, best: Table) -> Json:
    """The same with a table of the fastest below it."""
    head, rows = board(best)
    if not rows:
        return figure
    columns = [[escape(row[k]).replace(" ", UNBROKEN) for row in rows] for k in range(len(head))]
    clear = {"fill": {"color": CLEAR}, "line": {"color": GRID}, "align": "left", "height": ROW,
             "font": {"color": INK, "size": 11}}  # fmt: skip
    top = figure["layout"]["margin"]["t"]
    low, room = ROW * (len(rows) + 1) + 10, figure["layout"]["height"] - top - BOTTOM
    whole = low + BOTTOM + room
    table = {
        "type": "table", "domain": {"x": [0, 1], "y": [0, low / whole]},
        "columnwidth": [3 + max(map(len, [h, *column])) for h, column in zip(head, columns)],
        "header": {"values": [f"<b>{escape(h)}</b>" for h in head], **clear},
        "cells": {"values": columns, **clear},
    }  # fmt: skip
    shown = figure["layout"]
    made = {
        **shown, "height": top + whole + 8, "margin": {**shown["margin"], "b": 8},
        "yaxis": {**shown["yaxis"], "domain": [(low + BOTTOM) / whole, 1]},
    }  # fmt: skip
    return {"data": [*figure["data"], table], "layout": made}
