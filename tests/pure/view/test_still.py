"""The still copy of a lab: what viewers without scripts, without styles, without a kernel make of it."""

import json
import re
from html import escape, unescape

import pytest

from tests.payloads import complaints
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.lab.app import Lab
from tvmlab.view import payload, still

# What GitHub's own renderer lets through in HTML, as far as it matters here: no style, no script, no `data:`.
TAGS = set("b br code details div em i img p pre span strong summary table tbody td th tr ul li h1 h2 h3".split())
ATTRIBUTES = {"img": ["src", "alt", "width"], "details": ["open"]}
HOSTILE = """a"b'<script>alert(1)</script> & \N{PARTY POPPER}"""


def matmul(name="C"):
    A, B = te.placeholder((64, 64), name="A"), te.placeholder((64, 64), name="B")
    k = te.reduce_axis((0, 64), name="k")
    C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name=name)
    s = te.create_schedule(C.op)
    io, jo, ii, ji = s[C].tile(*C.op.axis, 8, 16)
    s[C].vectorize(ji)
    s[C].parallel(io)
    return s, [A, B, C]


@pytest.fixture
def lab():
    made = Lab(*matmul())
    yield made
    made.close()


@pytest.fixture
def hostile():
    made = Lab(*matmul(HOSTILE))
    yield made
    made.close()


def sanitised(html):
    bleach = pytest.importorskip("bleach")
    return bleach.clean(html, tags=TAGS, attributes=ATTRIBUTES, protocols={"http", "https"}, strip=True)


def lines(html):
    """The text of a page as a reader sees it, a line for each block: blanks count in a <pre> only."""
    found = []
    for part in re.split(r"(<pre\b.*?</pre>)", html, flags=re.S):
        text = unescape(re.sub(r"<[^>]*>", "", re.sub(r"</(div|summary)>|<br>", "\n", part))).split("\n")
        found += text if part.startswith("<pre") else [line.lstrip(" ") for line in text]
    return [line.rstrip().replace("\N{NO-BREAK SPACE}", " ") for line in found if line.strip()]


def expected(lab):
    return ["    " * line["d"] + line["t"] for line in lab.frame["loops"]]


def holds(text, part):
    """All lines of the part stand in the text one below the other."""
    return any(text[n : n + len(part)] == part for n in range(len(text)))


def shows(lab, html):
    """Do the tree, with its nesting, and the loops stand in it?"""
    text = lines(html)
    tree = [" ".join([" " * 5 * r["level"] + r["name"], r["extent"], *r["chips"]]).rstrip() for r in lab.frame["tree"]]
    return holds(text, tree) and holds(text, expected(lab))


# ---------------------------------------------------------------- the card


def test_the_card_shows_tree_loops_and_calls(lab):
    card = still.card(lab.saved())
    assert shows(lab, card)
    assert holds(lines(card), lab.code.rstrip().split("\n"))
    assert card.count("<details") - card.count("<details open") == 1, "folded as a whole, its parts open"
    assert 'src="data:image/svg+xml;base64,' in card


def test_a_sanitiser_like_githubs_leaves_tree_and_loops(lab):
    clean = sanitised(still.card(lab.saved()))
    assert "style" not in clean and "data:" not in clean
    assert shows(lab, clean)
    assert 'alt="What is computed from what"' in clean, "the picture says what it was"


def test_names_stay_text_whatever_they_hold(hostile):
    card = still.card(hostile.saved())
    assert "<script" not in card and escape(HOSTILE) in card
    clean = sanitised(card)
    assert "<script" not in clean and shows(hostile, clean)
    assert HOSTILE in still.text(hostile.saved())


def test_the_text_is_the_outline(lab):
    first, *rest = still.text(lab.saved()).split("\n")
    assert first == "matmul 64x64x64 float32 · 3 steps · legal"
    assert rest[:3] == ["C [64, 64] float32", "    io 8 par", "        jo 4"]


def one_more(tensor, n):
    return te.compute((64,), lambda i: tensor[i] + 1.0, name=f"s{n}")


@pytest.mark.slow
def test_sixty_stages_fit_into_a_card():
    tensor = te.placeholder((64,), name="s0")
    for n in range(1, 61):
        tensor = one_more(tensor, n)
    s = te.create_schedule(tensor.op)
    for stage in list(s.stages):
        if len(stage.op.axis):
            s[stage].split(stage.op.axis[0], 16)
    lab = Lab(s)
    card = still.card(lab.saved())
    assert len(card) <= still.MOST_CARD + 2000
    more = len(lab.frame["loops"]) - still.MOST_LINES
    assert more > 0 and f"# ... {more} more lines" in card
    lab.close()


