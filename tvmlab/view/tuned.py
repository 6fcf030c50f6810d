"""What a notebook shows of tuning: results and sessions as HTML, their pictures, and a cell that follows a session."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from importlib import import_module
from typing import Any

from ..core.error import LabError
from ..core.hooks import put
from ..face.handle import Schedule
from ..schedule.code import Writer
from ..tune import insight
from ..tune.result import Result, Table
from ..tune.session import Session
from . import tuned_figures as figures
from .program import program
from .rich import GREY, RED, ink, page
from .shown import image
from .tuned_figures import Json
from .tuned_still import plain, still

MIME = "application/vnd.plotly.v1+json"
CONFIG = {"displaylogo": False, "responsive": True}
BEST = 5  # rows of a compact leaderboard
READY = ("plotly_mimetype", "jupyterlab", "nteract", "vscode")  # Plotly's names of viewers that know the type


class MissingPlotly(LabError, ImportError):
    """The package that makes figures is not installed."""


@put("program", Schedule)
def whole(s: Schedule) -> Any:
    """Its program with the arguments, where the program has the tensors by their names."""

    def write(args: Sequence[Any]) -> str:
        text = program(s.trace)
        writer = Writer(s.trace.prefix(0), "s")
        writer.lines()
        names = [writer.names.get(t, "") for t in args]
        here = {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        listed = ", ".join(names)
        return f"{text}{'args = [' if {*names, 's'} <= here else '# its arguments: ['}{listed}]"

    return write


# ---------------------------------------------------------------- figures


def figure(made: Json) -> Any:
    """A plotly Figure that a notebook shows as itself, with a still picture for viewers that cannot draw it."""
    try:
        go = import_module("plotly.graph_objects")
    except ImportError:
        hint = 'pip install "plotly>=6"'
        raise MissingPlotly("no-plotly", "pictures of tuning need the package plotly", hint=hint) from None
    found = go.Figure({**made, "layout": {**made["layout"], "template": {}}})
    found._repr_mimebundle_, found._ipython_display_ = partial(_shown, found), None  # of this figure, not of its class
    return found


def _shown(found: Any, include: Any = None, exclude: Any = None, **more: Any) -> Mapping[str, Any]:
    chosen = str(import_module("plotly.io").renderers.default or "")
    if chosen and not any(name in chosen for name in READY):  # of another viewer, or a person's choice
        return type(found)._repr_mimebundle_(found, include, exclude, **more)  # type: ignore[no-any-return]
    made = json.loads(found.to_json())
    title = plain(made["layout"]["title"]["text"])
    return {**bundle(made, title), "text/html": image(still(made), title)}


def bundle(made: Json, text: str) -> dict[str, Any]:
    """A figure as what a cell shows."""
    return {MIME: {**made, "config": CONFIG}, "text/plain": text}


def _title(r: Result) -> str:
    return escape(f"{figures.called(r.task)} for {r.target}")


@put("plot", Result)
def plot(r: Result) -> Any:
    return lambda: figure(figures.progress(r.records, f"{_title(r)}: {escape(r.summary)}", r.retimed))


@put("landscape", Result)
def landscape(r: Result) -> Any:
    def draw(x: str | None, y: str | None) -> Any:
        others = (name for name in _weighty(r) if name not in (x, y))
        chosen = (x or next(others, None), y or next(others, None))
        if None in chosen:
            raise LabError("few-knobs", f"a landscape needs two knobs with a choice, {r.task.name} has {_weighty(r)}")
        return figure(figures.landscape(r.task.space, r.records, *map(str, chosen)))

    return draw


def _weighty(r: Result) -> list[str]:
    """The knobs with a choice, those that explain most first."""
    space = r.task.space
    shares = insight.importance(space, r.records) or {}
    free = [name for name, n in zip(space.names, space.dims) if n > 1]
    return sorted(free, key=lambda name: -shares.get(name, 0.0))


@put("parallel", Result)
def parallel(r: Result) -> Any:
    return lambda: figure(figures.parallel(r.task.space, r.records))


@put("importance", Result)
def importance(r: Result) -> Any:
    return lambda: figure(figures.importance(r.task.space, r.records))


@put("predictions", Result)
def predictions(r: Result) -> Any:
    return lambda: figure(figures.predictions(r.records))


# ---------------------------------------------------------------- HTML


@put("html", Result)
def result(r: Result) -> str:
    """The summary, the fastest few, what went wrong, what is to be said."""
    head = f"<div><b>{_title(r)}</b>: {escape(r.summary)}</div>"
    good = sum(x.ok for x in r.trials)
    count = f"<div>{ink(f'{len(r.trials)} trials, {good} of them succeeded')}</div>"
    said = [f"<div>{ink(line)}</div>" for line in (*r.left_out[:BEST], *r.remarks)]
    return page(head, fastest(r), count, *wrong(r), *said)


def fastest(r: Result) -> str:
    """The table of the first few, where one succeeded: what failed is said below it."""
    return table(r.table(BEST)) if r.best is not None else f"<div>{ink('no trial has succeeded')}</div>"


def wrong(r: Result) -> list[str]:
    """A line for each kind of failure."""
    found = [f for f in insight.failures(r.records) if f.outcome != "instantiation"]
    return [f"<div>{ink(f'{f.count} × {f.outcome}', RED)} {escape(f.reason)}</div>" for f in found[:BEST]]


@put("html", Table)
def table(trials: Table) -> str:
    head, rows = figures.board(trials, failed=True)
    if not rows:
        return f"<div>{ink(trials.more or 'no trials')}</div>"
    cell = '<td style="text-align:left;padding:1px 14px 1px 0;white-space:nowrap">'
    top = "".join(f"{cell}{ink(h)}</td>" for h in head)
    body = "".join(f"<tr>{''.join(f'{cell}{escape(v)}</td>' for v in row)}</tr>" for row in rows)
    more = f"<div>{ink(escape(trials.more))}</div>" if trials.more else ""
    return f'<table style="border:0;margin:2px 0"><tr>{top}</tr>{body}</table>{more}'


@put("html", Session)
def session(s: Session) -> str:
    hint = "s.start() begins, s.show() follows it here" if s.state == "ready" else "s.show() follows it here"
    return page(f"<div><b>session</b>: {escape(str(s.progress))}</div>", f"<div>{ink(hint, GREY)}</div>")
