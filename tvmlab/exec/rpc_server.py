"""`python -m tvmlab.exec.rpc_server`: lend this machine to clients, until it is interrupted."""

from __future__ import annotations

import sys

from ..runtime.rpc.protocol import LIMIT
from ..runtime.rpc.server import Server
from .options import parser, run


def main() -> None:
    p = parser("rpc_server", "Lend this machine to clients of tvmlab.rpc. Each session has a process of its own.")
    p.add_argument("--host", default="0.0.0.0", help="the address to listen on (without a secret: this machine's own)")
    p.add_argument("--port", type=int, default=9090, help="the first port that is tried")
    p.add_argument("--port-end", type=int, default=9199, help="the first one that is not")
    p.add_argument("--tracker", help="host:port of the tracker that gives this server out")
    p.add_argument("--key", default="", help="the kind of device, by which it does")
    p.add_argument("--custom-addr", help="how clients reach this machine, where not as the tracker does")
    p.add_argument("--memory", type=int, default=0, help="bytes of a session's arrays, and of its files")
    p.add_argument("--limit", type=int, default=LIMIT, help="bytes of a message")
    p.add_argument("--preload", action="append", default=[], help="a module whose packed functions may be called")
    p.add_argument("--anyone", action="store_true", help="listen to others without a secret: they can run any code")
    p.add_argument("--silent", action="store_true", help="say nothing of connections")
    p.add_argument("--load-library", help="not here: upload the library, or --preload a module")
    p.add_argument("--no-fork", action="store_true", help="read over: a session always has its own process")
    given = p.parse_args()
    server = Server(
        given.host, given.port, given.port_end, tracker_addr=given.tracker, key=given.key, silent=given.silent,
        load_library=given.load_library, custom_addr=given.custom_addr, anyone=given.anyone, memory=given.memory,
        limit=given.limit, preload=given.preload,
    )  # fmt: skip
    print(f"listening on {server.host}:{server.port}", flush=True)
    try:
        code = server.wait()
    finally:
        server.terminate()
    if code:
        sys.exit(f"the server's process ended with code {code}")


if __name__ == "__main__":
    run(main)
