"""A connection: the greeting with its proofs, then frames. Nothing is read that is longer than the limit."""

from __future__ import annotations

import contextlib
import hmac
import os
import socket

from .protocol import AFTER, GREETING, HEAD, LIMIT, MAGIC, NONCE, PROOF, VERSION, Kind, Malformed, RPCError, Writer

GREETING_LIMIT = 10.0  # seconds for the whole greeting
STALLED = 30.0  # seconds without a byte, in the middle of a frame
SECRET_VARIABLE = "TVMLAB_RPC_SECRET"


class TooLong(Malformed):
    """A frame beyond the limit."""


class Refused(Exception):
    """The other side is no peer of ours: another protocol, another version, another secret."""


def usual_secret(given: str | bytes | None) -> bytes:
    """The secret as bytes: what is given, else what the environment says, else none."""
    secret = os.environ.get(SECRET_VARIABLE, "") if given is None else given
    if not isinstance(secret, (str, bytes)):
        raise RPCError("secret", f"a secret is text or bytes, not a {type(secret).__name__}")
    made = secret if isinstance(secret, bytes) else secret.encode("utf-8", "surrogateescape")
    if b"\0" in made:
        raise RPCError("secret", "a secret cannot have a zero byte in it")
    return made


class Wire:
    """One side of a connection. Ends are EOFError, ConnectionError or TimeoutError.

    `number`: of the last frame that came; what is sent carries it too.
    """

    def __init__(self, sock: socket.socket, limit: int = LIMIT) -> None:
        self.sock, self.limit = sock, limit
        self.number = self._asked = 0
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        with contextlib.suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError, AttributeError):  # a machine that vanished is noticed within a minute
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.sock.close()

    # ------------------------------------------------------------ frames

    def ask(self, kind: Kind, body: Writer | None = None, wait: float | None = None) -> tuple[Kind, bytearray]:
        """A question, and the answer to it. Malformed where that is the answer to another one."""
        self._asked = self.number = (self._asked + 1) & 0xFFFFFFFF
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may have said why
            self.send(kind, body)
        answer, said = self.receive(wait)
        if answer != Kind.ENDED and self.number != self._asked:
            raise Malformed(f"question {self._asked} got the answer of question {self.number}")
        return answer, said

    def send(self, kind: Kind, body: Writer | None = None) -> None:
        parts = [] if body is None else body.parts
        size = AFTER + sum(memoryview(p).nbytes for p in parts)
        small = b"".join([HEAD.pack(size, kind, self.number), *parts[:-1]])
        last = parts[-1] if parts else b""
        if memoryview(last).nbytes < 65536:
            self.sock.sendall(small + bytes(last))
            return
        self.sock.sendall(small)
        self.sock.sendall(last)

    def receive(self, wait: float | None = None) -> tuple[Kind, bytearray]:
        """The next frame. `wait`: seconds until it begins; from then on it may not stall."""
        self.sock.settimeout(wait)
        head = bytearray(HEAD.size)
        got = self.sock.recv_into(head)
        if not got:
            raise EOFError
        self.sock.settimeout(STALLED)
        self._fill(memoryview(head)[got:])
        size, kind, self.number = HEAD.unpack(head)
        if size > self.limit:
            raise TooLong(f"a frame of {size} bytes; the limit is {self.limit}")
        if size < AFTER or kind not in Kind.__members__.values():
            raise Malformed(f"there is no frame of kind {kind}")
        body = bytearray(size - AFTER)
        self._fill(memoryview(body))
        return Kind(kind), body

    def _fill(self, view: memoryview) -> None:
        while len(view):
            got = self.sock.recv_into(view)
            if not got:
                raise EOFError
            view = view[got:]

    def _exactly(self, size: int) -> bytes:
        data = bytearray(size)
        self._fill(memoryview(data))
        return bytes(data)

    # ------------------------------------------------------------ the greeting

    def greet(self, secret: bytes) -> None:
        """As the client. Refused says why."""
        self.sock.settimeout(GREETING_LIMIT)
        mine = os.urandom(NONCE)
        self.sock.sendall(GREETING.pack(MAGIC, VERSION, mine))
        theirs = self._greeting()
        self.sock.sendall(_proof(secret, b"client", mine, theirs))
        if self._exactly(1) != b"\x01":
            raise Refused("the secret is not the one that it has" if secret else "it asks for a secret")
        if not hmac.compare_digest(self._exactly(PROOF), _proof(secret, b"server", mine, theirs)):
            raise Refused("it does not know the secret")
        self.sock.settimeout(None)

    def welcome(self, secret: bytes) -> None:
        """As the server. Who does not know the secret learns only that."""
        self.sock.settimeout(GREETING_LIMIT)
        mine = os.urandom(NONCE)
        self.sock.sendall(GREETING.pack(MAGIC, VERSION, mine))
        theirs = self._greeting()
        if not hmac.compare_digest(self._exactly(PROOF), _proof(secret, b"client", theirs, mine)):
            self.sock.sendall(b"\x00")
            raise Refused("a client without the secret")
        self.sock.sendall(b"\x01" + _proof(secret, b"server", theirs, mine))
        self.sock.settimeout(None)

    def _greeting(self) -> bytes:
        magic, version, nonce = GREETING.unpack(self._exactly(GREETING.size))
        if magic != MAGIC:
            raise Refused("it does not speak tvmlab's protocol")
        if version != VERSION:
            raise Refused(f"it speaks version {version} of the protocol, this is version {VERSION}")
        return bytes(nonce)


def _proof(secret: bytes, side: bytes, client: bytes, server: bytes) -> bytes:
    return hmac.digest(secret, side + client + server, "sha256")


