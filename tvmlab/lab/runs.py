"""The runs of a lab: a queue, one at a time, in a process of their own; rows, comparisons and what steps are worth.

    runs = Runs(changed=...)
    id = runs.run(s.trace, "step 3", step_id)      put into the queue; everything goes on meanwhile
    runs.wait(id); runs.row(id)["seconds"]

A background thread talks to the process. `changed()` is called in that thread (and in the caller's, for what it did
itself), at most ten times a second while something runs.
"""

from __future__ import annotations

import contextlib
import copy
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, cast

from ..core.error import CallError, LabError
from ..face.options import OptionError, Options, options
from ..face.trial import fingerprint, spec
from ..runtime.worker import Outcome, Worker
from ..schedule.trace import Trace
from ..view import runs as view
from ..view.card import card
from ..view.diff import diff
from ..view.frame import frame
from ..view.payload import Comparison, Run, RunOptions, Worth
from ..view.payload import Runs as Payload
from . import timing
from .ablation import text_of, without
from .comparing import Why, compared
from .process import join, leave

TRIAL = "tvmlab.face.trial"
KEPT = 40  # rows; the pinned one stays
SHOWN = ("target", "threads", "repeats", "limit", "seed", "rtol", "inputs")
COMPARE, ABLATE = "compare", "ablate"  # what `cancel` calls them by
ABLATION_ROUNDS = 15
SPACE = 0.1  # seconds between two calls of `changed` while something runs


@dataclass(eq=False)
class _Job:
    """What the thread does next. `started(state, progress)` and `ended(outcome, thought)` write into rows, under the
    lock; `thought` is what `think(outcome)` gave before, without it."""

    id: str
    function: str
    args: tuple[Any, ...]
    limit: float
    started: Callable[[str, float], None]
    ended: Callable[[Outcome, Any], None]
    think: Callable[[Outcome], Any] = lambda outcome: None
    stop: threading.Event = field(default_factory=threading.Event)


