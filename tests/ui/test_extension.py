"""What the JupyterLab extension adds around a lab: launcher, panel, tab, commands, saved outputs, files."""

import json

import nbformat
import pytest

LAB = "from tvmlab import Lab\nlab = Lab()\nlab"
STEPS = """lab.apply("split", "C.i", factor=32)
lab.apply("split", "C.j", factor=16)
lab.apply("vectorize", "C.j.inner")"""
MIME = "application/vnd.tvmlab.schedule+json"
FIND = "path => [...window.jupyterapp.shell.widgets('main')].find(w => w.context?.path === path)"
PANEL = "() => window.jupyterapp.shell.activateById('tvmlab-labs')"


@pytest.fixture
def running(fresh):
    """A notebook whose lab is at step 3."""
    return at_step_3(fresh)


def at_step_3(lab):
    lab.open("book.ipynb", [LAB, STEPS])
    lab.run_all()
    live(lab).wait_for()
    return lab


def live(lab):
    """The lab in its cell."""
    return lab.page.locator(".jp-Notebook .tvx-live .tvl")


def panel(lab):
    lab.page.evaluate(PANEL)
    return lab.page.locator(".tvx-sidebar")


def snapshot(lab):
    """Saves the notebook with the still copies as they are now."""
    lab.command("tvmlab:snapshot-all")
    lab.page.get_by_text("still copy of one lab was written").wait_for()
    lab.save()


def source(lab, cell):
    code = f"([path, n]) => ({FIND})(path).content.model.cells.get(n).sharedModel.getSource()"
    return lab.page.evaluate(code, [lab.path, cell])


def test_the_launchers_card_opens_a_lab_that_runs(fresh):
    lab = fresh
    lab.open("empty.ipynb", [""])
    lab.command("launcher:create", {"cwd": lab.name})
    lab.page.locator(".jp-LauncherCard", has_text="Schedule Lab").click()
    lab.page.locator(".tvl").first.wait_for()
    path = lab.page.evaluate("() => window.jupyterapp.shell.currentWidget.context.path")
    assert path == f"{lab.name}/Schedule Lab.ipynb"
    book = nbformat.read(lab.folder / "Schedule Lab.ipynb", as_version=4)
    nbformat.validate(book)
    assert "Lab()" in book.cells[1].source
    lab.command("tvmlab:new-notebook", {"cwd": lab.name})
    lab.page.wait_for_function("() => window.jupyterapp.shell.currentWidget.context?.path.endsWith('Lab 2.ipynb')")


def test_the_panel_explains_itself_then_lists_labs_and_shows_them(fresh):
    lab = fresh
    lab.open("book.ipynb", ["1", LAB])
    side = panel(lab)
    side.get_by_text("this notebook has none that is running").wait_for()
    lab.screenshot("panel-empty")
    side.get_by_role("button", name="Insert example cell").click()
    assert "Lab()" in source(lab, 1)
    lab.run(2)
    row = side.locator(".tvx-lab")
    row.get_by_text("matmul").wait_for()
    lab.page.evaluate(f"path => {{ ({FIND})(path).content.activeCellIndex = 0 }}", lab.path)
    row.locator(".tvx-show").click()
    assert lab.page.evaluate(f"path => ({FIND})(path).content.activeCellIndex", lab.path) == 2
    assert lab.axe(".tvx-sidebar") == []


def test_a_lab_in_a_tab_is_the_same_lab_and_comes_back_after_a_reload(lab):
    at_step_3(lab)
    panel(lab).get_by_role("button", name="in a tab").click()
    tab = lab.page.locator(".tvx-tab .tvl")
    tab.wait_for()
    lab.front()
    lab.command("tvmlab:undo")
    panel(lab).get_by_text("step 2 of 3").wait_for()
    for view in (tab, live(lab)):
        view.get_by_text("Back at step 2").wait_for()
    lab.screenshot("tab-beside-notebook")
    lab.save()
    layout = f"lab/api/workspaces/{lab.name}"
    lab.until(lambda: "tvmlab-labs:" in json.dumps(lab.server.api(layout)))
    lab.reload()
    tab.wait_for()
    live(lab).wait_for()
    panel(lab).get_by_text("step 2 of 3").wait_for()


