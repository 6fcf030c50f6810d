"""What a notebook shows: the text is all there, the names are the person's, nothing needs a trusted page."""

import re
import subprocess
import sys
from html import unescape

import pytest

import tvmlab
from tvmlab import te
from tvmlab.core import hooks
from tvmlab.view import rich


def matmul(n=64):
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return A, B, C


def cached():
    """C in tiles of 4 x 16, its sums in a cache inside the tile loop."""
    A, B, C = matmul()
    s = te.create_schedule(C.op)
    T = s.cache_write(C, "local")
    io, jo, ii, ji = s[C].tile(*s[C].op.axis, 4, 16)
    s[C].parallel(io)
    s[C].vectorize(ji)
    s[T].compute_at(s[C], jo)
    return s, [A, B, C], T


def shown(thing):
    bundle = thing._repr_mimebundle_()
    return bundle["text/plain"], bundle["text/html"]


def words(html):
    """The text of a page, blanks made one."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", " ", html))).strip()


def copied(html):
    """What copying the first block of loops gives: a new line after each <div>."""
    inside = re.search(r"<pre[^>]*>(.*?)</pre>", html, re.S).group(1)
    return unescape(re.sub(r"<[^>]*>", "", inside.replace("</div>", "\n"))).rstrip("\n")


def test_a_schedule():
    s, args, _ = cached()
    text, html = shown(s)
    assert text == (
        "schedule of C, 5 steps\n"
        "  A: input\n"
        "  B: input\n"
        "  C.local in local: i.c (4), j.c (16), k (64)  [at C.jo]\n"
        "  C: io (16) parallel, jo (4), ii (4), ji (16) vectorized"
    )
    assert copied(html) == str(tvmlab.lower(s, args, simple_mode=True))
    assert words(html).endswith(
        "■ C io 16 parallel jo 4 ii 4 ji 16 vectorized ■ C.local in local at C.jo i.c 4 j.c 16 k 64 reduce "
        "inputs A: float32[64, 64], B: float32[64, 64]"
    ), "loops run as often as bound inference says, under the names that were given"


def test_the_margin_says_which_stage_a_line_computes():
    s, *_ = cached()
    _, html = shown(s)
    bar = re.compile(r'border-left:3px solid (#\w+|transparent);padding-left:7px">(.*?)</div>', re.S)
    colours = [(colour, words(text).split(" ")[:2]) for colour, text in bar.findall(html)]
    c, local = rich.STAGES[:2]
    assert [x for x, _ in colours] == ["transparent", c, local, c]
    assert f"color:{local};font-weight:bold" in html, "the stage bears the colour of its lines"


def test_a_guard_goes_with_the_line_below():
    A = te.placeholder((10,), name="A")
    C = te.compute((10,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], factor=4)
    nodes = [node for _, _, node in rich.program_lines(tvmlab.lower(s, [A, C], simple_mode=True))]
    assert rich.owners(nodes) == ["", "C", "C", "C", "C"], "def, for, for, if, store"


def test_open_obligations_and_what_would_close_them():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    C = te.compute((8,), lambda i: B[i] * 2, name="C")
    D = te.compute((8,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[D], D.op.axis[0])
    assert s.check()
    page = words(shown(s)[1])
    assert "open: B is computed at" in page and "would close it: s[B].compute_root()" in page


def test_inlined_stages_and_one_stage():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1, name="B")
    C = te.compute((8,), lambda i: B[i] * 2, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    assert "■ B inlined where it is read" in words(shown(s)[1])
    assert words(shown(s[C])[1]) == "■ C i 8 C[i] = B[i] * 2.0"
    assert shown(s[C])[0] == "stage(C: i (8))"


def test_a_schedule_that_has_no_loops_says_why():
    """Showing never raises: the error stands where the loops would."""
    A, B, C = matmul(8)
    s = te.create_schedule(C.op)
    fused = s[C].fuse(s[C].op.axis[1], s[C].op.reduce_axis[0])
    s[C].split(fused, factor=3)
    assert words(shown(s)[1]).startswith("schedule of C · 2 steps")


def test_tensors():
    A, B, C = matmul()
    assert shown(C)[0] == "C: float32[64, 64]\n    C[i, j] = sum(A[i, k] * B[k, j], axis=[k])"
    assert words(shown(C)[1]) == (
        "C : float32[64, 64] C[i, j] = sum(A[i, k] * B[k, j], axis=[k]) "
        "for i in 0..64 , j in 0..64 , k in 0..64, reduced"
    )
    assert words(shown(A)[1]) == "A : float32[64, 64] A # an input"
    X = te.placeholder((4,), name="X")
    E = te.extern((4,), [X], lambda ins, outs: tvmlab.call_packed("f", ins[0], outs[0]), name="E")
    assert "E = extern(X)" in shown(E)[0]
    assert repr(C) == "Tensor(shape=[64, 64], op.name=C)", "the classic form"


def test_verdicts_and_moves():
    s, _, T = cached()
    k = s[T].op.reduce_axis[0]
    verdict = s.verdict("vectorize", T, k)
    text, html = shown(verdict)
    assert text == str(verdict)
    assert words(html).startswith(
        "illegal : cannot vectorize `k` in stage C.local iterations k = 0 and k = 1 both update C.local"
    )
    assert "s[T].vectorize(j.c)" in words(html)
    assert f"border-left:3px solid {rich.RED}" in html
    assert f"border-left:3px solid {rich.GREEN}" in shown(s.verdict("unroll", T, k))[1]

    moves = s.moves(T, k)
    lines = shown(moves)[0].splitlines()
    assert len(lines) == len(moves) == shown(moves)[1].count("<tr>")
    assert any(re.match(r"x s\[T\].vectorize\(k\) +cannot vectorize `k`", line) for line in lines)
    assert any(re.match(r"\+ s\.rfactor\(T, k\) +legal", line) for line in lines)


def successor(x):
    return lambda i: x[i] + 1


def test_long_programs_and_long_lines_are_cut():
    A = te.placeholder((4,), name="A")
    C = te.compute((4,), lambda i: sum(A[i] * n for n in range(1, 60)), name="C")
    text = copied(shown(tvmlab.lower(te.create_schedule(C.op), [A, C]))[1])
    assert all(len(line) <= rich.MOST_LETTERS + 4 for line in text.split("\n")) and " ..." in text
    stages = [A]
    for n in range(90):
        before = stages[-1]
        stages.append(te.compute((4,), successor(before), name=f"S{n}"))
    program = tvmlab.lower(te.create_schedule(stages[-1].op), [A, stages[-1]])
    many = str(program).count("\n") + 1 - rich.MOST_LINES
    assert copied(shown(program)[1]).endswith(f"# ... {many} more lines: print it to see them")


def test_nothing_that_an_untrusted_page_loses():
    s, args, T = cached()
    k = s[T].op.reduce_axis[0]
    for thing in (s, s[T], args[2], tvmlab.lower(s, args), s.verdict("vectorize", T, k), s.moves(T, k)):
        html = shown(thing)[1]
        assert "<style" not in html and "var(" not in html and "class=" not in html and "<script" not in html


def luminance(colour):
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("colour", sorted({*rich.STAGES, *rich.MARKS.values(), *rich.VERDICTS.values(), rich.THREAD}))
def test_colours_are_seen_on_white_and_on_black(colour):
    """Contrast at least 3, what accessibility rules ask of large text and of marks; the dark page is #111111."""
    light, dark = (1.05) / (luminance(colour) + 0.05), (luminance(colour) + 0.05) / (luminance("#111111") + 0.05)
    assert min(light, dark) >= 3, (round(light, 1), round(dark, 1))


