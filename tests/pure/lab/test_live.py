"""Text that is only being typed: what it would make, where it is wrong, and that nothing of the notebook changes."""

import os
import sys
import threading

import pytest

from tvmlab.core.error import LabError
from tvmlab.face.document import Document
from tvmlab.lab import scratch
from tvmlab.lab.live import evaluate, options

SETUP = """
from tvmlab import te
A, B = te.placeholder((64, 64), name='A'), te.placeholder((64, 64), name='B')
k = te.reduce_axis((0, 64), name='k')
C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name='C')
s = te.create_schedule(C.op)
i, j = C.op.axis
io, ii = s[C].split(i, 16)
stage, numbers, table, both = s[C], [1, [2]], {'a': [1]}, [s]
def helper():
    s[C].vectorize(j)
"""


@pytest.fixture
def notebook():
    namespace = {"__name__": "__main__"}
    exec(SETUP, namespace)
    return namespace


def last(live):
    return live.trace.to_code().splitlines()[-1]


def test_the_schedule_as_it_would_be(notebook):
    live = evaluate("%%schedule --live\njo, ji = s[C].split(j, 8)\ns[C].vectorize(ji)", notebook)
    assert live.problem is None and live.name == "s" and last(live) == "s[C].vectorize(ji)"
    assert "jo, ji = s[C].split(j, factor=8)" in live.trace.to_code()
    assert len(notebook["s"].trace) == 1 and "jo" not in notebook


@pytest.mark.parametrize(
    "text, line, column, words",
    [
        ("s[C].split(j, 8", 1, 10, "never closed"),
        ("%%schedule --live\n\ns[C].split(j, 8", 3, 10, "never closed"),
        ("%%schedule\ns[C].vectorize(ii)\ns[C].vectorize(k)", 3, 0, "cannot vectorize `k`"),
        ("x = 1\ny = x / 0", 2, 4, "ZeroDivisionError: division by zero"),
        ("s[C].split(jj, 8)", 1, 11, "NameError: name 'jj' is not defined"),
        ("def f():\n    return nothing\nf()", 2, 11, "'nothing' is not defined"),
        ("raise SystemExit(3)", 1, 0, "SystemExit: 3"),
        ("await s", 1, 0, "'await' outside function"),
        ("\0", 1, 0, "null bytes"),
        ("%%schedule --quick\nx", 1, 0, "does not know '--quick'"),
        ("%%schedule q\nx = 1", 1, 0, "`q` is not there"),
        ("%%schedule i\n", 1, 0, "`i` is IterVar, not a schedule"),
    ],
)
def test_where_a_text_is_wrong(notebook, text, line, column, words):
    problem = evaluate(text, notebook).problem
    assert words in problem.text and (problem.line, problem.column) == (line, column)


def test_an_error_keeps_what_the_lines_before_made(notebook):
    live = evaluate("jo, ji = s[C].split(j, 8)\ns[C].vectorize(k)", notebook)
    assert live.problem.line == 2 and last(live) == "jo, ji = s[C].split(j, factor=8)"
    assert evaluate("s[C].split(j, 8", notebook).trace is None


@pytest.mark.parametrize(
    "text",
    [
        "s[C].unroll(ii)", "stage.unroll(ii)", "both[0][C].unroll(ii)", "t = s; t[C].unroll(ii)", "s.undo()",
        "s.history.edit('e1', {'factor': 2})", "s.history.undo()", "helper()", "s = 3", "del s", "C = None",
        "globals()['s'] = None", "numbers.append(3); numbers[1].append(3)", "table['a'].append(1); table.clear()",
        "io, ii = ii, io", "s.fork()[C].unroll(ii)", "both.clear()", "import gc\ns.history.delete('e1')",
        "helper.__globals__['s'].undo()", "helper.__globals__['s'].history.undo()",
        "helper.__globals__['s'].history.rename('e1', 'x')",
    ],
)  # fmt: skip
def test_nothing_of_the_notebook_changes(notebook, text):
    notebook["s"].history.rename("e1", "mine")
    names, s, trace = dict(notebook), notebook["s"], notebook["s"].trace
    entries = s.history.entries
    evaluate(text, notebook)
    assert notebook == names and s.trace is trace and s.history.entries == entries
    assert notebook["numbers"] == [1, [2]] and notebook["table"] == {"a": [1]} and notebook["both"] == [s]


