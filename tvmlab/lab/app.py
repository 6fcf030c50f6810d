"""The Schedule Lab around one schedule: `Lab(s, [A, B, C])`, or `s.lab()`.

A lab holds a document (the schedule with its history), what is selected, the runs, and a target and a machine to look
at it with. It is complete without a browser; with one, `lab` as the last line of a cell shows the widget.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from ..analysis import machine
from ..core.error import LabError
from ..expr.tensor import Tensor
from ..face.api import as_target, create_schedule, need_arguments, need_schedule, refuse_lost
from ..face.document import Document
from ..face.handle import Schedule
from ..face.verdict import arguments
from ..view import actions, frame, head, payload, steps, story
from ..view.card import card
from . import requests, workloads
from .later import Later
from .runs import Runs

LABS: weakref.WeakValueDictionary[str, Lab] = weakref.WeakValueDictionary()  # by id: what the panel lists
_numbers = count(1)
QUIET = 2.0  # seconds without an act until the still copy in the notebook is written anew
SOON = 0.4  # until the packed history follows


class Lab:
    """A notebook's schedule lab.

    `schedule`: of `te.create_schedule`, or nothing: the lab then starts from its catalogue of operators. `args`: the
    tensors in the order of the function's arguments. `target`: what runs it, "llvm" or "numba". `machine`: a preset of
    the machine that modelled numbers are for.

        lab.apply("split", "C.i", factor=32)      as if pointed at; also lab.undo(), lab.redo(), lab.run()
        lab.step = 3                              look at step 3; lab.schedule is the schedule there
        lab.observe(lambda lab: print(lab.step))  called after every change
    """

    def __init__(
        self, schedule: Schedule | None = None, args: Sequence[Any] | None = None, *, target: Any = "llvm",
        machine: str = "", name: str = "",
    ) -> None:  # fmt: skip
        self._start = schedule is None and args is None
        if self._start:
            *inputs, out = workloads.declare("matmul", {"m": 512, "n": 512, "k": 512})
            schedule, args = create_schedule(out.op), [*inputs, out]
        need_schedule(schedule, "Lab")
        number = next(_numbers)
        self.id, self.name = f"lab-{number}", name or f"lab {number}"
        self.target = str(as_target(target))
        self.machine = _machine(machine)
        self.later = Later()
        self.selection: list[str] = []
        self._said: payload.Message = {"n": 0, "text": "", "kind": "info", "card": None}
        self._observers: list[Callable[[Lab], Any]] = []
        self._quiet = False  # an act of this lab is on: what it changes is sent at its end
        self._widget: Any = None
        self._still: Any = None
        self.pinned = ""
        self.runs = Runs(changed=lambda: self.later.soon(self._runs_changed))
        self._open(Document.of(schedule), args)
        LABS[self.id] = self

    def _open(self, document: Document, args: Sequence[Any] | None) -> None:
        """Look at this document from now on."""
        if args is not None:
            need_arguments(args, "Lab")
            refuse_lost(document.schedule, args)
        if getattr(self, "_unobserve", None) is not None:
            self._unobserve()
        self.document = document
        self.args = list(args) if args is not None else None
        self._unobserve = document.observe(self._document_changed)

    # ------------------------------------------------------------ looking

    @property
    def schedule(self) -> Schedule:
        """The schedule, at the step that is looked at. The same object as long as the lab has the same workload."""
        return self.document.schedule

    @property
    def step(self) -> int:
        """How many steps are in force. Setting it looks at another step; nothing is lost."""
        return self.document.cursor

    @step.setter
    def step(self, number: int) -> None:
        self.jump(number)

    @property
    def arguments(self) -> list[Any]:
        return self.args if self.args is not None else arguments(self.schedule.trace)

    def select(self, *ids: str) -> None:
        """Point at loops (`C.i.outer`) or stages (`C`)."""
        there = {row["id"] for row in self.frame["tree"]}
        unknown = [i for i in ids if i not in there]
        if unknown:
            raise LabError("no-such-loop", f"there is no loop or stage {unknown[0]!r} here", legal=sorted(there))
        self.selection = list(ids)
        self._changed()

    @property
    def frame(self) -> payload.Frame:
        return frame.frame(self.schedule.trace)

    def observe(self, f: Callable[[Lab], Any]) -> Callable[[], None]:
        """`f(lab)` after every change; returns how to stop it."""
        self._observers.append(f)
        return lambda: self._observers.remove(f) if f in self._observers else None

    # ------------------------------------------------------------ acting

    def apply(self, primitive: str, *args: Any, **kwargs: Any) -> Any:
        """One step, loops and stages given by name: `lab.apply("split", "C.i", factor=32)`. Returns what it makes."""
        with self.acting():
            act = actions.plain(primitive, args, kwargs, self.schedule.state)
            return requests.take(self, act)

    def undo(self) -> Lab:
        with self.acting():
            self.document.undo()
        return self

    def redo(self) -> Lab:
        with self.acting():
            self.document.redo()
        return self

    def jump(self, number: int) -> Lab:
        """Look at the schedule after `number` steps."""
        with self.acting():
            self.document.jump(number)
        return self

    def start(self, tensors: Sequence[Any]) -> Lab:
        """Another workload: these tensors, inputs first, with the same steps where they apply."""
        with self.acting():
            outputs = [t for t in tensors if isinstance(t, Tensor) and t.op.inputs]
            self._open(Document.of(create_schedule([t.op for t in outputs])), tensors)
            self.selection, self._start = [], False
        return self

    # ------------------------------------------------------------ running

    def run(self, wait: bool = True, **options: Any) -> Any:
        """Run and check this step in a process of its own; returns the row. Options: those of `lab.runs.options`."""
        found = requests.run(self, options)
        if wait:
            self.runs.wait(found)
        return self.runs.row(found)

    # ------------------------------------------------------------ changes

    @contextmanager
    def acting(self) -> Any:
        """What happens inside is one change: sent once, at the end; whatever is refused leaves everything as it was."""
        before, self._quiet = self._quiet, True
        try:
            yield
        finally:
            self._quiet = before
            if not before:
                self._changed()

    def say(self, text: str, kind: Any = "info", error: payload.Card | None = None) -> None:
        self._said = {"n": self._said["n"] + 1, "text": text, "kind": kind, "card": error}

    def _document_changed(self, *_: Any) -> None:
        if not self._quiet:
            self.later("changed", 0, self._changed)

    def _changed(self) -> None:
        self.later.cancel("changed")
        self.selection = _followed(self.selection, self.frame)
        self._show()
        for f in list(self._observers):
            f(self)
        panel_changed()

    def _runs_changed(self) -> None:
        if self._widget is not None:
            with self._widget.hold_sync():
                self._widget.runs = self.runs.payload()
                self._widget.head = self.head()
                self._widget.history = self.history()
        panel_changed()

    # ------------------------------------------------------------ what views are sent

    def head(self) -> payload.Head:
        return head.head(self)

    def history(self) -> payload.History:
        return steps.history(self.document, self.runs.seconds())

    def actions(self) -> payload.Actions:
        return actions.actions(self.schedule, self.selection)

    def _show(self) -> None:
        """Bring the widget up to date: what is looked at first; verdicts, the packed history, the still copy later."""
        if self._widget is None:
            return
        with self._widget.hold_sync():
            self._widget.head = self.head()
            self._widget.history = self.history()
            self._widget.frame = self.frame
            self._widget.selection = list(self.selection)
            self._widget.message = self._said
            self._widget.runs = self.runs.payload()
        self.later("actions", 0, self._show_actions)
        self.later("story", SOON, self._show_story)
        self.later("still", QUIET, self._show_still)

    def _show_actions(self) -> None:
        self._widget.actions = self.actions()

    def _show_story(self) -> None:
        self._widget.story = story.story(self.document)

    def _show_still(self) -> None:
        if self._still is not None:
            self._still.update(_Bundle(self.bundle()), raw=False)

    def state(self) -> payload.State:
        return {
            "head": self.head(), "history": self.history(), "frame": self.frame, "selection": list(self.selection),
            "actions": self.actions(), "runs": self.runs.payload(), "message": self._said,
            "story": story.story(self.document),
        }  # fmt: skip
