"""One identity of an expression and its steps: whatever loops are called, through browsers, copied and shared."""

import json
import linecache
import subprocess
import sys

import numpy as np
import pytest

from tests.pure.lab.test_left import by_browser
from tvmlab import te
from tvmlab.core import serial
from tvmlab.core.node import Const
from tvmlab.lab.app import Lab
from tvmlab.lab.saving import from_data
from tvmlab.schedule import identity


@pytest.fixture
def first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lab = Lab()
    lab.apply("split", "C.i", factor=32)
    lab.apply("reorder", "C.i.outer", "C.k", "C.i.inner", "C.j")
    yield lab
    lab.close()


def pasted(text, name):
    """As a cell runs it: the names of the lines are those of its loops."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space = {}
    exec(compile(text, name, "exec"), space)  # noqa: S102
    return Lab(space["s"])


def task(lab, source):
    lab.tune.choose(source)
    if source == "steps":
        lab.tune.open_all()
    made = lab.tune.look()
    return made.args, made.space.hash, lab.tune.file


@pytest.mark.parametrize("source", ["steps", "generic"])
def test_a_lab_a_copied_program_and_a_notebook_are_one_task(first, source):
    text = first.program
    renamed = text.replace(', tag="matmul"', "").replace("i_outer", "a").replace("i_inner", "zz")
    renamed = renamed.replace("lambda i, j", "lambda y, x").replace("A[i, k] * B[k, j]", "A[y, k] * B[k, x]")
    assert 'tag="matmul"' in text and "zz" in renamed and "A[y, k]" in renamed
    book = json.loads(json.dumps(by_browser(json.loads(json.dumps(first.saved())))))
    others = [pasted(text, "<p1>"), pasted(renamed, "<p2>"), from_data(Lab, book, "book.ipynb")]
    want = task(first, source)
    for lab in others:
        assert task(lab, source) == want
        assert identity.of(lab.schedule.trace) == identity.of(first.schedule.trace)
        lab.close()


def test_other_constants_dtypes_and_steps_are_other_tasks():
    def trace(value=1.0, dtype="float32", name="A", factor=4):
        A = te.placeholder((16,), dtype, name=name)
        C = te.compute((16,), lambda i: A[i] + te.const(value, dtype), name="C")
        s = te.create_schedule(C.op)
        s[C].split(C.op.axis[0], factor)
        return s.trace

    assert identity.of(trace()) == identity.of(trace())
    kinds = [trace(), trace(2.0), trace(1, "int32"), trace(0.0), trace(-0.0), trace(name="B"), trace(factor=8)]
    assert len({identity.of(t) for t in kinds}) == len(kinds)


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, 2.0**70, 0.1, 2**60 + 1, -(2**62) - 1, 7])
def test_numbers_survive_a_browser(value):
    dtype = "float64" if isinstance(value, float) else "int64"
    data = json.loads(json.dumps(serial.to_data(Const(value, dtype))))

    def javascript(x):  # every number is a double
        if isinstance(x, dict):
            return {k: javascript(v) for k, v in x.items()}
        if isinstance(x, list):
            return [javascript(v) for v in x]
        return by_browser(float(x)) if type(x) in (int, float) else x

    found = serial.from_data(javascript(data)).value
    assert found == value and type(found) is type(value) and np.signbit(found) == np.signbit(value)


def test_a_warning_in_a_program_from_stdin():
    code = "from tvmlab.core.warning import warn\nwarn('rfactor drops it')"
    done = subprocess.run([sys.executable], input=code, capture_output=True, text=True)
    assert done.returncode == 0 and "rfactor drops it" in done.stderr
