"""What a lab is not made for: strange names, many stages, long programs, runs that never end or crash, odd factors."""

import pytest

from tests.ui.lab_page import MATMUL, show

EVIL = ["constructor", "__proto__", "<img src=x onerror='window.hacked=1'>", "it's \"quoted\"", "🐍 snake"]
NAMES = f"""
x = te.placeholder((8, 8), name="toString")
stages = [x]
for name in {EVIL!r}:
    stages.append(te.compute((8, 8), (lambda t: lambda i, j: t[i, j] + 1.0)(stages[-1]), name=name))
s = te.create_schedule(stages[-1].op)
lab = tvmlab.Lab(s, [x, stages[-1]])"""
CHAIN = """
x = t = te.placeholder({shape}, name="X")
for n in range({stages}):
    t = te.compute({shape}, (lambda t: lambda *i: t(*i) + 1.0)(t), name=f"S{{n}}")
s = te.create_schedule(t.op)
lab = tvmlab.Lab(s, [x, t])"""
START = "import tvmlab\nfrom tvmlab import te"
CALLS = """
import sys
sys.path.insert(0, {root!r})
import tests.jobs
from tvmlab import tir
A = te.placeholder((8,), name="A")
call = lambda i, o: tir.call_packed("test.jobs.{what}", i[0], o[0])
B = te.extern((8,), [A], call, name="B", dtype="float32")
s = te.create_schedule(B.op)
lab = tvmlab.Lab(s, [A, B])"""


def test_strange_names_are_only_names(book):
    page = show(book, START + NAMES)
    for name in EVIL[:-1]:
        page.row(name).wait_for()
        page.choose(f"{name}.i" if f"{name}.i" in page.rows() else name)
        page.action("split").wait_for()
    page.choose(f"{EVIL[-1]}.i")
    page.take("split", {})
    page.arrive(1)
    page.choose(f"{EVIL[0]}.j")
    page.take("vectorize")
    page.arrive(2)
    for picture in ("Graph", "Relations", "Metrics", "Roofline"):
        page.pane("pictures").get_by_role("tab", name=picture).click()
        page.pane("pictures").locator("svg").first.wait_for()
    assert book.page.evaluate("() => window.hacked") is None
    assert page.root.locator("img").count() == 0


def test_sixty_stages(book):
    page = show(book, START + CHAIN.format(shape=(8, 8), stages=60))
    assert len([row for row in page.rows() if "." not in row]) == 61
    loop = next(row for row in page.rows() if row.startswith("S30."))
    page.choose(loop)
    page.take("parallel")
    page.arrive(1)
    assert page.chips(loop) == ["par"]


def test_a_long_program_scrolls(book):
    page = show(book, START + CHAIN.format(shape=(2,) * 16, stages=112))
    lines = page.pane("code").locator("[role=listbox]")
    total = int(page.pane("code").locator("[data-row]").first.get_attribute("aria-setsize"))
    assert total >= 2000 and page.pane("code").locator("[data-row]").count() < 300
    for part in (0.3, 0.7, 1.0):
        lines.evaluate("(box, part) => { box.scrollTop = (box.scrollHeight - box.clientHeight) * part }", part)
        row = int((total - 1) * part)
        near = f"box => [...box.querySelectorAll('[data-row]')].some(r => Math.abs(r.dataset.row - {row}) < 40)"
        page.pane("code").locator(f"[data-row='{total - 1}']").wait_for() if part == 1 else book.until(
            lambda near=near: lines.evaluate(near)
        )
    lines.focus()
    book.page.keyboard.press("Home")
    page.pane("code").locator("[data-row='0']").wait_for()


def test_a_run_that_never_ends_is_cancelled_and_the_kernel_answers(book):
    forever = START + """
A = te.placeholder((8,), name="A")
k = [te.reduce_axis((0, 100000), name=f"k{n}") for n in range(3)]
B = te.compute((8,), lambda i: te.sum(te.sin(A[i] + k[0] + k[1] * k[2]), axis=k), name="B")
s = te.create_schedule(B.op)
lab = tvmlab.Lab(s, [A, B])"""
    page = show(book, forever)
    page.run()
    stop = page.button("Cancel")
    stop.wait_for()
    assert book.evaluate_in_kernel("6 * 7") == 42
    page.choose("B.i")
    page.take("parallel")
    page.arrive(1)
    stop.click()
    page.says("cancelled")
    page.button("Run").wait_for()
    assert book.evaluate_in_kernel("[r['state'] for r in lab.runs.payload()['rows']]") == ["cancelled"]


def test_a_run_that_crashes_is_a_row_and_the_kernel_goes_on(book):
    from tests.ui.browser import ROOT

    page = show(book, START + CALLS.format(root=str(ROOT), what="crash"))
    page.run()
    page.says("failed")
    page.runs()
    row = page.drawer("Runs").locator("tbody")
    row.get_by_text("failed", exact=True).wait_for()
    assert "SIGSEGV" in row.inner_text() and "Traceback" not in row.inner_text()
    assert book.evaluate_in_kernel("6 * 7") == 42
    page.close()


@pytest.mark.parametrize("factor", ["0", "1000000000", "-3", "abc"])
def test_an_odd_factor_is_refused_in_its_place(book, factor):
    page = show(book, MATMUL)
    page.choose("C.i")
    page.action("split").locator("[data-start]").click()
    form = page.action("split").locator("form")
    field = form.get_by_role("textbox")
    field.fill(factor)
    if factor == "1000000000":  # legal as in te: one outer iteration; whatever is said, nothing breaks
        field.press("Escape")
    else:
        form.locator("[aria-invalid=true]").wait_for()
        field.press("Enter")
        assert form.get_by_role("button", name="Apply").get_attribute("aria-disabled") == "true"
        assert form.locator(".tvl-card, .tvl-reason").inner_text().strip()
    assert page.at() == 0 and book.evaluate_in_kernel("lab.step") == 0
    if factor != "1000000000":
        field.fill("16")
        form.locator("[aria-invalid=true]").wait_for(state="detached")
        field.press("Enter")
        page.arrive(1)
