"""Tuning in the lab: parameters of its steps are opened, a session searches for their best values.

    lab.tune.open("e1", "factor"); lab.tune.open(5, "taken")       or lab.tune.open_all()
    lab.tune.start(trials=64); lab.tune.pause(); lab.tune.resume(); lab.tune.stop()
    lab.tune.adopt()                                                the best becomes the steps, one undo takes it back

The session works in a thread of its own and measures in other processes: the kernel answers meanwhile, a browser may
come and go. Every trial is in the file when it is measured; whoever opens the same lab tomorrow goes on from there.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.error import CallError, LabError
from ..core.hooks import Shown
from ..face.api import as_target
from ..target import names
from ..tune.candidate import sentence
from ..tune.opened import chosen
from ..tune.records import Record
from ..tune.restrict import Part
from ..tune.result import Result
from ..tune.session import Session
from ..view.payload_tune import Trial
from . import adopting, timing, tune_course, tune_file, tune_settings, tune_state
from .heading import untimed
from .insights import Insights
from .legal import Counting
from .tune_settings import Settings
from .tune_subject import GENERIC, STEPS, Subject
from .tune_where import Unreached, Where, checked

GOING = ("connecting", "running", "paused", "finishing", "stopping")


class Tuning(Subject, Shown):
    """Of one lab: `lab.tune`."""

    def __init__(self, lab: Any) -> None:
        super().__init__(lab, self.end_soon)
        self._kept: dict[Any, list[Record]] = {}  # trials that are in no file, by their space
        self.settings, self.where = Settings(), Where()
        self.on: dict[str, list[int]] = {}  # by the name of a knob, the places of the values that the search may use
        self.task: Any = None  # what is tuned, or would be
        self.why: LabError | None = None  # why there is none
        self.session: Session | None = None
        self.trials: list[Trial] = []
        self.records: list[Record] = []  # of the trials
        self.version, self.begun = 1, 1  # grows with every change; what it was when `trials` began anew
        self.notes: list[str] = []
        self.counting: Counting | None = None
        self.insights: Insights | None = None
        self.error: BaseException | None = None
        self._looked: Any = None  # what `task` was made of
        self._space: Any = None  # equal for tasks whose trials are of one space
        self._asked = False  # did somebody say what is opened?
        self._resting = self._wanted = False  # a run of the lab is on; shall the session go on after it?
        self._closed = False
        self._lock = threading.Lock()
        self._turn = threading.RLock()
        self._tuned: Any = None  # the expression that the session is of
        self._usual: int | None = None  # trials before the budget was raised
        self._over = threading.Event()  # set: no session is on
        self._over.set()

    def move(self, lab: Any) -> None:
        super().move(lab)
        self._tuned = None  # the same expression, of another cell

    # ------------------------------------------------------------ what is tuned

    def open(self, step: Any, param: str = "", values: Sequence[Any] | None = None) -> Tuning:
        """Make a parameter of a step tunable: the step by id or number, the parameter as `lab.tune.openable` lists it.

        `values`: those it may have; None is the usual ones.
        """
        self._need_no_run("open")
        found = chosen(self.lab.document, {(step, param) if param else step: values})
        self.opened.update({p.id: p.values for p in found})
        return self._said(asked=True)

    def open_all(self) -> Tuning:
        """Every parameter that can be opened."""
        self._need_no_run("open")
        self.opened.update({p.id: p.values for p in self.openable if not p.why})
        if not self.opened:
            chosen(self.lab.document, {})  # which says what is lacking
        return self._said(asked=True)

    def close(self, step: Any, param: str = "") -> Tuning:
        """No longer tune a parameter."""
        self._need_no_run("close")
        (found,) = chosen(self.lab.document, {(step, param) if param else step: None})
        self.opened.pop(found.id, None)
        return self._said(asked=True)

    def choose(self, source: str) -> Tuning:
        """What is searched: "steps", the opened parameters, or "generic", a space for the whole expression.

        The generic one starts from the expression: the lab's steps are not in it.
        """
        self._need_no_run("source")
        if source not in (STEPS, GENERIC):
            raise LabError("tune-source", f"there is no source {source!r}", legal=[STEPS, GENERIC])
        self.source = source
        return self._said(asked=True)

    def set(self, **values: Any) -> Tuning:
        """`search`, `trials`, `limit` (seconds), `file` ("": memory only). A running session takes other budgets.

        `fleet`: where it measures, as `tune.Session` takes it; "" is this machine. An address is saved with the lab.
        """
        where = checked(values.get("fleet", self.where.given))
        if "fleet" in values:
            values["fleet"] = where if isinstance(where, str) else ""
        made, same = self.settings.changed(values), where is self.where.given or self.where.given == where
        if self.going and (made.search, made.file, True) != (self.settings.search, self.settings.file, same):
            self._need_no_run("search, file and fleet")
        self.settings, self._usual = made, None if "trials" in values else self._usual
        if not same:
            self.where.choose(where)
        if self.session is not None:
            self.session.trials, self.session.seconds = made.trials, made.limit
        return self._said()

    def allow(self, knob: str, on: Sequence[int] | None = None) -> Tuning:
        """Brush: the search may use only these values of a knob (its id or its name; by place). None: all of them."""
        task = self.look()
        name = next((k["label"] for k in tune_state.knobs(self) if knob in (k["id"], k["label"])), knob)
        wanted = {k: v for k, v in {**self.on, name: on}.items() if v is not None}
        Part(task.space, wanted)  # which refuses what cannot be
        whole = dict(zip(task.space.names, task.space.dims, strict=True))
        self.on = {k: sorted(set(v)) for k, v in wanted.items() if len(set(v)) < whole[k]}
        if self.session is not None and self.session.state != "done":
            self.session.restrict(self.on)
        self._count_anew()
        return self._said()

    def look(self) -> Any:
        """The task, as the lab is now; the reason where there is none. A session that is on keeps its own."""
        now = self._now()
        self._leave_another()
        if now != self._looked and not self.going:
            self._looked = now
            self._begin()
        if self.task is None:
            raise self.why or LabError("nothing-opened", "nothing is opened")
        return self.task

    def _now(self) -> tuple[Any, ...]:
        lab, s = self.lab, self.settings
        made_of = self.steps(), lab.document.root, self.source, repr(self.opened)
        return *made_of, lab.target, lab.runs.options.threads, s.search, self.file, self.where.text

    @property
    def behind(self) -> bool:
        """Have the steps changed since the session that is on began?"""
        return self.going and self.moved

    @property
    def moved(self) -> bool:
        """Is the lab another than when somebody last looked?"""
        return self._looked is not None and self._now() != self._looked

    @property
    def busy(self) -> str:
        return "Tuning goes on: More, Tune shows it." if self.going else ""

    def _leave_another(self) -> None:
        """The session of an expression that the lab no longer has is stopped: nobody waits for it."""
        here = self._expression()
        self._tuned = here if self._tuned is None else self._tuned
        if self.state in ("connecting", "running", "paused") and self.session is not None and self._tuned is not here:
            self.notes.append(f"stopped, since the lab has another expression now: {self.session.progress}")
            self._stop()

    def _expression(self) -> Any:
        lab = self._lab()
        return None if lab is None else lab.document.root

    def _begin(self) -> None:
        """What there is to tune has changed: trials of another space are no longer shown."""
        if not self._asked and not self.opened:
            tune_file.remembered(self)
        self.follow_sizes()
        self._tuned = self._expression()
        try:
            task, self.why = self.made(), None
        except LabError as e:
            task, self.why = None, e
        left, was, space = self.session, self._space, self._space_of(task)
        same = space is not None and space == was
        file = left is not None and self._path() == (left.log and left.log.path)
        if same and file and left is not None and left.state == "done":
            self.task = task
            self._changed()
            return
        if left is not None and left.log is None:
            self._kept[was] = left.records
        if space is None or was is None or space[:-1] != was[:-1]:  # it may be the same on another machine
            self.on = {}
        if self._usual is not None and space != was:
            self.settings, self._usual = self.settings.changed({"trials": self._usual}), None
        self._space = space
        self.task, self.session, self.error = task, None, None
        self.insights = None if task is None else Insights(task.space, self._changed)
        self._forget()
        self._count_anew()
        if task is not None:
            self._prepare(self._kept.get(space, ()))

    def _forget(self) -> None:
        with self._lock:
            self.trials, self.records = [], []
            self.begun = self.version + 1
        self._changed()

    def _prepare(self, known: Sequence[Record] = (), measurer: Any = None) -> None:
        """A session that has read the file, and is told what is in memory. `measurer`: of a fleet that was reached."""
        s, me = self.settings, weakref.ref(self)
        try:
            self.session = Session(
                self.task, s.trials, s.limit, s.search, records=self._path(), target=self.lab.target,
                on_trial=lambda r: made._heard(r) if (made := me()) is not None else None,
                setup={"threads": self.lab.runs.options.threads},
                fleet=Unreached() if measurer is None and self.where.elsewhere else measurer,
            )  # fmt: skip
        except (LabError, OSError) as e:
            self.why = e if isinstance(e, LabError) else LabError("tune-file", f"{s.file}: {e.strerror or e}")
            self.task = None
            return
        in_file = {r.index for r in self.session.records}
        new = [r for r in known if r.index not in in_file and self.session.machine in ("", r.machine)]
        self.session.know(new)
        log = self.session.log
        for r in new if log is not None else ():  # of before there was a file, or where it was full
            assert log is not None
            log.add(r)
        there = {(r.index, r.at) for r in self.records}
        for r in self.session.records:
            if (r.index, r.at) not in there:
                self._take(r, again=True)
        if self.on:
            self.session.restrict(self.on)

    # ------------------------------------------------------------ acting

    def start(self, **settings: Any) -> Tuning:
        """Tune, in the background, until the budget is used up; with settings, as `set` takes them. Returns at once.

        Trials that are in the file count. Where the budget is used up already, it is raised by as much again.
        """
        if settings:
            self.set(**settings)
        if self.going:
            return self.resume()
        self.notes.clear()
        self.look()
        self._need_measuring()
        if self.counting is not None and self.counting.none:
            common = self.counting.reasons.most_common(1)
            raise LabError("no-legal-point", f"none of the {self.counting.size} combinations is legal: {common[0][0]}")
        with self._turn:
            tune_course.begin(self)
        return self._said()

    def pause(self) -> Tuning:
        """Nothing is measured from now on, until `resume`."""
        self._wanted = False
        if self.session is not None:
            self.session.pause()
        return self._said()

    def resume(self) -> Tuning:
        """Go on: after a pause, after a stop, or on another day, with the trials that are in the file."""
        if not self.going:
            return self.start()
        self._wanted = True
        if self.session is not None and not self._resting:
            self.session.resume()
        return self._said()

    def stop(self) -> Tuning:
        """End it. What has been measured stays."""
        self._stop()
        return self._said()

    def _stop(self) -> None:
        with self._turn:
            if self.where.connecting:
                self.where.give_up()
                tune_course.not_begun(self)
        if self.session is not None and self.going:
            self.session.stop()

    def wait(self, seconds: float | None = None) -> bool:
        """Until the session has ended; False if it has not by then. An interrupt leaves it alone."""
        self._over.wait(seconds)  # no join: an interrupted one takes the thread for ended (CPython 3.11)
        return not self.going

    def clear(self) -> Tuning:
        """Begin anew: without the trials so far. They stay in their file; the next ones go to another one."""
        self._need_no_run("clear")
        path = self._path()
        if path is not None and path.exists():
            self.settings = self.settings.changed({"file": tune_settings.next_file(str(path))})
            self.notes.append(f"the trials so far stay in {path.name}; the next ones go to {self.settings.file}")
        self._kept.clear()
        self.task = self.session = self._looked = self._space = None
        return self._said()

    def adopt(self, index: Any = None) -> Tuning:
        """The values of a trial (by its number in the space; None: the best) become the steps. One undo takes it back.

        Of the generic space: the trial's steps, on a branch of their own.
        """
        self.look()
        record = self.record(index)
        with self.lab.acting():
            self.lab.say(adopting.adopt(self, record), "good")
        return self._said()

    def record(self, index: Any = None) -> Record:
        """A trial; None: the best."""
        if index is None:
            best = self.result.best
            if best is None:
                raise CallError("no-best", "no trial succeeded yet", where=[r.reason for r in self.records[:3]])
            return best
        known: list[Record] = [*self.records, *(self.session.retimed if self.session is not None else ())]
        found = next((r for r in reversed(known) if str(r.index) == str(index)), None)
        if found is None:
            raise LabError("no-such-trial", f"there is no trial of point {index!r}")
        return found

    @property
    def result(self) -> Result:
        """What there is so far: `.best`, `.table()`, `.schedule()`, `.to_code()`."""
        self.look()
        if self.session is None:
            raise CallError("no-session", "nothing was tuned yet", hint="lab.tune.start()")
        return self.session.result

    @property
    def state(self) -> str:
        """empty, ready, connecting, running, paused, finishing, stopping, done."""
        if self.session is None or self.task is None:
            return "empty"
        if self.where.connecting:
            return "connecting" if self._wanted else "paused"
        return str(self.session.progress.state)

    @property
    def going(self) -> bool:
        return self.state in GOING

    # ------------------------------------------------------------ beside runs of the lab

    def rest(self) -> None:
        """For `timing`: something else is timed now."""
        self._resting = True
        if self.session is not None:
            self.session.pause()
        self._changed()

    def go_on(self) -> None:
        self._resting = False
        if self.session is not None and self._wanted:
            self.session.resume()
        self._changed()

    @property
    def resting(self) -> bool:
        """Does it wait for a run of the lab?"""
        return self._resting and self._wanted and self.state == "paused"

    # ------------------------------------------------------------ saved

    def to_json(self) -> dict[str, Any]:
        return {"opened": self.opened, "source": self.source, **self.settings.to_json()}

    def load(self, data: Any) -> None:
        """What was saved; what is damaged or not known is left out."""
        found: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
        opened = found.get("opened")
        for id, values in (opened if isinstance(opened, Mapping) else {}).items():
            if isinstance(values, list):
                self.opened[str(id)] = values
        self._asked = bool(self.opened)
        self.source = GENERIC if found.get("source") == GENERIC else STEPS
        for name in ("search", "trials", "limit", "file", "fleet"):
            try:
                self.settings = self.settings.changed({name: found[name]} if name in found else {})
            except LabError as e:  # of a computer that has other packages, or other folders
                self.notes.append(f"the saved {name} is not used: {sentence(e.message)}")
        self.where.choose(self.settings.fleet)

    def end(self) -> None:
        """The lab is closed: the session is stopped, its file complete."""
        self._closed = True
        if self.counting is not None:
            self.counting.stop()
        if self.session is not None and self.going:
            self._stop()
            self.wait(10)
        timing.end(self)

    def end_soon(self) -> None:
        """The same, in a thread of its own: for a garbage collector, which may hold whatever lock it needs."""
        threading.Thread(target=self.end, daemon=True).start()

    def __repr__(self) -> str:
        try:
            self.look()
            return f"tuning {self.name}: {tune_state.size(self)}\n{self.result}"
        except LabError as e:
            return f"tuning {self.name}: {e}"

    # ------------------------------------------------------------ the parts

    def _path(self) -> Path | None:
        name = tune_settings.usual_file(self.lab) if self.settings.file is None else self.settings.file
        return Path(name) if name else None

    @property
    def file(self) -> str:
        path = self._path()
        return "" if path is None else str(path)

    def _need_no_run(self, what: str) -> None:
        if self.going:
            raise LabError("tuning-runs", f"{what}: not while a session is {self.state}", hint="stop it first")

    def _need_measuring(self) -> None:
        wanted = self.lab.target
        if why := untimed(as_target(wanted).name):
            fit = [name for name in names() if not untimed(name)]
            raise LabError("cannot-measure", f"nothing can be measured for {wanted}: {why}", legal=fit)

    def _said(self, asked: bool = False) -> Tuning:
        self._asked = self._asked or asked
        self._changed()
        self.lab.tune_changed()
        return self

    def _changed(self) -> None:
        with self._lock:
            self.version += 1

    def _heard(self, record: Record) -> None:
        """In the session's thread."""
        self._leave_another()
        self._take(record, again=False)
        self._changed()

    def _take(self, record: Record, again: bool) -> None:
        if record.outcome in ("instantiation", "lost"):
            return
        with self._lock:
            self.records.append(record)
            self.trials.append(tune_state.trial(self.task, record, len(self.trials) + 1, again))

    def _space_of(self, task: Any) -> Any:
        if task is None:
            return None
        return task.name, task.args, str(task.target), task.space.hash, self.lab.runs.options.threads, self.where.text

    def _count_anew(self) -> None:
        if self.counting is not None:
            self.counting.stop()
        self.counting = None

    def count(self) -> Counting | None:
        """How many points are legal: begun when somebody looks."""
        if self.counting is None and self.task is not None:
            space = Part(self.task.space, self.on) if self.on else self.task.space
            self.counting = Counting(self.task, space, self.lab.target, self._changed).start()
        return self.counting
