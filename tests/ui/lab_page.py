"""A lab on a page, as a person has it: what it shows, and what is done with it by mouse or by keyboard.

    page = LabPage(lab, "keyboard")
    page.choose("C.i")
    page.take("split", {"factor": 32})
    page.arrive(1)
    assert page.acts <= 4

`acts` counts what the person does: a click, a key, a value typed. Arrow keys on the way to one place are one act.
What the mouse and the keyboard do differently is in `Mouse` and `Keyboard`; all waiting is for what can be seen.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.ui.browser import FIND


class LabPage:
    """The first lab inside `within`, a selector of an output, a tab or a page."""

    def __init__(self, tab: Any, by: str = "mouse", within: str = ".jp-Notebook", page: Any = None):
        self.tab, self.page = tab, page or tab.page
        self.root = self.page.locator(f"{within} .tvl").first
        self.hands = HANDS[by](self)
        self.acts = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """What is done: by mouse or by keyboard."""
        return getattr(self.hands, name)

    # ------------------------------------------------------------ looking

    def wait(self) -> "LabPage":
        self.root.wait_for()
        return self

    def pane(self, name: str) -> Any:
        return self.root.locator(f"[data-pane={name}]")

    def row(self, loop: str) -> Any:
        return self.root.locator(f"[role=treeitem][data-id={json.dumps(loop, ensure_ascii=False)}]")

    def rows(self) -> list[str]:
        code = "rows => rows.map(row => row.dataset.id)"
        return self.root.locator("[role=treeitem]").evaluate_all(code)

    def selected(self) -> list[str]:
        code = "rows => rows.map(row => row.dataset.id)"
        return self.root.locator("[role=treeitem][aria-selected=true]").evaluate_all(code)

    def chips(self, loop: str) -> list[str]:
        """What is written behind a row."""
        return self.row(loop).locator(".tvl-t-chip").all_inner_texts()

    def refusals(self) -> int:
        """How many cards say why not."""
        return self.root.locator(".tvl-card").count()

    def action(self, name: str) -> Any:
        return self.root.locator(f"[data-action={json.dumps(name)}]")

    def button(self, name: str, pane: str = "header") -> Any:
        return self.pane(pane).get_by_role("button", name=re.compile(rf"^{re.escape(name)}\b"))

    def drawer(self, title: str = "") -> Any:
        found = self.root.get_by_role("dialog")
        return found.filter(has=self.page.get_by_role("heading", name=title)) if title else found

    def film(self) -> Any:
        return self.root.get_by_role("listbox", name="Steps", exact=True)

    def frame(self, step: int) -> Any:
        """The frame of a step; of folded ones the last step's."""
        return self.film().locator(f'[role=option][id$="-step-{step}"]')

    def frames(self) -> list[str]:
        """The film strip, in words."""
        return [" ".join(text.split()) for text in self.film().get_by_role("option").all_inner_texts()]

    def at(self) -> int:
        """The step that is looked at."""
        name = self.film().locator("[aria-current=step]").get_attribute("id") or ""
        return int(name.rpartition("-")[2])

    def arrive(self, step: int) -> None:
        """Waits until the lab looks at a step."""
        self.frame(step).and_(self.root.locator("[aria-current=step]")).wait_for()

    def reach(self, step: int) -> None:
        """As `arrive`, in a lab too narrow for its film strip: goes by the line that says which step it is."""
        if self.root.get_attribute("data-width") == "narrow":
            self.root.get_by_role("tab", name="History", exact=True).click()
        self.arrive(step)

    def loops(self) -> str:
        """The text of the code pane, as far as it is drawn."""
        return "\n".join(self.pane("code").locator("[data-row] code").all_inner_texts())

    def shows(self, text: str) -> None:
        """Waits until a line of the code pane has this text."""
        self.pane("code").locator("[data-row] code", has_text=text).first.wait_for()

    def says(self, text: str) -> None:
        """Waits until the line at the bottom says this."""
        self.root.locator(".tvl-messages [role=status]", has_text=text).wait_for()

    def settle(self) -> None:
        """Waits until the list of actions is the one of the selection."""
        self.root.locator(".tvl-actions[aria-busy=false]").wait_for()

    def focus(self) -> str:
        """Name of the pane that has the focus; "" when it is outside."""
        return self.root.evaluate(FOCUS)

    def checked(self) -> Any:
        """The row of the newest run, once it is done and was right."""
        row = self.drawer("Runs").locator("tbody tr").first
        row.get_by_text("✓ right").wait_for()
        return row


