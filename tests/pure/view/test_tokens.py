"""Which words have a colour."""

import pytest

from tests.pure.view import sketch
from tvmlab.view import tokens
from tvmlab.view.frame import frame
from tvmlab.view.loops import plain
from tvmlab.view.sources import kinds, source


def found(finder, text):
    return [(text[a:b], kind) for a, b, kind in finder(text)]


@pytest.mark.parametrize(
    "syntax, text, want",
    [
        ("python", "for i in parallel(32):  # <b>", [
            ("for", "word"), ("in", "word"), ("parallel", "mark"), ("32", "number"), ("# <b>", "comment"),
        ]),
        ("python", 'x = alloc((4,), "float32")', [("4", "number"), ('"float32"', "string")]),
        ("python", "A[i", []),
        ("llvm", '%v2 = fmul <4 x float> %a.1, %b ; "no"', [
            ("fmul", "word"), ("<4 x float>", "mark"), ('; "no"', "comment"),
        ]),
        ("llvm", "store float 0x3FF, ptr %add, align 16", [
            ("store", "word"), ("0x3FF", "number"), ("align", "word"), ("16", "number"),
        ]),
        ("llvm", "for.add.8:", []),
        ("asm", "vfmadd231ps     %zmm2, %zmm9, 64(%rsp) # 64-byte Folded", [
            ("%zmm2", "mark"), ("%zmm9", "mark"), ("64", "number"), ("# 64-byte Folded", "comment"),
        ]),
        ("asm", ".LBB0_1:", [(".LBB0_1:", "word")]),
        ("asm", "movl    $65600, %edi", [("$65600", "number")]),
        ("asm", "callq   malloc@PLT", []),
        ("c", "for (int i = 0; i < 16; ++i) { // two", [
            ("for", "word"), ("int", "word"), ("0", "number"), ("16", "number"), ("// two", "comment"),
        ]),
        ("c", "__global float x = 1.5f;", [("__global", "mark"), ("float", "word"), ("1.5f", "number")]),
    ],
)  # fmt: skip
def test_words(syntax, text, want):
    assert found(tokens.BY_SYNTAX[syntax], text) == want


@pytest.mark.parametrize("kind", [k.name for k in kinds()])
def test_places_are_inside_their_lines_and_in_order(kind):
    trace = sketch.twelve(100).trace
    for line in source(trace, kind)["lines"]:
        ends = [n for a, b, _ in line.get("k", ()) for n in (a, b)]
        assert ends == sorted(ends)
        assert all(0 <= n <= len(line["t"]) for n in ends)


def test_letters_that_a_browser_counts_twice():
    line = plain(0, "# 🦊 fox")
    assert line["k"] == [(0, 8, "comment")]
    assert len(line["t"].encode("utf-16-le")) // 2 == 8
    assert plain(0, 'x = "🦊" + 1')["k"] == [(4, 8, "string"), (11, 12, "number")]
    assert plain(0, "é = 1")["k"] == [(4, 5, "number")]


def test_a_line_without_end_is_looked_at_in_part():
    text = "x + " * 100_000
    for finder in tokens.BY_SYNTAX.values():
        assert all(b <= tokens.LONGEST for _, b, _ in finder(text + "1"))


def test_the_words_of_a_frame_are_those_of_the_text():
    for line in frame(sketch.tiled().trace)["loops"]:
        assert [(line["t"][a:b], k) for a, b, k in line.get("k", ())] == found(tokens.python, line["t"])
