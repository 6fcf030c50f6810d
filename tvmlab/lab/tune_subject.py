"""What a lab tunes: the opened parameters of its steps, or a space for its whole expression."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from ..core.error import LabError
from ..face.document import Document
from ..face.handle import Schedule
from ..face.verdict import arguments
from ..schedule.trace import Trace
from ..tune.opened import OpenedTask
from ..tune.parameters import Parameters, openable
from ..tune.task import Task

STEPS, GENERIC = "steps", "generic"


class Subject:
    """Of one lab, which it does not keep alive. `gone`: called when that has gone without being closed."""

    def __init__(self, lab: Any, gone: Callable[[], Any]) -> None:
        self.source = STEPS
        self._gone = weakref.WeakMethod(gone)
        self._opened: WeakKeyDictionary[Document, dict[str, list[Any]]] = WeakKeyDictionary()
        self._roots: WeakKeyDictionary[Document, Trace] = WeakKeyDictionary()  # for which they were opened
        self._openable: tuple[Any, Parameters] | None = None
        self.names: dict[str, str] = {}  # of parameters by id, also of steps that are gone
        self.move(lab)

    def move(self, lab: Any) -> None:
        """It is that of another lab from now on: of a cell that was run again."""
        self._lab, self.name = weakref.ref(lab), str(lab.name)
        weakref.finalize(lab, _ended, self._gone, weakref.ref(self)).atexit = False

    @property
    def lab(self) -> Any:
        found = self._lab()
        if found is None:
            raise LabError("closed", "this lab is closed")
        return found

    @property
    def opened(self) -> dict[str, list[Any]]:
        """By the id of a parameter (`e1.factor`), the values that it may have: of the history that is looked at."""
        return self._opened.setdefault(self.lab.document, {})

    @property
    def openable(self) -> Parameters:
        """The parameters of the steps in force."""
        now = self.lab.document.root, self.steps()
        if self._openable is None or self._openable[0] != now:
            self._openable = now, openable(self.lab.document)
            self.names.update({p.id: p.name for p in self._openable[1]})
        return self._openable[1]

    def steps(self) -> Any:
        """Equal as long as the steps in force are."""
        d = self.lab.document
        return [(e.id, e.args, e.off, e.parked) for e in d.entries[: d.cursor]]

    def follow_sizes(self) -> None:
        """Of an expression with other sizes, loops have other factors."""
        document = self.lab.document
        if self._roots.setdefault(document, document.root) is not document.root:
            self.opened.update({p.id: p.values for p in self.openable if p.id in self.opened})
        self._roots[document] = document.root

    def made(self) -> Any:
        """The task; refused where nothing is opened, or the expression has no space on this target."""
        lab = self.lab
        if self.source == GENERIC:
            root = lab.document.root
            args = list(lab.args) if lab.args is not None else arguments(root)
            return Task.of(Schedule(root), args, lab.target)
        known = {p.id for p in self.openable}
        wanted = {id: values for id, values in self.opened.items() if id in known}
        return OpenedTask(lab.document, lab.arguments, wanted, lab.target)


def _ended(gone: weakref.WeakMethod[Any], subject: weakref.ref[Subject]) -> None:
    found, call = subject(), gone()
    if found is not None and call is not None and found._lab() is None:
        call()