SET = f"""([path, cells]) => {{
  const book = ({FIND})(path).content;
  cells.forEach((text, n) => book.model.cells.get(n)?.sharedModel.setSource(text));
}}"""
CLEAR = f"path => {{ for (const cell of ({FIND})(path).content.model.cells) cell.outputs?.clear(); }}"
SOURCES = f"path => [...({FIND})(path).content.model.cells].map(cell => cell.sharedModel.getSource())"
MATMUL = """import tvmlab
from tvmlab import te
A = te.placeholder((64, 64), name="A")
B = te.placeholder((64, 64), name="B")
k = te.reduce_axis((0, 64), name="k")
C = te.compute((64, 64), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
s = te.create_schedule(C.op)
lab = tvmlab.Lab(s, [A, B, C])"""
STEPS = """
lab.apply("tile", "C.i", "C.j", 16, 16)
lab.apply("split", "C.k", factor=8)
lab.apply("vectorize", "C.j.inner")
lab.apply("parallel", "C.i.outer")"""


def show(tab: Any, code: str, by: str = "mouse") -> LabPage:
    """The lab that this code makes as `lab`, in the first cell of an open notebook whose cells were emptied.

    The lab that the cell has shown before is closed: the new one would go on from it.
    """
    tab.page.mouse.move(1, 1)  # a pointer that rests on an action shows what that would do
    tab.page.evaluate(CLEAR, tab.path)
    tab.page.evaluate(SET, [tab.path, ["lab = globals().get('lab')\nlab and lab.close()\n" + code + "\nlab", "", ""]])
    tab.run(0)
    page = LabPage(tab, by).wait()
    page.root.scroll_into_view_if_needed()
    return page


def fill_cell(tab: Any, cell: int, text: str) -> None:
    """Replaces the text of a cell, as a person does who types or pastes."""
    tab.page.evaluate(SET, [tab.path, sources(tab)[:cell] + [text]])


def sources(tab: Any) -> list[str]:
    """The text of every cell."""
    found: list[str] = tab.page.evaluate(SOURCES, tab.path)
    return found


FOCUS = """root => {
  const now = document.activeElement;
  return root.contains(now) ? now.closest('[data-pane]')?.dataset.pane ?? '?' : '';
}"""


def field(form: Any, label: str) -> Any:
    """Where the value of that name is typed or picked."""
    name = re.compile(rf"^{re.escape(label)}(?![\w.])")
    return form.get_by_role("textbox", name=name).or_(form.get_by_role("combobox", name=name))


class Hands:
    def __init__(self, lab: LabPage):
        self.lab, self.page = lab, lab.page

    def act(self, n: int = 1) -> None:
        self.lab.acts += n


