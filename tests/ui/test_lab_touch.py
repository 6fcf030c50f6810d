"""With a finger: rows are carried by their handle and extents by their edge; elsewhere a finger scrolls."""

import pytest

from tests.ui.browser import tab
from tests.ui.lab_page import MATMUL, show


@pytest.fixture
def finger(browser, lab_server, request):
    with tab(browser, lab_server, request.node.name, has_touch=True) as it:
        it.open("book.ipynb", ["", "", ""])
        it.touch = it.context.new_cdp_session(it.page)
        yield it


def drag(it, start, dx, dy, steps=8):
    box = start.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def send(kind, *points):
        it.touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in points]})

    send("touchStart", (x, y))
    for n in range(1, steps + 1):
        send("touchMove", (x + dx * n / steps, y + dy * n / steps))
        it.page.wait_for_timeout(30)
    it.page.locator(".tvl-tip").wait_for()
    it.page.wait_for_timeout(300)  # a finger rests before it leaves
    send("touchEnd")


def test_a_finger_reorders_and_splits(finger):
    page = show(finger, MATMUL)
    height = page.row("C.i").bounding_box()["height"]
    assert height >= 32  # a finger is wide
    drag(finger, page.row("C.k").locator("[data-handle]"), 0, -2 * height)
    page.arrive(1)
    assert page.rows()[:4] == ["C", "C.k", "C.i", "C.j"]
    drag(finger, page.row("C.j").locator("[data-edge]"), -60, 0)
    page.arrive(2)
    assert page.rows()[3:5] == ["C.j.outer", "C.j.inner"]
