"""What is opened, written beside the trials: the same cell in another kernel finds it again.

A line of the kind "space": the task, and for each knob its name, the parameter it is, its values,
and the number of its step. Values in words name loops, which may be called otherwise by then: they are kept by place.
"""

from __future__ import annotations

from typing import Any

from ..core.error import LabError
from ..tune import records as recording
from ..tune.opened import OpenedTask
from ..tune.parameters import in_force, openable
from .tune_subject import GENERIC

SPACE = "space"


def remember(tuning: Any) -> None:
    """Write it down, if it is not there yet. Refused: a file that cannot be written."""
    task, path = tuning.task, tuning._path()
    if path is None:
        return
    made = recording.now(
        kind=SPACE, task=task.name, args=recording.plain(task.args), target=str(task.target),
        space=str(task.space.hash), config=_opened(task),
    )  # fmt: skip
    try:
        there = recording.load(path).records if path.exists() else []
        last = next((r for r in reversed(there) if r.kind == SPACE), None)
        if last is None or (last.task, last.args, last.space) != (made.task, made.args, made.space):
            recording.append(path, [made])
    except OSError as e:
        raise LabError(
            "tune-file", f"{path} cannot be written: {e.strerror or e}", hint='another file, or "" for memory only'
        ) from None


def _opened(task: Any) -> list[Any]:
    if not isinstance(task, OpenedTask):
        return []
    number = {e.id: n for n, e in enumerate(task.steps, 1)}
    usual = {p.id: p.values for p in openable(task.document)}
    return [[p.name, p.param, _places(p.values, usual[p.id]), number[p.step]] for p in task.parameters]


def _places(values: Any, usual: list[Any]) -> list[Any]:
    """Words by their place among the usual values."""
    return [usual.index(v) if isinstance(v, str) else v for v in values]


def _words(values: Any, usual: list[Any]) -> list[Any]:
    return [usual[v] for v in values] if isinstance(usual[0], str) else values


def remembered(tuning: Any) -> None:
    """Open what the file says was opened last, if it is of these steps."""
    path = tuning._path()
    if path is None or not path.exists():
        return
    try:
        found = [r for r in recording.load(path).records if r.kind == SPACE]
    except (LabError, OSError):  # said when the file is read for its trials
        return
    for r in reversed(found):
        if _take_up(tuning, r):
            tuning._asked = True  # formerly
            whole = "that the whole expression was tuned" if tuning.source == GENERIC else "what was opened"
            tuning.notes.append(f"{path.name} says {whole}")
            return


def _take_up(tuning: Any, r: Any) -> bool:
    lab = tuning.lab
    if r.task == "generic":
        return _whole(tuning, r)
    number = {e.id: n for n, (_, e) in enumerate(in_force(lab.document), 1)}
    known = {(number[p.step], p.param): p for p in openable(lab.document)}
    try:
        found = [(known[at, param], values) for _, param, values, at in r.config]
        wanted = {p.id: _words(values, p.values) for p, values in found}
        task = OpenedTask(lab.document, lab.arguments, wanted, lab.target)
    except (LabError, KeyError, IndexError, ValueError, TypeError):
        return False
    if (task.name, recording.plain(task.args), str(task.space.hash)) != (r.task, recording.plain(r.args), r.space):
        return False
    tuning.opened.update({p.id: p.values for p in task.parameters})
    return True


def _whole(tuning: Any, r: Any) -> bool:
    """Was the whole expression tuned last?"""
    before, tuning.source = tuning.source, GENERIC
    try:
        task = tuning.made()
        if (task.name, recording.plain(task.args)) == (r.task, recording.plain(r.args)):
            return True
    except LabError:
        pass
    tuning.source = before
    return False
