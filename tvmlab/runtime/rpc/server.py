"""A server as a person holds it, a process of its own: `server = rpc.Server(port=9091); ...; server.terminate()`."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import weakref
from collections.abc import Sequence
from importlib import import_module
from typing import Any

from .listen import listening
from .offer import address_of
from .protocol import LEAST_LIMIT, LIMIT, MOST_LIMIT, RPCError
from .wire import SECRET_VARIABLE, usual_secret

BOOT = "import sys, json; a = json.loads(sys.argv[1]); sys.path[:] = a.pop('path'); import {0} as s; s.serve(a)"
ABSENT = {
    "is_proxy": "there is no rpc.Proxy: a server behind a firewall is reached through an SSH tunnel (docs/remote.md)",
    "load_library": "upload the library, or name a module of Python that registers functions: preload=[...]",
}


class Server:
    """Serves from the start of its process to `terminate()`, or to the end of this process.

    `host`, `port` to `port_end`: it takes the first free one, `.port`. Without a `secret` (or TVMLAB_RPC_SECRET in the
    environment) it listens on this machine's own address only, unless `anyone` may come. `key`: the kind of device, by
    which a tracker gives it out; `tracker_addr`: ("host", port) of that; `custom_addr`: how clients reach this host, if
    not as the tracker does. `memory`: bytes of a session's arrays (0: most of the machine's); `limit`: of a message.
    `preload`: modules whose packed functions a client may call. `silent`: nothing is written to standard error.
    Read over: `use_popen`, `no_fork`; a server is always a process, and each session another one.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 9091,
        port_end: int = 9199,
        is_proxy: bool = False,
        tracker_addr: Any = None,
        key: str = "",
        load_library: Any = None,
        custom_addr: str | None = None,
        silent: bool = False,
        *,
        secret: str | bytes | None = None,
        anyone: bool = False,
        memory: int = 0,
        limit: int = LIMIT,
        preload: Sequence[str] = (),
        use_popen: bool = True,
        no_fork: bool = False,
    ) -> None:
        for name, value in (("is_proxy", is_proxy), ("load_library", load_library)):
            if value:
                raise RPCError("not-here", f"a server takes no {name} here", hint=ABSENT[name])
        if not hasattr(os, "fork"):
            raise RPCError("not-here", "a server needs Linux or macOS: it gives each session a process by forking")
        if not isinstance(limit, int) or not LEAST_LIMIT <= limit <= MOST_LIMIT:
            raise RPCError("limit", f"a message may have {LEAST_LIMIT} to {MOST_LIMIT} bytes at most, not {limit!r}")
        if not isinstance(memory, int) or not 0 <= memory < 1 << 63:
            raise RPCError("memory", f"memory is a number of bytes, not {memory!r}", hint="0 is most of the machine's")
        known = usual_secret(secret)
        tracker = None if tracker_addr is None else address_of(tracker_addr)
        if tracker and not key:
            raise RPCError("no-key", "a tracker gives servers out by their key", hint='key="rpi4", say')
        listener = listening(host, port, port_end if port else 1, known, anyone)
        self.host, self.port = listener.getsockname()[:2]
        self.key = key
        what = {
            "fd": listener.fileno(), "key": key, "memory": memory, "limit": limit, "tracker": tracker,
            "address": custom_addr or "", "preload": list(preload), "path": [str(p) for p in sys.path],
        }  # fmt: skip
        heard, ready = os.pipe()
        what["ready"] = ready
        env = {**os.environ, SECRET_VARIABLE: known.decode("utf-8", "surrogateescape")}
        with listener:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", BOOT.format(__name__), json.dumps(what)], stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL if silent else None,
                pass_fds=[listener.fileno(), ready], env=env, start_new_session=True,
            )  # fmt: skip
        self._finalizer = weakref.finalize(self, _end, self._process)
        os.close(ready)
        with open(heard, "rb") as f:
            problem = f.read().decode() if preload else ""
        if problem:
            self.terminate()
            raise RPCError("preload", problem, hint="preload names modules of Python that are found from here")

    @property
    def pid(self) -> int:
        """Of the process that serves."""
        return self._process.pid

    def wait(self) -> int:
        """Until it has ended: its exit code, 0 where it was told to."""
        return self._process.wait()

    def terminate(self) -> None:
        """End it, with its sessions."""
        self._finalizer()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.terminate()

    def __repr__(self) -> str:
        state = "running" if self._process.poll() is None else "ended"
        return f"<rpc.Server {self.host}:{self.port}{f' for {self.key}' if self.key else ''}, {state}>"


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()


def _imported(names: list[str]) -> str:
    """What went wrong, if anything."""
    for name in names:
        try:
            import_module(name)
        except Exception as e:  # it is the server's owner's
            return f"cannot import {name}: {type(e).__name__}: {e}"
    return ""


def serve(given: dict[str, Any]) -> None:
    """In the server's process: its standard input is at its end when ours is."""
    from .keeper import Keeper, Settings

    with open(given["ready"], "wb") as f:
        problem = _imported(given["preload"])
        with contextlib.suppress(OSError):  # nobody listens where there is nothing to preload
            f.write(problem.encode())
            f.flush()
    if problem:
        sys.exit(1)
    tracker = given["tracker"]
    settings = Settings(
        given["key"], usual_secret(os.environ.pop(SECRET_VARIABLE, "")), given["memory"], given["limit"],
        tracker and (tracker[0], tracker[1]), given["address"],
    )  # fmt: skip
    Keeper(socket.socket(fileno=given["fd"]), settings, life=0).run()
