"""What the process of one session does on a server: files, arrays, libraries, calls. A crash ends only that session."""

from __future__ import annotations

import ctypes
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ...core import dtype as dt
from ...core import packed
from ...core.error import LabError
from .. import host, measure
from ..array import PackedArgument, address, aligned
from ..child import limit_memory
from ..worker import usual_memory
from .machine import architecture, refusal
from .protocol import ARGUMENTS, NAME, Kind, Malformed, Reader, RPCError, Writer
from .wire import Wire

C_TYPES = {
    "A": ctypes.c_void_p, "b": ctypes.c_int8, "h": ctypes.c_int16, "i": ctypes.c_int32, "q": ctypes.c_int64,
    "f": ctypes.c_float, "d": ctypes.c_double,
}  # fmt: skip
NO_MEMORY = -2  # the status of an exported function that got no memory


class Serving:
    """`folder`: the session's files, flat. `busy(True)`: told before an answer is written, and after it."""

    def __init__(self, wire: Wire, folder: Path, memory: int = 0, busy: Callable[[bool], object] = bool) -> None:
        self.wire, self.folder, self.busy = wire, folder, busy
        self.memory = memory or usual_memory()
        self.arrays: dict[int, Any] = {}
        self.modules: list[ctypes.CDLL] = []
        self.used = self._numbers = 0
        self._pid = os.getpid()
        self._does = {
            Kind.PUT_FILE: self.put_file, Kind.GET_FILE: self.get_file, Kind.REMOVE: self.remove, Kind.LIST: self.list,
            Kind.LOAD: self.load, Kind.HAS: self.has, Kind.ALLOC: self.alloc, Kind.FREE: self.free,
            Kind.WRITE: self.write, Kind.READ: self.read, Kind.CALL: self.call, Kind.FLUSH: self.flush,
            Kind.THREADS: self.threads, Kind.FUNCTION: self.function,
        }  # fmt: skip

    def run(self) -> None:
        """Answer questions until the client is gone. Malformed where one makes no sense."""
        limit_memory(self.memory)
        while True:
            kind, body = self.wire.receive()
            if kind == Kind.CLOSE:
                return
            if kind not in self._does:
                raise Malformed(f"{kind.name} is no question of an open session")
            answer, said = self._answer(kind, Reader(body))
            if os.getpid() != self._pid:  # a program has made a copy of this process, and returned in that too
                os._exit(0)
            self.busy(True)
            self.wire.send(answer, said)
            self.busy(False)

    def _answer(self, kind: Kind, body: Reader) -> tuple[Kind, Writer]:
        try:
            return Kind.OK, self._does[kind](body) or Writer()
        except LabError as e:
            return Kind.ERROR, Writer().text(e.rule).text(str(e))
        except MemoryError:
            return Kind.ERROR, Writer().text("memory").text("there is not that much memory for this session")
        except OSError as e:
            return Kind.ERROR, Writer().text("file").text(f"{e.strerror or e}")

    # ------------------------------------------------------------ files

    def _path(self, name: str) -> Path:
        """The file of that name, which is nowhere else than in the folder."""
        if not name or len(name.encode()) > NAME or name[0] == "." or set(name) & {"/", "\\", "\0"}:
            raise RPCError("file-name", f"{name!r} cannot be a file here: a name, without folders and no dot first")
        return self.folder / name

    def _there(self, name: str) -> Path:
        path = self._path(name)
        if not path.is_file():
            raise RPCError("no-file", f"there is no file {name} in this session", legal=sorted(self._files()))
        return path

    def _files(self) -> dict[str, int]:
        return {e.name: e.stat().st_size for e in os.scandir(self.folder) if e.name[0] != "."}

    def put_file(self, body: Reader) -> None:
        name, offset, data = body.text(), body.number("<Q"), body.rest()
        path = self._path(name)
        if offset == 0:
            path.unlink(missing_ok=True)  # a library that is loaded keeps its file
        elif not path.is_file() or path.stat().st_size != offset:
            raise RPCError("file-offset", f"{name} does not end at byte {offset}")
        if sum(self._files().values()) + len(data) > self.memory:
            raise RPCError("disk", f"{name} is more than this session may store")
        with open(path, "xb" if offset == 0 else "ab") as f:
            f.write(data)

    def get_file(self, body: Reader) -> Writer:
        path, offset, most = self._there(body.text()), body.number("<Q"), body.number("<I")
        with open(path, "rb") as f:
            f.seek(min(offset, 1 << 62))
            data = f.read(min(most, self._room))
        return Writer().number("<Q", path.stat().st_size).raw(data)

    def remove(self, body: Reader) -> None:
        self._there(body.text()).unlink()

    def list(self, body: Reader) -> Writer:
        made = Writer().number("<I", len(files := self._files()))
        for name, size in sorted(files.items()):
            made.text(name).number("<Q", size)
        return made

    # ------------------------------------------------------------ arrays

    @property
    def _room(self) -> int:
        return self.wire.limit - 64

    def alloc(self, body: Reader) -> Writer:
        size = body.number("<Q")
        if self.used + size > self.memory:
            raise MemoryError
        made = aligned((max(1, size),), np.dtype(np.uint8))[:size]
        self._numbers += 1
        self.arrays[self._numbers] = made
        self.used += size
        return Writer().number("<Q", self._numbers)

    def free(self, body: Reader) -> None:
        while body.left:
            self.used -= self.arrays.pop(body.number("<Q"), np.zeros(0)).nbytes

    def _part(self, number: int, offset: int, size: int) -> Any:
        found = self._array(number)
        if offset + size > found.nbytes:
            raise RPCError("array-range", f"bytes {offset} to {offset + size} of an array of {found.nbytes}")
        return found[offset : offset + size]

    def _array(self, number: int) -> Any:
        if number not in self.arrays:
            raise RPCError("no-array", f"there is no array {number} in this session")
        return self.arrays[number]

    def write(self, body: Reader) -> None:
        number, offset, data = body.number("<Q"), body.number("<Q"), body.rest()
        self._part(number, offset, len(data))[:] = np.frombuffer(data, np.uint8)

    def read(self, body: Reader) -> Writer:
        number, offset, size = body.number("<Q"), body.number("<Q"), body.number("<I")
        if size > self._room:
            raise RPCError("array-range", f"{size} bytes do not fit into a frame")
        return Writer().raw(memoryview(self._part(number, offset, size)))

    # ------------------------------------------------------------ libraries

    def load(self, body: Reader) -> Writer:
        path = self._there(body.text())
        if why := refusal(path, architecture()):
            raise RPCError("not-loadable", f"cannot load {path.name}: {why}")
        own = self.folder / f".{len(self.modules)}-{path.name}"  # a new one of that name is another library
        own.unlink(missing_ok=True)
        os.link(path, own)
        try:
            self.modules.append(ctypes.CDLL(str(own)))
        except OSError as e:
            raise RPCError("not-loadable", f"cannot load {path.name}: {e}") from e
        return Writer().number("<I", len(self.modules) - 1)

    def _symbol(self, module: int, name: str) -> Any:
        if module >= len(self.modules):
            raise RPCError("no-module", f"there is no module {module} in this session")
        try:
            return self.modules[module][name]  # a new one each time: it carries the types of its arguments
        except AttributeError:
            raise RPCError("no-symbol", f"the library has no function `{name}`") from None

    def has(self, body: Reader) -> Writer:
        module, name = body.number("<I"), body.text()
        try:
            self._symbol(module, name)
        except RPCError as e:
            if e.rule != "no-symbol":
                raise
            return Writer().number("<B", 0)
        return Writer().number("<B", 1)

    def call(self, body: Reader) -> Writer:
        module, name, status = body.number("<I"), body.text(), body.number("<B")
        runs, types, values = body.number("<I"), [], []
        for _ in range(body.number("<H")):
            kind = chr(body.number("<B"))
            if kind not in ARGUMENTS:
                raise Malformed(f"there is no argument of type {kind!r}")
            value = body.number(ARGUMENTS[kind])
            types.append(C_TYPES[kind])
            values.append(address(self._array(value)) if kind == "A" else value)
        body.end()
        function = self._symbol(module, name)
        function.argtypes, function.restype = types, ctypes.c_int32 if status else None
        return Writer().number("<d", _timed(function, values, runs, name))

    def flush(self, body: Reader) -> None:
        size = body.number("<Q")
        if size > self.memory:
            raise MemoryError
        np.ones(size // 8 + 1).sum()

    def threads(self, body: Reader) -> None:
        module, name, value = body.number("<I"), body.text(), body.number("<i")
        self._symbol(module, name)
        ctypes.c_int32.in_dll(self.modules[module], name).value = value

    # ------------------------------------------------------------ packed functions

    def function(self, body: Reader) -> Writer:
        try:
            asked = json.loads(bytes(body.rest()))
            name, args = str(asked["name"]), [self._value(a) for a in asked["args"]]
        except (ValueError, KeyError, TypeError) as e:
            raise Malformed(f"a call that makes no sense: {e}") from None
        if name not in packed.names():
            raise RPCError("no-function", f"the server has no function `{name}`", legal=sorted(packed.names())[:20])
        try:
            found = packed.get(name)(*args)
        except Exception as e:  # the function is the server's owner's
            raise RPCError("function-failed", f"`{name}` raised {type(e).__name__}: {e}") from e
        if isinstance(found, (np.integer, np.floating, np.bool_)):
            found = found.item()
        if not isinstance(found, (int, float, str, bool, type(None))):
            what = type(found).__name__
            raise RPCError("function-result", f"`{name}` returned a {what}: only numbers and text can be sent")
        return Writer().raw(json.dumps(found).encode())

    def _value(self, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        dtype, shape = dt.canonical(str(given["dtype"])), tuple(int(n) for n in given["shape"])
        flat = self._array(int(given["array"]))
        return flat.view(np.dtype(dt.element(dtype))).reshape(shape).view(PackedArgument)


def _timed(function: Any, values: list[Any], runs: int, name: str) -> float:
    """Seconds of so many runs; an error where one says that it failed."""
    code = 0
    with measure.no_garbage_collection():
        start = time.perf_counter_ns()
        for _ in range(runs):
            code = function(*values)
            if code:
                break
        took = time.perf_counter_ns() - start
    if code == NO_MEMORY:
        raise RPCError("memory", f"`{name}`: the system gave no memory for a temporary")
    if code:
        raise RPCError("run-failed", f"{name} failed with status {code}")
    return took * 1e-9


def introduction(limit: int, key: str) -> Writer:
    """The answer to OPEN."""
    return Writer().number("<I", limit).text(key).text(architecture()).text(host.description())
