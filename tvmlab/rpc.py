"""Other machines, under the classic names: `rpc.Server(port=9091)` there, `rpc.connect("there", 9091)` here."""

from __future__ import annotations

from .names import lazy

_HERE = "tvmlab.runtime.rpc"

__getattr__, __dir__ = lazy(
    __name__,
    {
        "Server": f"{_HERE}.server",
        "connect": f"{_HERE}.client",
        "Tracker": f"{_HERE}.tracker",
        **dict.fromkeys(("connect_tracker", "TrackerSession"), f"{_HERE}.tracked"),
        "LocalSession": f"{_HERE}.local",
        "board_server": f"{_HERE}.board",
        "RPCSession": f"{_HERE}.client:Session",
        **dict.fromkeys(("RPCError", "SessionLost"), f"{_HERE}.protocol"),
        **dict.fromkeys(("RemoteArray", "RemoteDevice", "RemoteModule"), f"{_HERE}.remote"),
    },
    {
        "Proxy": "a server behind a firewall is reached through an SSH tunnel: docs/remote.md",
        "PopenSession": "a board's server listens on a port: rpc.board_server() compiles it",
        "with_minrpc": "rpc.board_server() compiles a server in C that needs no Python",
    },
)