def test_handles_of_what_is_gone_are_no_harm_until_they_are_used(notebook):
    exec("cache = s[s.cache_write(C, 'local')]\ngroup = s.create_group(C, A)\ns.undo(2)", notebook)
    assert evaluate("s[C].unroll(ii)", notebook).problem is None
    assert "is gone" in evaluate("cache.compute_inline()", notebook).problem.text
    assert "is gone" in evaluate("group.compute_at(s[C], i)", notebook).problem.text


def test_containers_that_contain_themselves_or_very_much(notebook):
    exec("loop = [s]\nloop.append(loop)\nwhole = {'s': s, 'l': loop}", notebook)
    notebook["many"] = [[0] * 100 for _ in range(1000)]
    live = evaluate("loop[1][1][0][C].unroll(ii)\nwhole['l'].clear()\nlen(many)", notebook)
    assert live.problem is None and last(live).startswith("s[C].unroll(")
    assert len(notebook["loop"]) == 2 and len(notebook["s"].trace) == 1


def test_a_function_that_changes_the_notebooks_schedule_is_told_to_wait(notebook):
    problem = evaluate("helper()", notebook).problem
    assert "this schedule belongs to the notebook" in problem.text
    notebook["helper"]()
    assert len(notebook["s"].trace) == 2


def test_the_history_is_there_to_look_at(notebook):
    s = notebook["s"]
    s[notebook["C"]].unroll(notebook["ii"])
    s.history.edit("e1", {"factor": 8})
    live = evaluate("s[C].reorder(ii, io)", notebook)  # axes of before the edit
    assert live.problem is None and last(live).startswith("s[C].reorder(")
    s.undo()
    assert last(evaluate("s.redo()", notebook)).startswith("s[C].unroll(") and len(s.trace) == 1


OUTSIDE = {
    "writing": "open({path!r}, 'w')",
    "appending": "open({path!r}, 'ab').write(b'x')",
    "low-level": "import os\nos.open({path!r}, os.O_CREAT | os.O_WRONLY)",
    "pathlib": "from pathlib import Path\nPath({path!r}).write_text('x')",
    "renaming": "import os\nos.rename({there!r}, {path!r})",
    "removing": "import os\nos.remove({there!r})",
    "folders": "import os\nos.mkdir({path!r})",
    "a shell": "import os\nos.system('touch ' + {path!r})",
    "processes": "import subprocess\nsubprocess.run(['touch', {path!r}])",
    "threads": "import threading\nthreading.Thread(target=lambda: open({path!r}, 'w')).start()",
    "connections": "import socket\nsocket.create_connection(('127.0.0.1', 9))",
    "the environment": "import os\nos.environ['TVMLAB_TYPED'] = '1'",
    "the notebook": "get_ipython().system('touch ' + {path!r})",
    "questions": "input('?')",
}


@pytest.mark.parametrize("how", OUTSIDE)
def test_nothing_outside_changes(notebook, tmp_path, how):
    path, there = str(tmp_path / "new"), str(tmp_path / "old")
    with open(there, "w") as f:
        f.write("here")
    problem = evaluate(OUTSIDE[how].format(path=path, there=there), notebook).problem
    assert "while you type" in problem.text
    assert not os.path.exists(path) and (tmp_path / "old").read_text() == "here" and "TVMLAB_TYPED" not in os.environ
    (tmp_path / "new").write_text("")  # afterwards everything is as before
    threading.Thread(target=lambda: None).start()


