"""What a person wants of a lab, by mouse and by keyboard: tasks 2, 3, 5, 7, 8 and 10 of the lab's acceptance list."""

import re

import pytest

from tests.ui.lab_page import MATMUL, SOURCES, STEPS, LabPage, fill_cell, show, sources

pytestmark = pytest.mark.parametrize("by", ["mouse", "keyboard"])
ALL = len(STEPS.strip().splitlines())
RESTART = """path => [...window.jupyterapp.shell.widgets('main')].find(w => w.context?.path === path)
  .sessionContext.session.kernel.restart()"""


def enter(page, by):
    """The keyboard begins inside the lab, at the loop that is chosen."""
    if by == "keyboard":
        page.root.locator("[role=treeitem][tabindex='0']").focus()


def test_2_why_not_and_an_alternative(book, by):
    page = show(book, MATMUL, by)
    enter(page, by)
    page.choose("C.k")
    page.why("vectorize")
    card = page.root.locator(".tvl-card")
    card.get_by_text("not legal").wait_for()
    assert "both update C[i, j]" in card.inner_text()
    offered = card.get_by_role("button", name=re.compile(r"^\+")).all_inner_texts()
    assert 1 <= len(offered) <= 3
    page.move("vectorize(j)")
    page.arrive(1)
    assert page.chips("C.j") == ["vec 64"] and page.refusals() == 0
    assert book.evaluate_in_kernel("[e.primitive for e in lab.document.entries]") == ["vectorize"]


def test_3_an_earlier_step_is_changed_and_the_later_ones_follow(book, by):
    page = show(book, MATMUL + STEPS, by)
    enter(page, by)
    page.arrive(ALL)
    page.back_to(2)
    assert "vectorized" not in page.loops()
    page.back_to(1)
    page.edit({"tile of i": 32, "tile of j": 32})
    page.shows("range(32)")
    page.to_the_end()
    page.arrive(ALL)
    page.shows("vectorized(32)")
    assert "parallel" in page.loops()
    assert book.evaluate_in_kernel("[e.parked for e in lab.document.entries]") == [False] * ALL
    assert "16" not in page.frame(1).inner_text()


def test_5_two_versions_a_verdict_and_why(book, by):
    big = MATMUL.replace("64", "192")
    page = show(book, big, by)
    enter(page, by)
    page.pin()
    page.says("right")
    page.choose("C.i")
    page.take("tile", {})
    page.arrive(1)
    page.choose("C.j.inner")
    page.take("vectorize")
    page.arrive(2)
    page.run()
    page.says("Run of step 2: right")
    page.compare()
    verdict = page.drawer("Compare").locator(".tvl-verdict")
    verdict.wait_for()
    assert re.search(r"faster|slower|same within noise", verdict.inner_text())
    assert re.search(r"\d.*\d.*(interval|rounds)", verdict.inner_text())
    why = page.drawer("Compare").locator(".tvl-reasons li")
    assert (why.count() > 0) == ("same within noise" not in verdict.inner_text())
    page.close()


def test_7_copied_code_makes_the_same_schedule_in_a_new_kernel(book, by):
    page = show(book, MATMUL + STEPS, by)
    enter(page, by)
    page.arrive(ALL)
    made = book.evaluate_in_kernel("str(lab.schedule.trace)")
    page.copy()
    page.says("Copied")
    calls = book.page.evaluate("() => navigator.clipboard.readText()")
    page.open("Copy the whole program")
    page.says("whole program")
    whole = book.page.evaluate("() => navigator.clipboard.readText()")
    book.page.evaluate(RESTART, book.path)
    book.wait_idle()
    fill_cell(book, 1, whole)
    book.run(1)
    assert book.evaluate_in_kernel("str(s.trace)") == made
    fill_cell(book, 2, MATMUL + "\n" + calls)
    book.run(2)
    assert book.evaluate_in_kernel("str(s.trace)") == made
    page.root.get_by_text("Disconnected.").wait_for()


def test_8_an_act_never_writes_over_a_persons_cell(book, by):
    page = show(book, MATMUL + STEPS, by)
    enter(page, by)
    page.arrive(ALL)
    fill_cell(book, 1, "s[C].unroll(C.op.axis[0])  # being written by hand")
    mine = sources(book)
    enter(page, by)
    page.undo()
    page.arrive(ALL - 1)
    page.choose("C.i.inner")
    page.take("unroll")
    page.arrive(ALL)
    assert sources(book) == mine
    book.command("tvmlab:insert-code-cell")
    book.page.wait_for_function(f"([path, n]) => ({SOURCES})(path).length === n", arg=[book.path, len(mine) + 1])
    now = sources(book)
    added = [text for text in now if text not in mine]
    assert [text for text in now if text in mine] == mine and len(added) == 1 and "unroll" in added[0]
    book.command("notebook:delete-cell")
    assert len(sources(book)) == len(mine)


def test_10_a_page_that_travels_in_time_offline(book, by):
    page = show(book, MATMUL + STEPS, by)
    enter(page, by)
    page.arrive(ALL)
    page.open("Save and export")
    with book.page.expect_download() as download:
        page.press("Export as a page")
    page.close()
    file = book.folder / f"{by}.html"
    download.value.save_as(file)
    with alone(book) as other:
        other.goto(file.as_uri())
        still = LabPage(book, by, "body", other).wait()
        assert still.at() == ALL and "parallel" in still.loops()
        other.keyboard.press("[")  # at once: nothing was clicked
        still.arrive(ALL - 1)
        other.keyboard.press("]")
        still.arrive(ALL)
        enter(still, by)
        still.back_to(1)
        assert "parallel" not in still.loops() and "range(16)" in still.loops()
        assert still.action("split").count() == 0 and still.button("Run").count() == 0


def test_10_a_saved_notebook_on_a_page_without_scripts(book, by):
    """As GitHub and nbviewer show it: only the HTML, no script, no style sheet."""
    page = show(book, MATMUL + STEPS, by)
    enter(page, by)
    page.undo()
    page.arrive(ALL - 1)
    book.evaluate_in_kernel("lab.snapshot()")
    book.save()
    outputs = book.read("book.ipynb").cells[0].outputs
    html = "".join(o.data.get("text/html", "") for o in outputs if "data" in o)
    html = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.S)
    html = re.sub(r"\s(style|class|on\w+)=(\"[^\"]*\"|'[^']*')", "", html)
    with alone(book) as other:
        other.set_content(html)
        text = other.locator("body").inner_text()
        details = other.locator("details").evaluate_all("all => all.map(one => one.textContent)")
    assert "vectorized(16)" in text + "".join(details) and "parallel(" not in text + "".join(details)
    assert "j.inner" in text + "".join(details)


class alone:
    """A page of another browser profile that cannot reach any machine."""

    def __init__(self, book):
        self.context = book.context.browser.new_context(offline=True, viewport={"width": 1200, "height": 900})
        self.book = book

    def __enter__(self):
        page = self.context.new_page()
        page.on("console", self.book._said)
        page.on("pageerror", lambda error: self.book.errors.append(str(error)))
        return page

    def __exit__(self, *_):
        self.context.close()