class Mouse(Hands):
    """Clicks, and typing where there is a field."""

    def click(self, what: Any, **how: Any) -> None:
        self.act()
        what.click(**how)

    def choose(self, *loops: str) -> None:
        for n, loop in enumerate(loops):
            self.click(self.lab.row(loop).locator(".tvl-t-name"), modifiers=["ControlOrMeta"] if n else [])
        self.lab.settle()

    def take(self, action: str, values: dict[str, Any] | None = None) -> None:
        """Starts an action of what is chosen; with values (that may be none) it has a form."""
        item = self.lab.action(action)
        self.click(item.locator("[data-start]"))
        if values is None:
            return
        self.fill(item, values)
        self.click(item.get_by_role("button", name="Apply"))

    def fill(self, form: Any, values: dict[str, Any]) -> None:
        for label, value in values.items():
            self.act()
            field(form, label).fill(str(value))

    def start(self, operator: str = "", values: dict[str, Any] | None = None) -> None:
        drawer = self.lab.drawer("What to schedule")
        if operator:
            self.click(drawer.get_by_role("radio", name=re.compile(rf"^{operator}\b")))
        self.fill(drawer, values or {})
        self.click(drawer.get_by_role("button", name="Start"))
        drawer.wait_for(state="detached")

    def why(self, action: str) -> None:
        self.click(self.lab.action(action).get_by_role("button", name="why"))

    def move(self, alternative: str) -> None:
        """One click on what a card offers instead."""
        self.click(self.lab.root.locator(".tvl-card").get_by_role("button", name=alternative))

    def undo(self) -> None:
        self.click(self.lab.button("Undo"))

    def redo(self) -> None:
        self.click(self.lab.button("Redo"))

    def run(self) -> None:
        self.click(self.lab.button("Run"))

    def pin(self) -> None:
        self.click(self.lab.button("Pin"))

    def copy(self) -> None:
        self.click(self.lab.button("Copy code"))

    def open(self, drawer: str) -> None:
        """A drawer of the menu "More"."""
        self.click(self.lab.button("More"))
        self.click(self.lab.root.get_by_role("menuitem", name=re.compile(rf"^{drawer}\b")))

    def runs(self) -> None:
        self.click(self.lab.pane("header").locator(".tvl-time"))

    def press(self, name: str) -> None:
        """A button of the drawer."""
        self.click(self.lab.drawer().get_by_role("button", name=re.compile(rf"^\W*{re.escape(name)}$")))

    def close(self) -> None:
        self.click(self.lab.drawer().get_by_role("button", name="Close"))

    def back_to(self, step: int) -> None:
        self.click(self.lab.frame(step))
        self.lab.arrive(step)

    def to_the_end(self) -> None:
        self.click(self.lab.film().get_by_role("option").last)

    def compare(self) -> None:
        """The newest run with the pinned one."""
        self.click(self.lab.button("Compare", "history"))
        self.press("Compare")

    def edit(self, values: dict[str, Any]) -> None:
        """Changes the step that is looked at."""
        self.click(self.lab.button("Edit step", "history"))
        form = self.lab.root.locator("form.tvl-stepbar")
        self.fill(form, values)
        self.click(form.get_by_role("button", name=re.compile("^Change")))


