"""What a session knows of its task: every trial, of now and of the file, the best, and how steady the machine is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from . import records as recording
from .candidate import Candidate, Refused, candidate
from .measure import Measured
from .records import Log, Record, RecordError
from .result import Drift

DRIFT_EVERY = 24  # trials between two timings of the same candidate
LOST = 3  # trials in a row for which there was no process, after which a session gives up


@dataclass(frozen=True)
class Item:
    """What is measured: a candidate, and what the search expects of it. `drift`: for how steady the machine is."""

    candidate: Candidate
    predicted: float | None = None
    fitted: int = 0
    drift: bool = False


class Book:
    """`machine`: whose trials in the file count; "" is any. `known`: by point; `keys`: by fingerprint. `done`: trials,
    `before` of which were in the file, or are of another session.

    `refusals`, `lost`: points in a row that gave nothing to measure, trials in a row for which there was no process.
    """

    def __init__(self, task: Any, target: str, threads: int, search: str, machine: str, log: Log | None) -> None:
        self.task, self.target, self.threads, self.search = task, target, threads, search
        self.machine, self.log = machine, log
        self.on_trial: Callable[[Record], Any] | None = None
        self.records: list[Record] = []
        self.retimed: list[Record] = []
        self.discarded: Counter[str] = Counter()
        self.notes: list[str] = []
        self.drift = Drift()
        self.known: dict[int, Record] = {}
        self.keys: dict[str, Record] = {}
        self.best: Record | None = None
        self.done = self.before = self.refusals = self.lost = 0
        self.flop = self._flop()
        self._steadied: Candidate | None = None  # the one that is timed for the drift

    def _flop(self) -> float:
        """The task's; 0 where it cannot say: scores are then runs per second."""
        try:
            return float(self.task.flop or 0)
        except RuntimeError as e:
            self.notes.append(f"speeds are not known, only times: {e}")
            return 0.0

    # ------------------------------------------------------------ before it begins

    def read(self) -> list[Record]:
        """What the file has of this task: it is not measured again."""
        if self.log is None:
            return []
        loaded = self.log.news()
        self.notes += loaded.notes
        known = recording.matching(loaded.records, self.task, self.target, ("trial", "retimed"))
        if other := sum(r.kind == "trial" for r in loaded.records) - sum(r.kind == "trial" for r in known):
            self.notes.append(f"{other} trials in the file are of another expression, target or steps: left alone")
        same = [r for r in known if r.space == str(self.task.space.hash)]
        ours = [r for r in same if self.machine in ("", r.machine) and r.threads == self.threads]
        self.retimed += [r for r in ours if r.kind == "retimed"]
        mine, same, here = ([r for r in rs if r.kind == "trial"] for rs in (known, same, ours))
        if len(same) < len(mine):
            self.notes.append(f"{len(mine) - len(same)} trials in the file are of another space, and are left alone")
        if other := len(same) - len(here):
            self.notes.append(f"{other} trials in the file are of another machine or thread count, and are left alone")
        return here

    def hear(self) -> list[tuple[int, float | None]]:
        """What another session has added to the file meanwhile counts here too; the scores of points that are new."""
        if self.log is None:
            return []
        try:
            loaded = self.log.news()
        except (OSError, RecordError):
            return []  # what cannot be read is no reason to stop
        known = recording.matching(loaded.records, self.task, self.target)
        same = [r for r in known if r.space == str(self.task.space.hash) and r.threads == self.threads]
        new = self.know([r for r in same if self.machine in ("", r.machine)])
        if new:
            said = f"another session adds to {self.log.path.name}: its trials count here too"
            self.notes += [] if said in self.notes else [said]
        return [(r.index, r.score) for r in new]

    def know(self, records: Iterable[Record]) -> list[Record]:
        """Trials of before, of this space; those that are new, by point."""
        latest = {r.index: r for r in records if r.outcome != "lost" and r.index not in self.known}
        for r in latest.values():
            self._know(r)
        self.best = recording.fastest([*self.records, *self.retimed])
        before = sum(r.outcome != "instantiation" for r in latest.values())
        self.done, self.before = self.done + before, self.before + before
        return [r for _, r in sorted(latest.items())]

    # ------------------------------------------------------------ trials

    def discard(self, why: str) -> None:
        """A point that gave nothing to measure."""
        self.discarded[why] += 1
        self.refusals += 1

    def refuse(self, found: Refused) -> None:
        self.discard(found.text)
        config = [] if found.config is None else found.config
        self._keep(self._record(found.index, config, outcome="instantiation", reason=found.text))

    def measured(self, item: Item, m: Measured) -> float | None:
        """Write a trial down; its score."""
        c = item.candidate
        made = self._record(
            c.index, c.config, trace=c.key, outcome=m.outcome, reason=m.reason, phase=m.phase, times=list(m.times),
            number=m.number, alone=m.alone, compile=m.compile, check=m.check, predicted=item.predicted,
            fitted=item.fitted, worker=m.worker, machine=m.machine,
        )  # fmt: skip
        self.lost = self.lost + 1 if m.outcome == "lost" else 0
        self.done += m.outcome != "lost"
        if self.lost == LOST:
            self.notes.append(f"given up: {m.reason}")
        self._keep(made)
        return made.score

    def timed_again(self, found: Iterable[Record]) -> None:
        """The fastest at the end, with their times of then."""
        at, versions = time.time(), recording.versions()
        found = [replace(r, at=at, versions=versions) for r in found]
        self.retimed += found
        self.best = recording.fastest([*self.records, *self.retimed])
        for r in found:
            self._write(r)

    def _record(self, index: int, config: Any, **values: Any) -> Record:
        entity = config.to_json() if hasattr(config, "to_json") else config
        return recording.now(
            task=self.task.name, args=recording.plain(self.task.args), target=self.target,
            space=str(self.task.space.hash), index=index, config=recording.plain(entity),
            flop=self.flop, search=self.search, threads=self.threads, **values,
        )  # fmt: skip

    def _keep(self, record: Record) -> None:
        """In memory first, then in the file, then tell who listens."""
        self._know(record)
        self._write(record)
        if self.on_trial is None:
            return
        try:
            self.on_trial(record)
        except Exception as e:
            self.on_trial = None
            self.notes.append(f"on_trial is not called any more: it raised {type(e).__name__}: {e}")

    def _write(self, record: Record) -> None:
        if self.log is not None:
            self.log.add(record)

    def _know(self, record: Record) -> None:
        self.records.append(record)
        if record.outcome == "lost":
            return
        self.known[record.index] = record
        if record.trace:
            self.keys[record.trace] = record
        if record.alone and record.seconds is not None:
            if self.best is None or record.seconds < (self.best.seconds or 0.0):
                self.best = record

    # ------------------------------------------------------------ drift

    def steady(self) -> Item | None:
        """The candidate that is timed again and again, where it is time for that."""
        if self.done % DRIFT_EVERY:
            return None
        if self.drift.record is None and self.best is not None:
            self.drift = replace(self.drift, record=self.best)
        record = self.drift.record
        if record is None:
            return None
        if self._steadied is None or self._steadied.index != record.index:
            made = candidate(self.task, record.index, self.target)
            assert isinstance(made, Candidate)
            self._steadied = made
        return Item(self._steadied, drift=True)

    def drifted(self, m: Measured) -> None:
        record = self.drift.record
        if m.seconds is None or record is None:
            return
        self.drift = replace(self.drift, times=(*self.drift.times, (self.done, m.seconds)))
        times, who = list(m.times), m.worker or record.worker
        self._write(replace(record, kind="drift", times=times, number=m.number, worker=who, at=time.time()))
