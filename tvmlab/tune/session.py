"""A tuning session: a search proposes, candidates are measured in other processes, everything is written down.

    result = tune.run(task, trials=200, records="matmul.jsonl")          waits; an interrupt ends it, nothing is lost
    session = tune.Session(task, trials=200); session.start()            goes on in the background
    session.pause(); session.resume(); session.stop(); session.wait()

Where it ends by itself the fastest few are timed again, in turns, and the best is the best of these.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..core.error import CallError
from ..runtime import host
from . import finish
from . import fleet as fleets
from . import records as recording
from . import search as searches
from .ahead import Ahead, Point
from .candidate import Candidate, Refused, candidate
from .clock import Clock
from .measure import Measured, Measurer, Setup
from .records import Log, Record
from .restrict import On, PartOf, Within
from .result import Drift, Progress, Result
from .watch import Watched, watched

State = Literal["ready", "running", "paused", "stopping", "done"]
OnTrial = Callable[[Record], Any]
USUAL_TRIALS = 64
GRACE = 0.15  # seconds that a trial which runs may go on after a pause or a stop
REFUSALS = 1000  # points in a row that gave nothing to measure, after which a session gives up
EARLY = 8  # points of a batch while few are known: a search that learns is told sooner
LOST = 3  # trials in a row for which there was no process, after which it does too
NAMELESS = object()  # in the place of a part of the space, where the search has none that it can be given
BY_NAME = 'give it by name: search="annealing"'
LOOK = 0.2  # seconds between two looks at how many processes there are: a machine may join
DRIFT_EVERY = 24  # trials between two timings of the same candidate


class Session(Watched):
    """`trials`: measured in all, those in the file included; `seconds`: of work, pauses not counted, and not the 2 s at
    the end in which the fastest are timed again. `search`: a name (`random`, `grid`, `genetic`, ...) or a search.
    `records`: a file that is read first, and added to. `setup`: how to measure (a Setup, or its fields as a mapping).
    `on_trial(record)`: called in the session's thread. `fleet`: other machines that measure: a `Client` of
    dask.distributed, the address of a scheduler, a `tune.Fleet`, or whatever has the methods of a Measurer.
    """

    def __init__(
        self,
        task: Any,
        trials: int | None = None,
        seconds: float | None = None,
        search: Any = "random",
        seed: int = 0,
        records: str | os.PathLike[str] | None = None,
        target: Any = None,
        on_trial: OnTrial | None = None,
        batch: int = 16,
        setup: Setup | Mapping[str, Any] | None = None,
        fleet: Any = None,
    ) -> None:
        self.task = task
        self.trials = trials if trials is not None or seconds is not None else USUAL_TRIALS
        self.seconds = seconds
        _need_amounts(trials, seconds, batch)
        self.target = str(target or task.target or "llvm")
        self.setup = Setup.of(setup, self.target, here=fleet is None)
        self.search = searches.get(search)(task, seed=seed) if isinstance(search, str) else search
        self.search_name = search if isinstance(search, str) else type(search).__module__.rsplit(".", 1)[-1]
        self.batch, self.on_trial = batch, on_trial
        self._seed, self._part = seed, None if isinstance(search, str) else NAMELESS
        self.log = None if records is None else Log(records)
        self.records: list[Record] = []  # of this task, also from the file
        self.discarded: Counter[str] = Counter()
        self.notes: list[str] = []
        self.flop = self._flop()
        self.drift = Drift()
        self._steadied: Candidate | None = None  # the one that is timed for it
        self.retimed: list[Record] = []
        self._known: dict[int, Record] = {}
        self._keys: dict[str, Record] = {}  # by fingerprint: what need not be measured again
        self._best: Record | None = None
        self._done = 0
        self._refusals = self._lost = 0
        self._late = self._finishing = False  # is the time up? are the fastest being timed again?
        self._fleet = fleet
        self._measurer: Measurer | None = None if fleet is None else self._opened()
        self.machine = getattr(self._measurer, "machine", host.description())  # "" is any
        self._read()
        self._state: State = "ready"
        self._changed = threading.Condition()
        self._halt = threading.Event()  # of the trials that run now: set, they end
        self._clock = Clock()
        self._thread: threading.Thread | None = None
        self._runners: list[threading.Thread] = []
        self._at_work = _Batch()
        self._error: BaseException | None = None
        self._todo: queue.SimpleQueue[_Item | None] = queue.SimpleQueue()
        self._out: queue.SimpleQueue[tuple[_Item, Measured]] = queue.SimpleQueue()

    # ------------------------------------------------------------ acting

    def start(self) -> Session:
        """Begin, in the background."""
        with self._changed:
            if self._state != "ready":
                raise CallError("started", f"this session is {self._state}", hint="make another one: tune.Session(...)")
            self._go(self._measure_all)
        return self

    def retime(self) -> Result:
        """Time the fastest few again, now, and wait for it: about 2 s. Of a session that has ended, as by a stop."""
        with self._changed:
            if self._state not in ("ready", "done"):
                raise CallError("running", f"this session is {self._state}", hint="it times the fastest at its end")
            self._halt = threading.Event()
            self._go(self._retime)
        return _waited(self)

    def _go(self, what: Callable[[], None]) -> None:
        self._state = "running"
        self._clock.go()
        self._thread = threading.Thread(target=self._work, args=(what,), name="tvmlab tuning", daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Nothing runs from now on, until `resume`; a trial that is cut off is made again then."""
        with self._changed:
            if self._state != "running":
                return
            self._state = "paused"
            self._clock.rest()
            self._changed.notify_all()
        self._cut()

    def resume(self) -> None:
        with self._changed:
            if self._state != "paused":
                return
            self._state, self._halt = "running", threading.Event()
            self._clock.go()
            self._changed.notify_all()

    def stop(self) -> None:
        """End it; what has been measured stays. A trial that runs is given up."""
        with self._changed:
            if self._state == "ready":
                self._state = "done"
                self._tidy()
            if self._state in ("done", "stopping"):
                return
            self._state = "stopping"
            self._clock.rest()
            self._changed.notify_all()
        self._cut()

    def restrict(self, on: On | None) -> None:
        """Propose only points with these choices from now on: by knob, the places of the candidates that remain.

        None: all of them again. A search that was given as an object cannot be restricted.
        """
        if self._part is NAMELESS:
            raise CallError("search-object", "a search that is given as an object keeps to its own space", hint=BY_NAME)
        self._part = PartOf(self.task, on or {})

    def wait(self, timeout: float | None = None) -> bool:
        """Until it has ended. False if it has not by then. Raised: what went wrong before the first trial."""
        with self._changed:
            ended = self._changed.wait_for(lambda: self._state == "done", timeout)
        if ended:
            self.settle()
        if ended and self._error is not None and not self.records:
            raise self._error  # else it is a note of the result
        return ended

    # ------------------------------------------------------------ looking

    @property
    def state(self) -> State:
        return self._state

    @property
    def progress(self) -> Progress:
        best = self._best
        state = "finishing" if self._finishing and self._state == "running" else self._state
        return Progress(
            state, self._done, self.trials, self._clock.seconds, self.seconds,
            best.seconds if best is not None else None, sum(self.discarded.values()),
        )  # fmt: skip

    @property
    def result(self) -> Result:
        """What there is so far."""
        notes = [*self.notes, *self._troubles()]
        return Result(self.task, self.target, tuple(self.records), dict(self.discarded), tuple(notes), self.drift,
                      self.progress, tuple(self.retimed))  # fmt: skip

    def _troubles(self) -> list[str]:
        if self.log is None or not self.log.trouble:
            return []
        count = len(self.log.pending)
        return [f"{self.log.trouble}: the last {count} records are in memory only, `result.save(path)` writes them"]

    # ------------------------------------------------------------ the session's thread

    def _work(self, what: Callable[[], None]) -> None:
        try:
            what()
        except Exception as e:  # of the search, which may be a person's
            self._error = e
            self.notes.append(f"ended early: {type(e).__name__}: {e}")
        finally:
            try:
                self._tidy()
            finally:
                with self._changed:
                    self._clock.rest()
                    self._state = "done"
                    self._changed.notify_all()

    def _tidy(self) -> None:
        if self._measurer is not None:
            if self._measurer is not self._fleet:  # which may be one that measures
                threading.Thread(target=self._measurer.close, daemon=True).start()  # a process may still be starting
            self.notes += dict.fromkeys(self._measurer.notes)
        if self.log is not None:
            self.log.flush()

    def _measure_all(self) -> None:
        if self._over():
            return
        if self._measurer is None:
            self._measurer = self._opened()
        self._measurer.warm()
        before = self._done
        self._search()
        if self._done > before:
            self._finish()

    def _opened(self) -> Any:
        """Who measures: processes here, or a fleet."""
        return Measurer(self.setup) if self._fleet is None else fleets.opened(self._fleet, self.setup)

    def _search(self) -> None:
        ahead = Ahead(self._searching, self._made)
        try:
            self._propose_and_measure(ahead)
            if self._refusals >= REFUSALS:
                common = self.discarded.most_common(1)
                why = f", most often: {common[0][0]}" if common else ": the search proposes what is known"
                self.notes.append(f"given up: {self._refusals} points in a row gave nothing to measure{why}")
        finally:
            ahead.close(wait=not self._ended)
            for _ in self._runners:
                self._todo.put(None)
            deadline = time.monotonic() + GRACE
            for t in self._runners:
                t.join(max(0.0, deadline - time.monotonic()) if self._state == "stopping" else None)

    def _staff(self) -> int:
        """A thread for each process that there is now; how many there are."""
        assert self._measurer is not None
        count = len(self._measurer)
        while len(self._runners) < count:
            t = threading.Thread(target=self._runner, args=(len(self._runners),), daemon=True)
            self._runners.append(t)
            t.start()
        return count

    @property
    def _ended(self) -> bool:
        return self._state in ("stopping", "done")

    def _searching(self) -> Any:
        """The search; made anew, and told what is known, where another part of the space was asked for."""
        part = self._part
        if isinstance(part, PartOf):
            self._part = None
            self.search = Within(searches.get(self.search_name)(part, seed=self._seed), part.space)
            self.search.tell([(i, r.score) for i, r in sorted(self._known.items())])
        return self.search

    def _propose_and_measure(self, ahead: Ahead) -> None:
        while not self._over():
            if not ahead.asked and not self._ask(ahead):  # all that is wanted is being measured
                ahead.tell(self._batch([], None))
                continue
            asked = self._taken(ahead)
            if asked is None:
                break
            if self._stale(ahead.by):
                continue
            if not asked and not self._at_work.out:
                left = " that is left" if isinstance(self.search, Within) else ""
                tried = f"every point of the space{left} has been tried"
                self.notes.append(tried if self.records else "the space has no points")
                break
            self._ask(ahead, len(asked))
            ahead.tell(self._batch(asked, ahead.by))
        ahead.tell(self._batch([], None))

    def _ask(self, ahead: Ahead, out: int = 0) -> bool:
        """Ask for more, when so many are about to be measured; False if that is enough."""
        wanted = self._wanted(out + self._at_work.out)
        if wanted:
            ahead.ask(wanted)
        return bool(wanted)

    def _taken(self, ahead: Ahead) -> list[Point] | None:
        """The points; what is being measured is not lost when the search raises."""
        try:
            return ahead.take(self._over)
        except Exception:
            self._batch([], None)
            raise

    def _stale(self, by: Any) -> bool:
        """Has another part of the space been asked for than the one that this search proposes?"""
        return isinstance(self._part, PartOf) or self.search is not by

    def _made(self, index: int) -> Candidate | Refused | None:
        return None if index in self._known else candidate(self.task, index, self.target)

    @property
    def _rolling(self) -> bool:
        """Does a fleet measure? Then no worker waits for the slowest one of a batch."""
        return getattr(self._measurer, "rolling", False)

    def _wanted(self, out: int = 0) -> int:
        """Points of the next batch, when so many are being measured."""
        batch = min(self.batch, max(EARLY, self._done // EARLY))
        batch = max(batch, self._staff()) if self._rolling else batch
        return batch if self.trials is None else max(0, min(batch, self.trials - self._done - out))

    def _over(self) -> bool:
        if self._ended:
            return True
        if self.trials is not None and self._done >= self.trials:
            return True
        if self.seconds is not None and self._clock.seconds >= self.seconds:
            return True
        return self._refusals >= REFUSALS or self._lost >= LOST

    def _batch(self, asked: list[Point], by: Any) -> list[tuple[int, float | None]]:
        """Measure points; the scores there are then, in the order in which the points were asked for.

        Where a batch rolls on, those that are out come with a later one. `by`: the search that asked.
        """
        b = self._at_work
        b.waiting.extend(asked)
        b.asked += [p.index for p in asked]
        least = self._staff() if asked and self._rolling else 1
        while b.waiting or b.out >= least:
            self._paused()
            if self._over() or self._stale(by):
                b.waiting.clear()
            if b.waiting and b.out <= self._staff():
                self._submit(b, b.waiting.popleft())
            elif b.out:
                self._collect(b)
        b.scores.update({i: self._keys[key].score for i, key in b.twins.items() if key in self._keys})
        told, b.scores = b.scores, {}
        before, b.asked = b.asked, [i for i in b.asked if b.out and i not in told]
        return [(i, told[i]) for i in before if i in told]

    def _submit(self, b: _Batch, point: Point) -> None:
        item = self._item(b, point)
        if item is not None:
            b.running.add(item.candidate.key)
            self._todo.put(item)
            b.out += 1

    def _collect(self, b: _Batch) -> None:
        done = self._next()
        if done is None:
            return
        item, measured = done
        b.out -= 1
        b.running.discard(item.candidate.key)
        if item.drift:
            self._drifted(measured)
        elif measured.outcome != "cancelled":
            b.scores[item.candidate.index] = self._measured(item, measured)
            if self._due():
                self._todo.put(_Item(self._steady(), drift=True))
                b.out += 1

    def _next(self) -> tuple[_Item, Measured] | None:
        """What ended next; None if nothing has for a moment, or the time is up before."""
        left = float("inf") if self.seconds is None else self.seconds - self._clock.seconds
        try:
            return self._out.get(timeout=max(0.01, min(left, LOOK)))
        except queue.Empty:
            if self._state == "running" and left <= LOOK:
                self._late = True
                self._cut()
                return self._out.get()
            return None

    def _item(self, b: _Batch, point: Point) -> _Item | None:
        """A point as something to measure; None if there is nothing to."""
        index, found = point.index, point.made
        if found is None or index in self._known:
            self._refusals += 1
            b.scores[index] = self._known[index].score
            return None
        if isinstance(found, Refused):
            self._refused(found)
            b.scores[index] = None
            return None
        if found.key in self._keys or found.key in b.running:
            self._discard("duplicate")
            b.twins[index] = found.key
            return None
        self._refusals = 0
        return _Item(found, point.predicted, fitted=point.fitted)

    def _discard(self, why: str) -> None:
        self.discarded[why] += 1
        self._refusals += 1

    def _refused(self, found: Refused) -> None:
        self._discard(found.text)
        config = [] if found.config is None else found.config
        said = {"outcome": "instantiation", "reason": found.text, "threads": self.setup.threads}
        self._keep(self._record(found.index, config, **said))

    def _measured(self, item: _Item, m: Measured) -> float | None:
        """Write a trial down; its score."""
        c = item.candidate
        made = self._record(
            c.index, c.config, trace=c.key, outcome=m.outcome, reason=m.reason, phase=m.phase, times=list(m.times),
            number=m.number, alone=m.alone, compile=m.compile, check=m.check, predicted=item.predicted,
            fitted=item.fitted, threads=self.setup.threads, worker=m.worker, machine=m.machine,
        )  # fmt: skip
        self._lost = self._lost + 1 if m.outcome == "lost" else 0
        if m.outcome == "lost":
            if self._lost == LOST:
                self.notes.append(f"given up: {m.reason}")
        else:
            self._done += 1
        self._keep(made)
        return made.score

    def _record(self, index: int, config: Any, **values: Any) -> Record:
        entity = config.to_json() if hasattr(config, "to_json") else config
        return recording.now(
            task=self.task.name, args=recording.plain(self.task.args), target=self.target,
            space=str(self.task.space.hash), index=index, config=recording.plain(entity),
            flop=self.flop, search=self.search_name, **values,
        )  # fmt: skip

    def _keep(self, record: Record) -> None:
        """In memory first, then in the file, then tell who listens."""
        self._know(record)
        if self.log is not None:
            self.log.add(record)
        if self.on_trial is not None:
            try:
                self.on_trial(record)
            except Exception as e:
                self.on_trial = None
                self.notes.append(f"on_trial is not called any more: it raised {type(e).__name__}: {e}")

    def _know(self, record: Record) -> None:
        self.records.append(record)
        if record.outcome == "lost":
            return
        self._known[record.index] = record
        if record.trace:
            self._keys[record.trace] = record
        if record.alone and record.seconds is not None:
            if self._best is None or record.seconds < (self._best.seconds or 0.0):
                self._best = record

    # ------------------------------------------------------------ drift

    def _due(self) -> bool:
        """Is it time to time the same candidate again?"""
        return self._done % DRIFT_EVERY == 0 and self._steady_record() is not None

    def _steady_record(self) -> Record | None:
        if self.drift.record is None and self._best is not None:
            self.drift = replace(self.drift, record=self._best)
        return self.drift.record

    def _steady(self) -> Candidate:
        record = self._steady_record()
        assert record is not None
        if self._steadied is None or self._steadied.index != record.index:
            made = candidate(self.task, record.index, self.target)
            assert isinstance(made, Candidate)
            self._steadied = made
        return self._steadied

    def _drifted(self, m: Measured) -> None:
        if m.seconds is None:
            return
        self.drift = replace(self.drift, times=(*self.drift.times, (self._done, m.seconds)))
        if self.log is not None and (r := self.drift.record) is not None:
            who = m.worker or r.worker
            self.log.add(replace(r, kind="drift", times=list(m.times), number=m.number, worker=who, at=time.time()))

    # ------------------------------------------------------------ the end

    def _retime(self) -> None:
        self._measurer = self._opened()
        self._finish()

    def _finish(self) -> None:
        """The fastest few timed again: all of it counts, or nothing does."""
        few = finish.contested([*self.records, *self.retimed], self.setup.retime, self.drift.change)
        if not few:
            return
        if self._late:
            self._late, self._halt = False, threading.Event()
        self._finishing = True
        try:
            found = finish.rounds(few, self._again)
        finally:
            self._finishing = False
        at = time.time()
        found = [replace(r, at=at, versions=recording.versions()) for r in found]
        self.retimed += found
        self._best = recording.fastest([*self.records, *self.retimed])
        for r in found:
            if self.log is not None:
                self.log.add(r)

    def _again(self, record: Record) -> Measured:
        made = candidate(self.task, record.index, self.target)
        if isinstance(made, Refused):
            return Measured("instantiation", made.text)
        while True:
            self._paused()
            if self._ended:
                return Measured("cancelled")
            m = self._measurer
            assert m is not None
            again = getattr(m, "again", None)  # a person's own need not have it
            found = again(made, 0, self._halt) if again is not None else m.measure(made, None, 0, self._halt)
            if found.outcome == "lost":  # nobody is there to do it: the first times stay
                return Measured("cancelled")
            if found.outcome != "cancelled":
                return found

    # ------------------------------------------------------------ the threads that measure

    def _runner(self, process: int) -> None:
        while (item := self._todo.get()) is not None:
            self._out.put((item, self._run(item, process)))

    def _run(self, item: _Item, process: int) -> Measured:
        """Measure; again if a pause came in between."""
        assert self._measurer is not None
        while True:
            self._paused()
            if self._ended or self._late:
                return Measured("cancelled")
            best = self._best.seconds if self._best is not None else None
            try:
                found = self._measurer.measure(item.candidate, best, process, self._halt)
            except Exception as e:  # what this process itself could not do
                return Measured("lost", f"{type(e).__name__}: {e}")
            if found.outcome != "cancelled":
                return found

    def _paused(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._state != "paused")

    def _cut(self) -> None:
        """End the trials that run, after a moment of grace."""
        halt, measurer = self._halt, self._measurer
        deadline = time.monotonic() + GRACE
        while time.monotonic() < deadline and measurer is not None and measurer.busy:
            time.sleep(0.01)
        if measurer is not None:
            measurer.cancel(halt)

    # ------------------------------------------------------------ before it begins

    def _flop(self) -> float:
        """The task's; 0 where it cannot say: scores are then runs per second."""
        try:
            return float(self.task.flop or 0)
        except RuntimeError as e:
            self.notes.append(f"speeds are not known, only times: {e}")
            return 0.0

    def _read(self) -> None:
        """What the file has of this task: it is not measured again."""
        if self.log is None or not self.log.path.exists():
            return
        loaded = recording.load(self.log.path)
        self.notes += loaded.notes
        known = recording.matching(loaded.records, self.task, self.target, ("trial", "retimed"))
        same = [r for r in known if r.space == str(self.task.space.hash)]
        ours = [r for r in same if self.machine in ("", r.machine) and r.threads == self.setup.threads]
        self.retimed = [r for r in ours if r.kind == "retimed"]
        mine, same, here = ([r for r in rs if r.kind == "trial"] for rs in (known, same, ours))
        if len(same) < len(mine):
            self.notes.append(f"{len(mine) - len(same)} trials in the file are of another space, and are left alone")
        if other := len(same) - len(here):
            self.notes.append(f"{other} trials in the file are of another machine or thread count, and are left alone")
        if count := self.know(here):
            self.notes.append(f"{count} trials were in the file already")

    def know(self, records: Iterable[Record]) -> int:
        """Trials of before, of this space: they are not made again. How many of them are new. Not once it runs."""
        latest = {r.index: r for r in records if r.outcome != "lost" and r.index not in self._known}
        for r in latest.values():
            self._know(r)
        self._best = recording.fastest([*self.records, *self.retimed])
        self._done += sum(r.outcome != "instantiation" for r in latest.values())
        if latest:
            self.search.tell([(i, r.score) for i, r in sorted(latest.items())])
        return len(latest)


@dataclass(frozen=True)
class _Item:
    candidate: Candidate
    predicted: float | None = None
    fitted: int = 0
    drift: bool = False


@dataclass
class _Batch:
    """`asked`: points whose scores have not been told; `out`: how many are being measured; `running`: their keys.
    `twins`: points with the same steps as another.
    """

    waiting: deque[Point] = field(default_factory=deque)
    asked: list[int] = field(default_factory=list)
    out: int = 0
    scores: dict[int, float | None] = field(default_factory=dict)
    twins: dict[int, str] = field(default_factory=dict)
    running: set[str] = field(default_factory=set)


def run(
    task: Any,
    trials: int | None = None,
    seconds: float | None = None,
    search: Any = "random",
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

    `show`: follow it here, with plots in a notebook and a line of progress elsewhere; None: in notebooks and terminals.
    """
    session = Session(task, trials, seconds, search, seed, records, target, on_trial, batch, setup, fleet)
    with watched(session, show):
        return _waited(session.start())


def _waited(session: Session) -> Result:
    """Its result, when it has ended; an interrupt ends it."""
    try:
        while not session.wait(0.2):  # in steps: an interrupt is not heard inside a long wait everywhere
            pass
    except KeyboardInterrupt:
        session.stop()
        session.notes.append("interrupted")
        session.wait()
    return session.result


def _need_amounts(trials: Any, seconds: Any, batch: Any) -> None:
    for name, value, kind in (("trials", trials, int), ("seconds", seconds, (int, float)), ("batch", batch, int)):
        if value is None and name != "batch":
            continue
        if isinstance(value, bool) or not isinstance(value, kind) or not value > 0:
            raise CallError("amount", f"{name} must be a number above 0, not {value!r}")
