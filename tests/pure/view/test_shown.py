"""A picture of the lab in a cell of its own, and as a file."""

import json
import re
from base64 import b64decode

import pytest

from tests.payloads import complaints
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.lab.app import Lab
from tvmlab.view import graphs, payload, pictures


@pytest.fixture
def lab():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] * 2.0, name="B")
    made = Lab(te.create_schedule(B.op))
    made.apply("split", "B.i", factor=16)
    yield made
    made.close()


@pytest.mark.parametrize("kind", pictures.KINDS)
def test_a_cell_shows_the_picture_and_its_text(lab, kind):
    shown = lab.picture(kind)
    assert complaints(shown.data, payload.Picture) == [] and shown.data["kind"] == kind
    bundle = shown._repr_mimebundle_()
    (inside,) = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', bundle["text/html"])
    assert b64decode(inside).decode() == shown.data["svg"]
    assert "<svg" not in bundle["text/html"], "some viewers break an SVG that stands in the page"
    table = shown.data["table"]
    assert bundle["text/plain"] == repr(shown)
    assert all(cell in repr(shown) for cell in [table["title"], *table["head"], *sum(table["rows"], [])])


def test_the_columns_of_the_text_stand_below_each_other(lab):
    assert repr(lab.picture("relations")) == (
        "Where each loop comes from\n"
        "  stage  axis     extent  comes from             is\n"
        "  B      i        64      an axis of the tensor  no loop any more\n"
        "  B      i.outer  4       split of i             loop 1\n"
        "  B      i.inner  16      split of i             loop 2"
    )


def test_it_follows_the_lab(lab):
    before = repr(lab.picture("relations"))
    lab.undo()
    assert repr(lab.picture("relations")) != before


def test_files_are_of_the_kind_that_their_name_says(lab, tmp_path):
    shown = lab.picture("graph")
    assert shown.save(tmp_path / "a.svg").read_text(encoding="utf-8") == shown.data["svg"]
    assert shown.save(tmp_path / "a.dot").read_text(encoding="utf-8") == shown.data["dot"]
    assert json.loads(shown.save(str(tmp_path / "a.json")).read_text(encoding="utf-8")) == shown.data
    if graphs.engine():
        assert shown.save(tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("kind, name", [("graph", "a.gif"), ("graph", "a"), ("metrics", "a.dot"), ("metrics", "a.png")])
def test_other_files_are_refused_with_those_there_are(lab, tmp_path, kind, name):
    with pytest.raises(LabError) as refused:
        lab.picture(kind).save(tmp_path / name)
    assert ".svg" in refused.value.legal and name in refused.value.message
    assert not (tmp_path / name).exists()


def test_an_unknown_picture_is_answered_with_those_there_are(lab):
    with pytest.raises(LabError, match="selfie") as refused:
        lab.picture("selfie")
    assert list(refused.value.legal) == list(pictures.KINDS)
