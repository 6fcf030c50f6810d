"""Each screen in light and dark, wide, medium and narrow: a picture to look at, and axe-core finds nothing serious.

`TVMLAB_SCREENSHOTS=tests/ui/shots` writes the pictures that are kept.
"""

import pytest

from tests.ui.lab_page import MATMUL, STEPS, show

THEMES = ["JupyterLab Light", "JupyterLab Dark"]
WIDTHS = {"wide": 1560, "medium": 1000, "narrow": 620}
DRAWERS = ["workload", "Runs", "Compare", "Save and export", "Keys", "About the numbers"]


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_lab(book, theme, width):
    book.page.set_viewport_size({"width": WIDTHS[width], "height": 1000})
    book.theme(theme)
    page = show(book, MATMUL + STEPS)
    book.page.locator(f".tvl[data-width={width}]").wait_for()
    tabs = ["Schedule", "Code", "Pictures", "History"] if width == "narrow" else [""]
    for tab in tabs:
        if tab:
            page.root.get_by_role("tab", name=tab, exact=True).click()
        picture(book, f"{width}-{tab.lower()}".strip("-"), theme)
        assert book.axe(".tvl") == []


@pytest.mark.parametrize("theme", THEMES)
def test_its_screens(book, theme):
    book.page.set_viewport_size({"width": WIDTHS["wide"], "height": 1000})
    book.theme(theme)
    page = show(book, MATMUL + STEPS)
    page.choose("C.k.inner")
    page.why("vectorize")
    page.root.locator(".tvl-card").wait_for()
    picture(book, "why", theme)
    assert book.axe(".tvl") == []
    for name in ("Relations", "Metrics", "Roofline"):
        page.pane("pictures").get_by_role("tab", name=name).click()
        page.pane("pictures").locator("svg").first.wait_for()
        assert book.axe(".tvl") == [], name
    for step, start in ((2, page.pin), (3, page.run)):
        page.back_to(step)
        start()
        page.says(f"Run of step {step}: right")
    for name in DRAWERS:
        if name == "workload":
            page.pane("header").locator(".tvl-title").click()
            page.drawer().locator("[data-first]").wait_for()
        else:
            page.open(name)
        if name == "Compare":
            page.press("Compare")
            page.drawer().locator(".tvl-verdict").wait_for()
        picture(book, name.lower().replace(" ", "-"), theme)
        assert book.axe(".tvl") == [], name
        page.close()


def picture(book, name, theme):
    book.page.mouse.move(0, 0)
    book.screenshot(f"{name}-{theme.split()[-1].lower()}", ".jp-Notebook .tvl")
