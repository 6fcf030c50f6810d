"""`python -m tvmlab.exec.rpc_tracker`: give out servers that offer themselves, until it is interrupted."""

from __future__ import annotations

import threading

from ..runtime.rpc.tracker import Tracker
from .options import parser, run


def main() -> None:
    p = parser("rpc_tracker", "Give servers out by their key, each to one client at a time.")
    p.add_argument("--host", default="0.0.0.0", help="the address to listen on (without a secret: this machine's own)")
    p.add_argument("--port", type=int, default=9190, help="the first port that is tried")
    p.add_argument("--port-end", type=int, default=9199, help="the first one that is not")
    p.add_argument("--anyone", action="store_true", help="listen to others without a secret")
    p.add_argument("--silent", action="store_true", help="read over: it says nothing")
    p.add_argument("--no-fork", action="store_true", help="read over: it does not fork")
    given = p.parse_args()
    tracker = Tracker(given.host, given.port, given.port_end, anyone=given.anyone)
    print(f"listening on {tracker.host}:{tracker.port}", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    run(main)
