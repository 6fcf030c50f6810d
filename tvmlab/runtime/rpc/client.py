"""A session with a device elsewhere: `remote = rpc.connect("host", 9091)`."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..device import TYPES, device
from .listen import reach
from .protocol import LIMIT, ROOM, Kind, Malformed, Reader, RPCError, SessionLost, Writer
from .remote import RemoteDevice, RemoteFunction, RemoteModule, load
from .wire import Wire, usual_secret

PIECE = 4 << 20  # bytes of a file or an array that are sent at a time
MOST_SPAN = 0xFFFFFFFF * 1e-3  # seconds


def connect(
    url: str, port: int, key: str = "", session_timeout: float = 0, session_constructor_args: Any = None,
    enable_logging: bool = False, *, secret: str | bytes | None = None, limit: int = LIMIT,
) -> Session:  # fmt: skip
    """A session with the server at that address. `key`: the kind of device it has to be, "" is any.

    `session_timeout`: seconds after which the server ends it, whatever it does then; 0 is never. `secret`: the one the
    server was started with (usual: TVMLAB_RPC_SECRET). `limit`: bytes of an answer.
    """
    if session_constructor_args:
        raise RPCError("not-here", "a session is with the server itself", hint="connect to the server beyond directly")
    return opened(url, port, key, session_timeout, usual_secret(secret), limit=limit)


def opened(
    url: str, port: int, key: str, session_timeout: float, secret: bytes, ticket: str = "", limit: int = LIMIT
) -> Session:
    if not isinstance(session_timeout, (int, float)) or not 0 <= session_timeout < MOST_SPAN:
        raise RPCError("session-timeout", f"session_timeout is a number of seconds, not {session_timeout!r}")
    wire = reach(url, port, secret, limit)
    return Session(wire, f"{url}:{port}", key, session_timeout, ticket)


class Session:
    """Files, arrays and programs on another machine. It ends with `close()`, with this object, or with the server.

    `key`: the server's; `architecture`, `machine`: what it runs on.
    """

    _count = 0

    def __init__(self, wire: Wire, place: str, key: str, session_timeout: float, ticket: str) -> None:
        self._wire, self.place = wire, place
        self._turn = threading.RLock()
        self._gone: deque[int] = deque()  # arrays that nobody refers to any more
        self._over: SessionLost | None = None
        self._patience = session_timeout + 15 if session_timeout else None
        self._finalizer = weakref.finalize(self, wire.close)
        span = int(session_timeout * 1e3 + 0.999)
        said = self.ask(Kind.OPEN, Writer().number("<I", span).text(key).text(ticket))
        self._piece = max(1, min(PIECE, said.number("<I") - ROOM, wire.limit - ROOM))
        self.key, self.architecture, self.machine = said.text(), said.text(), said.text()
        self.number, Session._count = Session._count, Session._count + 1

    # ------------------------------------------------------------ asking

    def ask(self, kind: Kind, body: Writer | None = None) -> Reader:
        """One question. RPCError: what the server refused; SessionLost: it is over."""
        with self._turn:
            if self._over is not None:
                raise SessionLost(self._over.rule, f"this session is over: {self._over.message}")
            try:
                self._free()
                return self._asked(kind, body)
            except (OSError, EOFError) as e:
                raise self._end("lost", f"the connection to {self.place} was lost: {_why(e)}") from e
            except Malformed as e:
                raise self.nonsense(str(e)) from e
            except BaseException as e:
                if self._over is None and not isinstance(e, RPCError):  # an interrupt: the answer is still to come
                    self._end("closed", f"it was left in the middle of a question ({type(e).__name__})")
                raise

    def _asked(self, kind: Kind, body: Writer | None) -> Reader:
        answer, said = self._wire.ask(kind, body, self._patience)
        read = Reader(said, self.nonsense)
        if answer == Kind.OK:
            return read
        if answer not in (Kind.ERROR, Kind.ENDED):
            raise self.nonsense(f"{answer.name} is no answer")
        rule, message = read.text(), read.text()
        if answer == Kind.ENDED:
            raise self._end(rule, message)
        raise RPCError(rule, message)

    def _free(self) -> None:
        """Tell the server of arrays that are not needed any more."""
        if not self._gone:
            return
        numbers = [self._gone.popleft() for _ in range(min(len(self._gone), 64))]
        self._asked(Kind.FREE, Writer().number(f"<{len(numbers)}Q", *numbers))

    def nonsense(self, why: str) -> SessionLost:
        """The end of it after an answer that cannot be one: what came after it could not be trusted either."""
        return self._end("lost", f"{self.place} answered what makes no sense: {why}")

    def _end(self, rule: str, message: str) -> SessionLost:
        self._over = SessionLost(rule, message)
        self._finalizer()
        return self._over

    def close(self) -> None:
        """End it. Arrays and modules of it are of no use then."""
        if self._over is None:
            self._end("closed", "it was closed")

    @property
    def alive(self) -> bool:
        """As far as is known here."""
        return self._over is None

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "" if self.alive else ", over"
        return f"<rpc.Session {self.number} with {self.place}: {self.architecture}{state}>"

    # ------------------------------------------------------------ devices

    def device(self, dev_type: str | int, dev_id: int = 0) -> RemoteDevice:
        """A device there. There is its processor; GPUs of other machines are not there yet."""
        kind = device(dev_type).kind
        if kind != "cpu" or dev_id != 0:
            raise RPCError(
                "remote-device", f"{kind}({dev_id}) of another machine cannot be used yet", legal=["remote.cpu()"],
                hint="a notebook, or a worker of a fleet, on that machine can",
            )  # fmt: skip
        return RemoteDevice(TYPES[kind], 0, self)

    context = device  # release 0.6

    def cpu(self, dev_id: int = 0) -> RemoteDevice:
        """Its processor."""
        return self.device("cpu", dev_id)

    def __getattr__(self, name: str) -> Any:
        if name in TYPES or name in ("cl", "gpu", "mtl"):
            return lambda dev_id=0: self.device(name, dev_id)
        if name == "system_lib":
            raise RPCError("no-system-lib", "a server has no programs of its own", hint="upload one and load_module it")
        raise AttributeError(f"a session has no {name!r}")

    # ------------------------------------------------------------ files

    def upload(self, data: Any, target: str | None = None) -> None:
        """A file (by its path, with the card of an exported program beside it), or bytes under the name `target`."""
        if isinstance(data, (bytes, bytearray, memoryview)):
            if target is None:
                raise RPCError("no-name", "bytes need a name", hint='remote.upload(data, "f.so")')
            self._put(target, memoryview(data).cast("B"))
            return
        path = Path(data)
        if not path.is_file():
            raise RPCError("no-file", f"there is no file {path} here to be uploaded")
        name = target or path.name
        self._put(name, memoryview(path.read_bytes()))
        card = Path(f"{path}.json")
        if card.is_file():
            self._put(f"{name}.json", memoryview(card.read_bytes()))

    def _put(self, name: str, data: memoryview) -> None:
        with self._turn:
            for at, piece in self.pieces(data):
                self.ask(Kind.PUT_FILE, Writer().text(name).number("<Q", at).raw(piece))

    def pieces(self, data: memoryview) -> Iterator[tuple[int, memoryview]]:
        for at in range(0, max(1, len(data)), self._piece):
            yield at, data[at : at + self._piece]

    def download(self, path: str) -> bytearray:
        """The contents of a file there."""
        data = bytearray()
        while True:
            said = self.ask(Kind.GET_FILE, Writer().text(path).number("<QI", len(data), self._piece))
            size, piece = said.number("<Q"), said.rest()
            data += piece
            if len(data) >= size:
                return data
            if not piece:
                raise self.nonsense(f"{len(data)} bytes of a file of {size}")

    def remove(self, path: str) -> None:
        """Delete a file there."""
        self.ask(Kind.REMOVE, Writer().text(path))

    def listdir(self, path: str = "") -> list[str]:
        """The names of the files there. A session has one folder, without others in it."""
        if path.strip("./"):
            raise RPCError("file-name", f"there is no folder {path} in a session: it has one, without others in it")
        said = self.ask(Kind.LIST)
        names = []
        for _ in range(said.number("<I")):
            names.append(said.text())
            said.number("<Q")
        return names

    # ------------------------------------------------------------ programs

    def load_module(self, path: str) -> RemoteModule:
        """An exported program that was uploaded: a shared library, or a `.tar` that holds one."""
        return load(self, path)

    def get_function(self, name: str) -> Any:
        """A packed function that the server has (see `preload` of rpc.Server); one of a board has none."""
        return RemoteFunction(self, name)

    def forget(self, number: int) -> None:
        """An array there is not needed any more: the server hears it with the next question."""
        self._gone.append(number)


def _why(e: BaseException) -> str:
    return "it was closed from there" if isinstance(e, EOFError) else str(e) or type(e).__name__
