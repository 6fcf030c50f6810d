"""A saved notebook whose kernel was never started: its lab can be read, and travels in time. Nothing is executed."""

from tests.ui.browser import FIND
from tests.ui.lab_page import MATMUL, STEPS, LabPage

MORE = """
lab.apply("unroll", "C.i.inner")
lab.apply("split", "C.j.outer", factor=2)"""  # 6 steps with those before
KERNEL = f"path => ({FIND})(path).sessionContext.session?.kernel ?? null"


def test_reopened_without_a_kernel_it_can_be_read_and_travelled(lab):
    lab.open("book.ipynb", [MATMUL + STEPS + MORE + "\nlab"])
    lab.run_all()
    page = LabPage(lab).wait()
    page.arrive(6)
    step3 = LabPage(lab, "keyboard")
    page.row("C.k.inner").click()
    step3.back_to(3)
    text, rows = page.loops(), page.rows()
    lab.page.keyboard.press("}")
    page.arrive(6)
    lab.until(lambda: lab.evaluate_in_kernel("lab.step") == 6)  # the view is ahead of the kernel
    lab.evaluate_in_kernel("lab.snapshot()")
    lab.save()
    lab.server.stop_kernels()
    book = lab.read("book.ipynb")
    book.metadata.clear()  # so that JupyterLab asks before it starts a kernel
    book.cells[0].source = "raise SystemExit('this must not run')"
    lab.put("book.ipynb", book)
    lab.page.goto(lab.server.address(lab.path, "nobody"))
    no_kernel(lab)
    still = LabPage(lab).wait()
    assert lab.page.evaluate(KERNEL, lab.path) is None
    assert still.at() == 6 and still.loops() != text
    assert still.button("Run").count() == 0 and still.action("split").count() == 0
    still.row("C.k.inner").click()
    for at in (5, 4, 3):
        lab.page.keyboard.press("[")
        still.arrive(at)
    assert still.loops() == text and still.rows() == rows
    still.frame(0).click()
    still.arrive(0)
    assert "range(64)" in still.loops()
    assert lab.server.api("api/kernels") == [] and "exception" not in lab.page.locator(".jp-Notebook").inner_text()
    assert lab.axe(".tvl") == []
    lab.screenshot("reopened-without-kernel", ".tvl")


def no_kernel(lab):
    """Answers what JupyterLab asks: no kernel."""
    dialog = lab.page.locator(".jp-Dialog")
    dialog.wait_for()
    dialog.locator("select").first.select_option(label="No Kernel")
    dialog.get_by_role("button", name="Select Kernel").click()
    dialog.wait_for(state="detached")
