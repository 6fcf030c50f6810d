"""A lab outlives its views: they agree, a reload and a lost kernel lose nothing, a saved notebook can be read."""

import re

import pytest

from tests.ui.browser import FIND, OPEN
from tests.ui.lab_page import MATMUL, SET, STEPS, LabPage, show

RESTART = f"path => ({FIND})(path).sessionContext.session.kernel.restart()"
PANEL = "() => window.jupyterapp.shell.activateById('tvmlab-labs')"


def test_a_cell_a_tab_and_another_page_agree(lab):
    """In a workspace of its own: JupyterLab remembers an open tab for a while after it was closed."""
    book = lab
    book.page.set_viewport_size({"width": 1560, "height": 1000})
    book.open("book.ipynb", ["", "", ""])
    cell = show(book, MATMUL + STEPS)
    cell.arrive(4)
    book.page.evaluate(PANEL)
    book.page.locator(".tvx-sidebar").get_by_role("button", name="in a tab").click()
    tab = LabPage(book, within=".tvx-tab").wait()
    other_page = book.new_page()
    other_page.set_viewport_size({"width": 1400, "height": 900})
    book.save()
    other_page.goto(book.server.address(book.path, "another-page"))
    other_page.wait_for_function(OPEN, arg=book.path)
    other = LabPage(book, page=other_page).wait()
    views = (cell, tab, other)
    for acting, key, step in ((cell, "ControlOrMeta+z", 3), (tab, "ControlOrMeta+z", 2), (other, "]", 3)):
        acting.root.locator("[role=tab][aria-selected=true]").first.focus()
        acting.page.keyboard.press(key)
        for view in views:
            view.reach(step)
    for view in (cell, tab):  # narrow beside each other
        view.root.get_by_role("tab", name="Schedule", exact=True).click()
        view.row("C").wait_for()
    assert cell.rows() == tab.rows() == other.rows()
    book.evaluate_in_kernel("lab.redo().step")
    for view in views:
        view.reach(4)


def test_code_and_clicks_share_one_history(book):
    page = show(book, MATMUL)
    page.choose("C.j")
    page.take("vectorize")
    page.arrive(1)
    assert book.evaluate_in_kernel("[e.label for e in lab.document.entries]") == ["vectorize j"]
    book.page.evaluate(SET, [book.path, [MATMUL + "\nlab", "io, ii = s[C].split(C.op.axis[0], 8)"]])
    book.run(1)
    page.arrive(2)
    page.row("C.i.outer").wait_for()
    page.shows("range(8)")
    book.evaluate_in_kernel("lab.undo().step")
    page.arrive(1)
    assert "C.i" in page.rows()


def test_a_reload_draws_everything_again(book):
    page = show(book, MATMUL + STEPS)
    page.arrive(4)
    page.undo()
    page.arrive(3)
    loops = page.loops()
    book.save()
    book.reload()
    page.wait().arrive(3)
    assert page.loops() == loops
    page.redo()
    page.arrive(4)


def test_a_restarted_kernel_leaves_the_lab_readable(book):
    page = show(book, MATMUL + STEPS)
    page.arrive(4)
    page.shows("parallel")
    book.page.evaluate(RESTART, book.path)
    book.wait_idle()
    page.root.get_by_text("Disconnected.").wait_for()
    assert page.button("Run").count() == 0 and page.action("split").count() == 0
    page.row("C.j.inner").click()
    book.page.keyboard.press("[")
    page.arrive(3)
    assert "parallel" not in page.loops() and "vectorized" in page.loops()
    assert page.button("Copy code").get_attribute("title") == "saved for step 4 only"
    book.page.keyboard.press("]")
    page.arrive(4)
    page.copy()
    page.says("Copied")
    assert "parallel" in book.page.evaluate("() => navigator.clipboard.readText()")
    book.run(0)
    page.wait()
    page.root.get_by_text("Disconnected.").wait_for(state="detached")
    page.arrive(4)


@pytest.mark.parametrize("width, pixels", [("wide", 1560), ("medium", 1000), ("narrow", 620)])
def test_the_layout_follows_the_width(book, width, pixels):
    page = show(book, MATMUL + STEPS)
    book.page.set_viewport_size({"width": pixels, "height": 1000})
    book.page.locator(f".tvl[data-width={width}]").wait_for()
    wider = "root => [...root.querySelectorAll('.tvl, .tvl *')].filter(e => e.scrollLeft > 0).length"
    over = "root => root.scrollWidth - root.clientWidth"
    assert page.root.evaluate(over) <= 0 and page.root.evaluate(wider) == 0
    if width == "narrow":
        for part in ("Schedule", "Code", "Pictures", "History"):
            page.root.get_by_role("tab", name=re.compile(f"^{part}$")).click()
            assert page.root.evaluate(over) <= 0, part
    book.page.set_viewport_size({"width": 1560, "height": 1000})
