"""A tracker: it knows servers by the kind of device they are, and gives each to one client at a time.

    tracker = rpc.Tracker(port=9190);  rpc.Server(tracker_addr=("here", tracker.port), key="rpi4")
    rpc.connect_tracker("here", tracker.port).request("rpi4")
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
import weakref
from dataclasses import dataclass, field
from typing import Any

from .listen import listening
from .protocol import NAME, Kind, Malformed, Reader, Writer
from .wire import GREETING_LIMIT, Refused, Wire, usual_secret

LIMIT = 4096  # bytes of a question
MOST = 1000  # connections
LOOK = 0.2  # seconds between two looks whether who waits is still there
PATIENCE = 5.0  # seconds in which a server of a key that nobody knows may still appear


class Tracker:
    """Runs in threads of this process, from now to `terminate()`. The arguments are those of rpc.Server."""

    def __init__(
        self, host: str = "127.0.0.1", port: int = 9190, port_end: int = 9199, silent: bool = False,
        *, secret: str | bytes | None = None, anyone: bool = False,
    ) -> None:  # fmt: skip
        known = usual_secret(secret)
        self._listener = listening(host, port, port_end if port else 1, known, anyone)
        self.host, self.port = self._listener.getsockname()[:2]
        self._doors = _Doors(self._listener, known)
        threading.Thread(target=self._doors.run, name="tvmlab rpc tracker", daemon=True).start()
        self._finalizer = weakref.finalize(self, self._doors.close)

    def terminate(self) -> None:
        """Stop. Sessions that were given out go on."""
        self._finalizer()

    def __enter__(self) -> Tracker:
        return self

    def __exit__(self, *error: object) -> None:
        self.terminate()

    def __repr__(self) -> str:
        return f"<rpc.Tracker {self.host}:{self.port}, {'running' if self._finalizer.alive else 'ended'}>"


# ---------------------------------------------------------------- who waits for what


@dataclass(eq=False)
class _Offer:
    """A server. `free`: nobody has it."""

    line: _Line
    key: str
    address: str
    port: int
    ticket: str
    machine: str
    free: bool = True


@dataclass(eq=False)
class _Request:
    key: str
    priority: int
    number: int
    given: _Offer | None = None


class _Pool:
    """Servers, and requests in their order: a higher priority first, then who came first."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.offers: dict[Any, _Offer] = {}  # by connection
        self.requests: list[_Request] = []
        self._numbers = itertools.count()

    def put(self, offer: _Offer) -> None:
        with self.changed:
            self.offers[offer.line] = offer
            self._match()

    def leave(self, line: Any) -> None:
        with self.changed:
            self.offers.pop(line, None)

    def ask(self, key: str, priority: int) -> _Request:
        with self.changed:
            made = _Request(key, priority, next(self._numbers))
            self.requests.append(made)
            self.requests.sort(key=lambda r: (-r.priority, r.number))
            self._match()
            return made

    def drop(self, request: _Request) -> None:
        """Who asked waits no longer; what it was given in this moment is free."""
        with self.changed:
            if request in self.requests:
                self.requests.remove(request)
            elif request.given is not None:
                request.given.free = True
                self._match()

    def wait(self, request: _Request) -> _Offer | None:
        """What it was given, in a moment or not yet."""
        with self.changed:
            self.changed.wait_for(lambda: request.given is not None, LOOK)
            return request.given

    def keys(self) -> list[str]:
        with self.changed:
            return sorted({o.key for o in self.offers.values()})

    def _match(self) -> None:
        for r in list(self.requests):
            found = next((o for o in self.offers.values() if o.free and o.key == r.key), None)
            if found is not None:
                found.free, r.given = False, found
                self.requests.remove(r)
        self.changed.notify_all()

    def summary(self) -> Writer:
        with self.changed:
            made = Writer().number("<I", len(self.offers))
            for o in self.offers.values():
                made.text(o.key).text(o.address).number("<HB", o.port, o.free).text(o.machine)
            waiting = {k: sum(r.key == k for r in self.requests) for k in sorted({r.key for r in self.requests})}
            made.number("<I", len(waiting))
            for key, count in waiting.items():
                made.text(key).number("<I", count)
            return made


# ---------------------------------------------------------------- connections


