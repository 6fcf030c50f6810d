"""A person who has never seen a schedule: from the launcher's card to a matmul that is tiled, vectorised and parallel,
runs, is checked and is told how much faster it is. At most 12 acts, never an error page.

An act is a click, a key or a value typed; keys on the way to one place (F6, arrows) are one act.
"""

import re

import pytest

from tests.ui.lab_page import LabPage

HANDS = ["mouse", "keyboard"]
MOST = 12


def matmul(page):
    """From the open catalogue to a checked run."""
    page.start()  # matmul is what the catalogue begins with
    page.choose("C.i")
    page.take("tile", {})
    page.arrive(1)
    page.choose("C.j.inner")
    page.take("vectorize")
    page.arrive(2)
    page.choose("C.i.outer")
    page.take("parallel")
    page.arrive(3)
    assert page.refusals() == 0
    page.run()
    page.says("right")


def is_done(page):
    loops = page.loops()
    assert "parallel" in loops and "vectorized" in loops and loops.count("for ") == 5
    assert [page.chips(i) for i in ("C.i.outer", "C.j.inner")] == [["par"], ["vec 32"]]
    page.runs()
    row = page.checked()
    assert re.search(r"\d.*s", row.locator("td").first.inner_text())
    page.says("without steps")  # faster, or slower: the machine may be busy


@pytest.mark.parametrize("by", HANDS)
def test_from_the_launcher_to_a_fast_matmul(fresh, by):
    lab = fresh
    lab.open("empty.ipynb", [""])
    lab.command("launcher:create", {"cwd": lab.name})
    card = lab.page.locator(".jp-LauncherCard", has_text="Schedule Lab")
    card.wait_for()
    page = LabPage(lab, by)
    page.acts += 1
    if by == "mouse":
        card.click()
    else:
        card.focus()
        lab.page.keyboard.press("Enter")
    page.wait()
    matmul(page)
    is_done(page)
    assert page.acts <= MOST
    assert "Traceback" not in lab.page.locator(".jp-Notebook:visible").inner_text()
    lab.screenshot(f"learner-{by}")


@pytest.mark.parametrize("by", HANDS)
def test_the_same_in_notebook_7(notebook7, by):
    lab = notebook7
    lab.open("book.ipynb", ["import tvmlab\nlab = tvmlab.Lab()\nlab"])
    lab.run_all()
    page = LabPage(lab, by).wait()
    if by == "keyboard":
        page.drawer("What to schedule").locator("[data-first]").wait_for()
        page.root.locator("[data-first]").focus()
    matmul(page)
    is_done(page)
    assert page.acts <= MOST
    lab.screenshot(f"notebook-7-{by}")
