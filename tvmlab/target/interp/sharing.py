"""Which buffers parallel iterations, blocks or threads share: only those need to be watched for races."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core.calls import POINTERS
from ...core.node import Alloc, AllReduce, Buffer, Call, Const, For, Load, Node, Stmt, Store, Var
from ...core.walk import walk

SYNC = frozenset({"thread", "vthread"})


def private(scope: str) -> bool:
    """Does each thread have its own memory of that scope?"""
    return scope.split(".")[0] == "local"


def watched(params: tuple[Any, ...], body: Stmt) -> frozenset[Buffer]:
    """Buffers written inside a parallel construct that does not give each of its iterations a buffer of its own."""
    owners = _owners(params, body)
    found: set[Buffer] = set()
    for loop in walk(body):
        if isinstance(loop, For) and loop.kind in ("parallel", *SYNC):
            inner = {s.buffer for s in walk(loop.body) if isinstance(s, Alloc) and _own(loop, s.buffer)}
            found |= {owners[t] for n in walk(loop.body) for t in _written(n) if t in owners} - inner
    return frozenset(found)


def _own(loop: For, b: Buffer) -> bool:
    return loop.kind in ("parallel", "vthread") or private(b.scope)


def _owners(params: tuple[Any, ...], body: Stmt) -> dict[Any, Buffer]:
    buffers = [p for p in params if isinstance(p, Buffer)] + [s.buffer for s in walk(body) if isinstance(s, Alloc)]
    return {key: b for b in buffers for key in handles(b)}


def handles(b: Buffer) -> list[Any]:
    """What stands for a buffer in programs: itself, its data variable, and that of the buffer it is a flat view of."""
    return [b, b.data] + ([b.logical.data] if b.logical is not None else [])


def _written(n: Node) -> Iterator[Any]:
    if isinstance(n, Store):
        yield n.buffer
    elif isinstance(n, AllReduce):
        yield from n.buffers
    elif isinstance(n, Call) and n.name in POINTERS:
        mask = n.args[POINTERS[n.name]]
        if not isinstance(mask, Const) or mask.value & 2:
            yield n.args[0]
    elif isinstance(n, Call) and n.kind == "packed":
        yield from (a for a in n.args if isinstance(a, Var))
    elif isinstance(n, Call) and n.name == "address_of" and isinstance(n.args[0], Load):
        yield n.args[0].buffer
