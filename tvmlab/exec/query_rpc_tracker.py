"""`python -m tvmlab.exec.query_rpc_tracker`: what servers a tracker has, and who waits."""

from __future__ import annotations

import os

from ..runtime.rpc.tracked import connect_tracker
from .options import parser, run


def main() -> None:
    p = parser("query_rpc_tracker", "Show the servers of a tracker, and how many clients wait for each kind.")
    p.add_argument("--host", default=os.environ.get("TVM_TRACKER_HOST", "127.0.0.1"))
    p.add_argument("--port", type=int, default=int(os.environ.get("TVM_TRACKER_PORT", "9190")))
    given = p.parse_args()
    print(connect_tracker(given.host, given.port).text_summary())


if __name__ == "__main__":
    run(main)
