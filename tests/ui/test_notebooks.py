"""The lessons: clean files that are light to carry, with their pictures, and that run as they stand."""

import ast
import re
import sys
from html import escape
from pathlib import Path

import pytest

from tests.payloads import complaints
from tvmlab.view import payload

nbformat = pytest.importorskip("nbformat")
NotebookClient = pytest.importorskip("nbclient").NotebookClient

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MOST_BYTES = 400_000
MIME = "application/vnd.tvmlab.schedule+json"
each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)


def read(path):
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def code(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shows_a_picture(data):
    """In a way that viewers of all kinds show: an SVG of its own is broken by some."""
    return bool({"image/png", "image/jpeg"} & data.keys()) or "<img " in data.get("text/html", "")


def labs(notebook):
    """The still copies of labs: the document of each, with the card that stands beside it."""
    data = [output.get("data", {}) for cell in code(notebook) for output in cell.outputs]
    return [(d[MIME], d["text/html"]) for d in data if "state" in d.get(MIME, {})]


def test_make_lab_opens_the_first():
    assert NOTEBOOKS[0].stem == "01_first_schedule"
    assert f"notebooks/{NOTEBOOKS[0].name}" in (ROOT / "Makefile").read_text()


@each
def test_the_file_is_clean(path):
    notebook = read(path)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert path.stat().st_size < MOST_BYTES
    assert notebook.metadata.kernelspec.name == "python3"
    assert "widgets" not in notebook.metadata
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    text = path.read_text(encoding="utf-8")
    assert str(Path.home()) not in text and str(ROOT) not in text and "site-packages" not in text


@each
def test_outputs_are_stored_in_order_and_without_errors(path):
    """A reader on the web sees what a run shows."""
    cells = code(read(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1)), "run all cells before saving"
    outputs = [output for cell in cells for output in cell.outputs]
    assert not [o for o in outputs if o.output_type == "error" or o.get("name") == "stderr"]
    assert any("text/html" in o.get("data", {}) for o in outputs)
    assert any(shows_a_picture(o.get("data", {})) for o in outputs)


@each
def test_cells_are_short_and_prose_comes_first(path):
    notebook = read(path)
    assert notebook.cells[0].cell_type == "markdown" and notebook.cells[0].source.startswith("# ")
    for cell in code(notebook):
        ast.parse(re.sub(r"^%%schedule.*", "", cell.source))
        assert max(map(len, cell.source.splitlines())) <= 105, cell.source


@pytest.mark.parametrize("path", [p for p in NOTEBOOKS if "lab" in p.stem], ids=lambda p: p.stem)
def test_labs_are_stored_as_still_copies(path):
    """Without a kernel a reader sees where each lab stood: the card anywhere, in JupyterLab the lab itself."""
    found = labs(read(path))
    assert found
    for document, card in found:
        assert complaints(document, payload.Document) == []
        steps = document["state"]["history"]["steps"]
        assert len(document["state"]["story"]["frames"]) == len(steps) + 1 > 1
        assert all(escape(row["name"]) in card for row in document["state"]["frame"]["tree"])


@each
@pytest.mark.slow
def test_it_runs(path):
    notebook = read(path)
    for cell in code(notebook):
        cell.outputs, cell.execution_count = [], None
    notebook.cells.append(nbformat.v4.new_code_cell("import sys; print(sys.prefix)"))
    where = {"metadata": {"path": path.parent}}
    client = NotebookClient(notebook, timeout=170, kernel_name="python3", store_widget_state=False, resources=where)
    client.execute()  # a cell that raises ends it with the cell and the error
    assert not [o for cell in code(notebook) for o in cell.outputs if o.get("name") == "stderr"]
    assert notebook.cells[-1].outputs[0].text.strip() == sys.prefix, "the kernel is that of this environment"