class _Doors:
    """The listening socket and the connections, each with a thread."""

    def __init__(self, listener: socket.socket, secret: bytes) -> None:
        self.listener, self.secret, self.pool = listener, secret, _Pool()
        self.lines: set[_Line] = set()
        self.over = False
        listener.settimeout(1.0)

    def run(self) -> None:
        while not self.over:
            try:
                sock, place = self.listener.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            line = _Line(self, Wire(sock, LIMIT), str(place[0]))
            if len(self.lines) >= MOST:
                line.wire.close()
                continue
            self.lines.add(line)
            threading.Thread(target=line.run, name="tvmlab rpc tracker's line", daemon=True).start()

    def close(self) -> None:
        self.over = True
        for sock in (self.listener, *(line.wire.sock for line in list(self.lines))):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            if sock is self.listener:
                sock.close()


@dataclass(eq=False)
class _Line:
    """One connection. Other threads may say something on it, too."""

    doors: _Doors
    wire: Wire
    place: str
    saying: threading.Lock = field(default_factory=threading.Lock)

    def run(self) -> None:
        try:
            with _At(time.monotonic() + GREETING_LIMIT, self.wire):
                self.wire.welcome(self.doors.secret)
            while True:
                kind, body = self.wire.receive()
                self._answer(kind, Reader(body))
        except (OSError, EOFError, Refused):
            pass
        except Malformed as e:
            with contextlib.suppress(OSError):
                self.say(Kind.ENDED, Writer().text("malformed").text(f"the tracker refused {e}"))
        finally:
            self.doors.pool.leave(self)
            self.doors.lines.discard(self)
            self.wire.close()

    def say(self, kind: Kind, body: Writer | None = None) -> None:
        with self.saying:
            self.wire.send(kind, body)

    def _answer(self, kind: Kind, body: Reader) -> None:
        if kind == Kind.PUT:
            self._put(body)
        elif kind == Kind.OPEN:
            self.say(Kind.ENDED, Writer().text("role").text("this is a tracker: rpc.connect_tracker(...).request(key)"))
            raise EOFError
        elif kind == Kind.REQUEST:
            self._request(_name(body), body.number("<i"))
        elif kind == Kind.SUMMARY:
            self.say(Kind.OK, self.doors.pool.summary())
        else:
            raise Malformed(f"{kind.name}, which is no question to a tracker")

    def _put(self, body: Reader) -> None:
        key, port, address, ticket, machine = _name(body), body.number("<H"), _name(body), _name(body), body.text()
        self.say(Kind.OK)
        self.doors.pool.put(_Offer(self, key, address or self.place, port, ticket, machine))

    def _request(self, key: str, priority: int) -> None:
        """Wait for a server, as long as there is one of that kind and who asks is there."""
        pool, since = self.doors.pool, time.monotonic()
        asked = pool.ask(key, priority)
        while not ((found := pool.wait(asked)) and found.line.taken()):
            if found is not None:  # it is gone
                pool.leave(found.line)
                asked = pool.ask(key, priority)
            if self._gone():
                pool.drop(asked)
                raise EOFError
            keys = pool.keys()
            if key not in keys and time.monotonic() - since > PATIENCE:
                pool.drop(asked)
                known = f"; there are servers of {', '.join(keys)}" if keys else ""
                self.say(Kind.ERROR, Writer().text("unknown-key").text(f"no server of the key `{key}`{known}"))
                return
        self.say(Kind.OK, Writer().text(found.address).number("<H", found.port).text(found.ticket))

    def taken(self) -> bool:
        """Tell this server that it is given to somebody. False: it is gone."""
        try:
            self.say(Kind.TAKEN)
        except OSError:
            return False
        return True

    def _gone(self) -> bool:
        try:
            self.wire.sock.setblocking(False)
            return not self.wire.sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            with contextlib.suppress(OSError):
                self.wire.sock.setblocking(True)


class _At:
    """Ends a connection at a time, unless the block is left before."""

    def __init__(self, when: float, wire: Wire) -> None:
        self._timer = threading.Timer(max(0.0, when - time.monotonic()), wire.sock.shutdown, (socket.SHUT_RDWR,))
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()


def _name(body: Reader) -> str:
    text = body.text()
    if len(text) > NAME:
        raise Malformed(f"a name of {len(text)} characters")
    return text
