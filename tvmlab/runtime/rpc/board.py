"""The server for machines without Python: C sources beside this file, compiled here for there.

    rpc.board_server("rpc_server", cc="aarch64-linux-gnu-gcc")
    scp rpc_server board:; ssh board TVMLAB_RPC_SECRET=... ./rpc_server --port 9090
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ...target import cabi
from .protocol import RPCError

SOURCES = Path(__file__).parent / "board"


def board_server(
    out: str | os.PathLike[str] = "rpc_server", cc: str | None = None, options: Sequence[str] = ()
) -> Path:
    """Compile it to the file `out`. `cc`: the C compiler of that machine, or one here that makes code for it
    (`aarch64-linux-gnu-gcc`); `options`: more of its options, such as `-static`.
    """
    compiler = cc or cabi.compiler()
    if compiler is None or shutil.which(compiler) is None:
        raise RPCError(
            "no-compiler", f"there is no C compiler {compiler}" if compiler else "there is no C compiler here",
            hint="Debian has them as packages: gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        )  # fmt: skip
    sources = sorted(str(p) for p in SOURCES.glob("*.c"))
    command = [compiler, "-std=c99", "-O2", *options, "-o", str(out), *sources, "-ldl", "-lpthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RPCError("compile-failed", f"{compiler} cannot compile the server", where=done.stderr.splitlines()[:10])
    return Path(out)
