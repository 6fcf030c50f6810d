"""A tuning session: a search proposes, candidates are measured in other processes, everything is written down.

    result = tune.run(task, trials=200, records="matmul.jsonl")          waits; an interrupt ends it, nothing is lost
    session = tune.Session(task, trials=200); session.start()            goes on in the background
    session.pause(); session.resume(); session.stop(); session.wait()

Where it ends by itself the fastest few are timed again, in turns, and the best is the best of these.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..core.error import CallError
from ..runtime import host
from . import fleet as fleets
from . import search as searches
from .asked import need_same_kind, need_task
from .book import Book
from .gate import Gate, State
from .measure import Measurer, Setup
from .records import Log, Record
from .restrict import On, PartOf, Within
from .result import Drift, Progress, Result
from .watch import Watched, aloud, watched
from .work import Budget, Work

OnTrial = Callable[[Record], Any]
USUAL_TRIALS = 64
GOODBYE = 3.0  # seconds for a fleet to be told that it is over
NAMELESS = object()  # in the place of a part of the space, where the search has none that it can be given
BY_NAME = 'give it by name: search="annealing"'


class Session(Watched):
    """`trials`: measured in all, those in the file included; not points that gave nothing to measure, nor what is timed
    again. `seconds`: of work, pauses not counted, and not the 2 s at the end in which the fastest are timed again.
    `search`: a name (`annealing`, `droplet`, `genetic`, `optuna`, `random`, `grid`: a file of `tune/search/`), or a
    search, which keeps to its own points; None is the one that learns (annealing), or random without the package
    lightgbm. One with a name begins with `task.first`. `records`: a file that is read first, and added to. `setup`: how
    to measure (a Setup, or its fields as a mapping). `on_trial(record)`: called in the session's thread. `fleet`: other
    machines that measure: a `Client` of dask.distributed, the address of a scheduler, a `tune.Fleet`, `tune.Boards`, or
    whatever has the methods of a Measurer.
    """

    def __init__(
        self,
        task: Any,
        trials: int | None = None,
        seconds: float | None = None,
        search: Any = None,
        seed: int = 0,
        records: str | os.PathLike[str] | None = None,
        target: Any = None,
        on_trial: OnTrial | None = None,
        batch: int = 16,
        setup: Setup | Mapping[str, Any] | None = None,
        fleet: Any = None,
    ) -> None:
        need_task(task)
        _need_amounts(trials, seconds, batch)
        usual = trials if trials is not None or seconds is not None else USUAL_TRIALS
        self.task, self.target = task, str(target or task.target or "llvm")
        need_same_kind(task, self.target)
        self.setup = Setup.of(setup, self.target, here=fleet is None)
        usually = search is None
        search = searches.usual() if usually else search
        self.search = searches.get(search)(task, seed=seed) if isinstance(search, str) else search
        self.search_name = search if isinstance(search, str) else type(search).__module__.rsplit(".", 1)[-1]
        self._seed, self._part = seed, None if isinstance(search, str) else NAMELESS
        self._fleet = fleet
        self._measurer: Any = None if fleet is None else self._opened()
        self.machine = getattr(self._measurer, "machine", host.description())  # "" is any
        log = None if records is None else Log(records)
        self._book = Book(task, self.target, self.setup.threads, self.search_name, self.machine, log)
        self._book.on_trial = on_trial
        self._budget, self._gate = Budget(usual, seconds, batch), Gate()
        self._closing: threading.Thread | None = None
        self._finishing = False  # are the fastest being timed again?
        self._how = ""  # it ended, where not by itself
        self._error: BaseException | None = None
        if usually and search == "random":
            self.notes.append("the search is random: one that learns needs the package lightgbm")
        if count := self.know(self._book.read()):
            self.notes.append(f"{count} trials were in the file already")

    def __repr__(self) -> str:
        return f"session: {self.progress}"

    # ------------------------------------------------------------ acting

    def start(self) -> Session:
        """Begin, in the background."""
        if not self._gate.move("running", "ready"):
            raise CallError("started", f"this session is {self.state}", hint="make another one: tune.Session(...)")
        self._go(self._measure_all)
        return self

    def retime(self) -> Result:
        """Time the fastest few again, now, and wait for it: about 2 s. Of a session that has ended, as by a stop."""
        if not self._gate.move("running", "ready", "done"):
            raise CallError("running", f"this session is {self.state}", hint="it times the fastest at its end")
        self._go(self._retime)
        return _waited(self)

    def _go(self, what: Callable[[], None]) -> None:
        threading.Thread(target=self._until_done, args=(what,), name="tvmlab tuning", daemon=True).start()

    def pause(self) -> None:
        """Nothing runs from now on, until `resume`; a trial that is cut off is made again then."""
        if self._gate.move("paused", "running"):
            self._gate.cut(self._measurer)

    def resume(self) -> None:
        self._gate.move("running", "paused")

    def stop(self) -> None:
        """End it; what has been measured stays. A trial that runs is given up."""
        self._end("stopped")

    def _end(self, how: str) -> None:
        if self._gate.move("done", "ready"):
            self._tidy()
        elif self._gate.move("stopping", "running", "paused"):
            self._how = how
            self._gate.cut(self._measurer)

    def restrict(self, on: On | None) -> None:
        """Propose only points with these choices from now on: by knob, the places of the candidates that remain.

        None: all of them again. A search that was given as an object cannot be restricted.
        """
        if self._part is NAMELESS:
            raise CallError("search-object", "a search that is given as an object keeps to its own space", hint=BY_NAME)
        self._part = PartOf(self.task, on or {})

    def know(self, records: Iterable[Record]) -> int:
        """Trials of before, of this space: they are not made again. How many of them are new. Not once it runs."""
        new = self._book.know(records)
        if new:
            self.search.tell([(r.index, r.score) for r in new])
        return len(new)

    def wait(self, timeout: float | None = None) -> bool:
        """Until it has ended. False if it has not by then. Raised: what went wrong before the first trial."""
        if not self._gate.wait(timeout):
            return False
        self.settle()
        if self._error is not None and not self.records:
            raise self._error  # else it is a note of the result
        return True

    # ------------------------------------------------------------ looking

    @property
    def state(self) -> State:
        return self._gate.state

    @property
    def progress(self) -> Progress:
        book, budget, seconds = self._book, self._budget, self._gate.clock.seconds
        state = "finishing" if self._finishing and self.state == "running" else self.state
        how = self._how if state == "done" else ""
        best = book.best.seconds if book.best is not None else None
        count = sum(book.discarded.values())
        return Progress(state, book.done, budget.trials, seconds, budget.seconds, best, count, how, book.before)

    @property
    def result(self) -> Result:
        """What there is so far."""
        book = self._book
        notes = (*book.notes, *self._troubles())
        return Result(self.task, self.target, tuple(book.records), dict(book.discarded), notes, book.drift,
                      self.progress, tuple(book.retimed))  # fmt: skip

    def _troubles(self) -> list[str]:
        if self.log is None or not self.log.trouble:
            return []
        count = len(self.log.pending)
        return [f"{self.log.trouble}: the last {count} records are in memory only, `result.save(path)` writes them"]

    @property
    def records(self) -> list[Record]:
        """Every trial of this task, also those from the file."""
        return self._book.records

    @property
    def retimed(self) -> list[Record]:
        return self._book.retimed

    @property
    def discarded(self) -> Counter[str]:
        """Points that gave nothing to measure, by reason."""
        return self._book.discarded

    @property
    def notes(self) -> list[str]:
        return self._book.notes

    @property
    def drift(self) -> Drift:
        return self._book.drift

    @property
    def log(self) -> Log | None:
        return self._book.log

    @property
    def flop(self) -> float:
        return self._book.flop

    # ------------------------------------------------------------ what may be changed while it runs

    @property
    def trials(self) -> int | None:
        return self._budget.trials

    @trials.setter
    def trials(self, count: int | None) -> None:
        self._budget.trials = count

    @property
    def seconds(self) -> float | None:
        return self._budget.seconds

    @seconds.setter
    def seconds(self, limit: float | None) -> None:
        self._budget.seconds = limit

    @property
    def on_trial(self) -> OnTrial | None:
        return self._book.on_trial

    @on_trial.setter
    def on_trial(self, heard: OnTrial | None) -> None:
        self._book.on_trial = heard

    # ------------------------------------------------------------ the session's thread

    def _until_done(self, what: Callable[[], None]) -> None:
        try:
            what()
        except Exception as e:  # of the search, which may be a person's
            self._error = e
            self.notes.append(f"ended early: {type(e).__name__}: {e}")
        finally:
            try:
                self._tidy()
            finally:
                self._gate.move("done", "running", "paused", "stopping")

    def _tidy(self) -> None:
        if self._measurer is not None:
            if self._measurer is not self._fleet:  # which may be one that measures
                closing = threading.Thread(target=self._measurer.close, name="tvmlab measurer ends", daemon=True)
                closing.start()  # nobody waits: a process may still be starting
                self._closing = closing
            self.notes.extend(dict.fromkeys(self._measurer.notes))
        if self.log is not None:
            self.log.flush()

    def _measure_all(self) -> None:
        work = self._work()
        if work.over:
            if not self._gate.ended and self._book.done:
                has = f"there are {self._book.done} trials already" if self.log is None else (
                    f"{self.log.path.name} has {self._book.done} trials already")  # fmt: skip
                self.notes.append(f"nothing was measured: {has}, and `trials=` counts those too")
            return
        if work.measurer is None:
            work.measurer = self._measurer = self._opened()
        work.measurer.warm()
        before = self._book.done
        work.search()
        if self._book.done > before:
            self._finish(work)

    def _retime(self) -> None:
        self._measurer = self._opened()
        self._finish(self._work())

    def _finish(self, work: Work) -> None:
        self._finishing = True
        try:
            work.finish(self.setup.retime)
        finally:
            self._finishing = False

    def _work(self) -> Work:
        looking = self._searching, self._stale, self._first()
        return Work(self._book, self._gate, self._budget, self._measurer, *looking)

    def _opened(self) -> Any:
        """Who measures: processes here, or a fleet."""
        return Measurer(self.setup) if self._fleet is None else fleets.opened(self._fleet, self.setup)

    def _first(self) -> list[int]:
        """What the task begins with, where that may be tried: an untuned template, the steps as they are, a guess."""
        part, known = self._part, self._book.known
        if part is NAMELESS:
            return []
        inside = part.space.inside if isinstance(part, PartOf) else lambda index: index
        return [i for i in getattr(self.task, "first", ()) if i not in known and inside(i) is not None]

    def _searching(self) -> Any:
        """The search; made anew, and told what is known, where another part of the space was asked for."""
        part = self._part
        if isinstance(part, PartOf):
            self._part = None
            self.search = Within(searches.get(self.search_name)(part, seed=self._seed), part.space)
            self.search.tell([(i, r.score) for i, r in sorted(self._book.known.items())])
        return self.search

    def _stale(self, by: Any) -> bool:
        """Has another part of the space been asked for than the one that this search proposes?"""
        return isinstance(self._part, PartOf) or self.search is not by


def run(
    task: Any,
    trials: int | None = None,
    seconds: float | None = None,
    search: Any = None,
    seed: int = 0,
    records: str | os.PathLike[str] | None = None,
    target: Any = None,
    on_trial: OnTrial | None = None,
    batch: int = 16,
    setup: Setup | Mapping[str, Any] | None = None,
    show: bool | None = None,
    fleet: Any = None,
) -> Result:
    """Tune, and wait for the end; an interrupt ends it and gives what was found. The arguments are those of Session.

    `show`: follow it here, with plots in a notebook, in a line of progress in a terminal, in one every 10 s elsewhere;
    None: the same, and elsewhere nothing of what takes less.
    """
    with aloud(show is not False):
        session = Session(task, trials, seconds, search, seed, records, target, on_trial, batch, setup, fleet)
    with watched(session, show):
        return _waited(session.start())


def _waited(session: Session) -> Result:
    """Its result, when it has ended; an interrupt ends it."""
    try:
        while not session.wait(0.2):  # in steps: an interrupt is not heard inside a long wait everywhere
            pass
    except KeyboardInterrupt:
        session._end("interrupted")
        session.notes.append("interrupted")
        session.wait()
    if session._fleet is not None and session._closing is not None:
        session._closing.join(GOODBYE)  # a script may be at its end, and its connections should not be cut off
    return session.result


def _need_amounts(trials: Any, seconds: Any, batch: Any) -> None:
    for name, value, kind in (("trials", trials, int), ("seconds", seconds, (int, float)), ("batch", batch, int)):
        if value is None and name != "batch":
            continue
        if isinstance(value, bool) or not isinstance(value, kind) or not value > 0:
            raise CallError("amount", f"{name} must be a number above 0, not {value!r}")
