"""A server as a person holds it, a process of its own: `server = rpc.Server(port=9091); ...; server.terminate()`."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import weakref
from collections.abc import Sequence
from typing import Any

from .listen import listening
from .offer import address_of
from .protocol import LEAST_LIMIT, LIMIT, RPCError
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
        if limit < LEAST_LIMIT:
            raise RPCError("limit", f"a message has to have room for {LEAST_LIMIT} bytes at least, not {limit}")
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
        env = {**os.environ, SECRET_VARIABLE: known.decode("utf-8", "surrogateescape")}
        with listener:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", BOOT.format(__name__), json.dumps(what)], stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL if silent else None,
                pass_fds=[listener.fileno()], env=env, start_new_session=True,
            )  # fmt: skip
        self._finalizer = weakref.finalize(self, _end, self._process)

    @property
    def pid(self) -> int:
        """Of the process that serves."""
        return self._process.pid

    def wait(self) -> None:
        """Until it has ended."""
        self._process.wait()

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


def serve(given: dict[str, Any]) -> None:
    """In the server's process: its standard input is at its end when ours is."""
    from .keeper import Keeper, Settings

    tracker = given["tracker"]
    settings = Settings(
        given["key"], usual_secret(os.environ.pop(SECRET_VARIABLE, "")), given["memory"], given["limit"],
        tracker and (tracker[0], tracker[1]), given["address"], tuple(given["preload"]),
    )  # fmt: skip
    Keeper(socket.socket(fileno=given["fd"]), settings, life=0).run()
