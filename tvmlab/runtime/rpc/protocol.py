"""The protocol between a client and a server (ours in Python, and the one in C under board/), and a tracker.

All numbers are little-endian. `str`: u16 length, UTF-8. `rest`: what is left of the frame, raw. Nothing that arrives is
ever unpickled or evaluated, and no length is believed before it is compared with a limit.

Greeting (no frames yet). The secret itself is never sent; without one it is empty, and proves nothing.
    client  "TVMLAB"  u16 VERSION  32 random bytes (cn)
    server  "TVMLAB"  u16 VERSION  32 random bytes (sn)
    client  HMAC-SHA256(secret, "client" cn sn)
    server  u8: 1, and HMAC-SHA256(secret, "server" cn sn);  or 0, and it closes

Frames, from here on:  u32 length of the rest, u8 kind, u32 number, body. One longer than the limit ends the connection
unread. The client asks, and numbers its questions; the server answers each once, in order, with its number. An answer
with another one is somebody else's (a copy of the process that a program made, say), and ends the session.
    OK     body by question
    ERROR  str rule, str message: this question failed, the session goes on
    ENDED  str rule, str message: the session is over; also without a question, before the server closes

A session with a device (answers in brackets):
    OPEN      u32 milliseconds it may last (0: no limit), str key, str ticket
              [u32 longest frame, str key, str architecture, str machine]     must be the first
    PUT_FILE  str name, u64 offset, rest              offset 0 makes the file anew, others append to it
    GET_FILE  str name, u64 offset, u32 most          [u64 size of the file, rest]
    REMOVE    str name
    LIST                                              [u32 count; str name, u64 size of each]
    LOAD      str name of a shared library            [u32 module]
    HAS       u32 module, str symbol                  [u8]
    ALLOC     u64 bytes                               [u64 array]
    FREE      u64 array ...
    WRITE     u64 array, u64 offset, rest
    READ      u64 array, u64 offset, u32 bytes        [rest]
    CALL      u32 module, str symbol, u8 has a status, u32 runs, u16 count; u8 type and 8 bytes of each argument
              [f64 seconds that the runs took]        the function's C prototype is what the arguments say
    FLUSH     u64 bytes of memory to stream through, so that caches hold nothing of before
    THREADS   u32 module, str name of an int32 variable, i32 value
    FUNCTION  JSON {"name", "args"}                   [JSON]   a packed function; a board has none
    CLOSE

With a tracker:
    PUT       str key, u16 port, str address ("": where it comes from), str ticket, str machine
              a server offers itself; it hears TAKEN when it has been given to somebody, and offers itself again later
    REQUEST   str key, i32 priority                   [str address, u16 port, str ticket]   waits until there is one
    SUMMARY                                           [u32 count; str key, str address, u16 port, u8 free, str machine
                                                       of each server;  u32 count; str key, u32 waiting of each]
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from enum import IntEnum
from typing import Any

from ...core.error import LabError

MAGIC, VERSION = b"TVMLAB", 2
GREETING = struct.Struct("<6sH32s")
NONCE = PROOF = 32  # bytes
HEAD = struct.Struct("<IBI")
AFTER = HEAD.size - 4  # bytes of the head that its length counts
LIMIT = 16 << 20  # bytes of a frame, usually
LEAST_LIMIT, MOST_LIMIT = 4096, 1 << 30
ROOM = 1024  # of a frame, for what is not raw data
NAME = 128  # bytes of a file's, a symbol's, a device kind's name


class Kind(IntEnum):
    OK = 0
    ERROR = 1
    ENDED = 2
    OPEN = 16
    PUT_FILE = 17
    GET_FILE = 18
    REMOVE = 19
    LIST = 20
    LOAD = 21
    HAS = 22
    ALLOC = 23
    FREE = 24
    WRITE = 25
    READ = 26
    CALL = 27
    FLUSH = 28
    THREADS = 29
    FUNCTION = 30
    CLOSE = 31
    PUT = 64
    REQUEST = 65
    SUMMARY = 66
    TAKEN = 67


# The type of an argument -> how its 8 bytes are packed. `A`: an array's number; integers keep their width.
ARGUMENTS = {"A": "<Q", "b": "<q", "h": "<q", "i": "<q", "q": "<q", "f": "<d", "d": "<d"}


class RPCError(LabError):
    """Something that a session with another machine could not do."""


class SessionLost(RPCError):
    """A session that is over. `rule`: `lost` (the connection), `crash`, `timeout`, `closed`."""


class Malformed(Exception):
    """A frame that does not hold what its kind says."""


class Writer:
    """Builds a body: `Writer().text(name).number("<Q", 5).raw(data)`."""

    def __init__(self) -> None:
        self.parts: list[Any] = []

    def number(self, layout: str, *values: Any) -> Writer:
        self.parts.append(struct.pack(layout, *values))
        return self

    def text(self, value: str) -> Writer:
        try:
            data = value.encode("utf-8")
        except (AttributeError, UnicodeEncodeError):
            raise RPCError("text", f"{value!r} is no text that can be sent") from None
        data = data[:0xFFFF].decode("utf-8", "ignore").encode()  # it is not cut in the middle of a letter
        return self.number("<H", len(data)).raw(data)

    def raw(self, data: Any) -> Writer:
        self.parts.append(data)
        return self


class Reader:
    """Takes a body apart. `fault(why)`: what is raised where it is too short, or is no UTF-8."""

    def __init__(self, body: Any, fault: Callable[[str], Exception] = Malformed) -> None:
        self.body, self.at, self.fault = memoryview(body), 0, fault

    def number(self, layout: str) -> Any:
        return struct.unpack(layout, self._take(struct.calcsize(layout)))[0]

    def text(self) -> str:
        try:
            return bytes(self._take(self.number("<H"))).decode("utf-8")
        except UnicodeDecodeError as e:
            raise self.fault(f"text that is not UTF-8: {e}") from None

    def rest(self, size: int | None = None) -> memoryview:
        """All that is left; `size`: so many bytes it has to be."""
        if size is not None and size != self.left:
            raise self.fault(f"{size} bytes were expected, {self.left} are there")
        return self._take(self.left)

    @property
    def left(self) -> int:
        return len(self.body) - self.at

    def end(self) -> None:
        if self.left:
            raise self.fault(f"{self.left} bytes too many")

    def _take(self, size: int) -> memoryview:
        if size > self.left:
            raise self.fault(f"{size} bytes were expected, {self.left} are there")
        self.at += size
        return self.body[self.at - size : self.at]
