"""Servers of each kind, programs for their machines, and connections that do not keep to the protocol."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tvmlab as tvm
from tvmlab import te
from tvmlab.runtime.load import write_card
from tvmlab.runtime.rpc.protocol import AFTER, HEAD, Kind, Writer
from tvmlab.runtime.rpc.wire import Wire
from tvmlab.runtime.signature import BufferSpec, ScalarSpec, Signature
from tvmlab.target.base import Target

SECRET = "a secret of the tests"
BAD = """
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>
int32_t fill(float *x, float value, double more, int16_t s, uint8_t t, int32_t many) {
  for (int i = 0; i < many; ++i) x[i] = value + (float)more * s + t;
  return 0;
}
int32_t crash(float *x) { *(volatile int *)8 = 1; return 0; }
int32_t spin(float *x) { for (volatile long i = 0; ; ++i) {} return 0; }
int32_t refuse(float *x) { return 7; }
int32_t leave(float *x) { exit(3); }
int32_t twice(float *x) { if (fork() == 0) usleep(50000); x[0] += 1; return 0; }
int32_t stays(float *x) { if (fork() == 0) execl("/bin/sleep", "sleep", "4321", (char *)0); for (;;) pause(); }
int32_t ends(float *x) { _exit(0); }
"""
ONE = (BufferSpec("x", "float32", (4,), written=True),)
MANY = (BufferSpec("x", "float32", ("n",), written=True), ScalarSpec("value", "float32"), ScalarSpec("more", "float64"),
        ScalarSpec("s", "int16"), ScalarSpec("t", "uint8"))  # fmt: skip


@dataclass
class Place:
    """A server, and what it takes to make programs for it."""

    port: int
    pid: int
    folder: Path
    cc: str
    target: str
    arch: str

    def connect(self, **how: Any) -> Any:
        return tvm.rpc.connect("127.0.0.1", self.port, secret=SECRET, **how)

    def raw(self, secret: bytes = SECRET.encode()) -> Wire:
        """A connection that has only been greeted."""
        wire = Wire(socket.create_connection(("127.0.0.1", self.port), timeout=10))
        wire.greet(secret)
        return wire

    def session(self) -> Wire:
        """One that is open, too."""
        wire = self.raw()
        wire.send(Kind.OPEN, Writer().number("<I", 0).text("").text(""))
        assert wire.receive(10)[0] == Kind.OK
        return wire

    def children(self) -> int:
        """How many processes the server has, once those that are ending have ended."""
        until = time.monotonic() + 10
        while (found := _children(self.pid)) and time.monotonic() < until:
            time.sleep(0.02)
        return found

    # ------------------------------------------------------------ programs

    def matmul(self, n: int = 33) -> Path:
        """C = A B with a parallel loop, as a shared library with its card."""
        path = self.folder / f"mm{n}.so"
        if path.exists():
            return path
        a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
        k = te.reduce_axis((0, n), "k")
        c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
        s = te.create_schedule(c.op)
        s[c].parallel(c.op.axis[0])
        tvm.build(s, [a, b, c], self.target, name="mm").export(path)
        return path

    def bad(self, symbol: str) -> str:
        """The name of the library with that function of BAD; it lies in the folder with a card for it."""
        library = self.folder / "bad.so"
        if not library.exists():
            source = self.folder / "bad.c"
            source.write_text(BAD)
            subprocess.run([self.cc, "-shared", "-fPIC", "-o", library, source], check=True)
        path = self.folder / f"{symbol}.so"
        shutil.copy(library, path)
        params = MANY if symbol == "fill" else ONE
        sizes = (("n", "int32"),) if symbol == "fill" else ()
        signature = Signature(symbol, params, sizes)
        extra: dict[str, Any] = {"symbol": symbol, "status": True}
        write_card(path, signature, Target(self.target), extra)
        return str(path)


def _children(pid: int) -> int:
    found = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            found += int(stat.read_text().rpartition(")")[2].split()[1]) == pid
    return found


def load(remote: Any, path: Any) -> Any:
    remote.upload(path)
    return remote.load_module(Path(path).name)


def ask_on(remote):
    """Until it cannot be asked any more. Mostly it waits: one that ends in the middle of an answer cannot say why."""
    until = time.monotonic() + 20
    while time.monotonic() < until:
        remote.listdir()
        time.sleep(0.05)


def until(what: Any, seconds: float = 10.0) -> Any:
    """What it gives, once that is true; at the latest after so many seconds."""
    end = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def frame(kind: int, body: bytes = b"", size: int | None = None) -> bytes:
    return HEAD.pack(AFTER + len(body) if size is None else size, kind, 0) + body


def answer(wire: Wire) -> tuple[Any, str]:
    """Kind and rule of what comes, or (None, "closed")."""
    with contextlib.suppress(OSError, EOFError):
        kind, body = wire.receive(10)
        size = int.from_bytes(body[:2], "little")
        return kind, bytes(body[2 : 2 + size]).decode()
    return None, "closed"


def floats(*shape: int) -> Any:
    return np.random.default_rng(0).random(shape, dtype=np.float32)