def test_commands_act_on_the_lab(running):
    lab = running
    panel(lab).get_by_text("step 3 of 3").wait_for()
    lab.command("tvmlab:undo")
    panel(lab).get_by_text("step 2 of 3").wait_for()
    lab.command("tvmlab:redo")
    panel(lab).get_by_text("step 3 of 3").wait_for()
    lab.command("tvmlab:copy-code")
    copied = lab.page.evaluate("() => navigator.clipboard.readText()")
    assert "split" in copied and "vectorize" in copied
    lab.command("tvmlab:insert-code-cell")
    assert source(lab, 1) == copied and source(lab, 2) == STEPS
    with lab.page.expect_download() as download:
        lab.command("tvmlab:export-html")
    assert download.value.suggested_filename.endswith(".html")
    assert "<html" in download.value.path().read_text()


def test_commands_say_why_they_cannot_act(fresh):
    lab = fresh
    lab.open("book.ipynb", ["1"])
    lab.command("tvmlab:undo")
    lab.page.get_by_text("Undo the Last Step: there is no lab in this notebook").wait_for()
    lab.command("apputils:activate-command-palette")
    lab.page.keyboard.type("schedule lab")
    lab.page.locator(".lm-CommandPalette-itemLabel", has_text="Copy Code (there is no lab in this notebook)").wait_for()


def test_the_toolbar_writes_still_copies(running):
    lab = running
    lab.page.locator("[data-jp-item-name=tvmlab-snapshot]").click()
    lab.page.get_by_text("still copy of one lab was written").wait_for()
    lab.save()
    documents = [o.data[MIME] for o in lab.read("book.ipynb").cells[0].outputs if "state" in o.data.get(MIME, {})]
    assert [len(d["state"]["history"]["steps"]) for d in documents] == [3]


def asked(lab, item):
    """Whether the item came. JupyterLab waits a second for answers: on a busy machine that may take two tries."""
    lab.page.keyboard.press("Tab")
    lab.page.wait_for_timeout(1500)
    return item.is_visible()


def test_names_of_loops_are_completed(running):
    lab = running
    panel(lab).locator(".tvx-lab").wait_for()
    lab.front()
    lab.command("notebook:insert-cell-below")
    lab.command("notebook:enter-edit-mode")
    lab.page.keyboard.type('lab.apply("unroll", "C.i.')
    item = lab.page.locator(".jp-Completer-item", has_text="C.i.inner")
    lab.until(lambda: asked(lab, item))
    item.click()
    lab.page.keyboard.type('")')
    active = lab.page.evaluate(f"path => ({FIND})(path).content.activeCellIndex", lab.path)
    assert source(lab, active).startswith('lab.apply("unroll", "C.i.inner"')


def test_a_reopened_notebook_shows_its_lab_without_running_anything(running):
    lab = running
    snapshot(lab)
    lab.server.stop_kernels()
    lab.open("book.ipynb", load=True)
    still = lab.page.locator(".jp-Notebook .tvx-output .tvl")
    still.wait_for()
    assert still.count() == 1
    assert "model not found" not in lab.page.locator(".jp-Notebook").inner_text()
    lab.screenshot("reopened")
    code = still.locator("[data-pane=code]")
    at_the_end = code.inner_text()
    still.locator("[role=tree] [role=treeitem]").first.click()
    for _ in range(3):
        lab.page.keyboard.press("[")
    lab.until(lambda: code.inner_text() != at_the_end)
    lab.page.keyboard.press("}")
    lab.until(lambda: code.inner_text() == at_the_end)
    assert "lab" not in lab.evaluate_in_kernel("sorted(globals())")


