"""Candidates measured on other machines without tvmlab's stack: compiled here, uploaded, run and timed there.

    boards = tune.Boards("rpi4", tracker=("10.0.0.1", 9190))             each is lent by a tracker, for one trial
    boards = tune.Boards(address=("10.0.0.7", 9090))                     or the one server at that address
    with boards.open(Setup(target="llvm -mtriple=aarch64-linux-gnu")) as m:
        m.measure(candidate(task, 7))                                    as a Measurer does

Results are compared with the reference here. A connection that is lost costs another try, with another board if there
is one; a tracker or a server that is away is waited for. Then the trial is `lost`. docs/remote.md says how servers
are started.
"""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.error import CallError
from ..runtime.rpc.client import connect
from ..runtime.rpc.offer import address_of
from ..runtime.rpc.tracked import connect_tracker
from ..runtime.rpc.wire import usual_secret
from .measure import Measured, Measurer, Setup, Turns

ABOARD = f"{__package__}.aboard"
MOST = 8  # processes here
WAIT = 24 * 3600.0  # seconds that a trial may wait for a board
ENDS = ("lost", "closed")  # of a session, after which another one is tried
AWAY = ("no-server", "no-tracker", "unknown-key", "ticket", "busy")  # why there is none, which may pass
PAUSE = 1.0  # seconds between two looks whether there is one again


@dataclass(frozen=True)
class Boards:
    """`key`: the kind of device; `tracker`: ("host", port) of what gives such out. `address`: of one server instead.

    `secret`: of both (usual: TVMLAB_RPC_SECRET). `cc`: the C compiler that links for them; usual is `<triple>-gcc`.
    `priority`: among those who wait. `retries`: after a lost connection. `patience`: seconds that a tracker or a server
    which is away is waited for; once they are over, until it is back, no trial waits.
    """

    key: str = ""
    tracker: Any = None
    address: Any = None
    secret: str | bytes | None = field(default=None, repr=False)
    cc: str = ""
    priority: int = 1
    retries: int = 2
    patience: float = 60.0

    def __post_init__(self) -> None:
        if (self.tracker is None) == (self.address is None) or self.tracker and not self.key:
            raise CallError(
                "boards", "boards are those of a key that a tracker has, or the one at an address",
                legal=['Boards("rpi4", tracker=("host", 9190))', 'Boards(address=("host", 9090))'],
            )  # fmt: skip
        address_of(self.tracker or self.address)
        if not isinstance(self.retries, int) or self.retries < 0:
            raise CallError("amount", f"retries must be a number of at least 0, not {self.retries!r}")
        if not isinstance(self.patience, (int, float)) or not self.patience >= 0:
            raise CallError("amount", f"patience must be a number of seconds, not {self.patience!r}")

    @property
    def place(self) -> tuple[str, int]:
        return address_of(self.tracker or self.address)

    def open(self, setup: Setup) -> BoardMeasurer:
        """Find out what is there. RPCError: nothing is."""
        return BoardMeasurer(self, setup)

    def asked(self, limit: float) -> dict[str, Any]:
        """What a child needs to have a session of at most `limit` seconds."""
        host, port = self.place
        return {
            "lent": self.tracker is not None, "host": host, "port": port, "key": self.key, "limit": limit,
            "secret": usual_secret(self.secret), "priority": self.priority,
        }  # fmt: skip

    def found(self) -> list[str]:
        """The machines: one text each."""
        host, port = self.place
        if self.tracker is None:
            with connect(host, port, self.key, 30, secret=self.secret) as remote:
                return [remote.machine]
        servers = connect_tracker(host, port, secret=self.secret).summary()["server_info"]
        found = [s["machine"] for s in servers if s["key"] == self.key]
        if not found:
            raise CallError(
                "no-board", f"the tracker at {host}:{port} has no server of the key `{self.key}`",
                legal=sorted({s["key"] for s in servers}),
            )  # fmt: skip
        return found


class BoardMeasurer(Measurer):
    """Processes here that compile, each of which has a board for as long as it runs and times one candidate.

    `machine`: what the boards are, as they say it; "" where they differ.
    """

    def __init__(self, boards: Boards, setup: Setup) -> None:
        self.boards = boards
        found = boards.found()
        self.machine = found[0] if len(set(found)) == 1 else ""
        super().__init__(replace(setup, jobs=setup.jobs or min(MOST, len(found) + 1)))
        # a tracker lends a board to one at a time; at an address, we do
        self._gone = False  # there has been none for longer than the patience
        self._turn = Turns(strict=False).alone if boards.tracker is None else nullcontext

    def again_asked(
        self, asked: dict[str, Any], process: int = 0, stop: threading.Event | None = None
    ) -> Measured:
        """As if it were new: nothing of it is kept on a board."""
        return self.measure_asked(asked, None, process, stop)

    def _measure(self, p: Any, asked: dict[str, Any], best: float | None, stop: threading.Event) -> Measured:
        self._refer(p, asked, stop)
        asked["options"]["check"] = self.setup.check and p.checks
        linked = self._child(p, stop, self.setup.compile_limit, "linked", asked, self.boards.cc)
        if not linked.ok:
            return self._failed(linked, "compile")
        s, lost, away = self.setup, 0, 0.0
        how = {"best": best, "slower": s.slower, "agree": s.agree, "flush": s.flush}
        while True:
            with self._turn():
                o = self._child(p, stop, WAIT, "aboard", asked, self.boards.asked(s.run_limit), how)
            if not o.ok:
                return replace(self._failed(o, "run"), compile=linked.value)
            rule = o.value.get("rule")
            lost += rule in ENDS
            if rule in AWAY:
                away = away or time.monotonic()
                again = self._waits(away, stop)
            else:
                again, away, self._gone = rule in ENDS and lost <= self.boards.retries, 0.0, False
            if not again:
                return _measured(o.value, linked.value)

    def _waits(self, since: float, stop: threading.Event) -> bool:
        """A pause, until it is stopped. False: there has been no board for too long."""
        now = time.monotonic()
        self._gone = self._gone or now - since >= self.boards.patience
        while not self._gone and time.monotonic() < now + PAUSE and not stop.is_set():
            time.sleep(0.02)
        return not self._gone

    def _child(self, p: Any, stop: threading.Event, limit: float, name: str, *args: Any) -> Any:
        return p.worker.run(f"{ABOARD}:{name}", *args, stop=stop, limit=limit)


def _measured(said: dict[str, Any], compile: float) -> Measured:
    """Of what a child says."""
    phase = "" if said["outcome"] == "ok" else "run"
    return Measured(
        said["outcome"], said.get("reason", ""), phase, tuple(said.get("times", ())), said.get("number", 1),
        said.get("alone", True), compile, said.get("check", ""), said.get("worker", ""), said.get("machine", ""),
    )  # fmt: skip
