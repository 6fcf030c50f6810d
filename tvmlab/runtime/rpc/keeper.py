"""The process of a server: it accepts connections, and gives each to a process of its own, which may crash or hang.

What runs over its time, or whose client is gone, is ended; the client hears why. It runs in no thread, since it forks.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import signal
import socket
import struct
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from ...core.error import LabError
from ..child import _die_with, _redirect
from ..worker import SIGNALS
from .folders import Folder, clear_left
from .offer import Offer
from .protocol import Kind, Malformed, Reader, SessionLost, Writer
from .serving import Serving, introduction
from .wire import GREETING_LIMIT, Refused, TooLong, Wire

MOST = 32  # sessions at once
WAITING = 32  # connections that are no sessions yet
GONE = getattr(select, "POLLRDHUP", 0)
STATE = struct.Struct("<BBBd")  # open?, sending?, left in order?, the time at which it has to end (0: none)


@dataclass(frozen=True)
class Settings:
    """How a server serves. `memory`: bytes of a session's arrays; 0 is most of the machine's. `limit`: of a frame."""

    key: str = ""
    secret: bytes = b""
    memory: int = 0
    limit: int = 0
    tracker: tuple[str, int] | None = None
    address: str = ""


@dataclass
class _Visit:
    """A connection and the process that has it."""

    sock: socket.socket
    folder: Folder
    shared: mmap.mmap = field(default_factory=lambda: mmap.mmap(-1, 64))
    began: float = field(default_factory=time.monotonic)
    pid: int = 0
    why: tuple[str, str] = ("", "")  # it was ended

    def state(self) -> tuple[int, int, int, float]:
        return STATE.unpack_from(self.shared)

    @property
    def deadline(self) -> float:
        open, _, _, until = self.state()
        if not open:
            return self.began + GREETING_LIMIT
        return until or float("inf")

    def end(self, rule: str, why: str) -> None:
        self.why = self.why if self.why[0] else (rule, why)
        _end_group(self.pid)
        with contextlib.suppress(ProcessLookupError):  # it may have no group of its own yet
            os.kill(self.pid, signal.SIGKILL)


class Keeper:
    """`life`: a file descriptor whose end is the server's end."""

    def __init__(self, listener: socket.socket, settings: Settings, life: int | None = None) -> None:
        self.listener, self.settings, self.life = listener, settings, life
        self.visits: dict[int, _Visit] = {}
        self._sessions = mmap.mmap(-1, 8)  # how many there are, as the process of each connection sees it
        self.over = False
        port = listener.getsockname()[1]
        self.offer = Offer(settings, port) if settings.tracker else None
        self._heard, self._wake = os.pipe()
        for fd in (self._heard, self._wake):
            os.set_blocking(fd, False)

    def run(self) -> None:
        """Until a signal ends it, or whoever holds the other side of `life`."""
        for s in (signal.SIGTERM, signal.SIGINT):
            signal.signal(s, self._stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        clear_left()
        try:
            while not self.over:
                self._turn()
        finally:
            for v in list(self.visits.values()):
                v.end("closed", "the server was stopped")
                os.waitpid(v.pid, 0)
                _end_group(v.pid)
                self._farewell(v, 0)

    def _stop(self, *_: Any) -> None:
        self.over = True

    # ------------------------------------------------------------ one turn

    def _turn(self) -> None:
        poll = select.poll()
        poll.register(self._heard, select.POLLIN)
        poll.register(self.listener, select.POLLIN)
        if self.life is not None:
            poll.register(self.life, select.POLLIN)
        if self.offer is not None and self.offer.fileno() >= 0:
            poll.register(self.offer, select.POLLIN)
        by_fd = {v.sock.fileno(): v for v in self.visits.values()}
        for fd in by_fd:
            poll.register(fd, GONE)
        for fd, event in poll.poll(self._patience()):
            if fd in by_fd:
                by_fd[fd].end("lost", "the client is gone")
            elif fd == self._heard:
                os.read(self._heard, 4096)
            elif fd == self.life:
                self.over = True
            elif fd == self.listener.fileno():
                self._accept()
            elif self.offer is not None and event:
                self.offer.hear()
        self._reap()
        self._late()
        open = sum(v.state()[0] for v in self.visits.values())
        self._sessions[0] = min(open, 255)
        if self.offer is not None:
            self.offer.keep(open > 0)

    def _patience(self) -> float | None:
        """Milliseconds until something is due."""
        due = min((v.deadline for v in self.visits.values()), default=float("inf"))
        if self.offer is not None:
            due = min(due, self.offer.due)
        return None if due == float("inf") else 1e3 * max(0.0, due - time.monotonic()) + 1

    def _late(self) -> None:
        now = time.monotonic()
        for v in self.visits.values():
            if now > v.deadline:
                v.end("timeout", "the session took longer than its session_timeout, and was ended")

    def _reap(self) -> None:
        for pid in list(self.visits):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                _end_group(pid)  # what it has left behind
                self._farewell(self.visits.pop(pid), os.waitstatus_to_exitcode(status))

    def _farewell(self, v: _Visit, status: int) -> None:
        """Tell the client how it ended, where that is not known there, and clear away."""
        open, sending, left, _ = v.state()
        if open and self.offer is not None:
            self.offer.came()
        rule, why = v.why
        if not rule and status:
            rule, why = "crash", f"the session's process ended ({_cause(status)})"
        elif not rule and not left:
            rule, why = "crash", "the program ended the session's process by itself (exit with code 0)"
        if open and rule and not sending:
            with contextlib.suppress(OSError):
                v.sock.settimeout(1.0)
                Wire(v.sock).send(Kind.ENDED, Writer().text(rule).text(why))
        v.sock.close()
        v.shared.close()
        v.folder.clear()

    # ------------------------------------------------------------ a new one

    def _accept(self) -> None:
        try:
            sock, _ = self.listener.accept()
        except OSError:  # it is gone already
            return
        self._make_room()
        v = _Visit(sock, Folder())
        parent = os.getpid()
        v.pid = os.fork()
        if v.pid:
            self.visits[v.pid] = v
            return
        try:
            os.setsid()  # what it starts is ended with it
            _die_with(parent)
            self._alone()
            self._visit(v)
        except BaseException as e:
            print(f"tvmlab rpc: {type(e).__name__}: {e}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)

    def _make_room(self) -> None:
        """Connections that are no sessions cannot keep others out: the oldest makes room."""
        waiting = [v for v in self.visits.values() if not v.state()[0] and not v.why[0]]
        if len(waiting) >= WAITING:
            min(waiting, key=lambda v: v.began).end("busy", "")

    def _alone(self) -> None:
        """In the session's process: what is the server's is let go."""
        signal.set_wakeup_fd(-1)
        for s in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(s, signal.SIG_DFL)
        self.listener.close()
        for other in self.visits.values():  # whose folders are locked as long as their own processes live
            other.sock.close()
            other.folder.let_go()
        if self.offer is not None:
            self.offer.close()
        null = os.open(os.devnull, os.O_RDWR)
        _redirect(null, os.dup(2))

    def _visit(self, v: _Visit) -> None:
        """The whole of a session."""
        wire = Wire(v.sock, self.settings.limit)
        try:
            wire.welcome(self.settings.secret)
            kind, body = wire.receive(GREETING_LIMIT)
            if kind in (Kind.PUT, Kind.REQUEST, Kind.SUMMARY):
                raise SessionLost("role", "this is a server, not a tracker")
            if kind != Kind.OPEN:
                raise Malformed("the first question is OPEN")
            self._open(v, wire, Reader(body))
        except (OSError, EOFError, Refused) as e:
            why = "it was closed from there" if isinstance(e, EOFError) else str(e) or type(e).__name__
            print(f"tvmlab rpc: a connection was refused: {why}", file=sys.stderr, flush=True)
        except SessionLost as e:
            wire.send(Kind.ENDED, Writer().text(e.rule).text(str(e)))
        except Malformed as e:
            rule = "too-long" if isinstance(e, TooLong) else "malformed"
            with contextlib.suppress(OSError):
                wire.send(Kind.ENDED, Writer().text(rule).text(f"the server refused {e}"))
                v.sock.shutdown(socket.SHUT_WR)

    def _open(self, v: _Visit, wire: Wire, body: Reader) -> None:
        span, key, ticket = body.number("<I"), body.text(), body.text()
        if key and key != self.settings.key:
            raise SessionLost("key", f"this server is `{self.settings.key}`, not `{key}`")
        if self.offer is not None and (not self.offer.ticket or ticket != self.offer.ticket):
            raise SessionLost(
                "ticket", "this server is given out by its tracker, to one at a time",
                hint="ask there: rpc.connect_tracker(...).request(key)",
            )  # fmt: skip
        if self._sessions[0] >= MOST:
            raise SessionLost("busy", f"this server has {MOST} sessions, and takes no more at once")
        until = time.monotonic() + span * 1e-3 if span else 0.0
        STATE.pack_into(v.shared, 0, 1, 0, 0, until)
        os.write(self._wake, b"!")  # there is a deadline now
        wire.send(Kind.OK, introduction(self.settings.limit, self.settings.key))

        def busy(sending: bool) -> None:
            STATE.pack_into(v.shared, 0, 1, sending, 0, until)

        try:
            Serving(wire, v.folder.path, self.settings.memory, busy).run()
        except (OSError, EOFError, LabError):
            pass  # the client is gone
        finally:
            STATE.pack_into(v.shared, 0, 1, 0, 1, until)


def _end_group(pid: int) -> None:
    """What the process of that number has started, and itself if it is there."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _cause(status: int) -> str:
    name = signal.Signals(-status).name if -status in {*signal.Signals} else ""
    return f"{name}: {SIGNALS[name]}" if name in SIGNALS else name or f"code {status}"
