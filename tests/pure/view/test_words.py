"""Why not, in half a line: the reason itself, whatever form the error has."""

import pytest

from tests.pure.view.sketch import matmul
from tvmlab.core.error import LabError
from tvmlab.view.actions import actions
from tvmlab.view.words import because

LOOPS = ("for i in 64", "  for k in 64   <- carries a reduction: its iterations clash", "    for j in 64")


@pytest.mark.parametrize(
    "message, where, said",
    [
        ("cannot vectorize `k` in stage C", LOOPS, "k carries a reduction: its iterations clash"),
        ("cannot fuse `i` and `k` in stage C: they are not neighbours", ("for i in 64  <- these two",),
         "they are not neighbours"),
        ("cannot inline C: it is an output", (), "C is an output"),
        ("cannot rfactor `ji` (C.j.inner) in stage C: it is no reduction", (), "ji is no reduction"),
        ("there is no loop `x`", (), "there is no loop `x`"),
    ],
)  # fmt: skip
def test_because(message, where, said):
    assert because(LabError("x", message, where=where)) == said


def test_the_card_says_it_before_the_loops():
    s, *_ = matmul()
    item = next(x for x in actions(s, ["C.i", "C.k"])["items"] if x["name"] == "fuse")
    assert item["reason"] == "they are not neighbours"
    assert item["card"]["text"].splitlines()[0] == "they are not neighbours"
    assert item["card"]["text"].splitlines()[1].startswith("for i in ")