# ---------------------------------------------------------------- in a notebook


class Companion:
    """Stands for the output of a cell."""

    def update(self, bundle, raw):
        self.bundle, self.raw = bundle, raw


def test_a_snapshot_writes_the_output_anew(lab):
    lab.screen.companion = output = Companion()
    lab.undo()
    lab.snapshot()
    assert output.raw and set(output.bundle) == {"text/plain", "text/html", MIME}
    assert complaints(output.bundle[MIME], payload.Document) == []
    assert shows(lab, output.bundle["text/html"]) and "par" not in still.tree(lab.frame["tree"])
    json.dumps(output.bundle, allow_nan=False)


MIME = "application/vnd.tvmlab.schedule+json"
VIEW = "application/vnd.jupyter.widget-view+json"


def notebook(lab, state):
    """A saved notebook with the outputs of a shown lab; `state`: with the widget's state, as JupyterLab may save it."""
    v4 = pytest.importorskip("nbformat").v4
    widget = {VIEW: {"model_id": "abc", "version_major": 2, "version_minor": 1}, "text/plain": repr(lab)}
    outputs = [v4.new_output("display_data", widget), v4.new_output("display_data", lab.screen.bundle())]
    book = v4.new_notebook(cells=[v4.new_code_cell("lab", outputs=outputs, execution_count=1)])
    if state:
        model = {"model_name": "AnyModel", "model_module": "anywidget", "model_module_version": "~0.9.0", "state": {}}
        book.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {
            "state": {"abc": model}, "version_major": 2, "version_minor": 0,
        }}  # fmt: skip
    return book


@pytest.mark.parametrize("state", [False, True], ids=["no state", "with state"])
@pytest.mark.parametrize("template", ["lab", "basic"])
def test_nbconvert_shows_tree_and_loops(lab, template, state):
    exporter = pytest.importorskip("nbconvert").HTMLExporter(template_name=template)
    page, _ = exporter.from_notebook_node(notebook(lab, state))
    assert shows(lab, page)


def test_nbconvert_to_markdown_and_a_sanitiser(lab):
    exporter = pytest.importorskip("nbconvert").MarkdownExporter()
    text, _ = exporter.from_notebook_node(notebook(lab, False))
    assert shows(lab, sanitised(text))


# ---------------------------------------------------------------- an exported page


def script(page, name):
    (inside,) = re.findall(rf'<script type="[^"]*" id="{name}">(.*?)</script>', page, re.S)
    return inside


@pytest.mark.parametrize("mode", ["live", "still"])
def test_an_exported_page_asks_nobody(lab, tmp_path, mode):
    page = lab.export_html(tmp_path / "lab.html", mode).read_text(encoding="utf-8")
    addresses = set(re.findall(r"\w+://[^\s\"'`)<>\\]+", page))
    assert {a for a in addresses if not a.startswith("http://www.w3.org/")} == set(), "only names of XML languages"
    assert not re.search(r"<(link|iframe|object|embed)\b|\bsrc=\"(?!data:)|@import", page.split('id="module"')[0])


def test_a_still_page_holds_no_script(hostile, tmp_path):
    page = hostile.export_html(tmp_path / "lab.html", "still").read_text(encoding="utf-8")
    assert "<script" not in page
    assert shows(hostile, page)


@pytest.mark.skipif(not (still.STATIC / "lab.js").exists(), reason="the front end is not built: make front")
def test_a_live_page_holds_the_document_and_the_module(hostile, tmp_path):
    page = hostile.export_html(tmp_path / "lab.html").read_text(encoding="utf-8")
    document = json.loads(script(page, "document"))
    assert complaints(document, payload.Document) == []
    assert document["state"]["frame"] == json.loads(json.dumps(hostile.frame))
    assert len(document["state"]["story"]["frames"]) == 4
    assert page.count("</script") == 3 and page.count("<script>") == 0, "no name ends or begins an element"
    (inside,) = re.findall(r"<noscript>(.*?)</noscript>", page, re.S)
    assert shows(hostile, inside), "who runs no scripts sees the card"


def test_there_is_no_third_kind_of_page(lab, tmp_path):
    with pytest.raises(LabError, match="no mode 'pdf'") as refused:
        lab.export_html(tmp_path / "lab.html", "pdf")
    assert list(refused.value.legal) == ["live", "still"] and not (tmp_path / "lab.html").exists()
