"""Several acts on a history as one change, and steps that are kept without being taken."""

import json

import pytest

from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.face.document import Document
from tvmlab.face.history_whole import as_one, give


@pytest.fixture
def document():
    a = te.placeholder((64,), name="A")
    b = te.compute((64,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    outer, inner = s[b].split(b.op.axis[0], 8)
    s[b].vectorize(inner)
    s[b].parallel(outer)
    return Document.of(s)


def code(d):
    return d.schedule.to_code()


def test_one_undo_takes_all_of_it_back_and_one_redo_makes_it_again(document):
    before, heard = code(document), []
    document.observe(lambda d: heard.append(code(d)))
    with as_one(document, "tuning"):
        give(document, "e1", {"factor": 16})
        give(document, "e2", {}, off=True)
    after = code(document)
    assert heard == [after] and "factor=16" in after and "vectorize" not in after and "parallel" in after
    assert document.edits.to_undo(document) == "tuning"
    assert document.undo() and code(document) == before and document.cursor == 3
    assert document.redo() and code(document) == after
    assert document.undo() and not document.edits.done


def test_what_is_refused_leaves_nothing(document):
    before, heard = code(document), []
    document.edit("e1", {"factor": 4})
    document.undo()
    document.observe(lambda d: heard.append(1))
    with pytest.raises(LabError), as_one(document, "tuning"):
        give(document, "e2", {}, off=True)
        give(document, "e1", {"factor": -1})
    assert code(document) == before and not heard and not document.entries[1].off
    assert document.redo() and "factor=4" in code(document)  # what could be made again still can


def test_nothing_done_is_no_change(document):
    with as_one(document, "tuning"):
        pass
    assert document.edits.to_undo(document) == ""


def test_a_step_that_is_only_tried_again_is_a_change_too(document):
    give(document, "e2", {}, off=True)
    with as_one(document, "trying"):
        document.retry("e2")
    assert document.edits.to_undo(document) == "trying"


def test_a_step_that_is_off_stays_so_until_it_is_tried(document):
    give(document, "e2", {}, off=True)
    assert document.entries[1].parked and "kept" in document.entries[1].reason
    document.edit("e1", {"factor": 16})  # a parked one would come back by itself
    assert document.entries[1].parked
    again = Document.from_json(json.loads(json.dumps(document.to_json())))
    assert again.entries[1].off and "vectorize" not in code(again)
    document.retry("e2")
    assert "vectorize" in code(document) and not document.entries[1].off
    assert document.undo() and "vectorize" not in code(document)
