"""A refusal in a notebook: the person's own lines and the message, no frames of the package."""

import traceback

import pytest

pytest.importorskip("IPython")
from IPython.core.interactiveshell import InteractiveShell

from tvmlab.core.error import LabError

CELL = """from tvmlab import te
A = te.placeholder((4, 4), name="A")
k = te.reduce_axis((0, 4), name="k")
C = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="C")
s = te.create_schedule(C.op)
def step():
    s[C].vectorize(C.op.reduce_axis[0])
step()
"""


@pytest.fixture(scope="module")
def refused():
    """What the shell printed, and the error."""
    from contextlib import redirect_stdout
    from io import StringIO

    shell, printed = InteractiveShell(), StringIO()
    with redirect_stdout(printed):
        result = shell.run_cell(CELL)
    return printed.getvalue(), result.error_in_exec


def test_own_lines_and_the_message(refused):
    printed, error = refused
    assert isinstance(error, LabError)
    first, own, place, line, rest = printed.split("\n", 4)
    assert first == "In a cell, line 8:" and own == "    step()"
    assert place == "In a cell, line 7, in step:" and line == "    s[C].vectorize(C.op.reduce_axis[0])"
    assert rest.rstrip() == f"{type(error).__name__}: {error}".rstrip()


def test_a_plain_traceback_is_complete(refused):
    assert "handle.py" in "".join(traceback.format_exception(refused[1]))
