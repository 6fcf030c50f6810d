"""A schedule bound to threads, in the lab: its target, its texts, the picture of its warps, a run on OpenCL."""

import pytest

from tests.ui.lab_page import show

pytest.importorskip("pyopencl")
TILED = """import tvmlab
from tvmlab.kernels import matmul
s, args = matmul.gpu(m=96, n=64, k=48)
lab = tvmlab.Lab(s, args, target="opencl")"""


@pytest.fixture
def page(book):
    book.page.set_viewport_size({"width": 1560, "height": 1000})
    return show(book, TILED)


def test_loops_texts_and_picture(book, page):
    page.shows('barrier("shared")  # A_shared')
    line = page.pane("code").locator("[data-row]", has_text='barrier("shared")').first
    assert "other threads may touch the same elements of A_shared" in line.get_attribute("title")
    for tab, text in (("OpenCL C", "__kernel"), ("CUDA C++", "__global__"), ("Metal", "threadgroup"),
                      ("Python (Numba CUDA)", "@cuda.jit")):  # fmt: skip
        page.pane("code").get_by_role("tab", name=tab, exact=True).click()
        page.shows(text)
    book.screenshot("gpu-source-light", ".jp-Notebook .tvl")
    page.pane("pictures").get_by_role("tab", name="Parallel").click()
    page.pane("pictures").locator("svg", has_text="first block, by warps").wait_for()
    assert book.axe(".tvl") == []
    book.screenshot("gpu-parallel-light", ".jp-Notebook .tvl")


def test_a_run_on_opencl(book, page):
    page.run()
    page.says("right")
    book.screenshot("gpu-run-light", ".jp-Notebook .tvl")
