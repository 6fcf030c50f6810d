"""A server's side of its tracker: it offers itself, one client at a time, and again when that one is done."""

from __future__ import annotations

import secrets
import sys
import time
from typing import TYPE_CHECKING

from .. import host
from .listen import reach
from .protocol import Kind, Malformed, Reader, RPCError, Writer
from .wire import Wire

if TYPE_CHECKING:
    from .keeper import Settings

AGAIN = 2.0  # seconds until a tracker that cannot be reached is tried again
FOREVER = float("inf")
AWAITED = 15.0  # seconds in which the client to whom it was given has to come


class Offer:
    """`ticket`: what the next client has to bring."""

    def __init__(self, settings: Settings, port: int) -> None:
        self.settings, self.port = settings, port
        self.ticket = ""
        self._wire: Wire | None = None
        self._again = 0.0  # when the tracker is tried again
        self._awaited = FOREVER  # it was given out: until then its client has to come
        self._came = self._busy = False
        self._said = ""  # why the tracker could not be used, as it was told last

    @property
    def due(self) -> float:
        """When `keep` has to be called, at the latest."""
        if self._busy:
            return FOREVER
        return self._again if self._wire is None else self._awaited

    def fileno(self) -> int:
        return -1 if self._wire is None else self._wire.sock.fileno()

    def close(self) -> None:
        """Let go of the connection, which another process may have too."""
        if self._wire is not None:
            self._wire.close()
        self._wire = None

    def hear(self) -> None:
        """What the tracker says: TAKEN, or it is gone. The client may have been here before that is heard."""
        assert self._wire is not None
        try:
            kind, body = self._wire.receive(1.0)
            if kind == Kind.ENDED:
                said = Reader(body)
                raise RPCError(said.text(), f"{self._place} refused: {said.text()}")
            if kind not in (Kind.TAKEN, Kind.OK):
                raise Malformed(f"it said {kind.name}")
        except (RPCError, OSError, EOFError, Malformed) as e:
            self._drop(e)
            return
        self._tell("")
        if kind == Kind.TAKEN:
            self._awaited = time.monotonic() + AWAITED

    @property
    def _place(self) -> str:
        assert self.settings.tracker is not None
        return "the tracker at {}:{}".format(*self.settings.tracker)

    def _drop(self, why: Exception) -> None:
        self.close()
        self._again = time.monotonic() + AGAIN
        self._tell(why.message if isinstance(why, RPCError) else f"{self._place} is gone")

    def _tell(self, problem: str) -> None:
        """Once, and again when it is another one, or none any more."""
        if problem == self._said:
            return
        self._said = problem
        words = f"clients get it from nobody: {problem}" if problem else f"{self._place} gives it out now"
        print(f"tvmlab rpc: {words}", file=sys.stderr, flush=True)

    def came(self) -> None:
        """Who it was given to has been here, if only for a moment."""
        self._came = True

    def keep(self, busy: bool) -> None:
        """Offer it (again), if it is free. `busy`: a session is open."""
        self._busy = busy
        if busy:
            return
        now = time.monotonic()
        if self._wire is None:
            if now >= self._again:
                self._put()
        elif self._awaited < FOREVER and (self._came or now >= self._awaited):
            self._put()

    def _put(self) -> None:
        self.ticket, self._awaited, self._came = secrets.token_hex(16), FOREVER, False
        try:
            if self._wire is None:
                assert self.settings.tracker is not None
                self._wire = reach(*self.settings.tracker, self.settings.secret, what="tracker")
            said = Writer().text(self.settings.key).number("<H", self.port).text(self.settings.address)
            self._wire.sock.settimeout(5.0)
            self._wire.send(Kind.PUT, said.text(self.ticket).text(host.description()))
        except (RPCError, OSError) as e:
            self._drop(e)


def address_of(given: object) -> tuple[str, int]:
    """`("host", 9190)`, or "host:9190"."""
    if isinstance(given, str):
        name, _, port = given.rpartition(":")
        given = (name, int(port) if port.isdigit() else port)
    if isinstance(given, (tuple, list)) and len(given) == 2 and isinstance(given[0], str) and isinstance(given[1], int):
        return given[0], given[1]
    raise RPCError("address", f"{given!r} is no address", legal=['("host", 9190)', '"host:9190"'])
