"""What the threads of a session do: one has points proposed and written down, others have them measured.

    proposed ahead -> batch -> todo -> runners, one for each process -> out -> the book -> told to the search
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import finish
from .ahead import Ahead, Point
from .book import LOST, Book, Item
from .candidate import Candidate, Refused, candidate
from .gate import GRACE, Gate
from .measure import Measured
from .records import Record
from .restrict import Within

REFUSALS = 1000  # points in a row that gave nothing to measure, after which a session gives up
EARLY = 8  # points of a batch while few are known: a search that learns is told sooner
LOOK = 0.2  # seconds between two looks at how many processes there are: a machine may join

Scores = list[tuple[int, float | None]]


@dataclass
class Budget:
    """`trials`: in all; `seconds`: of work. None: no limit. `batch`: points that are asked for at a time."""

    trials: int | None
    seconds: float | None
    batch: int


class Work:
    """Of one start. `searching()`: who proposes; it is another one where another part of the space is asked for.

    `stale(search)`: is there one that takes its place? `first`: points that come before those it proposes.
    """

    def __init__(
        self, book: Book, gate: Gate, budget: Budget, measurer: Any, searching: Callable[[], Any],
        stale: Callable[[Any], bool], first: Sequence[int] = (),
    ) -> None:  # fmt: skip
        self.book, self.gate, self.budget, self.measurer = book, gate, budget, measurer
        self._searching, self._stale, self._first = searching, stale, list(first)
        self._runners: list[threading.Thread] = []
        self._batch = _Batch()
        self._todo: queue.SimpleQueue[Item | None] = queue.SimpleQueue()
        self._out: queue.SimpleQueue[tuple[Item, Measured]] = queue.SimpleQueue()

    @property
    def over(self) -> bool:
        """Is nothing more to be measured?"""
        book, budget = self.book, self.budget
        if self.gate.ended:
            return True
        if budget.trials is not None and book.done >= budget.trials:
            return True
        if budget.seconds is not None and self.gate.clock.seconds >= budget.seconds:
            return True
        return book.refusals >= REFUSALS or book.lost >= LOST

    # ------------------------------------------------------------ the search

    def search(self) -> None:
        """Propose and measure until it is over."""
        ahead = Ahead(self._searching, self._made, self._first)
        try:
            self._propose_and_measure(ahead)
            if self.book.refusals >= REFUSALS:
                common = self.book.discarded.most_common(1)
                why = f", most often: {common[0][0]}" if common else ": the search proposes what is known"
                self.book.notes.append(f"given up: {self.book.refusals} points in a row gave nothing to measure{why}")
        finally:
            ahead.close(wait=not self.gate.ended)
            for _ in self._runners:
                self._todo.put(None)
            deadline = time.monotonic() + GRACE
            for t in self._runners:
                t.join(max(0.0, deadline - time.monotonic()) if self.gate.state == "stopping" else None)

    def _propose_and_measure(self, ahead: Ahead) -> None:
        while not self.over:
            ahead.tell(self.book.hear())
            if not ahead.asked and not self._ask(ahead):  # all that is wanted is being measured
                ahead.tell(self._measure([], None))
                continue
            asked = self._taken(ahead)
            if asked is None:
                break
            if self._stale(ahead.by):
                continue
            if not asked and not self._batch.out:
                left = " that is left" if isinstance(ahead.by, Within) else ""
                tried = f"every point of the space{left} has been tried"
                self.book.notes.append(tried if self.book.records else "the space has no points")
                break
            self._ask(ahead, len(asked))
            ahead.tell(self._measure(asked, ahead.by))
        ahead.tell(self._measure([], None))

    def _ask(self, ahead: Ahead, out: int = 0) -> bool:
        """Ask for more, when so many are about to be measured; False if that is enough."""
        wanted = self._wanted(out + self._batch.out)
        if wanted:
            ahead.ask(wanted)
        return bool(wanted)

    def _taken(self, ahead: Ahead) -> list[Point] | None:
        """The points; what is being measured is not lost when the search raises."""
        try:
            return ahead.take(lambda: self.over)
        except Exception:
            self._measure([], None)
            raise

    def _made(self, index: int) -> Candidate | Refused | None:
        return None if index in self.book.known else candidate(self.book.task, index, self.book.target)

    @property
    def _rolling(self) -> bool:
        """Does a fleet measure? Then no worker waits for the slowest one of a batch."""
        return getattr(self.measurer, "rolling", False)

    def _wanted(self, out: int = 0) -> int:
        """Points of the next batch, when so many are being measured."""
        batch, trials = min(self.budget.batch, max(EARLY, self.book.done // EARLY)), self.budget.trials
        batch = max(batch, self._staff()) if self._rolling else batch
        return batch if trials is None else max(0, min(batch, trials - self.book.done - out))

    # ------------------------------------------------------------ a batch

    def _measure(self, asked: list[Point], by: Any) -> Scores:
        """Measure points; the scores there are then, in the order in which the points were asked for.

        Where a batch rolls on, those that are out come with a later one. `by`: the search that asked.
        """
        b = self._batch
        b.waiting.extend(asked)
        b.asked += [p.index for p in asked]
        least = self._staff() if asked and self._rolling else 1
        while b.waiting or b.out >= least:
            self.gate.hold()
            if self.over or (by is not None and self._stale(by)):
                b.waiting.clear()
            if b.waiting and b.out <= self._staff():
                self._submit(b, b.waiting.popleft())
            elif b.out:
                self._collect(b)
        keys = self.book.keys
        b.scores.update({i: keys[key].score for i, key in b.twins.items() if key in keys})
        told, b.scores = b.scores, {}
        before, b.asked = b.asked, [i for i in b.asked if b.out and i not in told]
        return [(i, told[i]) for i in before if i in told]

    def _submit(self, b: _Batch, point: Point) -> None:
        item = self._item(b, point)
        if item is not None:
            b.running.add(item.candidate.key)
            self._put(b, item)

    def _put(self, b: _Batch, item: Item) -> None:
        self._todo.put(item)
        b.out += 1

    def _item(self, b: _Batch, point: Point) -> Item | None:
        """A point as something to measure; None if there is nothing to."""
        book, index, found = self.book, point.index, point.made
        if found is None or index in book.known:
            book.refusals += 1
            b.scores[index] = book.known[index].score
            return None
        if isinstance(found, Refused):
            book.refuse(found)
            b.scores[index] = None
            return None
        if found.key in book.keys or found.key in b.running:
            book.discard("duplicate")
            b.twins[index] = found.key
            return None
        book.refusals = 0
        return Item(found, point.predicted, fitted=point.fitted)

    def _collect(self, b: _Batch) -> None:
        done = self._next()
        if done is None:
            return
        item, measured = done
        b.out -= 1
        b.running.discard(item.candidate.key)
        if item.drift:
            self.book.drifted(measured)
        elif measured.outcome != "cancelled":
            b.scores[item.candidate.index] = self.book.measured(item, measured)
            if steady := self.book.steady():
                self._put(b, steady)

    def _next(self) -> tuple[Item, Measured] | None:
        """What ended next; None if nothing has for a moment, or the time is up before."""
        gate, limit = self.gate, self.budget.seconds
        left = float("inf") if limit is None else limit - gate.clock.seconds
        try:
            return self._out.get(timeout=max(0.01, min(left, LOOK)))
        except queue.Empty:
            if gate.state == "running" and left <= LOOK:
                gate.late = True
                gate.cut(self.measurer)
                return self._out.get()
            return None

    # ------------------------------------------------------------ the threads that measure

    def _staff(self) -> int:
        """A thread for each process that there is now; how many there are."""
        count = len(self.measurer)
        while len(self._runners) < count:
            t = threading.Thread(target=self._runner, args=(len(self._runners),), name="tvmlab measuring", daemon=True)
            self._runners.append(t)
            t.start()
        return count

    def _runner(self, process: int) -> None:
        while (item := self._todo.get()) is not None:
            self._out.put((item, self._run(item, process)))

    def _run(self, item: Item, process: int) -> Measured:
        """Measure; again if a pause came in between."""
        while True:
            self.gate.hold()
            if self.gate.ended or self.gate.late:
                return Measured("cancelled")
            best = self.book.best.seconds if self.book.best is not None else None
            try:
                found = self.measurer.measure(item.candidate, best, process, self.gate.halt)
            except Exception as e:  # what this process itself could not do
                return Measured("lost", f"{type(e).__name__}: {e}")
            if found.outcome != "cancelled":
                return found

    # ------------------------------------------------------------ the end

    def finish(self, most: int) -> None:
        """The fastest few timed again, `most` at a time: all of a time counts, or nothing of it does."""
        book = self.book
        known = [*book.records, *book.retimed]
        few = finish.contested(known, most, book.drift.change)
        if not few:
            return
        if self.gate.late:
            self.gate.late = False
            self.gate.renew()
        book.timed_again(finish.settled(known, few, self.again, most))

    def again(self, record: Record) -> Measured:
        """Time a trial's candidate once more."""
        made = candidate(self.book.task, record.index, self.book.target)
        if isinstance(made, Refused):
            return Measured("instantiation", made.text)
        while True:
            self.gate.hold()
            if self.gate.ended:
                return Measured("cancelled")
            found = self._timed(made)
            if found.outcome == "lost":  # nobody is there to do it: the first times stay
                return Measured("cancelled")
            if found.outcome != "cancelled":
                return found

    def _timed(self, made: Candidate) -> Measured:
        again = getattr(self.measurer, "again", None)  # a person's own need not have it
        if again is not None:
            return again(made, 0, self.gate.halt)
        return self.measurer.measure(made, None, 0, self.gate.halt)


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
