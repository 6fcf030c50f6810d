"""A server's side of its tracker: it offers itself, one client at a time, and again when that one is done."""

from __future__ import annotations

import secrets
import time
from typing import TYPE_CHECKING

from .. import host
from .listen import reach
from .protocol import Kind, Malformed, RPCError, Writer
from .wire import Wire

if TYPE_CHECKING:
    from .keeper import Settings

AGAIN = 2.0  # seconds until a tracker that cannot be reached is tried again
AWAITED = 15.0  # seconds in which the client to whom it was given has to come


class Offer:
    """`ticket`: what the next client has to bring. `due`: when `keep` has to be called."""

    def __init__(self, settings: Settings, port: int) -> None:
        self.settings, self.port = settings, port
        self.ticket = ""
        self.due = 0.0
        self._wire: Wire | None = None
        self._taken = False  # given out, and the client has not come, or not gone yet
        self._visited = False

    def fileno(self) -> int:
        return -1 if self._wire is None else self._wire.sock.fileno()

    def close(self) -> None:
        """Let go of the connection, which another process may have too."""
        if self._wire is not None:
            self._wire.close()
        self._wire = None

    def hear(self) -> None:
        """What the tracker says: TAKEN, or it is gone."""
        assert self._wire is not None
        try:
            kind, _ = self._wire.receive(1.0)
        except (OSError, EOFError, Malformed):
            self._drop()
            return
        if kind == Kind.TAKEN:
            self._taken, self._visited, self.due = True, False, time.monotonic() + AWAITED
        elif kind != Kind.OK:
            self._drop()

    def _drop(self) -> None:
        self.close()
        self._taken, self.due = False, time.monotonic() + AGAIN

    def keep(self, visited: bool) -> None:
        """Offer it (again), if it is free. `visited`: a session is open."""
        if visited:
            self._visited, self.due = True, float("inf")
            return
        gone = self._taken and (self._visited or time.monotonic() >= self.due)
        if self._wire is None and time.monotonic() >= self.due or gone:
            self._put()

    def _put(self) -> None:
        self.ticket, self._taken, self._visited = secrets.token_hex(16), False, False
        try:
            if self._wire is None:
                assert self.settings.tracker is not None
                self._wire = reach(*self.settings.tracker, self.settings.secret, what="tracker")
            said = Writer().text(self.settings.key).number("<H", self.port).text(self.settings.address)
            self._wire.sock.settimeout(5.0)
            self._wire.send(Kind.PUT, said.text(self.ticket).text(host.description()))
            self.due = float("inf")
        except (RPCError, OSError):
            self._drop()


def address_of(given: object) -> tuple[str, int]:
    """`("host", 9190)`, or "host:9190"."""
    if isinstance(given, str):
        name, _, port = given.rpartition(":")
        given = (name, int(port) if port.isdigit() else port)
    if isinstance(given, (tuple, list)) and len(given) == 2 and isinstance(given[0], str) and isinstance(given[1], int):
        return given[0], given[1]
    raise RPCError("address", f"{given!r} is no address of a tracker", legal=['("host", 9190)', '"host:9190"'])
