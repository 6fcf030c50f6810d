"""A lab out of the notebook it was saved in: what is left of it when its kernel is gone."""

import json
from pathlib import Path

import pytest

from tvmlab.core.error import LabError
from tvmlab.lab.app import Lab
from tvmlab.lab.saving import MIME

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "04_blur_in_the_lab.ipynb"


def write(path, *outputs):
    cells = [{"cell_type": "code", "source": "", "outputs": [{"data": data}]} for data in outputs]
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": "x"}, *cells]}))
    return path


def test_the_last_lab_of_a_notebook_is_opened(lab, tmp_path):
    lab.apply("split", "C.i", factor=4)
    first = lab.saved()
    lab.apply("vectorize", "C.j")
    path = write(tmp_path / "b.ipynb", {MIME: first}, {"text/plain": "3"}, {MIME: {"live": "m"}}, {MIME: lab.saved()})
    again = Lab.load(path)
    assert again.code == lab.code and again.step == 2
    again.undo().undo()
    assert again.step == 0
    again.close()


def test_a_lesson_of_ours():
    again = Lab.load(NOTEBOOK)
    assert len(again.document.entries) > 4 and again.document.given == ""
    ids = [b.id for b in again.document.branches]
    assert len(ids) == len(set(ids))
    again.close()


@pytest.mark.parametrize("text", ["{}", '{"cells": 3}', '{"cells": [3, {"outputs": [1]}]}', "[]"])
def test_a_notebook_without_one(tmp_path, text):
    path = tmp_path / "b.ipynb"
    path.write_text(text)
    with pytest.raises(LabError, match="holds no lab"):
        Lab.load(path)