class Keyboard(Hands):
    """Keys only. The focus is inside the lab before the first."""

    def key(self, chord: str, acts: int = 1) -> None:
        self.act(acts)
        self.page.keyboard.press(chord)

    def type(self, text: str) -> None:
        self.act()
        self.page.keyboard.type(text)

    def focused(self, what: Any) -> None:
        """Waits until an element has the focus."""
        what.and_(self.page.locator(":focus")).wait_for()

    def into(self, pane: str) -> None:
        """Goes round the panes."""
        self.act()
        for _ in range(12):
            if self.lab.focus() == pane:
                return
            self.page.keyboard.press("F6")
        raise AssertionError(f"F6 never leads to {pane}")

    def choose(self, *loops: str) -> None:
        if self.lab.focus() != "tree":
            self.into("tree")  # F6 and the arrows lead to one place: one act
        else:
            self.act()
        rows = self.lab.rows()
        self.page.keyboard.press("Home")
        self.focused(self.lab.row(rows[0]))
        for loop in rows[1 : rows.index(loops[0]) + 1]:
            self.page.keyboard.press("ArrowDown")
            self.focused(self.lab.row(loop))
        for loop in loops[1:]:
            self.act()
            for _ in range(rows.index(loop) - rows.index(loops[0])):
                self.page.keyboard.press("Control+ArrowDown")
            self.page.keyboard.press("Space")
        self.lab.settle()

    def take(self, action: str, values: dict[str, Any] | None = None) -> None:
        item = self.lab.action(action)
        start = item.locator("[data-start]")
        letter = start.get_attribute("aria-keyshortcuts")
        if letter:
            self.key(letter)
        else:
            self.find(action)
            self.key("Enter")
        if values is None:
            return
        self.focused(item.locator("input, select").first)
        self.fill(item, values)
        self.key("Enter")

    def find(self, action: str) -> None:
        """Goes to an action by searching for it."""
        self.key(".")
        self.key("/")
        self.type(self.lab.action(action).locator(".tvl-action-name").inner_text())
        self.key("Enter", 0)
        self.focused(self.lab.root.locator("[data-action] [data-start]").first)

    def fill(self, form: Any, values: dict[str, Any]) -> None:
        for label, value in values.items():
            wanted = field(form, label)
            for _ in range(40):
                if wanted.evaluate("field => field === document.activeElement"):
                    break
                self.page.keyboard.press("Tab")
            self.focused(wanted)
            self.page.keyboard.press("ControlOrMeta+a")
            self.type(str(value))

    def start(self, operator: str = "", values: dict[str, Any] | None = None) -> None:
        drawer = self.lab.drawer("What to schedule")
        self.focused(drawer.locator("[data-first]"))
        if operator:
            self.act()
            while not drawer.get_by_role("radio", name=re.compile(rf"^{operator}\b")).is_checked():
                self.page.keyboard.press("ArrowDown")
        self.fill(drawer, values or {})
        self.key("Enter")
        drawer.wait_for(state="detached")

    def why(self, action: str) -> None:
        self.find(action)
        self.key("?")

    def move(self, alternative: str) -> None:
        button = self.lab.root.locator(".tvl-card").get_by_role("button", name=alternative)
        button.wait_for()
        self.act()
        for _ in range(12):
            if button.evaluate("button => button === document.activeElement"):
                break
            self.page.keyboard.press("Tab")
        self.focused(button)
        self.key("Enter")

    def undo(self) -> None:
        self.key("ControlOrMeta+z")

    def redo(self) -> None:
        self.key("ControlOrMeta+Shift+z")

    def run(self) -> None:
        self.key("ControlOrMeta+Enter")

    def pin(self) -> None:
        self.key("x")

    def copy(self) -> None:
        self.key("y")

    def open(self, drawer: str) -> None:
        if self.lab.focus() != "header":
            self.into("header")
        self.button(self.lab.button("More"))
        items = self.lab.root.get_by_role("menuitem")
        self.focused(items.first)
        self.act()
        wanted = items.filter(has_text=re.compile(rf"^{drawer}"))
        while not wanted.evaluate("item => item === document.activeElement"):
            self.page.keyboard.press("ArrowDown")
        self.key("Enter")

    def button(self, button: Any) -> None:
        """Goes along a bar to a button and presses it."""
        self.act()
        for _ in range(20):
            if button.evaluate("button => button === document.activeElement"):
                break
            self.page.keyboard.press("ArrowRight")
        self.focused(button)
        self.key("Enter")

    def runs(self) -> None:
        if self.lab.focus() != "header":
            self.into("header")
            self.lab.acts -= 1  # F6 and the arrows lead to one place
        self.button(self.lab.pane("header").locator(".tvl-time"))

    def press(self, name: str) -> None:
        button = self.lab.drawer().get_by_role("button", name=re.compile(rf"^\W*{re.escape(name)}$"))
        self.act()
        for _ in range(40):
            if button.evaluate("button => button === document.activeElement"):
                break
            self.page.keyboard.press("Tab")
        self.focused(button)
        self.key("Enter")

    def close(self) -> None:
        self.key("Escape")
        self.lab.drawer().wait_for(state="detached")

    def back_to(self, step: int) -> None:
        self.act()
        while self.lab.at() > step:
            now = self.lab.at()
            self.page.keyboard.press("[")
            self.lab.arrive(now - 1)

    def to_the_end(self) -> None:
        self.key("Escape")  # closes what was edited; the focus stays inside
        self.lab.root.locator("form.tvl-stepbar").wait_for(state="detached")
        self.key("}")

    def compare(self) -> None:
        self.open("Compare")
        self.press("Compare")

    def edit(self, values: dict[str, Any]) -> None:
        self.into("history")
        self.focused(self.lab.film())
        self.key("Enter")
        form = self.lab.root.locator("form.tvl-stepbar")
        form.wait_for()
        self.fill(form, values)
        self.key("Enter")


HANDS: dict[str, type[Hands]] = {"mouse": Mouse, "keyboard": Keyboard}
