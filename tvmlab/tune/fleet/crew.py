"""Which workers of a fleet there are, which of them fit, and who is free. A thread of its own keeps looking."""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from ..watch import tell
from . import ANY
from .link import FleetError, Link

AWHILE = 2.0  # seconds after which it is said that an answer is waited for
MOST_NAMED = 8  # workers that a sentence names
ASKED = 3  # times that a worker is, whose answer does not come
LOOK = 0.25  # seconds between two looks at who is there
SETTLE = 5.0  # seconds that the first worker which fits waits for the others, before the kind of machine is chosen
State = Literal["asked", "fit", "unfit", "quiet", "gone"]


@dataclass(eq=False)
class Member:
    """A worker. `why`: it does not take part. `heard`: the last sign of life, and when (by our clock) it was new."""

    address: str
    state: State = "asked"
    name: str = ""
    machine: str = ""
    host: str = ""
    why: str = ""
    busy: bool = False
    since: float = 0.0  # it is busy, or was asked
    heard: tuple[float, float] = (0.0, 0.0)
    trials: int = 0
    asked: int = 0  # times
    answer: Any = None  # what comes of having asked it

    @property
    def called(self) -> str:
        return self.name or self.address


class Crew:
    """`ask(member)`: have a worker say who it is; `read(member)`: what it said, None where that went wrong.

    `lost(member, why)`: called when one does not answer any more.
    """

    def __init__(
        self, link: Link, fleet: Any, ask: Callable[[Member, Callable[[], Any]], Any],
        read: Callable[[Member], dict[str, Any]], lost: Callable[[Member, str], Any],
    ) -> None:  # fmt: skip
        self.link, self.fleet, self.ask, self.read, self.lost = link, fleet, ask, read, lost
        self.members: dict[str, Member] = {}
        self.machine = ""  # of those that take part; "": all may, or it is not yet chosen
        self.notes: list[str] = []
        self.trouble = ""
        self.changed = threading.Condition()
        self._answered: deque[Member] = deque()
        self._over = threading.Event()
        self._listened = 0.0
        self._told = False
        self._seen = time.monotonic()  # when a worker that fits was there
        self._anew = False

    # ------------------------------------------------------------ beginning and end

    def open(self) -> None:
        """Wait for the first workers, and choose the kind of machine. Refused: when none fits."""
        self._look()
        threading.Thread(target=self._watch, name="tvmlab fleet", daemon=True).start()
        deadline, first = time.monotonic() + self.fleet.patience, None
        with self.changed:
            while time.monotonic() < deadline:
                self._tell(deadline)
                first = first or (time.monotonic() if self.fit else None)
                waiting = any(m.state == "asked" for m in self.members.values())
                settled = self.fit and first is not None and time.monotonic() > first + SETTLE
                if settled or (self.members and not waiting):
                    break
                self.changed.wait(LOOK)
            self._choose()
            if not self.fit:
                raise self._nobody()

    def _tell(self, deadline: float) -> None:
        """Once, that a first worker is waited for, and for how long."""
        left, told = deadline - time.monotonic(), self._told
        if told or self.fit or self.members and self.fleet.patience - left < AWHILE:
            return
        who = ", ".join(sorted(m.called for m in self.members.values() if m.state == "asked")[:MOST_NAMED])
        self._told = True
        if not who:
            self.notes.append("the fleet had no worker at first")
        waited = f"for an answer of {who}" if who else "for a first worker of the fleet"
        tell(f"tune: waiting {waited}, {left:.0f} s at most")

    @property
    def silent(self) -> list[str]:
        """Sentences about those that were asked who they are, and have not answered."""
        silent = [m for m in self.members.values() if m.state == "asked"]
        return [f"{m.called} has taken no part: it has not answered since it was asked" for m in silent]

    def close(self) -> None:
        self._over.set()

    @property
    def over(self) -> bool:
        return self._over.is_set()

    def _choose(self) -> None:
        """One kind of machine: what others measure does not compare."""
        fit = self.fit
        if not fit:
            return
        kinds = Counter(m.machine for m in fit).most_common()
        if self.fleet.machine != ANY:
            self.machine = kinds[0][0]
        elif len(kinds) > 1:
            self.notes.append(f"machines of {len(kinds)} kinds take part, whose times do not compare")
        for m in fit:
            self._fits(m)

    def _nobody(self) -> FleetError:
        where = [f"{m.called}: {m.why or 'it has not answered'}" for m in self.members.values()]
        said = "no worker of this fleet can measure that" if where else "this fleet has no worker"
        return FleetError(
            "no-worker", said, where=where,
            hint="dask worker tcp://HOST:8786 --nthreads 1 --name NAME  starts one; docs/fleet.md says more",
        )  # fmt: skip

    # ------------------------------------------------------------ who does what

    @property
    def fit(self) -> list[Member]:
        return [m for m in self.members.values() if m.state == "fit"]

    def take(self, stop: threading.Event, tried: Collection[str] = (), wish: str = "") -> Member | None:
        """The worker that has been free for longest, busy from now on; None if it is not wanted any more.

        `tried`: those that others are preferred to. `wish`: the one that is waited for, as long as it is there.
        A FleetError when there has been none for a while, whoever asked in that while.
        """
        with self.changed:
            if self._anew and not stop.is_set():
                self._anew, self._seen = False, time.monotonic()
            while not stop.is_set() and not self._over.is_set():
                fit = [] if self.trouble else self.fit
                if wish not in tried and any(m.address == wish for m in fit):
                    fit = [self.members[wish]]
                elif others := [m for m in fit if m.address not in tried]:
                    fit = others
                if fit:
                    self._seen = time.monotonic()
                elif time.monotonic() > self._seen + self.fleet.patience:
                    raise FleetError("no-worker", self.trouble or "no worker of the fleet is left")
                free = min((m for m in fit if not m.busy), key=lambda m: m.since, default=None)
                if free is not None:
                    free.busy, free.since = True, time.monotonic()
                    return free
                self.changed.wait(LOOK)
        return None

    def pause(self) -> None:
        """Nobody is waited for until the next one is taken."""
        with self.changed:
            self._anew = True
            self.changed.notify_all()

    def give(self, member: Member) -> None:
        with self.changed:
            member.busy = False
            self.changed.notify()

    def aside(self, member: Member, why: str) -> None:
        """It takes no part from now on."""
        with self.changed:
            member.state, member.why = "unfit", why
            self.notes.append(f"{member.called} is left out: {why}")
            self.changed.notify_all()

    # ------------------------------------------------------------ looking

    def _watch(self) -> None:
        failing = 0.0
        while not self._over.wait(LOOK):
            try:
                self._look()
                failing, self.trouble = 0.0, ""
            except Exception as e:
                failing = failing or time.monotonic()
                with self.changed:
                    self.trouble = f"the scheduler does not answer: {type(e).__name__}: {e}"
                    self.changed.notify_all()
                if time.monotonic() - failing > self.fleet.silent:
                    self._all_gone()

    def _look(self) -> None:
        there = self.link.addresses()
        if self.fit:
            self._seen = time.monotonic()
        for address in sorted(there):
            if address not in self.members or self.members[address].state == "gone":
                self._meet(address)
        for m in list(self.members.values()):
            if m.address not in there and m.state != "gone":
                self._leave(m, "gone", "it is gone")
        while self._answered:
            self._hear(self._answered.popleft())
        self._listen()

    def _all_gone(self) -> None:
        for m in self.members.values():
            if m.state != "gone":
                self._leave(m, "gone", self.trouble)

    def _meet(self, address: str) -> None:
        before = self.members.get(address)
        m = Member(address, name=self.link.name(address), trials=before.trials if before else 0)
        with self.changed:
            self.members[address] = m
        self._ask(m)

    def _ask(self, m: Member) -> None:
        m.since, m.asked = time.monotonic(), m.asked + 1
        m.answer = self.ask(m, lambda: self._answered.append(m))

    def _hear(self, m: Member) -> None:
        """Its answer: who it is, and whether it fits. One that was lost is asked for again."""
        if m.state != "asked":
            return
        found = self.read(m)
        again = found.get("lost")
        if again == "cut":
            m.asked = 0
        if again and m.asked < ASKED:
            self._ask(m)
            return
        with self.changed:
            m.name, m.machine, m.host = (str(found.get(k, getattr(m, k))) for k in ("name", "machine", "host"))
            m.state, m.why, m.answer = "fit", str(found["why"]), None
            missing = [n for n in self.fleet.need if n not in found.get("resources", ())]
            if missing and not m.why:
                m.why = f"it has no {' and no '.join(missing)}"
            self._fits(m)
            self.changed.notify_all()

    def _fits(self, m: Member) -> None:
        """Leave it out if it is not of the kind that takes part, or something else is in the way."""
        asked = self.fleet.machine
        if not m.why and asked not in ("", ANY) and asked not in m.machine:
            m.why = f"it is another machine ({m.machine})"
        if not m.why and self.machine not in ("", m.machine):
            m.why = f'it is a machine of another kind ({m.machine}); tune.Fleet(..., machine="{ANY}") takes all'
        if m.why:
            m.state = "unfit"
            self.notes.append(f"{m.called} is left out: {m.why}")

    def _listen(self) -> None:
        """Is there a sign of life of those that have been busy for long, and of those that were given up?"""
        now, half = time.monotonic(), self.fleet.silent / 2
        doubtful = [m for m in self.members.values() if m.state == "quiet" or m.busy and now - m.since > half]
        if not doubtful or now - self._listened < self.fleet.silent / 5:
            return
        self._listened = now
        beats = self.link.beats()
        for m in doubtful:
            self._felt(m, beats.get(m.address, m.heard[0]), now)

    def _felt(self, m: Member, beat: float, now: float) -> None:
        alive = beat != m.heard[0]
        if alive:
            m.heard = (beat, now)
        if m.state == "quiet" and alive:
            with self.changed:
                m.state = "fit"
                self.notes.append(f"{m.called} is back")
                self.changed.notify_all()
        elif m.state == "fit" and m.busy and now - m.heard[1] > self.fleet.silent:
            self._leave(m, "quiet", f"it gave no sign of life for {self.fleet.silent:g} s")

    def _leave(self, m: Member, state: State, why: str) -> None:
        with self.changed:
            m.state, m.why = state, why
            if state == "gone":
                m.answer = None
            self.changed.notify_all()
        with suppress(Exception):
            self.lost(m, why)
