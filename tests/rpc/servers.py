"""The kinds of servers that every test of the protocol runs against."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.rpc.peers import SECRET, Place
from tvmlab import rpc
from tvmlab.runtime.rpc.machine import architecture

KINDS = ("python",)


@contextmanager
def started(kind: str, folder: Path) -> Iterator[Place]:
    with rpc.Server(port=0, key="kind", secret=SECRET, memory=1 << 26, limit=1 << 18, silent=True) as server:
        yield Place(server.port, server.pid, folder, "cc", "llvm", architecture())
