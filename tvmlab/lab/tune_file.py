"""What is opened, written beside the trials: the same cell in another kernel finds it again.

A line of the kind "space": the task, and for each knob its name, the parameter it is, and its values.
"""

from __future__ import annotations

from typing import Any

from ..core.error import LabError
from ..tune import records as recording
from ..tune.opened import OpenedTask
from ..tune.parameters import openable

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
    return [[p.name, p.param, p.values] for p in task.parameters] if isinstance(task, OpenedTask) else []


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
            tuning.notes.append(f"{path.name} says what was opened")
            return


def _take_up(tuning: Any, r: Any) -> bool:
    lab = tuning.lab
    by_name = {p.name: p for p in openable(lab.document)}
    try:
        wanted = {by_name[name].id: values for name, _, values in r.config}
        task = OpenedTask(lab.document, lab.arguments, wanted, lab.target)
    except (LabError, KeyError, ValueError, TypeError):
        return False
    if (task.name, recording.plain(task.args), str(task.space.hash)) != (r.task, recording.plain(r.args), r.space):
        return False
    tuning.opened.update({p.id: p.values for p in task.parameters})
    return True
