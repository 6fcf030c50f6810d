"""The harness itself: a notebook opens and runs, a widget answers, and what must not happen is noticed."""

import json

import pytest

from tests.ui.browser import ROOT

COUNTER = '''
import anywidget, traitlets

class Counter(anywidget.AnyWidget):
    _esm = """
    export default { render({ model, el }) {
      const button = document.createElement("button");
      button.className = "counter";
      const draw = () => button.textContent = `count ${model.get("n")}`;
      button.onclick = () => { model.set("n", model.get("n") + 1); model.save_changes(); };
      model.on("change:n", draw); draw(); el.append(button);
    } };
    """
    n = traitlets.Int(0).tag(sync=True)

counter = Counter()
counter
'''


def test_a_widget_runs_and_answers(lab):
    lab.open("counter.ipynb", [COUNTER, "# a cell to run later\ncounter.n"])
    lab.run_all()
    button = lab.page.locator("button.counter")
    button.click()
    lab.page.get_by_text("count 1").wait_for()
    lab.run_all()
    lab.page.locator(".jp-OutputArea-executeResult").get_by_text("0", exact=True).wait_for()


def test_the_extension_is_this_trees(lab):
    lab.open("empty.ipynb", [""])
    config = "() => document.getElementById('jupyter-config-data').textContent"
    (loaded,) = [e for e in json.loads(lab.page.evaluate(config))["federated_extensions"] if e["name"] == "tvmlab"]
    built = json.loads((ROOT / "tvmlab" / "labextension" / "package.json").read_text())
    assert loaded["load"] == built["jupyterlab"]["_build"]["load"]
    assert lab.page.evaluate("() => window.jupyterapp.hasPlugin('tvmlab:plugin')")


def test_notebook_7_opens_and_runs(notebook7):
    notebook7.open("counter.ipynb", [COUNTER])
    notebook7.run_all()
    notebook7.page.locator("button.counter").click()
    notebook7.page.get_by_text("count 1").wait_for()


def test_a_request_to_outside_and_a_console_error_are_noticed(lab):
    lab.open("empty.ipynb", [""])
    lab.page.evaluate("() => fetch('http://192.0.2.1/').catch(() => 0) && console.error('a fault')")
    with pytest.raises(AssertionError, match="192.0.2.1"):
        lab.check()
    lab.outside.clear()
    with pytest.raises(AssertionError, match="a fault"):
        lab.check()
    lab.errors.clear()