def test_words_get_colours_and_unfinished_lines_keep_theirs():
    from tvmlab.core.text import STYLE, coloured

    word, number = (f'<span style="color:{STYLE[x]}">' for x in ("word", "number"))
    assert coloured("for i in x:") == f"{word}for</span> i {word}in</span> x:"
    assert coloured("a < (3 +") == f"a &lt; ({number}3</span> +"
    assert not any("<span" in line and "</span>" not in line for line in coloured('x = "a\nb" for').split("\n"))


# ---------------------------------------------------------------- the table


def test_the_view_loads_when_something_is_shown():
    code = (
        "import sys; from tvmlab import te; s = te.create_schedule(te.compute((4,), lambda i: i).op); repr(s)\n"
        "assert 'tvmlab.view.rich' not in sys.modules\n"
        "assert 'text/html' in s._repr_mimebundle_() and 'tvmlab.view.rich' in sys.modules"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_the_table(monkeypatch):
    monkeypatch.setattr(hooks, "_TABLE", {})
    monkeypatch.setattr(hooks, "_LATER", [])
    loaded = []

    class Base(hooks.Shown):
        pass

    class Derived(Base):
        def __repr__(self):
            return "derived"

    assert Derived()._repr_mimebundle_() == {"text/plain": "derived"}
    hooks.later(lambda: (loaded.append(1), hooks.put("html", Base)(lambda x: "<b>base</b>")))
    assert Derived()._repr_mimebundle_() == {"text/plain": "derived", "text/html": "<b>base</b>"}
    hooks.put("text", Derived)(lambda x: "better")
    assert Derived()._repr_mimebundle_()["text/plain"] == "better"
    assert loaded == [1]