def test_files_may_be_read_and_modules_imported(notebook, tmp_path, monkeypatch):
    (tmp_path / "factors.py").write_text("factor = 4\n")
    (tmp_path / "n.txt").write_text("8")
    monkeypatch.syspath_prepend(tmp_path)
    text = (
        f"import factors\ns[C].split(ii, factors.factor)\ns[C].split(j, int(open({str(tmp_path / 'n.txt')!r}).read()))"
    )
    live = evaluate(text, notebook)
    assert live.problem is None and len(live.trace) == 3
    sys.modules.pop("factors")


def test_nothing_is_printed(notebook, capsys):
    assert evaluate("print('typed')\nimport sys\nsys.stderr.write('typed')\ndisplay(s)", notebook).problem is None
    assert capsys.readouterr() == ("", "")


def test_magics_and_commands_are_passed_over(notebook):
    live = evaluate("%%schedule --live\n%matplotlib inline\nif True:\n    !touch x\ns[C].unroll(ii)", notebook)
    assert live.problem is None and last(live).startswith("s[C].unroll(") and not os.path.exists("x")
    assert evaluate("x = 5\n%  3", {"x": 1}).problem.text.startswith("there is no schedule")


ENDLESS = {
    "a loop": ("while True:\n    pass", (1, 2)),
    "a loop that catches": (
        "while True:\n    try:\n        pass\n    except BaseException:\n        pass",
        (1, 2, 3, 4, 5),
    ),
    "recursion of waits": ("import time\n\ntime.sleep(60)", (3,)),
    "a generator": ("x = sum(1 for _ in iter(int, 1))", (1,)),
}


@pytest.mark.parametrize("where", ["here", "in a thread"])
@pytest.mark.parametrize("how", ENDLESS)
def test_an_endless_text_is_stopped(notebook, how, where):
    text, lines = ENDLESS[how]
    if where == "in a thread" and "sleep" in text:
        return  # a call into C cannot be ended from another thread
    found = []
    work = lambda: found.append(evaluate(text, notebook, 0.1))  # noqa: E731
    if where == "here":
        work()
    else:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(30)
    assert "stopped after 0.1 s" in found[0].problem.text and found[0].problem.line in lines
    assert evaluate("s[C].unroll(ii)", notebook).problem is None


def test_the_end_never_comes_to_somebody_else(notebook):
    import time

    for _ in range(20):
        evaluate("while True: pass", notebook, 0.01)
    time.sleep(0.1)  # nothing is left that could ring


def test_which_schedule(notebook):
    exec("t = te.create_schedule(C.op)", notebook)
    assert evaluate("t[C].unroll(j)", notebook).name == "t"
    assert evaluate("s[C].unroll(j)\nt[C].unroll(j)", notebook).name == "s"
    assert evaluate("%%schedule t\ns[C].unroll(j)", notebook).name == "t"
    assert evaluate("s[C].unroll(j)\nt[C]", notebook).name == "t"
    assert evaluate("x = 1", notebook).name == "s"
    assert evaluate("u = te.create_schedule(C.op)\nv = u\nu[C].unroll(j)", notebook).name in "uv"
    both = evaluate("u = te.create_schedule(C.op)\nt[C].unroll(j)", notebook).problem
    assert both.text == "the cell has several schedules"
    assert evaluate("", {}).problem.text.startswith("there is no schedule here yet")


def test_options():
    assert options(" --live t ").name == "t" and options("--live").live and not options("").live
    for wrong in ("--now", "a b", "3", "a-b"):
        with pytest.raises(LabError, match="does not know"):
            options(wrong)


def test_a_fork_with_its_history_goes_its_own_way(notebook):
    s = notebook["s"]
    d = s.history
    made = scratch.forked(s)
    made.history.edit("e1", {"factor": 2})
    made[notebook["C"]].unroll(notebook["ii"])
    assert len(d.entries) == 1 and d.entries[0].label == "split i by 16" and Document.of(made) is not d
    assert len(s.trace) == 1 and len(made.trace) == 2
