"""Tuning in the lab: values of a step are searched, a trial is looked at and adopted, and one Undo takes it back."""

import re

from tests.ui.lab_page import MATMUL, show

TILED = MATMUL.replace("64", "128").replace("[A, B, C]", '[A, B, C], target="llvm"')
TILED += '\nlab.apply("tile", "C.i", "C.j", 16, 16)'
FACTORS = "[v for v in lab.document.entries[0].args.values() if isinstance(v, int)]"


def test_a_tiled_matmul_is_tuned(book):
    page = show(book, TILED)
    page.arrive(1)
    page.button("Edit step", "history").click()
    page.root.locator("form.tvl-stepbar").get_by_role("button", name="Make tunable").click()
    drawer = page.drawer("Tune")
    trials = drawer.locator("[data-trial]")
    drawer.locator(".tvn-openables input:checked").nth(1).wait_for()
    for label, text in {"trials": "60", "file": ""}.items():
        drawer.get_by_label(label, exact=True).fill(text)
        drawer.get_by_label(label, exact=True).press("Enter")

    page.press("Start")
    trials.nth(2).wait_for(timeout=60_000)
    page.press("Pause")
    button(drawer, "Resume").wait_for()
    drawer.get_by_role("tab", name="Parallel").click()
    drawer.get_by_role("option", name="1", exact=True).locator("circle").first.click()
    drawer.locator(".tvn-chip[aria-pressed=false]", has_text=re.compile("^1$")).wait_for()
    for tab in ("Landscape", "Parallel", "Model", "Progress"):
        drawer.get_by_role("tab", name=tab).click()
        assert book.axe(".tvl") == [], tab
    page.press("Resume")
    trials.nth(5).wait_for(timeout=60_000)
    page.press("Stop")
    button(drawer, "Start").wait_for()

    button(trials.filter(has_not_text="the steps now").last, "Look").click()
    page.root.locator(".tvl-preview").wait_for()
    drawer.get_by_role("group", name="Trial").get_by_role("button", name="Adopt").click()
    book.until(lambda: book.evaluate_in_kernel(FACTORS) != [16, 16])
    page.close()
    page.undo()
    book.until(lambda: book.evaluate_in_kernel(FACTORS) == [16, 16])


def button(drawer, name):
    return drawer.get_by_role("button", name=name, exact=True)
