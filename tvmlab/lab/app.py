"""The Schedule Lab around one schedule: `Lab(s, [A, B, C])`, or `s.lab()`.

A lab holds a document (the schedule with its history), what is selected, the runs, and a target and a machine to look
at it with. It is complete without a browser; with one, `lab` as the last line of a cell shows the widget.
"""

from __future__ import annotations

import json
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from ..core import hooks
from ..core.error import LabError
from ..face.api import as_target, create_schedule, need_arguments, need_schedule, refuse_lost
from ..face.document import Document
from ..face.handle import Schedule
from ..face.source import caller, place, result_names
from ..face.verdict import arguments
from ..schedule.trace import Trace
from ..view import actions, acts, frame, payload, pictures, sources, steps, still, story
from ..view.runs import OVER, ended
from ..view.shown import Shown
from . import comparing, garbage, magic, panel, requests, saving, selecting, settings, tune_state, workloads
from .choices import Choice, Choices
from .compiled import Compiled
from .heading import heading
from .later import Later
from .runs import COMPARE, Runs
from .screen import Screen
from .tuning import Tuning

LABS: weakref.WeakValueDictionary[str, Lab] = weakref.WeakValueDictionary()  # by id: what the panel lists
_numbers = count(1)
FIRST: dict[str, Any] = {"name": "matmul", "shape": {"m": 512, "n": 512, "k": 512}}  # what a lab of nothing shows


