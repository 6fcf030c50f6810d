"""A Measurer whose processes are the workers of a fleet. What a worker is lost with is measured again by another."""

from __future__ import annotations

import base64
import json
import threading
import uuid
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from ...expr.scalar import thread_axis
from ...expr.tensor import compute, placeholder
from ...face.api import as_target
from ...face.handle import create_schedule
from ..candidate import Candidate
from ..measure import REFERENCE_LIMIT, Measured, Setup, asked
from ..records import PACKAGE, versions
from . import there
from .crew import MOST_NAMED, Crew, Member
from .link import FleetError, Link

TRIES = 3  # workers that may be lost with a candidate before it is given up
NO_TVMLAB = "ModuleNotFoundError: No module named 'tvmlab'"


@dataclass(eq=False)
class _Job:
    """One that is with a worker. The first end it comes to is its end: "done", "failed", "lost" or "cancelled"."""

    key: str
    member: Member
    stop: threading.Event
    ended: threading.Event = field(default_factory=threading.Event)
    how: str = ""
    what: str = ""
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def end(self, how: str, what: str = "") -> None:
        with self._guard:
            if not self.ended.is_set():
                self.how, self.what = how, what
                self.ended.set()


class FleetMeasurer:
    """As `measure.Measurer`: one thread measures on one worker at a time, whichever is free.

    `machine`: the description of those that take part, "" if several kinds may. `rolling`: a session should not wait
    for the last of a batch.
    """

    rolling = True

    def __init__(self, fleet: Any, setup: Setup) -> None:
        self.setup, self.name = setup, uuid.uuid4().hex
        self._options = replace(setup, threads=0).options()  # this machine may have fewer
        self._limit = 2 * (REFERENCE_LIMIT + setup.compile_limit + 2 * setup.run_limit)  # it may wait for another's job
        self._link = Link(fleet.scheduler, fleet.security)
        self._jobs: set[_Job] = set()
        self._guard, self._closing = threading.Lock(), threading.Lock()
        self._who: dict[str, str] = {}  # the key of a candidate -> the worker that measured it
        self._finisher = ""  # the worker that times the fastest again
        self._notes: dict[str, None] = {}
        self._probe = self._plain(asked(_small(setup.target), self._options))
        self.crew = Crew(self._link, fleet, self._ask, self._answer, self._lost)
        try:
            self.crew.open()
        except BaseException:
            self.close()
            raise
        self.machine = self.crew.machine

    def __len__(self) -> int:
        """The workers that take part now; one, too, where none does: it is waited for."""
        return max(1, len(self.crew.fit))

    def __bool__(self) -> bool:
        return True

    def __enter__(self) -> FleetMeasurer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def warm(self) -> None:
        """They are: each has tried a small program."""

    def close(self) -> None:
        with self._closing:
            if not self.crew.over:
                self._close()

    def _close(self) -> None:
        self.crew.close()
        reached = [m.address for m in self.crew.members.values() if m.state in ("fit", "unfit") and m.machine]
        self._link.say(there.end, reached, json.dumps(self.name))
        self._link.close()

    def cancel(self, stop: threading.Event) -> None:
        """End what was given this `stop`, on all workers; nobody waits for those."""
        stop.set()
        with self._guard:
            jobs = [j for j in self._jobs if j.stop is stop]
        self._link.tell(there.cancel, {j.member.address for j in jobs}, json.dumps([j.key for j in jobs]))
        for j in jobs:
            j.end("cancelled")
        self.crew.pause()

    @property
    def busy(self) -> bool:
        return bool(self._jobs)

    @property
    def notes(self) -> list[str]:
        """Sentences about the fleet: who took part, who was left out or lost."""
        took = [f"{m.called} ({m.trials})" for m in self.crew.members.values() if m.trials]
        named = ", ".join(took[:MOST_NAMED]) + (f" and {len(took) - MOST_NAMED} more" if len(took) > MOST_NAMED else "")
        machine = f", each {self.crew.machine}" if self.crew.machine else ""
        return [*([f"measured by {named}{machine}"] if took else []), *self.crew.notes, *self.crew.silent, *self._notes]

    # ------------------------------------------------------------ measuring

    def measure(
        self, candidate: Candidate, best: float | None = None, process: int = 0, stop: threading.Event | None = None
    ) -> Measured:
        """As Measurer's; `process` says nothing. A candidate that was measured before goes to the same worker."""
        found, who = self._given(candidate, {"best": best}, self._who.get(candidate.key, ""), stop)
        if who and candidate.key not in self._who:  # else it was timed again, to see whether the machine has changed
            self._who[candidate.key] = who
            self.crew.members[who].trials += 1
        return found

    def again(self, candidate: Candidate, process: int = 0, stop: threading.Event | None = None) -> Measured:
        """As Measurer's: a few more times. One worker times all that is timed again, as long as it is there."""
        found, who = self._given(candidate, {"best": None, "again": True}, self._finisher, stop)
        self._finisher = who or self._finisher
        return found

    def _given(
        self, candidate: Candidate, work: dict[str, Any], wish: str, stop: threading.Event | None
    ) -> tuple[Measured, str]:
        """What a worker made of it, and that worker's address. `wish`: the one that is waited for, if it is there."""
        what = asked(candidate, self._options)
        if isinstance(what, Measured):
            return what, ""
        stop = stop or threading.Event()
        tried: dict[str, str] = {}
        while len(tried) < TRIES:
            try:
                member = self.crew.take(stop, tried, wish)
            except FleetError as e:
                return Measured("lost", e.message), ""
            if member is None:
                return Measured("cancelled"), ""
            job = self._done(member, {"asked": self._plain(what), **work}, stop)
            if job.how == "done":
                return self._read(job, tried), member.address
            if job.how == "cancelled":
                return Measured("cancelled"), ""
            if job.how == "cut":
                self._note(f"{job.what}; what was being measured is measured again")
                continue
            tried[member.address] = f"{member.called}: {job.what}"
            if job.how == "failed":
                self.crew.aside(member, job.what)
            else:
                self._note(f"{member.called} was lost while it measured point {candidate.index}: {job.what}")
        return Measured("lost", f"{len(tried)} workers were lost with it: {'; '.join(tried.values())}"), ""

    def _done(self, member: Member, work: dict[str, Any], stop: threading.Event) -> _Job:
        """A job that has come to its end."""
        job = _Job(uuid.uuid4().hex, member, stop)
        beside = sum(m.host == member.host for m in self.crew.fit)
        text = self._text(job.key, {**work, "beside": max(1, beside)})
        with self._guard:
            self._jobs.add(job)
        try:
            sent = self._link.send(there.measure, member.address, text, job.key, lambda: job.end("done"))
            if stop.is_set():  # perhaps before `cancel` could see the job
                job.end("cancelled")
            if not job.ended.wait(self._limit):
                job.end("failed", f"it did not answer for {self._limit:g} s")
            if job.how == "done":
                job.how, job.what = self._link.outcome(sent)
        except Exception as e:  # the scheduler is gone
            job.how, job.what = "lost", f"{type(e).__name__}: {e}"
        finally:
            with self._guard:
                self._jobs.discard(job)
            self._link.forget(job.key)
            self.crew.give(member)
        return job

    def _text(self, key: str, work: dict[str, Any]) -> str:
        return json.dumps({"id": key, "session": self.name, "setup": asdict(self.setup), **work})

    def _read(self, job: _Job, tried: dict[str, str]) -> Measured:
        said, member = json.loads(job.what), job.member
        for note in said["notes"]:
            self._note(f"{member.called}: {note}")
        found = {**said["measured"], "times": tuple(said["measured"]["times"])}
        if tried:
            again = f"measured again, it was lost with {', '.join(tried.values())}"
            found["reason"] = "; ".join(filter(None, [found["reason"], again]))
        return Measured(**{**found, "worker": member.called, "machine": member.machine})

    def _plain(self, what: Any) -> Any:
        """As JSON has it."""
        options = {**what["options"], "threads": self.setup.threads}
        called = {name: base64.b64encode(place).decode() for name, place in what["packed"].items()}
        return {**what, "options": options, "packed": called}

    def _note(self, text: str) -> None:
        self._notes[text] = None

    # ------------------------------------------------------------ what the crew asks for

    def _ask(self, member: Member, done: Any) -> Any:
        key = uuid.uuid4().hex
        text = self._text(key, {"asked": self._probe, "best": None, "beside": 1, "version": versions()[PACKAGE]})
        return self._link.send(there.about, member.address, text, key, done)

    def _answer(self, member: Member) -> dict[str, Any]:
        how, what = self._link.outcome(member.answer)
        if how == "done":
            return dict(json.loads(what))
        if what == NO_TVMLAB:
            return {"why": "it has no tvmlab"}
        missing = "ModuleNotFoundError" in what and "tvmlab" in what
        why = f"it has no tvmlab of this version ({what})" if missing else what
        return {"why": why, "lost": "" if how == "failed" else how}

    def _lost(self, member: Member, why: str) -> None:
        with self._guard:
            jobs = [j for j in self._jobs if j.member is member]
        for j in jobs:
            j.end("lost", why)


def _small(target: str) -> Candidate:
    """A program that every device can run."""
    a = placeholder((64,), name="A")
    b = compute((64,), lambda i: a[i] * 2.0, name="B")
    s = create_schedule(b.op)
    if as_target(target).device_model:
        s[b].bind(b.op.axis[0], thread_axis("threadIdx.x"))
    return Candidate(-1, None, s.trace, [a, b], "")
