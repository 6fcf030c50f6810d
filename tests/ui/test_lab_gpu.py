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
    page.pane("pictures").locator("svg", has_text="block 0, 0, by warps").wait_for()
    assert book.axe(".tvl") == []
    book.screenshot("gpu-parallel-light", ".jp-Notebook .tvl")


def test_a_run_on_opencl(book, page):
    page.run()
    page.says("right")
    book.screenshot("gpu-run-light", ".jp-Notebook .tvl")


def test_a_block_a_warp_and_a_lane_are_chosen(book, page):
    """By keyboard in the fields, by mouse in the maps; kept while a step is taken; what is not there is said."""
    pictures = page.pane("pictures")
    pictures.get_by_role("tab", name="Parallel").click()
    drawn = pictures.locator(".tvl-drawing svg")
    fields = pictures.get_by_role("group", name="What to look at")
    fields.get_by_role("textbox", name="block y").focus()
    book.page.keyboard.press("ArrowUp")
    drawn.get_by_text("block 0, 1, by warps").wait_for()
    drawn.locator('[data-id="?warp=2"]').first.click()
    drawn.get_by_text("accesses of warp 2 of block 0, 1").wait_for()
    drawn.locator('[data-id="?lane=7"]').first.click()
    drawn.get_by_text("its lane 7 computes C").wait_for()
    assert book.evaluate_in_kernel("lab.looked") == {"parallel": {"by": 1, "warp": 2, "lane": 7}}
    assert book.axe(".tvl") == []
    book.screenshot("gpu-chosen-light", ".jp-Notebook .tvl")
    book.theme("JupyterLab Dark")
    assert book.axe(".tvl") == []
    book.screenshot("gpu-chosen-dark", ".jp-Notebook .tvl")
    book.theme("JupyterLab Light")
    fields.get_by_role("textbox", name="block y").fill("9")
    pictures.get_by_text("block y 9 is not there (0 to 1 are): 1 is shown").wait_for()
    page.choose("C.local.k.inner")
    page.take("unroll")
    page.says("Step")
    drawn.get_by_text("accesses of warp 2 of block 0, 1").wait_for()


def test_what_the_compiler_says_comes_by_itself(book, page):
    from tvmlab.target.cuda_c import check

    pictures = page.pane("pictures")
    pictures.get_by_role("tab", name="Parallel").click()
    drawn = pictures.locator(".tvl-drawing svg")
    drawn.get_by_text("the driver of the device compiles the kernel").wait_for()
    book.evaluate_in_kernel("setattr(lab, 'target', 'cuda_c -arch=sm_90') or lab._changed()")
    drawn.get_by_text("predicted, sm_90").wait_for()
    drawn.get_by_text("pip install" if check.missing() else "registers a thread, 8 KiB").wait_for()
    book.screenshot("gpu-compiled-light", ".jp-Notebook .tvl")
    pictures.get_by_role("combobox", name="device").select_option("sm_80")
    drawn.get_by_text("ptxas, sm_80").wait_for()


WIDE = """import tvmlab
from tvmlab import te
A = te.placeholder((4096,), name="A")
B = te.compute((4096,), lambda i: A[i] + 1.0, name="B")
s = te.create_schedule(B.op)
bx, tx = s[B].split(B.op.axis[0], 1024)
s[B].bind(bx, te.thread_axis("blockIdx.x"))
s[B].bind(tx, te.thread_axis("threadIdx.x"))
lab = tvmlab.Lab(s, [A, B], target="interp")"""


def test_what_a_target_refuses_is_said_in_the_head_however_narrow(book):
    page = show(book, WIDE)
    page.runs()
    box = page.drawer("Runs").get_by_role("combobox", name="target")
    assert box.input_value() == "interp"
    box.select_option("opencl")
    page.root.get_by_text("not for opencl: threadIdx.x = 1024 threads per block; OpenCL promises 256").wait_for()
    page.close()
    page.run()
    page.says("failed: threadIdx.x = 1024 threads per block; OpenCL promises 256")
    for width in (1560, 800, 420):
        book.page.set_viewport_size({"width": width, "height": 1000})
        book.page.wait_for_function("e => e.scrollWidth <= e.clientWidth", arg=page.root.element_handle())
        head = page.root.locator(".tvl-header-state")
        assert head.evaluate("e => [...e.querySelectorAll('button')].every(b => b.scrollWidth <= b.clientWidth)")
