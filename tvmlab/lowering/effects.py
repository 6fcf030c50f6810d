"""Which memory a node itself (not its children) reads and writes, as handles: `Buffer.data`.

A pointer given to a call says with its mask what the callee does (1 reads, 2 writes); memory given away whole, or by
`address_of`, may be read and written.
"""

from __future__ import annotations

from typing import Any

from ..core import fragments
from ..core.calls import POINTERS, pointed
from ..core.node import AllReduce, Call, Load, Node, Store, Var
from ..core.walk import walk


def written(n: Node) -> list[Any]:
    t = type(n)
    if t is Store:
        return [n.buffer.data]  # type: ignore[attr-defined]
    if t is AllReduce:
        return [b.data for b in n.buffers]  # type: ignore[attr-defined]
    if t is Call:
        return _given(n, "written") + pointed(n, 2)
    return []


def read(n: Node) -> list[Any]:
    t = type(n)
    if t is Load:
        return [n.buffer.data]  # type: ignore[attr-defined]
    if t is Call:
        return _given(n, "read") + pointed(n, 1)
    return []


def all_written(n: Node) -> set[Any]:
    """Of the whole tree."""
    return {h for x in walk(n) for h in written(x)}


def all_read(n: Node) -> set[Any]:
    return {h for x in walk(n) for h in read(x)}


def _given(n: Any, how: str) -> list[Any]:
    """Memory given whole. `how`: read or written."""
    if fragments.is_call(n) and len(n.args) == fragments.ARITY[n.name]:
        return list(getattr(fragments.read(n), how))
    if n.name in POINTERS:
        return []  # the call it is an argument of says what happens
    found = [a for a in n.args if type(a) is Var and a.dtype == "handle"]
    places = [a.args[0] for a in n.args if type(a) is Call and a.name == "address_of"]
    return found + [p.buffer.data for p in places if type(p) is Load]
