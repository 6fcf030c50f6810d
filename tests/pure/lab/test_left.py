"""A cell that shows a lab in a new kernel: what its notebook was saved with is not overwritten without a word."""

import json

import pytest

from tvmlab import te
from tvmlab.lab import screen
from tvmlab.lab.app import Lab
from tvmlab.lab.left import NOTEBOOK
from tvmlab.lab.saving import MIME


def by_browser(x):
    """As a browser writes it again: it has one kind of number."""
    if isinstance(x, float) and x.is_integer():
        return int(x)
    if isinstance(x, dict):
        return {k: by_browser(v) for k, v in x.items()}
    return [by_browser(v) for v in x] if isinstance(x, list) else x


def write(path, lab, cell="c1"):
    output = {"data": {MIME: by_browser(lab.saved())}}
    path.write_text(json.dumps({"cells": [{"id": "c0"}, {"id": cell, "cell_type": "code", "outputs": [output]}]}))


def vector(name="C", factor=4):
    A = te.placeholder((16,), name="A")
    C = te.compute((16,), lambda i: A[i] + 1.0, name=name)
    s = te.create_schedule(C.op)
    lab = Lab(s, [A, C])
    s[C].split(C.op.axis[0], factor)
    return lab


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    path = tmp_path / "book.ipynb"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(NOTEBOOK, str(path))
    monkeypatch.setattr(screen, "cell_id", lambda: "c1")
    monkeypatch.setattr(screen, "CELLS", {})
    return path


def shown(lab):
    lab.screen._take_the_place()
    return [e.primitive for e in lab.document.entries], lab.step




def test_a_lab_of_nothing_goes_on_from_the_saved_copy(notebook):
    old = Lab()
    stage = old.schedule.trace.state.order[-1]
    old.document.apply("split", {"stage": stage, "parent": old.schedule.outputs[0].axis[0], "factor": 32})
    old.tune.choose("generic")
    write(notebook, old)
    old.close()
    lab = Lab()
    assert shown(lab) == (["split"], 1)
    assert "goes on from the copy in book.ipynb, at step 1" in lab.said["text"] and lab.tune.source == "generic"
    lab.close()


def test_steps_that_a_cell_took_are_redone_by_it(notebook):
    old = Lab()
    old.apply("split", "C.i", factor=32)
    write(notebook, old)
    old.close()
    lab = Lab()
    assert shown(lab) == (["split"], 0) and "redo takes 1 more" in lab.said["text"]
    lab.close()


def test_a_notebook_with_another_name_is_found_by_its_cell(notebook, monkeypatch):
    old = vector()
    old.apply("unroll", "C.i.inner")
    write(notebook.with_name("renamed.ipynb"), old)
    write(notebook.with_name("other.ipynb"), old, cell="c2")
    old.close()
    lab = vector()
    assert shown(lab) == (["split", "unroll"], 1) and "renamed.ipynb" in lab.said["text"]
    lab.close()


def test_steps_of_another_expression_are_kept_in_a_file(notebook):
    old = vector("D")
    write(notebook, old)
    lab = vector()
    assert shown(lab) == (["split"], 1) and "book-left-1.tvlab.json" in lab.said["text"]
    kept = Lab.load("book-left-1.tvlab.json")
    assert kept.code == old.code
    old.close(), lab.close(), kept.close()


@pytest.mark.parametrize("text", ["", "[]", '{"cells": [3]}', '{"cells": [{"id": "c1"}]}'])
def test_without_a_copy_it_begins_as_always(notebook, text):
    notebook.write_text(text)
    lab = vector()
    assert shown(lab) == (["split"], 1) and lab.said["text"] == ""
    lab.close()


def test_a_copy_that_cannot_be_opened_is_kept(notebook):
    data = {"save": {"document": {"kind": "tvmlab history"}}}
    cells = [{"id": "c1", "cell_type": "code", "outputs": [{"data": {MIME: data}}]}]
    notebook.write_text(json.dumps({"cells": cells}))
    lab = vector()
    assert shown(lab) == (["split"], 1) and "cannot be opened" in lab.said["text"]
    assert json.loads(notebook.with_name("book-left-1.tvlab.json").read_text()) == data
    lab.close()
