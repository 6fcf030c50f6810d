"""The first time that a cell shows a lab in a new kernel: it goes on from the still copy that the notebook was saved
with, since the lab's own still copy takes its place.

Jupyter says which notebook a kernel was started for. One that was given another name since is looked for beside it, by
the id of the cell. Steps that cells took are theirs to take again: they can be redone.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from ..core.error import LabError
from . import again, saving

NOTEBOOK = "JPY_SESSION_NAME"  # in the environment of a kernel: the path of its notebook


def go_on(lab: Any, cell: str) -> None:
    """Take up what the cell's lab was when the notebook was saved, if there is such a copy; what cannot be is said."""
    found = copy_of(cell)
    if found is None:
        return
    path, data = found
    try:
        former = saving.from_data(type(lab), data, path.name)
    except LabError as e:
        lab.say(f"The saved copy of this lab cannot be opened; it is in {_kept(data, path.name)} now: {e}", "bad")
        return
    _take_up(lab, former, data, path.name)
    former.close()


def _take_up(lab: Any, former: Any, data: Any, name: str) -> None:
    begins, document = lab.starts, lab.document
    again.go_on(lab, former)
    if not any(b.entries for b in former.document.branches):
        return
    if lab.document is document and not begins:  # another expression, or steps that a cell took on its own
        if all(b.entries != c.entries for b in former.document.branches for c in document.branches):
            lab.say(f"The notebook was saved with other steps here: they are in {_kept(data, name)} now.", "bad")
        return
    with lab.acting():
        if begins:
            own = (n for n, e in enumerate(lab.document.entries) if e.origin.get("kind") != "widget")
            lab.document.jump(min([lab.step, *own]))
        left = len(lab.document.entries) - lab.step
        rest = f"; redo takes {left} more" if left else ""
        lab.say(f"This is a new kernel: the lab goes on from the copy in {name}, at step {lab.step}{rest}.")


def _kept(data: Any, name: str) -> str:
    """A file for what the next save of the notebook would overwrite."""
    stem = name.removesuffix(".ipynb")
    path = next(p for n in range(1, 10_000) if not (p := Path(f"{stem}-left-{n}.tvlab.json")).exists())
    try:
        path.write_text(json.dumps(data), encoding="utf-8")
        return str(path)
    except OSError as e:
        return f"{name} until that is saved ({path} cannot be written: {e.strerror or e})"


def copy_of(cell: str) -> tuple[Path, Any] | None:
    """The notebook, and what its still copy of the lab in this cell holds."""
    said = os.environ.get(NOTEBOOK, "")
    path = Path(said)
    if not cell or path.suffix != ".ipynb":
        return None
    found = _copy(path, cell)
    if found is not None or path.exists():
        return found
    beside = [f for p in sorted(path.parent.glob("*.ipynb")) if (f := _copy(p, cell)) is not None]
    return beside[0] if len(beside) == 1 else None  # of several, none is known to be this one


def _copy(path: Path, cell: str) -> tuple[Path, Any] | None:
    try:
        if path.stat().st_size > saving.MOST or cell.encode() not in path.read_bytes():
            return None
        book = saving.read_json(path)
        mine = [c for c in book["cells"] if c.get("id") == cell]
        return path, saving.from_notebook({"cells": mine}, path.name)
    except (OSError, LabError, TypeError, KeyError, AttributeError):  # no notebook, or none with a lab in this cell
        return None
