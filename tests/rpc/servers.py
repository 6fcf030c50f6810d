"""The kinds of servers that every test of the protocol runs against."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.rpc.peers import SECRET, Place
from tvmlab import rpc
from tvmlab.runtime.rpc.machine import architecture

KINDS = ("python", "board", "aarch64")
MEMORY, LIMIT = 1 << 26, 1 << 18
CROSS = "aarch64-linux-gnu-gcc"
SYSROOT = "/usr/aarch64-linux-gnu"  # Debian's libc6-arm64-cross


def emulator() -> str:
    """What runs programs of an aarch64 here. CI has it, and does not skip."""
    found = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
    if not found or not shutil.which(CROSS):
        why = "needs qemu-user and gcc-aarch64-linux-gnu of Debian"
        assert os.environ.get("TVMLAB_RPC") != "required", why
        pytest.skip(why)
    return found


@contextmanager
def started(kind: str, folder: Path) -> Iterator[Place]:
    if kind == "python":
        with rpc.Server(port=0, key="kind", secret=SECRET, memory=MEMORY, limit=LIMIT, silent=True) as server:
            yield Place(server.port, server.pid, folder, "cc", "llvm", architecture())
        return
    crossed = kind == "aarch64"
    command = [emulator(), "-L", SYSROOT] if crossed else []
    with board(folder, command, CROSS if crossed else "cc") as (port, pid):
        if crossed:
            yield Place(port, pid, folder, CROSS, "llvm -mtriple=aarch64-linux-gnu", "aarch64")
        else:
            yield Place(port, pid, folder, "cc", "llvm", architecture())


@contextmanager
def board(folder: Path, command: list[str], cc: str, *more: str) -> Iterator[tuple[int, int]]:
    """The server in C, compiled and running: its port and its process."""
    program = folder.parent / f"server-{cc}"  # for all tests of this run
    if not program.exists():
        rpc.board_server(program, cc, ["-Wall", "-Wextra", "-Wpedantic", "-Werror"])
    words = [*command, program, "--port", "0", "--key", "kind", "--memory", str(MEMORY), "--limit", str(LIMIT), *more]
    env = {**os.environ, "TVMLAB_RPC_SECRET": SECRET}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=env)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline().rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        assert process.wait(10) == 0
        process.stdout.close()
