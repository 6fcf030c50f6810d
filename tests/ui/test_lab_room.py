"""Room: where the layout is tightest no label is cut and nothing sticks out. And pointer, wheel and focus."""

import pytest

from tests.ui.lab_page import MATMUL, STEPS, field, show

# Labels of which a part is not seen, and whatever sticks out of the lab.
LABELS = "[role=tab], [role=tablist], .tvl-header .tvl-word, .tvl-action-name, h2, .tvl-t-chips"
CUT = f"""root => [...root.querySelectorAll('{LABELS}')]
  .filter(e => e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1).map(e => e.textContent)"""
PARTS = ":is(.tvl-header, .tvl-bar, .tvl-code-bar, .tvl-action-line, .tvl-stepbar)"
OUT = f"""root => [...root.querySelectorAll('{PARTS} *')]
  .filter(e => e.checkVisibility() && e.getBoundingClientRect().right > root.getBoundingClientRect().right)
  .map(e => e.className + e.textContent)"""
RESIZE = "(root, px) => { root.parentElement.style.flex = 'none'; root.parentElement.style.width = `${px}px`; }"
BARS = """root => [...root.querySelectorAll('.tvl-t-fit')]
  .map(e => [e.clientWidth, e.firstElementChild.offsetTop - e.offsetTop])"""


# The first action comes to this height of the page.
ABOVE = """(root, y) => {
  const line = root.querySelector('[data-action]');
  const top = y - 8 - line.getBoundingClientRect().y;
  line.closest('[data-pane]').style.cssText = `position: relative; z-index: 9; top: ${top}px`;
}"""


@pytest.mark.parametrize("px", [322, 622, 965, 1100])
def test_no_label_is_cut(book, px):
    page = show(book, MATMUL + STEPS)
    page.choose("C")
    page.root.evaluate(RESIZE, px)
    width = "narrow" if px < 600 else "medium" if px < 960 else "wide"
    book.page.locator(f".tvl[data-width={width}]").wait_for()
    for tab in ["Schedule", "Code", "Pictures", "History"] if px < 600 else [""]:
        if tab:
            page.root.get_by_role("tab", name=tab, exact=True).click()
        assert page.root.evaluate(CUT) == []
        assert page.root.evaluate(OUT) == []


def test_a_bar_of_the_tree_is_whole_or_not_there(book):
    page = show(book, MATMUL + STEPS)
    page.root.evaluate(RESIZE, 1100)
    assert {seen for _, seen in page.root.evaluate(BARS)} == {0}
    page.root.evaluate("root => { root.querySelector('[data-pane=tree]').style.width = '100px'; }")
    narrow = page.root.evaluate(BARS)
    assert all(seen == 0 if width >= 30 else seen >= 18 for width, seen in narrow)
    assert any(width < 30 for width, _ in narrow)


def test_an_action_that_comes_under_a_resting_pointer_is_not_previewed(book):
    page = show(book, MATMUL + STEPS)
    page.choose("C.k.inner")
    at = page.row("C.k.inner").bounding_box()
    x, y = at["x"] + 40, at["y"] + 8
    book.page.mouse.move(x, y)
    page.root.evaluate(ABOVE, y)
    book.page.wait_for_function("root => root.querySelector('[data-action]:hover')", arg=page.root.element_handle())
    book.page.wait_for_timeout(400)  # of what must not come nothing can be awaited
    assert page.root.locator(".tvl-preview").count() == 0
    book.page.mouse.move(x + 2, y)
    page.root.locator(".tvl-preview").wait_for()


def test_an_alternative_is_previewed(book):
    page = show(book, MATMUL + STEPS)
    page.choose("C.k.inner")
    page.why("vectorize")
    move = page.root.locator(".tvl-moves button").first
    move.hover()
    page.root.locator(".tvl-preview").wait_for()
    book.page.mouse.move(1, 1)
    page.root.locator(".tvl-preview").wait_for(state="detached")


def test_the_wheel_over_a_pane_that_cannot_scroll_scrolls_the_notebook(book):
    page = show(book, MATMUL)
    top = page.root.bounding_box()["y"]
    page.pane("code").locator(".tvl-lines").hover()
    book.page.mouse.wheel(0, 120 if top > 0 else -120)
    moved = "([root, top]) => root.getBoundingClientRect().y !== top"
    book.page.wait_for_function(moved, arg=[page.root.element_handle(), top])


def test_after_a_step_was_changed_undo_is_the_labs(book):
    page = show(book, MATMUL + STEPS, "keyboard")
    page.film().focus()
    page.back_to(2)
    page.edit({"factor": 4})
    factor = field(page.root.locator("form.tvl-stepbar"), "factor")
    extent = page.row("C.k.inner").locator(".tvl-t-extent")
    extent.get_by_text("4", exact=True).wait_for()
    page.focused(page.film())
    assert factor.input_value() == "4"
    page.undo()
    extent.get_by_text("8", exact=True).wait_for()
    assert factor.input_value() == "8"
