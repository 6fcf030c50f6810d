"""`%%schedule` in an IPython: the cell runs as it is, its lab goes on when it is run again, typed text is answered."""

import contextlib
import io
import json

import pytest

from tests.payloads import complaints
from tvmlab.view import payload

pytest.importorskip("IPython")
from IPython.core.interactiveshell import InteractiveShell

from tvmlab.lab import magic

SETUP = """from tvmlab import te
A, B = te.placeholder((64, 64), name="A"), te.placeholder((64, 64), name="B")
k = te.reduce_axis((0, 64), name="k")
C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
"""
CELL = """%%schedule --live
s = te.create_schedule(C.op)
i, j = C.op.axis
io, ii = s[C].split(i, 16)
"""


class Notebook:
    """An IPython, the labs that its cells showed, and what they printed."""

    def __init__(self, shell):
        self.shell, self.shown, self.printed = shell, [], ""
        self.cell = "cell-1"
        shell.get_parent = lambda: {"metadata": {"cellId": self.cell}}

    def run(self, text, cell="cell-1"):
        self.cell = cell
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            result = self.shell.run_cell(text, store_history=True)
        self.printed = out.getvalue()
        return result.error_in_exec or result.error_before_exec

    def __getitem__(self, name):
        return self.shell.user_ns[name]

    def typed(self, text, cell="cell-1", kind="live"):
        answer = magic.answer({"seq": 7, "kind": kind, "cell": cell, "text": text}, self.shell.user_ns)
        assert answer["re"] == 7 and answer["cell"] == cell and json.loads(json.dumps(answer)) is not None
        return answer


@pytest.fixture
def notebook(monkeypatch):
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.history_manager.enabled = False
    shell.run_line_magic("load_ext", "tvmlab")
    made = Notebook(shell)
    monkeypatch.setattr(magic, "show", made.shown.append)
    monkeypatch.setattr(magic, "CELLS", magic.Cells())
    assert made.run(SETUP) is None
    yield made
    for lab in made.shown:
        lab.close()
    InteractiveShell.clear_instance()


def test_the_cell_runs_and_shows_its_lab(notebook):
    assert notebook.run(CELL) is None
    (lab,) = notebook.shown
    assert lab.schedule is notebook["s"] and lab.name == "s" and lab.step == 1
    entry = lab.document.entries[0]
    assert dict(entry.origin) == {"kind": "cell", "label": "cell 2 line 4"} and entry.code.startswith("io, ii = ")


def test_lines_of_any_cell_say_which(notebook):
    notebook.run(CELL)
    notebook.run("s[C].unroll(ii)\n\ns[C].vectorize(j)")
    assert [e.origin["label"] for e in notebook["s"].history.entries[1:]] == ["cell 3 line 1", "cell 3 line 3"]


def test_run_again_the_lab_goes_on(notebook):
    notebook.run(CELL)
    lab = notebook.shown[0]
    lab.apply("unroll", "C.i.inner")
    assert len(notebook["s"].trace) == 2
    notebook.run(CELL)
    assert notebook.shown == [lab, lab] and lab.schedule is notebook["s"]
    assert lab.step == 1 and [e.label for e in lab.document.entries] == ["split i by 16", "unroll ii"]
    notebook.run(CELL.replace("16", "8"))
    assert [e.label for e in lab.document.entries] == ["split i by 8"] and len(lab.document.branches) == 2
    notebook.run("s[C].parallel(io)", "cell-2")
    assert lab.step == 2
    notebook.run(CELL, "cell-3")
    assert notebook.shown[-1] is not lab


def test_what_the_cell_is_worth_is_shown_unless_it_is_the_schedule(notebook):
    notebook.run(CELL + "s")
    assert notebook.printed == ""
    notebook.run(CELL + "len(s.trace)")
    assert "Out[3]: 1" in notebook.printed and len(notebook.shown) == 2


