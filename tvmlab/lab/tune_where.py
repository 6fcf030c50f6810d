"""Where a lab's candidates are measured: on this machine, or on others, to which it connects in a thread of its own."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

from ..core.error import LabError
from ..tune import fleet as fleets
from ..tune.fleet.link import ADDRESS
from ..tune.measure import Setup
from ..view.payload_tune import Trial, Worker

WORDS = {"asked": "asked", "fit": "takes part", "unfit": "out", "quiet": "gone", "gone": "gone"}


class Unreached:
    """In the place of a fleet that was not reached yet: a session with it reads its file, and measures nothing.

    `machine`: "", since whose trials are those of the fleet is not known.
    """

    machine = ""
    busy = False
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return 1

    def measure(self, *_: Any) -> Any:
        raise NotImplementedError("a fleet that was not reached measures nothing")

    warm = cancel = close = lambda self, *_: None


class Where:
    """`given`: what a person said, as `tune.Session(fleet=)` takes it; "" is this machine. `measurer`: once reached."""

    def __init__(self) -> None:
        self.given: Any = ""
        self.measurer: Any = None
        self._try: Any = None  # the one that is on its way

    @property
    def elsewhere(self) -> bool:
        return not (isinstance(self.given, str) and not self.given)

    @property
    def text(self) -> str:
        return said(self.given)

    def choose(self, given: Any) -> None:
        self.given, self.measurer = given, None

    # ------------------------------------------------------------ connecting

    @property
    def connecting(self) -> bool:
        return self._try is not None

    def connect(self, setup: Setup, done: Callable[[Any, Exception | None], Any]) -> None:
        """In the background; `done(measurer, None)` or `done(None, why)` is called there, unless it was given up."""
        mine = self._try = object()
        self.measurer = None
        threading.Thread(target=self._connect, args=(mine, setup, done), name="tvmlab fleet", daemon=True).start()

    def give_up(self) -> None:
        """What is reached afterwards is let go of."""
        self._try = None

    def _connect(self, mine: Any, setup: Setup, done: Callable[[Any, Exception | None], Any]) -> None:
        found = error = None
        try:
            found = fleets.opened(self.given, setup)
        except Exception as e:
            error = e
        if self._try is not mine:
            self._close(found)
            return
        if found is not None:
            self.measurer = found
        done(found, error)

    def close(self) -> None:
        """Let go of it; who took part is still known."""
        self._close(self.measurer)

    def _close(self, measurer: Any) -> None:
        if measurer is not None and measurer is not self.given:  # which may be one that measures
            threading.Thread(target=measurer.close, daemon=True).start()

    # ------------------------------------------------------------ looking

    @property
    def notes(self) -> list[str]:
        return [] if self.measurer is None else list(self.measurer.notes)

    def workers(self, trials: list[Trial]) -> list[Worker]:
        """Who takes part, and who does not and why; of what has no crew, who measured."""
        crew = getattr(self.measurer, "crew", None)
        if crew is not None:
            members = list(crew.members.values())  # of which there may soon be more
            members.sort(key=lambda m: m.called)
            return [_worker(m.called, WORDS[m.state], m.trials, m.why) for m in members]
        if self.measurer is None:
            return []
        counts = Counter(t["worker"] for t in trials if t["worker"] and not t["again"])
        return [_worker(name, "takes part", n) for name, n in sorted(counts.items())]


def _worker(name: str, state: Any, trials: int, why: str = "") -> Worker:
    return {"name": name, "state": state, "trials": trials, "note": "" if state == "takes part" else why}


def checked(given: Any) -> Any:
    """As a person gave it, None as ""; refused is what cannot be a fleet. Nothing is connected."""
    if given is None or isinstance(given, str) and not given.strip():
        return ""
    if not isinstance(given, str):
        fleets.checked(given)
        return given
    if re.fullmatch(ADDRESS, given.strip()) is None:
        raise LabError(
            "fleet-address", f"{given!r} is no scheduler's address",
            legal=["tcp://10.0.0.1:8786", "nothing: this machine measures"],
            hint="docs/fleet.md says how a scheduler and workers are started",
        )  # fmt: skip
    return given.strip()


def said(given: Any) -> str:
    """In words: "tcp://10.0.0.1:8786", "boards rpi4 at 10.0.0.1:9190"."""
    if isinstance(given, str):
        return given
    if hasattr(given, "place"):  # boards
        return " ".join(filter(None, ["boards", given.key, "at {}:{}".format(*given.place)]))
    if isinstance(given, fleets.Fleet):
        choices = [f"machine {given.machine}"] * bool(given.machine) + [f"with {n}" for n in given.need]
        return ", ".join([said(given.scheduler), *choices])
    address = getattr(getattr(given, "scheduler", None), "address", "")
    return str(address or f"a {type(given).__name__}")
