"""A cell that makes a lab was run again: the new lab goes on from the old one, of which nothing is lost.

What the cell does now is done; steps that were taken beyond it by pointing can be redone, branches stay, runs are still
listed. A lab of another expression begins anew.
"""

from __future__ import annotations

from typing import Any

from ..expr.tensor import post_order
from ..face.document import Document
from .choices import Choice


def go_on(lab: Any, former: Any) -> None:
    """`former`: the lab that the cell showed before."""
    if former.document is lab.document or not (lab.starts or _follows(lab.document, former.document)):
        return
    with lab.acting():
        if lab.starts:  # the cell says nothing of what is scheduled
            lab.take_up(Choice.of(former))
            lab.starts, lab.choices = former.starts, former.choices
            said = "the lab goes on where it was"
        else:
            said = former.document.rerun(lab.schedule)
            document = Document.of(lab.schedule)
            lab.take_up(Choice(document, document.root, lab.args, lab.workload, lab.kernel, ""))
        _tune_on(lab, former)
        if not lab.runs.payload()["rows"]:
            lab.runs.load(former.runs.to_json())
        if said:
            lab.say(f"The cell was run again: {said}.")


def _tune_on(lab: Any, former: Any) -> None:
    """What was opened stays so, and a session that is on goes on."""
    if not former.tune.going:
        lab.tune.load(former.tune.to_json())
        return
    lab.tune, former.tune = former.tune, lab.tune
    lab.tune.move(lab)
    former.tune.move(former)


def _follows(new: Document, old: Document) -> bool:
    """Is it of the same stages, and just what a cell makes of them?"""
    plain = len(new.branches) == 1 and new.cursor == len(new.entries)
    return plain and any(b.entries for b in old.branches) and _stages(new) == _stages(old)


def _stages(document: Document) -> list[str]:
    return [op.name for op in post_order(list(document.root.outputs))]
