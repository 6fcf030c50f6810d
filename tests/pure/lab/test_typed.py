"""Expressions typed into the drawer: whatever stands in them, the kernel lives on and its modules stay as they are."""

import pytest

from tvmlab import te
from tvmlab.lab import typed

GOOD = "A = te.placeholder((64, 64))\nB = te.compute((64, 64), lambda i, j: A[i, j] * 2.0 + 1.0)\n"
LINES = "\n".join
HOSTILE = {
    "sum(range(10**11))": ("x = sum(range(100000000000))", "elements"),  # C code, which nothing can interrupt
    "zip": ("x = list(zip(range(1000000000)))", "elements"),
    "list": ("x = [0] * 3000000000", "elements"),
    "doubling": (LINES(["a = [0] * 9000", *["a = a + a"] * 40]), "elements"),
    "spreading": (LINES(["a = [0] * 9000", *["a = [*a, *a]"] * 40]), "elements"),
    "squaring": (LINES(["a = 9999999", *["a = a * a"] * 60]), "too large"),
    "text": ("x = '%0999999999d' % 1", "no place"),
    "padding": ("x = '{:>9999999999}'.format(1)", "no place"),
    "endless": ("f = lambda n: f(n - 1) + f(n - 1) if n else 0\nx = f(60)", "too long"),
    "recursion": ("f = lambda n: f(n)\nx = f(1)", "calls itself"),
    "deep sum": ("x = " + "+".join(["1"] * 3000), "nested"),
    "deep lambda": ("x = " + "lambda: " * 2000 + "1", "nested"),
    "deep minus": ("x = " + "-" * 9000 + "1", "nested"),
    "overwriting": ("te.compute = 3", "only a name"),
    "writing into": ("te.x[0] = 3", "only a name"),
    "an inner module": ("f = topi.utils.affine.rules.operator.attrgetter('__globals__')", "`affine`"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_line_is_refused_in_its_place(case):
    text, said = HOSTILE[case]
    compute = te.compute
    found = typed.read(f"{text}\n{GOOD}")
    assert not found["ok"] and said in found["error"], found
    assert te.compute is compute
    assert typed.read(GOOD)["tensors"] == ["A: float32[64, 64]", "B: float32[64, 64]"]


def test_the_place_of_an_error_is_that_of_the_part_that_is_wrong():
    found = typed.read("A = te.placeholder((4, 4))\nB = te.compute((4, 4), lambda i, j: A[i] * 2.0)")
    assert not found["ok"] and found["line"] == 2
    assert "A[i]" in "B = te.compute((4, 4), lambda i, j: A[i] * 2.0)"[found["start"] : found["end"]]
