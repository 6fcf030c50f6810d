"""A lab that is worked with by mouse and keys while `labwatch.js` looks at the clock."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from .labacts import Step, Work

WATCH = (Path(__file__).parent / "labwatch.js").read_text()
CELLS = (
    "from tests.speed.labacts import WORKS, opened",
    "opened(next(w for w in WORKS if w.name == {!r}))",
)
RUN = """([path, n]) => {
  const notebook = [...window.jupyterapp.shell.widgets('main')].find(w => w.context?.path === path);
  notebook.content.activeCellIndex = n;
  void window.jupyterapp.commands.execute('notebook:run-cell');
}"""


class Driven:
    """`times`: milliseconds by what was done: first, select, preview, typed, act, travel."""

    def __init__(self, tab: Any, work: Work) -> None:
        self.tab, self.page, self.work = tab, tab.page, work
        self.times: dict[str, list[float]] = {}
        self.page.add_init_script(WATCH)
        tab.open("speed.ipynb", [CELLS[0], CELLS[1].format(work.name)])
        tab.run(0)
        for _ in range(5):
            self.measure("first", "", "shown", None, lambda: self.page.evaluate(RUN, [tab.path, 1]))
            tab.wait_idle()
            self.settle(500)

    # ------------------------------------------------------------ one thing

    def measure(self, what: str, kind: str, ready: str, argument: Any, do: Callable[[], Any]) -> None:
        self.arm(kind, ready, argument)
        do()
        self.take(what)

    def arm(self, kind: str, ready: str, argument: Any) -> None:
        self.page.evaluate("([kind, ready, argument]) => tvlWatch.arm(kind, ready, argument)", [kind, ready, argument])

    def take(self, what: str) -> None:
        self.times.setdefault(what, []).append(self.page.evaluate("() => tvlWatch.done()")["ms"])

    def settle(self, ms: int) -> None:
        self.page.evaluate("ms => tvlWatch.settle(ms)", ms)

    def find(self, selector: str) -> Any:
        return self.page.locator(".jp-Notebook .tvl").last.locator(selector)

    def row(self, id: str) -> Any:
        return self.find(f'[role=treeitem][data-id="{id}"]')

    def away(self) -> None:
        """The pointer where it points at nothing."""
        self.find("[data-pane=history] h2").hover()
        self.settle(60)

    # ------------------------------------------------------------ what a person does

    def schedule(self, rows: int, columns: int) -> None:
        """All steps of a schedule, a few back, and to the start."""
        n = 0
        for n, step in enumerate(self.work.steps(rows, columns), 1):
            self.select(step.id)
            if step.action == "inward":
                self.row(step.id).focus()
                self.settle(60)
                self.measure("act", "keydown", "act", n, lambda: self.page.keyboard.press("Alt+ArrowDown"))
            else:
                self.act(step, n)
            self.settle(400)
        self.row(self.work.stage).focus()
        for to in range(n - 1, n - 9, -1):
            self.settle(150)
            self.measure("travel", "keydown", "act", to, lambda: self.page.keyboard.press("["))
        self.page.keyboard.press("{")
        self.settle(600)

    def select(self, id: str) -> None:
        self.away()
        row = self.row(id)
        row.scroll_into_view_if_needed()
        self.settle(60)
        self.measure("select", "click", "select", id, lambda: row.locator(".tvl-t-name").click())
        self.settle(150)

    def act(self, step: Step, n: int) -> None:
        """Point at the action, click it, set its value, press Enter."""
        item = self.find(f'[data-action="{step.action}"]')
        item.scroll_into_view_if_needed()
        self.settle(60)
        self.measure("preview", "pointerover", "preview", None, lambda: item.hover())
        self.settle(60)
        self.arm("click", "act", n)
        item.locator("[data-start]").click()
        form = item.locator("form")
        if step.value is None and not form.count():
            return self.take("act")
        form.wait_for()
        self.settle(200)
        if step.value is not None:
            self.type(form.locator("input[type=text]").first, str(step.value))
        self.away()
        form.locator("input, select").first.focus()
        self.settle(100)
        self.measure("act", "keydown", "act", n, lambda: self.page.keyboard.press("Enter"))

    def type(self, field: Any, value: str) -> None:
        if field.input_value() != value:
            self.measure("typed", "input", "again", None, lambda: field.fill(value))
        self.settle(200)