HOSTILE = "<img src=x onerror='window.hacked = 1'>"
EVIL_SVG = """<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=1" width="20" height="20">
<script>window.hacked=1</script><image href="http://192.0.2.1/"/>
<foreignObject><body xmlns="http://www.w3.org/1999/xhtml" onload="window.hacked=1"/></foreignObject>
<a href="javascript:window.hacked=1"><circle r="9" style="background:url(http://192.0.2.1/)"/></a></svg>"""


def test_a_notebook_that_nobody_trusts_runs_nothing(running):
    lab = running
    snapshot(lab)
    book = lab.read("book.ipynb")
    (good,) = [o.data[MIME] for o in book.cells[0].outputs if "state" in o.data.get(MIME, {})]
    evil = json.loads(json.dumps(good))
    evil["pictures"] = [{**picture, "svg": EVIL_SVG} for picture in evil["pictures"]]
    evil["state"]["head"]["title"] = evil["state"]["message"]["text"] = HOSTILE
    for line in evil["state"]["story"]["lines"] + evil["state"]["frame"]["loops"]:
        line["t"] = HOSTILE
    damaged = {**good, "state": {**good["state"], "story": 7}}
    later = {**good, "schema": 99}
    odd = {"schema": 1, "live": {"constructor": 1}}
    cell = nbformat.v4.new_code_cell("1")
    for data in (evil, damaged, later, odd, {"schema": 1, "live": "constructor"}):
        cell.outputs.append(nbformat.v4.new_output("display_data", {MIME: data, "text/plain": "lab"}))
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata=book.metadata), lab.folder / "evil.ipynb")
    lab.open("evil.ipynb")
    shown = lab.page.locator(".jp-Notebook")
    shown.get_by_text(HOSTILE).first.wait_for()
    shown.get_by_text("saved by a newer version").wait_for()
    shown.get_by_text("damaged: story cannot be read").wait_for()
    assert lab.page.evaluate("() => window.hacked") is None
    assert shown.locator("img[src=x]").count() == 0


def test_a_saved_file_opens(running):
    lab = running
    lab.evaluate_in_kernel("str(lab.save('work.tvlab.json'))")
    lab.open("work.tvlab.json", kernel=False)
    lab.page.locator(".jp-MimeDocument .tvl").wait_for()
    lab.page.locator(".jp-MimeDocument").get_by_text("matmul").first.wait_for()
    lab.screenshot("file")


def test_a_cell_shows_what_is_typed(fresh):
    lab = fresh
    start = "from tvmlab import te\nfrom tvmlab.kernels import matmul\n%load_ext tvmlab"
    lab.open("live.ipynb", [start, f"%%schedule --live\n{TYPED}"])
    lab.run_all()
    view = live(lab)
    lab.screenshot("typed")
    view.wait_for()
    lab.command("notebook:enter-edit-mode")
    lab.page.keyboard.press("Control+End")
    lab.page.keyboard.type("\ns[C].vectorize(C.op.axis[1])")
    view.get_by_text("vectorized").first.wait_for()


TYPED = """A = te.placeholder((64, 64), name="A")
C = te.compute((64, 64), lambda i, j: A[i, j] + 1, name="C")
s = te.create_schedule(C.op)"""


def test_settings_hold(lab):
    lab.set_up(openIn="tab", singleKeyShortcuts=False, defaultLayout="narrow", animation="off", defaultTarget="numba")
    lab.open("book.ipynb", ["1"])
    lab.run(0)
    lab.command("tvmlab:insert-example")
    assert 'Lab(target="numba")' in source(lab, 1)
    lab.run(1)
    lab.page.locator(".tvx-tab .tvl").wait_for()
    lab.front()
    view = live(lab)
    assert view.evaluate("e => e.clientWidth") < 600
    view.locator("button").first.focus()
    cells = f"path => ({FIND})(path).content.widgets.length"
    before = lab.page.evaluate(cells, lab.path)
    lab.page.keyboard.press("?")
    lab.page.keyboard.press("b")
    assert lab.page.evaluate(cells, lab.path) == before
    assert view.get_by_role("heading", name="Keys").count() == 0