def test_errors_are_those_of_the_cell(notebook):
    assert "cannot vectorize" in str(notebook.run(CELL + "s[C].vectorize(k)"))
    assert "In a cell, line 5:\n    s[C].vectorize(k)" in notebook.printed
    assert "run_cell_magic" not in notebook.printed and "magic.py" not in notebook.printed
    assert isinstance(notebook.run("%%schedule\nx = 1\ny = x / 0"), ZeroDivisionError)
    assert "line 3" in notebook.printed and "magic.py" not in notebook.printed
    assert isinstance(notebook.run("%%schedule\nx = (1"), SyntaxError)
    assert "does not know '--fast'" in str(notebook.run("%%schedule --fast\nx = 1"))
    assert notebook.shown == []


def test_a_cell_without_a_schedule(notebook):
    assert "makes no schedule" in str(notebook.run("%%schedule\nx = 1"))
    assert "`t` is not there" in str(notebook.run("%%schedule t\nx = 1"))


def test_typed_text_is_answered_and_shown(notebook):
    notebook.run(CELL)
    lab, shown = notebook.shown[0], []
    lab.typed = lambda trace, said="", good=True: shown.append((trace, said, good))
    answer = notebook.typed(CELL + "jo, ji = s[C].split(j, 8)\ns[C].vectorize(ji)")
    assert answer["state"] == "good" and answer["error"] is None and answer["lab"] == lab.id and answer["name"] == "s"
    assert complaints(answer["frame"], payload.Frame) == []
    assert all(complaints(x, payload.DiffLine) == [] for x in answer["diff"])
    assert any(x["sign"] != " " for x in answer["diff"]) and len(notebook["s"].trace) == 1
    kept = notebook.typed(CELL + "jo, ji = s[C].split(j, 8")
    assert kept["state"] == "kept" and kept["frame"] == answer["frame"]
    assert kept["error"] == {"text": "'(' was never closed", "line": 5, "column": 19, "end": 20}
    wrong = notebook.typed(CELL + "s[C].vectorize(k)")
    assert wrong["state"] == "kept" and wrong["error"]["line"] == 5 and wrong["frame"] != answer["frame"]
    assert [(t is None, good) for t, _, good in shown] == [(False, True), (False, False), (False, False)]
    notebook.typed("", kind="stop")
    assert shown[-1][0] is None


def test_the_widget_shows_what_is_typed_until_it_ends(notebook):
    class Widget:
        frame = message = history = head = selection = runs = None

        @contextlib.contextmanager
        def hold_sync(self):
            yield

        def close(self):
            pass

    notebook.run(CELL)
    lab = notebook.shown[0]
    lab.screen.widget = Widget()
    answer = notebook.typed(CELL + "s[C].vectorize(j)")
    assert lab.screen.widget.frame == answer["frame"] != lab.frame and "As typed" in lab.screen.widget.message["text"]
    notebook.typed("", kind="stop")
    assert lab.screen.widget.frame == lab.frame


def test_strange_messages_are_answered(notebook):
    for data in (None, [], {}, {"cell": 3}, "live"):
        assert magic.answer(data, {})["error"]["text"]
    assert notebook.typed(None, "nowhere")["state"] == "none"
    assert notebook.typed("x = 1", "nowhere")["lab"] == ""
    assert magic.answer({"cell": "nowhere", "kind": "stop"}, {})["lab"] == ""


def test_a_cell_that_was_never_run_keeps_its_last_good_text(notebook):
    assert notebook.typed(CELL, "cell-9")["state"] == "good"
    assert notebook.typed(CELL + "(", "cell-9")["state"] == "kept"


def test_a_lab_registers_the_magic(notebook):
    del notebook.shell.magics_manager.magics["cell"]["schedule"]
    from tvmlab import Lab

    notebook.run(SETUP + "s = te.create_schedule(C.op)")
    notebook.shown.append(Lab(notebook["s"]))
    assert notebook.shell.find_cell_magic("schedule") is not None