class Lab:
    """A notebook's schedule lab.

    `schedule`: of `te.create_schedule`, or nothing: the lab then starts from its catalogue of operators. `args`: the
    tensors in the order of the function's arguments. `target`: what runs it, "llvm" or "opencl". `machine`: a preset of
    the machine that modelled numbers are for. Without one it is that of `tvmlab.options`; of a schedule that is bound
    to threads, a target that has them.

        lab.apply("split", "C.i", factor=32)      as if pointed at; also lab.undo(), lab.redo(), lab.run()
        lab.step = 3                              look at step 3; lab.schedule is the schedule there
        lab.tune.open_all().start(trials=64)      search for better values of the steps; lab.tune.adopt() takes the best
        lab.observe(lambda lab: print(lab.step))  called after every change
    """

    def __init__(
        self, schedule: Schedule | None = None, args: Sequence[Any] | None = None, *, target: Any = None,
        machine: str = "", name: str = "",
    ) -> None:  # fmt: skip
        self.starts = schedule is None and args is None  # nothing was chosen yet
        if self.starts:
            args = workloads.declare(FIRST["name"], FIRST["shape"])
            schedule = create_schedule(args[-1].op)
        need_schedule(schedule, "Lab")
        assert schedule is not None
        self.number = next(_numbers)
        self.id, self.name = f"lab-{self.number}", name or f"lab {self.number}"
        self.later = Later()
        self.selection: list[str] = []
        self.said: payload.Message = {"n": 0, "text": "", "kind": "info", "card": None}
        self._observers: list[Callable[[Lab], Any]] = []
        self._unobserve: Callable[[], None] = lambda: None
        self._quiet = False  # an act of this lab is on: what it changes is sent at its end
        self.screen = Screen(self)
        self._awaited: set[str] = set()  # runs whose end is said
        self.workload = ""  # its name in the catalogue
        self.kernel: dict[str, Any] | None = None  # of the gallery: name and shape, for its NumPy reference
        if self.starts:
            self.workload, self.kernel = FIRST["name"], FIRST
        self.runs = self._made_runs()
        self.target, self.machine = settings.target(target, schedule.trace), settings.machine(machine)
        given = {"target": target, "machine": machine}
        self._unasked = {name: getattr(self, name) for name, value in given.items() if not value}
        self.compiled = self._made_compiled()
        self.looked: dict[str, dict[str, Any]] = {}  # what a person looks at in pictures, by their kind
        self.news = 0  # how often pictures have shown something else without a step
        self.choices = Choices()
        self.tune = Tuning(self)
        self._open(Document.of(schedule), args)
        self.selection = selecting.first(self.schedule.state)
        LABS[self.id] = self
        magic.here()

    def _made_runs(self) -> Runs:
        """Their thread does not keep the lab alive; it ends with the lab."""
        me = weakref.ref(self)
        made = Runs(changed=lambda: lab.later.soon(lab._runs_changed) if (lab := me()) is not None else None)
        weakref.finalize(self, made.close_soon).atexit = False
        made.usual(**settings.of_runs())
        return made

    def _made_compiled(self) -> Compiled:
        """Likewise."""
        me = weakref.ref(self)
        made = Compiled(lambda: lab.later.soon(lab._looks_new) if (lab := me()) is not None else None)
        weakref.finalize(self, made.close_soon).atexit = False
        return made

    def settle(self) -> None:
        """A person's settings came only after this lab was made: they hold for what nobody has chosen."""
        before = self.target, self.machine, self.runs.options
        target = settings.target(None, self.schedule.trace)
        for name, usual in {"target": target, "machine": settings.machine()}.items():
            if getattr(self, name) == self._unasked.get(name):
                setattr(self, name, usual)
        self.runs.usual(**settings.of_runs())
        if before != (self.target, self.machine, self.runs.options):
            self._changed()
        if settings.now().staticCompanion == "never":
            self.snapshot()

    def _open(self, document: Document, args: Sequence[Any] | None) -> None:
        """Look at this document from now on."""
        if args is not None:
            need_arguments(args, "Lab")
            refuse_lost(document.schedule, args)
        self._unobserve()
        self.document = document
        self.args, self._root = list(args) if args is not None else None, document.root
        me = weakref.ref(self)  # a schedule does not keep the labs alive that were made around it
        self._unobserve = document.observe(lambda _: lab._document_changed() if (lab := me()) is not None else None)

    def open(self, document: Document, said: str = "") -> None:
        """Look at another history from now on: that of a cell that was run again."""
        with self.acting():
            self._open(document, None)
            if said:
                self.say(said)

    # ------------------------------------------------------------ looking

    @property
    def target(self) -> str:
        """What the lab is for, with options, as text: runs are of it, and what its device refuses is said."""
        return self.runs.options.target

    @target.setter
    def target(self, target: Any) -> None:
        self.runs.set(target=str(as_target(target)))

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
    def step_id(self) -> str:
        """The id of the last step in force; "" at the start."""
        return self.document.entries[self.step - 1].id if self.step else ""

    @property
    def shown(self) -> bool:
        """Is there a widget of it?"""
        return self.screen.widget is not None

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

    def look(self, kind: str, **values: Any) -> None:
        """What to look at in a picture from now on: `lab.look("parallel", bx=3, warp=2)`. The choice is kept."""
        self.looked[kind] = {**self.looked.get(kind, {}), **selecting.looked(kind, values)}
        self._looks_new()

    def tune_changed(self) -> None:
        """What is tuned, or how, is another: it is saved with the lab."""
        self.screen.tune_changed()

    def tune_ended(self) -> None:
        """A tuning session has come to its end."""
        self.say(*tune_state.ended(self.tune))
        self.screen.runs_changed()
        panel.changed()

    def _looks_new(self) -> None:
        """Pictures have something else to show."""
        self.news += 1
        self.screen.looks_new()

    @property
    def frame(self) -> payload.Frame:
        return frame.of(self.document)

    def observe(self, f: Callable[[Lab], Any]) -> Callable[[], None]:
        """`f(lab)` after every change; returns how to stop it."""
        self._observers.append(f)
        return lambda: self._observers.remove(f) if f in self._observers else None

    @property
    def code(self) -> str:
        """The steps as calls, in the person's names."""
        return self.schedule.to_code()

    @property
    def program(self) -> str:
        """Imports, expression and steps: runs in a fresh kernel."""
        return self.head()["program"]

    # ------------------------------------------------------------ acting

    def apply(self, primitive: str, *args: Any, **kwargs: Any) -> Any:
        """One step, loops and stages given by name: `lab.apply("split", "C.i", factor=32)`. Returns what it makes."""
        line = caller()
        code = {"via": "", "where": place(line), "names": result_names(line)}
        with self.acting():
            bound = acts.plain(primitive, args, kwargs, self.schedule.state)
            return requests.take(self, primitive, bound, code=code)

    def undo(self) -> Lab:
        """Take back the last change of a step, the last step, or, where there is none, the choice of the workload."""
        with self.acting():
            requests.undo(self, {})
        return self

    def redo(self) -> Lab:
        with self.acting():
            requests.redo(self, {})
        return self

    def jump(self, number: int) -> Lab:
        """Look at the schedule after `number` steps."""
        with self.acting():
            self.document.jump(number)
        return self

    def start(self, tensors: Sequence[Any], workload: str = "", shape: dict[str, Any] | None = None) -> Lab:
        """Another workload: these tensors, inputs first. Other shapes of the same operator keep the steps that apply.

        `workload`, `shape`: the operator of `kernels/` that it is, and what its `declare` was given.
        """
        outputs = workloads.outputs(tensors)
        with self.acting():
            left, chosen = Choice.of(self), not self.starts or any(b.entries for b in self.document.branches)
            if workload and workload == self.workload:
                self.document.rebase(outputs)
                self.args, self._root = list(tensors), self.document.root
            else:
                self._open(Document.of(create_schedule(outputs)), tensors)
            self.starts, self.workload = False, workload
            self.kernel = {"name": workload, "shape": shape or {}} if workload else None
            self.selection = selecting.first(self.schedule.state)
            if chosen:
                self.choices.came(left, self)
            steps = len(self.document.entries)
            went_on = f"{steps} step{'s' * (steps > 1)} taken again" if steps else "point at a loop to begin"
            self.say(f"{self.head()['title']}: {went_on}.")
        return self

    def take_up(self, choice: Choice) -> None:
        """A workload that was left, as it was left."""
        if choice.document.root is not choice.root:
            choice.document.rebase(choice.root)
        self._open(choice.document, choice.args)
        self.workload, self.kernel = choice.workload, choice.kernel
        self.selection = selecting.first(self.schedule.state)

    # ------------------------------------------------------------ running

    def run(self, wait: bool = True, **options: Any) -> payload.Run:
        """Run and check this step in a process of its own; returns the row. Options: those of `lab.runs.options`."""
        found = self.start_run(options)
        if wait:
            self.runs.wait(found)
        return self.runs.row(found)

    def give(self, **arrays: Any) -> Lab:
        """Run with these arrays, by the names of the inputs: `lab.give(A=a, B=b)`; with none, random ones again."""
        self.runs.give(arrays or None)
        return self

    def start_run(self, options: dict[str, Any] | None = None) -> str:
        """Put a run of this step into the queue; its id."""
        steps = [e for e in self.document.entries[: self.step] if not e.parked]
        title = f"step {self.step}" if steps else "start"
        chosen = {"kernel": self.kernel, **(options or {})}
        found = self.runs.run(self.schedule.trace, title, self.step_id, chosen, self.args)
        self._awaited.add(found)
        return found

    def pin(self, run: str = "") -> None:
        """Keep this schedule (or a run's) to compare with. It is run if it was not yet."""
        chosen = run or self.runs.last_of(self.schedule.trace, self.target) or self.start_run()
        self.runs.pin(chosen)
        on = self.runs.row(chosen)["pinned"]
        self.say("Pinned: run another step and compare." if on else "No longer pinned.")

    def compare(self, a: str | payload.Run, b: str | payload.Run, wait: bool = False) -> payload.Comparison | None:
        """Two runs, as `run` returns them or by their ids, again, in turns, side by side: is `b` faster, and why."""
        first, second = (x if isinstance(x, str) else x["id"] for x in (a, b))
        self.runs.compare(first, second, self.machine)
        self._awaited.add(COMPARE)
        if wait:
            self.runs.wait()
        return self.runs.payload()["comparison"]

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
        self.said = {"n": self.said["n"] + 1, "text": text, "kind": kind, "card": error}

    def _document_changed(self) -> None:
        if not self._quiet:
            self.later("changed", 0, self._changed)

    def _changed(self) -> None:
        self.later.cancel("changed")
        if self._root is not self.document.root:  # another lab of this schedule has chosen other sizes
            self._root = self.document.root
            self.args = self.args and [self.document.resolve(a) or a for a in self.args]
        self.runs.now(self.schedule.trace)
        self.selection = selecting.followed(self.selection, self.schedule.state)
        self.screen.changed()
        for f in list(self._observers):
            self._tell(f)
        panel.changed()

    def _tell(self, f: Callable[[Lab], Any]) -> None:
        """A person's function must not stand in the way of the lab: what goes wrong in it is said, and that is all."""
        try:
            with garbage.allowed():
                f(self)
        except (Exception, SystemExit) as e:
            warnings.warn(f"{getattr(f, '__name__', f)}, which observes {self.name}, failed: {e!r}", stacklevel=4)

    def _runs_changed(self) -> None:
        now = self.runs.payload()
        for row in [r for r in now["rows"] if r["id"] in self._awaited and r["state"] in OVER]:
            self._awaited.discard(row["id"])
            self.say(*ended(row))
        compared = now["comparison"]
        if COMPARE in self._awaited and compared is not None and compared["state"] != "running":
            self._awaited.discard(COMPARE)
            self.say(*comparing.said(compared))
        self.screen.runs_changed()
        panel.changed()

    # ------------------------------------------------------------ what views are sent

    def head(self) -> payload.Head:
        return heading(self)

    def history(self, whole: bool = True) -> payload.History:
        """`whole=False`: without the numbers of places that nobody has looked at, for which loops had to be made."""
        found = steps.history(self.document, self.seconds(), whole)
        undo = self.choices.to_undo(self, last=True) or found["undo"] or self.choices.to_undo(self)
        redo = self.choices.to_redo(self) or found["redo"]
        return {**found, "undo": undo, "redo": redo}

    def seconds(self) -> dict[str, float]:
        """The last time on the target after each step, by its id ("" for the start); of changed ones, none."""
        if not self.runs.payload()["rows"]:
            return {}
        ids = ["", *(e.id for e in self.document.entries)]
        times = {id: self.runs.seconds_of(self.document.trace_at(n)) for n, id in enumerate(ids)}
        return {id: t for id, t in times.items() if t is not None}

    def actions(self) -> payload.Actions:
        return actions.actions(self.schedule, self.selection)

    def typed(self, trace: Trace | None, said: str = "", good: bool = True) -> None:
        """Show what is being typed in the cell above, as far as it goes; None: what is. Nothing is taken."""
        if said and said != self.said["text"]:
            self.say(said, "info" if good else "bad")
        self.screen.typed(trace)

    def state(self) -> payload.State:
        return {
            "head": self.head(), "history": self.history(), "frame": self.frame, "selection": list(self.selection),
            "actions": self.actions(), "runs": self.runs.payload(), "message": self.said,
            "story": story.story(self.document),
        }  # fmt: skip

    def picture(self, kind: str = "graph", **looked: Any) -> Shown:
        """One of the lab's pictures, as a cell shows it: graph, relations, metrics, roofline, parallel.

        `looked`: what to look at in it this once, `lab.picture("parallel", bx=3, by=1, warp=2, lane=5)`. What NVIDIA's
        compiler says of a kernel is waited for.
        """
        found = self.subject(kind, self.compiled.awaited)
        chosen = {**found.looked, **selecting.looked(kind, looked)}
        return Shown(pictures.picture(kind, replace(found, looked=chosen)))

    def subject(self, kind: str = "", used: Callable[[str, str], Any] | None = None) -> pictures.Subject:
        """What pictures (of that kind) are of. `used`: how the compiler is asked; without, what is known is shown."""
        trace = self.schedule.trace
        before = self.document.trace_at(self.step - 1) if self.step else None
        return pictures.Subject(
            trace, self.machine, before, tuple(self.selection), tuple(self._points()), self.target,
            self.looked.get(kind, {}), used or self.compiled.known,
        )  # fmt: skip

    def _points(self) -> Iterator[pictures.Point]:
        measured = self.seconds()
        yield pictures.Point("start", self.document.trace_at(0), measured.get(""), self.step == 0)
        for n, entry in enumerate(self.document.entries, 1):
            if not entry.parked:
                trace, seconds = self.document.trace_at(n), measured.get(entry.id)
                yield pictures.Point(f"{n} {entry.label}", trace, seconds, n == self.step)

    # ------------------------------------------------------------ saved and still

    def saved(self) -> payload.Document:
        """The lab as data: what `save` writes, the still copy holds and an exported page shows."""
        drawn = [pictures.picture(kind["value"], self.subject(kind["value"])) for kind in pictures.kinds()]
        found: payload.Document = {
            "schema": payload.SCHEMA, "state": self.state(), "pictures": drawn,
            "sources": [sources.source(self.schedule.trace, "numba")],
            "save": saving.to_data(self),
        }  # fmt: skip
        return found

    def save(self, path: Any) -> Path:
        """Write the lab to a file, best called something.tvlab.json; `Lab.load` reads it."""
        file = Path(path)
        file.write_text(json.dumps(self.saved()), encoding="utf-8")
        return file

    @classmethod
    def load(cls, path: Any) -> Lab:
        """A saved lab, or the last one of a notebook that was saved. Steps that this version does not know are kept,
        parked, and saved again as they were."""
        data = saving.read_json(Path(path))
        if Path(path).suffix == ".ipynb":
            data = saving.from_notebook(data, str(path))
        found: Lab = saving.from_data(cls, data, str(path))
        return found

    def html(self, mode: str = "live") -> str:
        return still.page(self.saved(), mode)

    def export_html(self, path: Any, mode: str = "live") -> Path:
        """One file that needs nothing else: with `mode="live"` time travel works in it, "still" holds no script."""
        if mode not in ("live", "still"):
            raise LabError("export-mode", f"there is no mode {mode!r}", legal=["live", "still"])
        file = Path(path)
        file.write_text(self.html(mode), encoding="utf-8")
        return file

    def snapshot(self) -> None:
        """Write the still copy in the notebook anew, now."""
        self.screen.snapshot()

    def bundle(self) -> dict[str, Any]:
        """The still copy, for every kind of viewer."""
        return self.screen.bundle()

    def __repr__(self) -> str:
        return f"{self.name}: {self.head()['title']}, step {self.step} of {len(self.document.entries)}"

    # ------------------------------------------------------------ in a notebook

    @property
    def widget(self) -> Any:
        """The widget, made when it is first asked for. Needs `pip install anywidget`."""
        return self.screen.open()

    def _ipython_display_(self) -> None:
        self.screen.display()

    def close(self) -> None:
        """End the runs and take the widget away; the schedule stays."""
        self._unobserve()
        self.later.close()
        self.tune.end()
        self.runs.close()
        self.compiled.close()
        self.screen.leave()
        LABS.pop(self.id, None)


hooks.put("lab", Schedule)(lambda schedule: partial(Lab, schedule))
