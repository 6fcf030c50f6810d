"""The texts a schedule has: its loops, what each target generates from them, what a compiler makes of that.

Kinds come from the targets that exist: `numba`, `llvm` ... are generated text (nothing is compiled), and a form of a
target's compiled program (`asm`) needs a build. A new target is there by itself.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from ..core.deep import deep
from ..core.error import BuildError, LabError
from ..core.node import For
from ..core.program import Program
from ..core.text import program_lines
from ..face.fits import flat
from ..schedule.state import State
from ..schedule.trace import Trace
from ..target import Target, get, names
from ..target.base import TargetKind
from . import tokens
from .card import card
from .frame import frame
from .ids import id_of
from .loops import owners, plain
from .payload import Line, SourceText

MOST_BRANCHES = 160  # of a program that is compiled to be looked at: some 4 seconds
MOST_LINES, MOST_LETTERS = 5000, 1000  # of a text, and of a line; what is left out is said
FORMS = {"asm": "Assembly"}
UNIT = {"python": 4, "llvm": 2, "c": 4, "asm": 8}  # letters of one indent
VOCABULARY = "# The vocabulary"  # begins the part of generated Python that is the same for all programs


@dataclass(frozen=True)
class Kind:
    """`name`: what is asked for. `form` "": the generated text, else a form of the compiled program."""

    name: str
    label: str
    target: str = ""
    form: str = ""


_MADE: WeakKeyDictionary[State, dict[Any, SourceText]] = WeakKeyDictionary()


def kinds(beside: str = "") -> list[Kind]:
    """What can be asked for: the loops first, then a kind per target, then the forms of compiled programs.

    `beside`: only of targets that run the same schedules as this one, on CPUs or by kernels.
    """
    same = None if not beside else bool(get(beside).model)
    found, forms = [Kind("loops", "Loops")], []  # type: tuple[list[Kind], list[Kind]]
    for name in sorted(names(), key=_order):
        target = _available(name)
        if target is None or not target.own_text or same not in (None, bool(target.model)):
            continue
        found.append(Kind(name, target.title or name, name))
        for form in target.forms:
            taken = any(k.name == form for k in forms)
            label = FORMS.get(form, form)
            forms.append(Kind(f"{name}.{form}" if taken else form, f"{label} ({name})" if taken else label, name, form))
    return [*found, *forms]


def _order(name: str) -> tuple[bool, int]:
    """CPUs first; of the others each before those that come before it: numba, which is read most, before llvm."""
    target = _available(name)
    return target is not None and bool(target.model), -names().index(name)


def _available(name: str) -> TargetKind | None:
    try:
        return get(name)
    except (ImportError, BuildError):
        return None


def source(trace: Trace, kind: str = "loops", target: Target | None = None) -> SourceText:
    """The text of that kind. What stands in its way (open obligations, a compiler's refusal) is its `error`.

    `target`: the options (processor, threads) for a kind of that target.
    """
    made = _MADE.setdefault(trace.state, {})
    at = (kind, target)
    if at not in made:
        made[at] = _source(trace, kind, target)
    return made[at]


@deep
def _source(trace: Trace, kind: str, target: Target | None) -> SourceText:
    found = {k.name: k for k in kinds()}
    if kind not in found:
        error = LabError("unknown-source", f"there is no text called {kind!r}", legal=list(found))
        return _failed(Kind(kind, kind), error)
    wanted = found[kind]
    if kind == "loops":
        shown = frame(trace)
        return _text(wanted, shown["loops"], error=shown.get("error"))
    try:
        return _generated(trace, wanted, target if target is not None and target.name == wanted.target else None)
    except Exception as e:  # a compiler may raise anything; here it is shown, and the rest of the lab lives on
        return _failed(wanted, e)


def _generated(trace: Trace, kind: Kind, target: Target | None) -> SourceText:
    record = target or Target(kind.target)
    program = flat(trace, record)
    if not kind.form:
        text = record.kind.source(program, record)
        lines, note = cut(text, record.kind.syntax)
        link(lines, loop_names(program, trace.state), HEADS.get(record.kind.syntax))
        return _text(kind, lines, note)
    refuse_long(record.kind.source(program, record))
    start = time.perf_counter()
    compiled = record.kind.compile(program, record)
    text = getattr(compiled, kind.form)() if kind.form in ("ir", "asm") else compiled.extra[kind.form]()
    spent = f"compiled in {(time.perf_counter() - start) * 1e3:.0f} ms"
    lines, note = cut(text, kind.form)
    return _text(kind, lines, "; ".join(filter(None, [spent, note])))


def refuse_long(text: str) -> None:
    """LLVM takes a time that grows with the square of the loops, and cannot be interrupted: 250 of them take 20 s."""
    branches = text.count("br i1 ")
    if branches > MOST_BRANCHES:
        raise LabError(
            "too-long-to-compile",
            f"unrolled, the code branches in {branches} places: compiling it here would hold up the notebook",
            hint="run it (a run compiles in a process of its own), or unroll a loop with fewer turns",
        )


def _text(kind: Kind, lines: list[Line], note: str = "", error: Any = None) -> SourceText:
    return {"kind": kind.name, "label": kind.label, "lines": lines, "note": note, "error": error}


def _failed(kind: Kind, error: BaseException) -> SourceText:
    return _text(kind, [], error=card(error, title=kind.label))


# ---------------------------------------------------------------- text as lines


def cut(text: str, syntax: str) -> tuple[list[Line], str]:
    """The lines, indented by levels, and what was left out."""
    finder, unit = tokens.BY_SYNTAX.get(syntax, tokens.c), UNIT.get(syntax, 4)
    rows, left_out = without_vocabulary(text.splitlines()) if syntax == "python" else (text.splitlines(), "")
    notes = [left_out] if left_out else []
    if len(rows) > MOST_LINES:
        notes.append(f"the first {MOST_LINES} of {len(rows)} lines")
    return [_row(r, finder, unit) for r in rows[:MOST_LINES]], "; ".join(notes)


def _row(row: str, finder: tokens.Finder, unit: int) -> Line:
    row = row.expandtabs(8).rstrip()
    text = row.lstrip(" ")
    blank = len(row) - len(text)
    if len(text) > MOST_LETTERS:
        text = text[:MOST_LETTERS] + " ..."
    return plain(blank // unit, " " * (blank % unit) + text, finder)


def without_vocabulary(rows: Sequence[str]) -> tuple[list[str], str]:
    """Generated Python without the vocabulary that stands between its imports and its kernel."""
    start = next((k for k, r in enumerate(rows) if r.startswith(VOCABULARY)), None)
    if start is None:
        return list(rows), ""
    kernel = next((k for k in range(start, len(rows)) if re.match(r"def \w+_kernel\(", rows[k])), len(rows))
    while kernel > start and rows[kernel - 1].startswith("@"):
        kernel -= 1
    if kernel - start < 3:
        return list(rows), ""
    left = f"lines {start + 1} to {kernel} are left out: the vocabulary, the same for all programs"
    return [*rows[:start], "# ... the vocabulary: vectors, and functions that Numba lacks", "", *rows[kernel:]], left


# ---------------------------------------------------------------- which loop a generated loop is


# Where a loop begins, and the variable in its name: what printers write, and blocks of LLVM IR are called.
HEADS = {
    "python": re.compile(r"for (\w+) in "),
    "llvm": re.compile(r"for\.(\w+)\.\d+:"),
    "c": re.compile(r"for \(\w+ (\w+) = "),
}


def loop_names(program: Program, state: State) -> list[tuple[str, str]]:
    """(variable, id) of the program's loops, in printing order."""
    printed = list(program_lines(program))
    found = []
    for (_, text, node), place in zip(printed, owners(state, printed), strict=True):
        if isinstance(node, For) and place is not None:
            found.append((text.split(maxsplit=2)[1], id_of(state, *place)))
    return found


def link(lines: Sequence[Line], loops: Sequence[tuple[str, str]], head: re.Pattern[str] | None) -> None:
    """Give the lines where loops begin their ids: where a variable is of one loop, else where the numbers agree."""
    written: dict[str, list[Line]] = {}
    for line in lines if head else ():
        found = head.match(line["t"]) if head else None
        if found:
            written.setdefault(found[1], []).append(line)
    of: dict[str, list[str]] = {}
    for name, loop in loops:
        of.setdefault(name, []).append(loop)
    for name, there in written.items():
        ids = of.get(name, [])
        if len(set(ids)) == 1:
            ids = ids[:1] * len(there)
        if len(ids) == len(there):
            for line, loop in zip(there, ids, strict=True):
                line["id"] = loop