class Runs:
    """`changed`: called after every change, from any thread. `worker`: None takes the one of all labs."""

    def __init__(self, changed: Callable[[], Any] | None = None, worker: Worker | None = None) -> None:
        self._changed = changed or (lambda: None)
        self._own = worker
        self._options = Options()
        self._set: set[str] = set()  # the names of the options that somebody chose
        self._given: dict[str, Any] | None = None
        self._rows: list[Run] = []
        self._traces: dict[str, tuple[Trace, Options, Sequence[Any] | None]] = {}
        self._comparison: Comparison | None = None
        self._ablation: list[Worth] = []
        self._now = ""
        self._made = 0
        self._lock = threading.Condition(threading.RLock())
        self._queue: SimpleQueue[_Job | None] = SimpleQueue()
        self._waiting: list[_Job] = []  # the first one runs
        self._thread: threading.Thread | None = None
        self._closed = False
        self._told = 0.0

    # ------------------------------------------------------------ acting

    def run(
        self,
        trace: Trace,
        title: str = "",
        step: str = "",
        options: Mapping[str, Any] | None = None,
        args: Sequence[Any] | None = None,
    ) -> str:
        """Put a run of a trace into the queue; its id. Later changes of the schedule do not change it.

        `options`: beside those of `set`. `args`: the order of the arguments. Raised: a bad option, arrays that do not
        fit. What else stands in the way is in the row.
        """
        chosen = self._chosen(options)
        with self._lock:
            self._made += 1
            id = f"r{self._made}"
            row = view.blank(id, title or f"run {self._made}", step, "", chosen)
        try:
            asked = spec(trace, chosen, self._given, args)
        except (CallError, OptionError):
            raise
        except (LabError, ValueError, TypeError) as e:
            row["state"], row["error"] = "failed", card(e, f"run of {row['title']}")
            asked = None
        with self._lock:
            row["trace"] = fingerprint(trace) if asked is not None else ""
            self._rows.insert(0, row)
            self._traces[id] = trace, chosen, args
            self._forget()
        if asked is not None:
            self._put(
                _Job(id, f"{TRIAL}:measure_one", (asked,), chosen.limit, self._in(row), lambda o, _: self._end(row, o))
            )
        self._tell()
        return id

    def cancel(self, id: str = "") -> None:
        """End a run, now or before it starts; `compare`, `ablate`: those; "": everything."""
        with self._lock:
            jobs = [j for j in self._waiting if id in ("", j.id)]
            for job in jobs:
                job.stop.set()
            for job in jobs:
                if job is not self._waiting[0]:
                    self._waiting.remove(job)
                    job.ended(Outcome("cancelled", text="cancelled"), None)
            current = next((j for j in jobs if j in self._waiting), None)
            self._lock.notify_all()
        if current is not None:
            self._worker().cancel(current.stop)
        self._tell()

    def wait(self, id: str = "", timeout: float | None = None) -> bool:
        """Until that run (`compare`, `ablate`, "": everything) has ended. False if it has not by then.

        An interrupt cancels what was waited for.
        """
        try:
            with self._lock:
                return self._lock.wait_for(lambda: not any(id in ("", j.id) for j in self._waiting), timeout)
        except KeyboardInterrupt:
            self.cancel(id)
            raise

    def set(self, **values: Any) -> None:
        """Options of the runs that follow. A bad one is refused with what is legal."""
        chosen = self._chosen(values)
        if chosen.inputs == "given" and self._given is None:
            raise OptionError(
                "option", "no arrays were given", legal=["random"], hint='lab.runs.give({"A": a}) gives them'
            )
        self._options = chosen
        self._set.update(values)
        self._tell()

    def usual(self, **values: Any) -> None:
        """Options of the runs that follow, where nobody has chosen or chooses others."""
        self._options = self._chosen({k: v for k, v in values.items() if k not in self._set})

    def give(self, arrays: Mapping[str, Any] | None) -> None:
        """A person's arrays by the names of the inputs, for the runs that follow; None: random ones again."""
        if arrays is not None and not isinstance(arrays, Mapping):
            raise CallError("input-kind", f"arrays are given by name, not as {type(arrays).__name__}", hint='{"A": a}')
        self._given = None if arrays is None else dict(arrays)
        self._options = options({**self._options.to_json(), "inputs": "random" if arrays is None else "given"})
        self._tell()

    def pin(self, id: str) -> None:
        """Keep a run to compare with: one at a time; pinning it again lets it go."""
        with self._lock:
            chosen = self._row(id)
            on = not chosen["pinned"]
            for row in self._rows:
                row["pinned"] = on and row is chosen
        self._tell()

    def warm(self) -> None:
        """Have the process ready before the first run; returns at once."""
        threading.Thread(target=self._worker().warm, daemon=True).start()

    def close(self) -> None:
        """End what runs; no more is taken."""
        if self._closed:
            return
        self.cancel()
        self._closed = True
        self._queue.put(None)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(10)
        if self._own is None:
            leave(self)

    def close_soon(self) -> None:
        """The same, in a thread of its own: for a garbage collector, which may hold whatever lock `close` needs."""
        if not self._closed:
            threading.Thread(target=self.close, daemon=True).start()

    # ------------------------------------------------------------ two side by side

    def compare(self, a: str, b: str, machine: Any = None) -> None:
        """Measure two runs' schedules again, in turns. `machine`: the preset that reasons are given for."""
        with self._lock:
            rows = [self._row(a), self._row(b)]
            lost = [r["title"] for r in rows if r["id"] not in self._traces]
        if lost:
            raise LabError("no-trace", f"{lost[0]} was run in an earlier session", hint="run it again, then compare")
        asked = []
        for row in rows:
            trace, chosen, args = self._traces[row["id"]]
            now = {"rounds": self._options.rounds, "limit": self._options.limit}
            asked.append(spec(trace, options({**chosen.to_json(), **now}), self._given, args))
        if asked[0]["start"] != asked[1]["start"]:
            raise LabError("different-expressions", "these two runs compute different things, so they do not compare")
        made = view.comparing(rows[0], rows[1])
        names = view.names_of(rows)
        traces = [self._traces[r["id"]][0] for r in rows]
        why = Why.of(traces, machine)
        frames = [frame(t) for t in traces]
        made["diff"] = diff(frames[0]["loops"], frames[1]["loops"])
        made["table"] = view.table(names, frames[0]["metrics"], frames[1]["metrics"])
        self.cancel(COMPARE)
        with self._lock:
            self._comparison = made
        self._put(
            _Job(
                COMPARE,
                f"{TRIAL}:compare",
                tuple(asked),
                self._options.limit,
                lambda state, progress: made.update({"text": view.DOING[state]}),
                lambda o, found: compared(made, o, names, found),
                lambda o: why.found(o.value) if o.ok else None,
            )  # fmt: skip
        )
        self._tell()

    # ------------------------------------------------------------ what steps are worth

    def ablate(self, document: Any, args: Sequence[Any] | None = None) -> None:
        """Measure the schedule without each of its steps, beside the whole of it."""
        whole: Trace = document.trace_at(document.cursor)
        chosen = options({**self._options.to_json(), "rounds": ABLATION_ROUNDS, "baseline": False})
        asked = spec(whole, chosen, self._given, args)
        self.cancel(ABLATE)
        found, text = without(document), text_of(whole)
        made = [view.waiting(id) for id, _, _ in found]
        with self._lock:
            self._ablation = made
        for worth, (_, trace, why) in zip(made, found, strict=True):
            if trace is None:
                worth["text"] = why
                continue
            try:
                part = spec(trace, chosen, self._given, args)
            except (LabError, ValueError, TypeError) as e:
                worth["text"] = f"cannot be measured: {e.message if isinstance(e, LabError) else e}"
                continue
            if text_of(trace) == text:
                worth["text"] = "changes nothing"
                continue
            self._put(_Job(ABLATE, f"{TRIAL}:compare", (part, asked), chosen.limit, _ignore, _worth(worth)))
        self._tell()

    # ------------------------------------------------------------ looking

    @property
    def options(self) -> Options:
        return self._options

    def row(self, id: str) -> Run:
        """A copy of a run's row."""
        with self._lock:
            return copy.deepcopy(self._row(id))

    def payload(self) -> Payload:
        """All that a view shows: a copy, the newest row first."""
        with self._lock:
            for row in self._rows:
                row["stale"] = bool(self._now and row["trace"] and row["trace"] != self._now)
            rows, values = copy.deepcopy(self._rows), self._options.to_json()
            shown = cast(RunOptions, {k: values[k] for k in SHOWN})
            found: Payload = {
                "rows": rows, "comparison": copy.deepcopy(self._comparison),
                "ablation": copy.deepcopy(self._ablation), "options": shown,
            }  # fmt: skip
            return found

    def now(self, trace: Trace) -> None:
        """The schedule as it is now: rows of other traces are stale."""
        try:
            self._now = fingerprint(trace)
        except LabError:  # it cannot be saved, so it was not run either
            self._now = "-"

    def seconds_of(self, trace: Trace) -> float | None:
        """The last measured time of a trace on the target of the runs, wherever it stood; a wrong result has none."""
        found = self._last(trace, self._options.target)
        return found["seconds"] if found is not None else None

    def last_of(self, trace: Trace, target: str) -> str:
        """The id of the last run of a trace on a target that came to its end; "" for none."""
        found = self._last(trace, target)
        return found["id"] if found is not None and found["id"] in self._traces else ""

    def _last(self, trace: Trace, target: str) -> Run | None:
        with self._lock:
            right = [r for r in self._rows if r["state"] == "done" and r["check"] != "wrong"]
            done = [r for r in right if r["target"] == target and self._may_be(r, trace)]
        if not done:
            return None
        try:
            key = fingerprint(trace)
        except LabError:  # it cannot be saved, so it was not run either
            return None
        return next((r for r in done if r["trace"] == key), None)

    def _may_be(self, row: Run, trace: Trace) -> bool:
        """Only then a fingerprint is worth its time: after each act it is asked of each place of the history."""
        found = self._traces.get(row["id"])
        return found is None or len(found[0]) == len(trace)

    def trace(self, id: str) -> Trace | None:
        """The trace of a run; None for one of an earlier session."""
        found = self._traces.get(id)
        return found[0] if found else None

    def pinned_trace(self) -> Trace | None:
        with self._lock:
            return next((self.trace(r["id"]) for r in self._rows if r["pinned"]), None)

    @property
    def busy(self) -> bool:
        return bool(self._waiting)

    # ------------------------------------------------------------ saved

    def to_json(self) -> dict[str, Any]:
        """Rows and options, without arrays and traces."""
        found = self.payload()
        return {"rows": found["rows"], "options": found["options"]}

    def load(self, data: Any) -> None:
        """Rows and options that were saved; what is damaged or not known is left out."""
        listed = data.get("rows") if isinstance(data, Mapping) else None
        usual = view.blank("", "", "", "", Options())
        with self._lock:
            for saved in reversed(listed if isinstance(listed, list) else []):
                row = view.restored(saved, usual)
                if row is None:
                    continue
                self._made += 1
                row["id"] = f"r{self._made}"
                self._rows.insert(0, row)
            self._forget()
        values = data.get("options") if isinstance(data, Mapping) else None
        for name, value in (values if isinstance(values, Mapping) else {}).items():
            if name in SHOWN and name not in ("inputs", "target"):  # the lab itself says what it was for
                self._try(name, value)
        self._tell()

    def _try(self, name: str, value: Any) -> None:
        with contextlib.suppress(LabError):  # of a machine with more cores, or of a target that is not here
            self._options = self._chosen({name: value})
            self._set.add(name)

    # ------------------------------------------------------------ the parts

    def _chosen(self, values: Mapping[str, Any] | None) -> Options:
        return options({**self._options.to_json(), **(values or {})})

    def _row(self, id: str) -> Run:
        found = next((r for r in self._rows if r["id"] == id), None)
        if found is None:
            raise LabError("no-such-run", f"there is no run {id!r}", legal=[r["id"] for r in self._rows])
        return found

    def _forget(self) -> None:
        """Only so many rows are kept."""
        busy = {j.id for j in self._waiting}
        ended = [r for r in self._rows[KEPT:] if not r["pinned"] and r["id"] not in busy]
        for row in ended:
            self._rows.remove(row)
            self._traces.pop(row["id"], None)

    def _in(self, row: Run) -> Callable[[str, float], None]:
        def write(state: str, progress: float) -> None:
            row["state"], row["progress"] = state, progress  # type: ignore[typeddict-item]

        return write

    def _end(self, row: Run, outcome: Outcome) -> None:
        doing = row["state"]
        if outcome.ok:
            view.filled(row, outcome.value)
        elif outcome.kind == "cancelled":
            row["state"] = "cancelled"
        else:
            row["state"], row["error"] = "failed", view.failed(outcome, f"run of {row['title']}", doing)

    def _worker(self) -> Worker:
        return self._own or join(self)

    def _put(self, job: _Job) -> None:
        if self._closed:
            raise LabError("closed", "this lab is closed")
        with self._lock:
            self._waiting.append(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="tvmlab runs", daemon=True)
                self._thread.start()
        self._queue.put(job)

    def _work(self) -> None:
        """In the background thread: the jobs in turn."""
        while (job := self._queue.get()) is not None:
            if job in self._waiting:
                self._do(job)

    def _do(self, job: _Job) -> None:
        def progress(content: Any) -> None:
            with self._lock:
                job.started(content["state"], content["progress"])
            if time.monotonic() - self._told > SPACE:
                self._tell()

        try:
            with timing.run():
                outcome = self._worker().run(job.function, *job.args, limit=job.limit, progress=progress, stop=job.stop)
        except Exception as e:  # nothing that happens here may end the thread
            outcome = Outcome("lost", text=f"{type(e).__name__}: {e}")
        try:
            thought = job.think(outcome)
            with self._lock:
                job.ended(outcome, thought)
        except Exception:
            logging.getLogger(__name__).exception("a run's result could not be kept")
        with self._lock:
            self._waiting.remove(job)
            self._lock.notify_all()
        self._tell()

    def _tell(self) -> None:
        self._told = time.monotonic()
        try:
            self._changed()
        except Exception:
            logging.getLogger(__name__).exception("a listener of runs failed")


def _ignore(state: str, progress: float) -> None:
    pass


def _worth(worth: Worth) -> Callable[[Outcome, Any], None]:
    return lambda outcome, _: view.worth_ended(worth, outcome)
