"""Where a server listens, and how one is reached."""

from __future__ import annotations

import ipaddress
import socket
from typing import Any

from ...core.warning import warn
from .protocol import LIMIT, RPCError
from .wire import SECRET_VARIABLE, Refused, Wire

BACKLOG = 64
CONNECT_LIMIT = 10.0  # seconds
ANY = ("", "0.0.0.0", "::")
NO_SECRET = f"give both sides secret=..., or {SECRET_VARIABLE} in the environment"


def listening(host: str, port: int, port_end: int, secret: bytes, anyone: bool) -> socket.socket:
    """A socket on the first free port from `port` to `port_end` - 1, or on `port` where that is beyond. Without a
    secret, on this machine's own address only, unless `anyone` may come.
    """
    host = _allowed(host, secret, anyone)
    for p in (port, port_end):
        if not isinstance(p, int) or not 0 <= p <= 65536 or port == 65536:
            raise RPCError("port", f"{p!r} is no port: they are from 1 to 65535", legal=["port=9091, port_end=9199"])
    port_end = max(port_end, port + 1)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    error: Exception = OSError()
    for p in range(port, min(port_end, 65536)):
        try:
            return socket.create_server((host, p), family=family, backlog=BACKLOG)
        except OSError as e:
            error = e
            if p == 0:
                break
    raise RPCError(
        "no-port", f"cannot listen on {host}, ports {port} to {port_end - 1}: {error}",
        hint="port=0 takes any free port",
    )  # fmt: skip


def _allowed(host: str, secret: bytes, anyone: bool) -> str:
    if secret or anyone or is_loopback(host):
        return host
    if host in ANY:
        warn(f"without a secret the server listens on 127.0.0.1 only; to be reached from other machines, {NO_SECRET}")
        return "127.0.0.1"
    raise RPCError(
        "no-secret", f"a server without a secret would let anyone who reaches {host} run code there",
        hint=f"{NO_SECRET}; or say anyone=True, in a network that is yours alone",
    )  # fmt: skip


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def reach(host: str, port: Any, secret: bytes, limit: int = LIMIT, what: str = "server") -> Wire:
    """A connection to a server or a tracker, greeted."""
    if not isinstance(port, int) or not 0 < port < 65536:
        raise RPCError("port", f"{port!r} is no port", legal=["a number from 1 to 65535"])
    place = f"{host}:{port}"
    try:
        sock = socket.create_connection((host, port), timeout=CONNECT_LIMIT)
    except OSError as e:
        module = "rpc_tracker" if what == "tracker" else "rpc_server"
        raise RPCError(
            f"no-{what}", f"no {what} answers at {place}: {e}",
            hint=f"is it running?  python -m tvmlab.exec.{module} --host ... --port {port}",
        ) from e  # fmt: skip
    wire = Wire(sock, limit)
    try:
        wire.greet(secret)
    except Refused as e:
        wire.close()
        rule = "secret" if "secret" in str(e) else "protocol"
        raise RPCError(rule, f"the {what} at {place} refused: {e}", hint=NO_SECRET if rule == "secret" else "") from e
    except (OSError, EOFError) as e:
        wire.close()
        why = "it closed the connection" if isinstance(e, EOFError) else str(e)
        raise RPCError(f"no-{what}", f"what answers at {place} is no {what} of ours, or it is busy: {why}") from e
    return wire
