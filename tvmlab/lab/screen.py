"""What of a lab is on a screen: the widget, which follows every change, and the still copy under it.

What is looked at is sent at once. Verdicts, the packed history and the still copy follow when there is time.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from ..core.error import LabError
from ..schedule.trace import Trace
from ..view import actions, frame, payload, still, story
from . import again, garbage, left, panel, requests, settings
from .saving import MIME

QUIET = 2.0  # seconds without an act until the still copy in the notebook is written anew
SOON = 0.4  # until the packed history follows
SLICE = 0.02  # seconds of work between two looks at what else there is to do
VERDICTS = 0.08  # of verdicts: longer, so that the pictures that views ask for meanwhile come after them
AHEAD = 40  # rows near the selection that are judged in idle moments,
ENOUGH = 1.0  # seconds of such moments: of a long schedule the nearest only
PAUSE = 0.001  # seconds of such a look: what was sent leaves the kernel, by another thread of it
CELLS: weakref.WeakValueDictionary[str, Screen] = weakref.WeakValueDictionary()  # by the cell it was last shown under


class MissingPackage(LabError, ImportError):
    """A package that only the lab's widget needs."""


class Screen:
    """Of one lab. `widget`: None until the lab is shown."""

    def __init__(self, lab: Any) -> None:
        self.lab = lab
        self.widget: Any = None
        self.companion: Any = None

    def open(self) -> Any:
        """The widget, made when it is first asked for. Needs `pip install anywidget`."""
        if self.widget is None:
            state = {**self.lab.state(), "head": self._head()}
            self.widget = widget_class()(lambda request: requests.answer(self.lab, request), **state)
        return self.widget

    # ------------------------------------------------------------ following the lab

    def changed(self) -> None:
        """Bring the widget up to date."""
        if self.widget is None:
            return
        lab = self.lab
        with self.widget.hold_sync():
            self.widget.head = self._head()
            self.widget.frame = lab.frame
            self.widget.history = lab.history(whole=False)
            self.widget.selection = list(lab.selection)
            self.widget.message = lab.said
            self.widget.runs = lab.runs.payload()
        lab.later.cancel("ahead")
        lab.later("actions", PAUSE, self._actions)
        lab.later("story", SOON, self._story)
        lab.later("still", QUIET, self.snapshot)
        lab.later("garbage", QUIET, garbage.collect)

    def runs_changed(self) -> None:
        if self.widget is None:
            return
        with self.widget.hold_sync():
            self.widget.runs = self.lab.runs.payload()
            self.widget.head = self._head()
            self.widget.history = self.lab.history(whole=False)
            self.widget.message = self.lab.said
        self.lab.later("still", QUIET, self.snapshot)

    def looks_new(self) -> None:
        """Pictures are asked for anew."""
        if self.widget is None:
            return
        self.widget.head = self._head()
        self.lab.later("still", QUIET, self.snapshot)

    def tune_changed(self) -> None:
        """Views ask for it themselves; that it goes on is said also where its drawer is closed."""
        if self.widget is None:
            return
        if self.widget.head["busy"] != self.lab.tune.busy:
            self.widget.head = self._head()
        self.lab.later("still", QUIET, self.snapshot)

    def _head(self) -> payload.Head:
        head: payload.Head = self.lab.head()
        return {**head, "busy": self.lab.tune.busy}

    def typed(self, trace: Trace | None) -> None:
        """Show what is being typed in the cell above, as far as it goes; None: what is."""
        if trace is None or self.widget is None:
            self.changed()
            return
        with self.widget.hold_sync():
            self.widget.frame = frame.frame(trace)
            self.widget.message = self.lab.said

    def _actions(self) -> None:
        """Judge what may be done, a few verdicts at a time, so that whoever asks meanwhile is answered."""
        done: list[payload.Action] = []
        judged = map(done.append, actions.actions_iter(self.lab.schedule, self.lab.selection))
        self._in_slices("actions", judged, lambda: self._judged(done), VERDICTS)

    def _judged(self, done: list[payload.Action]) -> None:
        if self.widget is not None:
            self.widget.actions = {
                "ids": list(self.lab.selection), "frame": self.lab.frame["key"], "items": actions.in_order(done),
            }  # fmt: skip
            self.lab.later("ahead", SOON / 8, lambda: self._in_slices("ahead", self._next(), lambda: None, SLICE / 4))

    def _next(self) -> Iterator[payload.Action]:
        """The verdicts for what may be pointed at next: the rows around the selection, the nearest first.

        Verdicts are kept (`face.verdict`): judged while nothing else is to do, they are there when asked for.
        """
        rows = [row["id"] for row in self.lab.frame["tree"]]
        garbage.tidy()  # what was asked for is shown
        at = next((rows.index(i) for i in self.lab.selection if i in rows), 0)
        nearest = sorted(rows, key=lambda i: abs(rows.index(i) - at))[:AHEAD]
        until = time.thread_time() + ENOUGH
        for row in nearest:
            for one in actions.actions_iter(self.lab.schedule, [row]):
                if time.thread_time() > until:
                    return
                yield one

    def _story(self) -> None:
        """Look at every place of the history (after an edit all later ones are new), and send what there is to see."""
        document = self.lab.document
        places = [document.trace_at(n) for n in range(len(document.entries) + 1)]
        self._in_slices("story", map(frame.frame, places), self._told)

    def _told(self) -> None:
        if self.widget is not None:
            self.widget.history = self.lab.history()
            self.widget.story = story.story(self.lab.document)

    def _in_slices(self, name: str, work: Iterator[Any], then: Callable[[], None], slice: float = SLICE) -> None:
        """Work `slice` seconds at a time, so that the kernel can answer meanwhile. A change of the lab starts anew."""
        until = time.perf_counter() + slice
        for _ in work:
            if time.perf_counter() > until:
                self.lab.later(name, PAUSE, lambda: self._in_slices(name, work, then, slice))
                return
        then()

    # ------------------------------------------------------------ in a notebook

    def display(self) -> None:
        """The widget, and the still copy as an output of its own. What the same cell showed before is taken away."""
        from IPython.display import display

        panel.listen()
        self._take_the_place()
        pointer: payload.Pointer = {"schema": payload.SCHEMA, "live": self.open().model_id}
        bundle = self.widget._repr_mimebundle_()
        shown = dict(bundle[0] if isinstance(bundle, tuple) else bundle)
        display({**shown, "text/plain": repr(self.lab), MIME: pointer}, raw=True)
        if settings.now().staticCompanion == "auto":
            self.companion = display(self.bundle(), raw=True, display_id=True)
        self.lab.later("warm", QUIET, self.lab.runs.warm)  # the process of the runs is there when it is asked for

    def _take_the_place(self) -> None:
        """A cell that is run again shows a new lab, which goes on from the old one: that one's widget would stay in the
        kernel and in the panel."""
        cell = cell_id()
        before = CELLS.get(cell)
        if before is None and cell and self.widget is None:
            left.go_on(self.lab, cell)
        if before is not None and before is not self:
            again.go_on(self.lab, before.lab)
            before.hide()
        if cell:
            CELLS[cell] = self

    def hide(self) -> None:
        """Take the widget away; the lab can be shown again."""
        for name in ("actions", "ahead", "story", "still", "garbage", "warm"):
            self.lab.later.cancel(name)
        if self.widget is not None:
            self.widget.close()
        self.widget = self.companion = None

    def leave(self) -> None:
        """The lab is closed: whoever takes the cell begins anew."""
        self.hide()
        for cell in [c for c, screen in CELLS.items() if screen is self]:
            del CELLS[cell]

    def snapshot(self) -> None:
        """Write the still copy in the notebook anew, now; if there shall be none, one that is there is emptied."""
        self.lab.later.cancel("still")
        if self.companion is not None:
            kept = settings.now().staticCompanion == "auto"
            self.companion.update(self.bundle() if kept else {}, raw=True)

    def bundle(self) -> dict[str, Any]:
        """The still copy, for every kind of viewer."""
        found = self.lab.saved()
        if self.widget is not None:
            found["model"] = self.widget.model_id
        return {"text/plain": still.text(found), "text/html": still.card(found), MIME: found}


def cell_id() -> str:
    """The id of the cell that runs, where the front end tells it."""
    from IPython import get_ipython

    shell = get_ipython()
    parent = shell.get_parent() if shell is not None and hasattr(shell, "get_parent") else {}
    found = ((parent or {}).get("metadata") or {}).get("cellId")
    return found if isinstance(found, str) else ""


def widget_class() -> Any:
    """Of anywidget, which is loaded only when a lab is shown."""
    try:
        from .widget import LabWidget
    except ImportError as e:
        raise MissingPackage(
            "no-anywidget", f"the lab is shown by {e.name}, which is not installed", hint=f"pip install {e.name}"
        ) from None
    return LabWidget
