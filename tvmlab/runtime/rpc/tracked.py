"""A tracker as its clients see it: `rpc.connect_tracker("host", 9190).request("rpi4")`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .client import Session, opened
from .listen import reach
from .protocol import Kind, Malformed, Reader, RPCError, SessionLost, Writer
from .wire import usual_secret

TRANSIENT = ("no-server", "lost", "ticket", "busy")  # another server, or the same a little later, may do
PAUSE = 0.2  # seconds between two tries


def connect_tracker(url: str, port: int, *, secret: str | bytes | None = None) -> TrackerSession:
    """The tracker at that address; it has to be there."""
    made = TrackerSession(url, port, usual_secret(secret))
    made.summary()
    return made


class TrackerSession:
    """Asks for servers by their key. It holds no connection, and may be used from several threads."""

    def __init__(self, url: str, port: int, secret: bytes) -> None:
        self.url, self.port, self._secret = url, port, secret

    def request(self, key: str, priority: int = 1, session_timeout: float = 0, max_retry: int = 5) -> Session:
        """A session with a server of that key, when one is free. A higher priority is served first.

        RPCError where there is no such server, or where `max_retry` of them could not be reached.
        """
        if not isinstance(priority, int) or not -(1 << 31) <= priority < 1 << 31:
            raise RPCError("priority", f"priority is a whole number of 32 bits, not {priority!r}")
        last: RPCError | None = None
        for attempt in range(max(1, max_retry)):
            if attempt:
                time.sleep(PAUSE)
            said = self._ask(Kind.REQUEST, Writer().text(key).number("<i", priority))
            address, port, ticket = said.text(), said.number("<H"), said.text()
            try:
                return opened(address, port, key, session_timeout, self._secret, ticket)
            except RPCError as e:
                if e.rule not in TRANSIENT:
                    raise
                last = e
        assert last is not None
        raise RPCError("no-server", f"no server of the key `{key}` could be reached: {last.message}") from last

    def request_and_run(
        self, key: str, func: Callable[[Session], Any], priority: int = 1, session_timeout: float = 0,
        max_retry: int = 2,
    ) -> Any:  # fmt: skip
        """`func(session)`, again with another server where a session is lost; what it returns."""
        last: SessionLost | None = None
        for _ in range(max(1, max_retry)):
            with self.request(key, priority, session_timeout) as session:
                try:
                    return func(session)
                except SessionLost as e:
                    last = e
        raise RPCError("lost", f"`{key}`: the session was lost {max_retry} times: {last}") from last

    def summary(self) -> dict[str, Any]:
        """`server_info`: key, address, whether it is free, and what machine it is. `queue_info`: by key."""
        said = self._ask(Kind.SUMMARY)
        servers: list[dict[str, Any]] = []
        for _ in range(said.number("<I")):
            key, address, port, free = said.text(), said.text(), int(said.number("<H")), bool(said.number("<B"))
            servers.append({"key": key, "addr": (address, port), "free": free, "machine": said.text()})
        waiting: dict[str, int] = {said.text(): int(said.number("<I")) for _ in range(said.number("<I"))}
        queues = {
            key: {"free": sum(s["free"] for s in servers if s["key"] == key), "pending": waiting.get(key, 0)}
            for key in sorted({s["key"] for s in servers} | set(waiting))
        }
        return {"server_info": servers, "queue_info": queues}

    def text_summary(self) -> str:
        """The same as text."""
        found = self.summary()
        lines = ["Servers", f"{'key':16} {'address':24} {'':5} machine"]
        for s in found["server_info"]:
            place = ":".join(map(str, s["addr"]))
            lines.append(f"{s['key']:16} {place:24} {'free' if s['free'] else 'taken':5} {s['machine']}")
        lines += ["", "Queues", f"{'key':16} total free pending"]
        for key, q in found["queue_info"].items():
            total = sum(s["key"] == key for s in found["server_info"])
            lines.append(f"{key:16} {total:5} {q['free']:4} {q['pending']:7}")
        return "\n".join(lines)

    def close(self) -> None:
        """Nothing is held."""

    def _ask(self, kind: Kind, body: Writer | None = None) -> Reader:
        wire = reach(self.url, self.port, self._secret, what="tracker")
        try:
            answer, said = wire.ask(kind, body)
        except (OSError, EOFError) as e:
            raise RPCError("no-tracker", f"the tracker at {self.url}:{self.port} is gone") from e
        except Malformed as e:
            raise self._nonsense(str(e)) from e
        finally:
            wire.close()
        read = Reader(said, self._nonsense)
        if answer == Kind.OK:
            return read
        raise RPCError(read.text(), read.text())

    def _nonsense(self, why: str) -> RPCError:
        return RPCError("no-tracker", f"the tracker at {self.url}:{self.port} answered what makes no sense: {why}")

    def __repr__(self) -> str:
        return f"<rpc.TrackerSession {self.url}:{self.port}>"