# Sets a setting as the settings editor does: in the registry of this page.
SET = """async ([name, value]) => {
  const app = window.jupyterapp;
  const token = [...app.pluginRegistry._services.keys()].find(t => t.name.endsWith(':ISettingRegistry'));
  await (await app.resolveRequiredService(token)).set('tvmlab:plugin', name, value);
}"""
UNDECIDED = """import tvmlab
from tvmlab import te
n = te.size_var("n")
A, k = te.placeholder((4, n), name="A"), te.reduce_axis((0, n), name="k")
B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
other = tvmlab.Lab(te.create_schedule(B.op), [A, B])
other"""


def has(name):
    """A question to the kernel."""
    return f"({name}.target, {name}.machine.name, {name}.runs.options.limit, {name}.runs.options.rounds)"


def test_settings_reach_the_labs_of_a_kernel(lab):
    said = {"defaultTarget": "numba", "machineModel": "teach-1", "runBudget": {"seconds": 9, "rounds": 5}}
    lab.set_up(**said, staticCompanion="never", allowUnknown="never", palette="high contrast")
    lab.open("book.ipynb", [LAB, UNDECIDED])
    lab.run(0)
    live(lab).wait_for()
    lab.until(lambda: lab.evaluate_in_kernel(has("lab")) == ["numba", "teach-1", 9, 5])
    lab.run(1)
    other = live(lab).last
    other.get_by_text("n", exact=True).first.wait_for()
    assert lab.evaluate_in_kernel(has("other")) == ["numba", "teach-1", 9, 5]

    look = "e => [getComputedStyle(e).color, getComputedStyle(e).backgroundColor, getComputedStyle(e).borderTopColor]"
    black, white = "rgb(0, 0, 0)", "rgb(255, 255, 255)"
    assert other.evaluate(look) == [black, white, black]
    lab.screenshot("high-contrast")
    lab.theme("JupyterLab Dark")
    lab.page.locator(".tvl[data-theme=dark]").first.wait_for()
    lab.page.locator("#jupyterlab-splash").wait_for(state="detached")
    assert other.evaluate(look) == [white, black, white]
    lab.screenshot("high-contrast-dark")

    for view in live(lab).all():
        assert lab.axe(f"#{view.evaluate(NAMED)}") == []
    assert lab.page.locator(".tvx-fold:visible").count() == 0
    lab.save()
    assert not [o for cell in lab.read("book.ipynb").cells for o in cell.outputs if "state" in o.data.get(MIME, {})]

    lab.evaluate_in_kernel("other.select('B.i', 'B.k')")
    fuse = other.locator('[data-action="fuse"]')
    fuse.get_by_text("could not decide").first.wait_for()
    fuse.locator("[data-start]").click()
    anyway = fuse.get_by_role("button", name="Apply anyway")
    anyway.click()
    other.get_by_text("the setting allowUnknown is never").wait_for()
    lab.screenshot("undecided-step-refused")
    lab.page.evaluate(SET, ["allowUnknown", "ask"])
    lab.until(lambda: lab.evaluate_in_kernel("tvmlab.options.allowUnknown") == "ask")
    anyway.click()
    lab.until(lambda: lab.evaluate_in_kernel("other.step") == 1)


NAMED = "e => e.id ||= `named-${Math.random().toString(36).slice(2)}`"


def test_notebook_7_has_the_lab_and_its_panel(notebook7):
    lab = notebook7
    lab.open("book.ipynb", [LAB, STEPS])
    lab.run_all()
    live(lab).wait_for()
    lab.command("tvmlab:undo")
    live(lab).get_by_text("Back at step 2").wait_for()
    lab.screenshot("notebook-7")
