"""What a cell would make, while it is being typed: `evaluate(text, namespace)`, which changes nothing.

See `lab/scratch.py` for what the text can reach.
"""

from __future__ import annotations

import ast
import linecache
import re
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.error import LabError
from ..face.handle import Schedule, StageHandle
from ..schedule.trace import Trace
from .scratch import TYPED, TooSlow, limited, scratch

LIMIT = 1.0  # seconds
MAGIC = re.compile(r"%%schedule\b(.*)")


@dataclass(frozen=True)
class Problem:
    """What is wrong with a text. `line` counts from 1, `column` and `end` from 0; 0, 0, 0: nowhere in particular."""

    text: str
    line: int = 0
    column: int = 0
    end: int = 0


@dataclass(frozen=True)
class Live:
    """The schedule that a text makes. With a `problem`, `trace` is that of the lines before it, or None."""

    trace: Trace | None
    name: str = ""
    problem: Problem | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Options:
    """What stands behind `%%schedule`."""

    name: str = ""
    live: bool = False


def options(line: str) -> Options:
    words = line.split()
    strange = [w for w in words if w.startswith("-") and w != "--live"]
    names = [w for w in words if not w.startswith("-")]
    if strange or len(names) > 1 or not all(n.isidentifier() for n in names):
        wrong = (strange or names)[-1]
        raise LabError("magic-options", f"%%schedule does not know {wrong!r}", legal=["--live", "the schedule's name"])
    return Options(names[0] if names else "", "--live" in words)


# ---------------------------------------------------------------- which schedule

Seen = Mapping[str, tuple[int, Trace]]


def seen(namespace: Mapping[str, Any]) -> Seen:
    """The schedules that are there, as they are."""
    return {n: (id(v), v.trace) for n, v in namespace.items() if isinstance(v, Schedule) and not n.startswith("_")}


def chosen(name: str, last: Any, before: Seen, namespace: Mapping[str, Any]) -> tuple[str, Schedule | None]:
    """The schedule that a cell is about, and its variable: see `lab/magic.py`."""
    if name:
        found = namespace.get(name)
        if not isinstance(found, Schedule):
            what = "is not there" if found is None else f"is {type(found).__name__}, not a schedule"
            raise LabError("no-such-schedule", f"`{name}` {what}", legal=sorted(seen(namespace)))
        return name, found
    if isinstance(last, StageHandle):
        last = last.schedule
    there = {n: v for n, v in namespace.items() if isinstance(v, Schedule) and not n.startswith("_")}
    if isinstance(last, Schedule):
        return next((n for n, v in there.items() if v is last), "s"), last
    new = {n: v for n, v in there.items() if before.get(n) != (id(v), v.trace)}
    if "s" in new:
        return "s", new["s"]
    if len({id(v) for v in new.values()}) == 1:
        return next(iter(new.items()))
    if new:
        raise LabError(
            "which-schedule", "the cell has several schedules", legal=[f"%%schedule {n}" for n in new],
            hint="name the one to show",
        )  # fmt: skip
    return ("s", there["s"]) if "s" in there else ("", None)


# ---------------------------------------------------------------- evaluation


def evaluate(text: str, namespace: Mapping[str, Any], limit: float = LIMIT) -> Live:
    """The schedule that the text (of a whole cell) makes in a copy of the namespace; the real one stays as it is."""
    begun = time.perf_counter()
    made: Live
    try:
        given, body = _parts(text)
        made = _evaluated(body, given.name, namespace, limit)
    except SyntaxError as e:
        made = Live(None, problem=_syntax(e))
    except (LabError, ValueError, RecursionError, MemoryError) as e:  # of the text as text: bad options, a null byte
        made = Live(None, problem=Problem(_said(e), 1))
    return Live(made.trace, made.name, made.problem, time.perf_counter() - begun)


def _parts(text: str) -> tuple[Options, str]:
    """The options, and the text without the magic's line but with its lines where they were."""
    first, newline, rest = text.partition("\n")
    magic = MAGIC.match(first.strip())
    return (options(magic[1]), newline + rest) if magic else (Options(), text)


def _evaluated(body: str, name: str, namespace: Mapping[str, Any], limit: float) -> Live:
    tree = _parsed(body)
    used = {x.id for x in ast.walk(tree) if isinstance(x, ast.Name)} | ({name} if name else set())
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    codes = [compile(tree, TYPED, "exec")]
    if isinstance(last, ast.Expr):
        codes.append(compile(ast.Expression(last.value), TYPED, "eval"))
    linecache.cache[TYPED] = (len(body), None, [x + "\n" for x in body.split("\n")], TYPED)  # where names are looked up
    with scratch(namespace, used) as place:
        before, problem, value = seen(place), None, None
        try:
            value = limited(lambda: [eval(code, place) for code in codes][-1], limit)  # noqa: S307
        except TooSlow as e:
            problem = Problem(e.message, e.line)
        except BaseException as e:  # whatever a text may raise, SystemExit too
            problem = _problem(e)
        return _found(name, value, before, place, problem)


def _found(name: str, value: Any, before: Seen, place: dict[str, Any], problem: Problem | None) -> Live:
    try:
        called, schedule = chosen(name, value, before, place)
    except LabError as e:
        return Live(None, name, problem or Problem(_said(e), 1))
    if schedule is None and problem is None:
        problem = Problem("there is no schedule here yet: s = te.create_schedule(C.op)")
    return Live(None if schedule is None else schedule.trace, called, problem)


def _parsed(body: str) -> ast.Module:
    """The text as Python; lines of magics and shell commands are passed over, as they are not run while typing."""
    try:
        return ast.parse(body, TYPED)
    except SyntaxError:
        plain = re.sub(r"^(\s*)[%!].*$", r"\1pass", body, flags=re.MULTILINE)
        if plain == body:
            raise
        return ast.parse(plain, TYPED)


# ---------------------------------------------------------------- errors


def _said(e: BaseException) -> str:
    if isinstance(e, LabError):
        return e.message
    return f"{type(e).__name__}: {e}" if str(e) else type(e).__name__


def _syntax(e: SyntaxError) -> Problem:
    column = max(0, (e.offset or 1) - 1)
    end = max(column + 1, (e.end_offset or 0) - 1) if e.end_lineno in (None, e.lineno) else column + 1
    return Problem(e.msg, e.lineno or 1, column, end)


def _problem(e: BaseException) -> Problem:
    """Where in the text it happened: the innermost of its lines."""
    places = [(tb, line) for tb, line in traceback.walk_tb(e.__traceback__) if tb.f_code.co_filename == TYPED]
    if not places:
        return Problem(_said(e), 1)
    frame, line = places[-1]
    at = next((tb for tb in _links(e.__traceback__) if tb.tb_frame is frame and tb.tb_lineno == line), None)
    columns = (0, 0)
    if at is not None and at.tb_lasti >= 0:
        first, last, start, end = list(frame.f_code.co_positions())[at.tb_lasti // 2]
        columns = (start or 0, end or 0) if first == last else (start or 0, (start or 0) + 1)
    return Problem(_said(e), line, *columns)


def _links(tb: Any) -> Any:
    while tb is not None:
        yield tb
        tb = tb.tb_next
