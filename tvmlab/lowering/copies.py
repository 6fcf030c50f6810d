"""Several copies of a buffer behind one leading index: what virtual threads and double buffering need.

    B[i] of copy c  ->  B[c, i]                 access_ptr(B, o, n, rw)  ->  access_ptr(B, o + c*size(B), n, rw)

Where rows lie apart (`storage_align`) a copy takes whole rows, so that each of them is aligned as the first is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..core import fragments
from ..core.build import binary, const
from ..core.calls import POINTERS
from ..core.error import LabError
from ..core.node import Alloc, AllReduce, Attr, Buffer, Call, Expr, Load, Store, Var
from ..core.walk import replace, rewrite, seq
from ..expr.buffer import span


def widened(b: Buffer, count: int) -> Buffer:
    """`count` copies of `b` in one buffer, one after another; the handle stays."""
    strides = None if b.strides is None else (_apart(b), *b.strides)
    separators = tuple(s + 1 for s in b.separators)
    return b.with_(shape=(const(count), *b.shape), strides=strides, separators=separators, data=b.data)


def _apart(b: Buffer) -> Expr:
    """From one copy to the next. Of rows with gaps the last has one too: every copy is then aligned as the first."""
    return binary("max", span(b), binary("*", b.shape[0], b.strides[0])) if b.strides else span(b)


def select(n: Any, made: Mapping[Buffer, Buffer], which: Expr, doing: str) -> Any:
    """`n` working on copy `which` of the buffers in `made` (old -> widened). `doing` begins the error's sentence."""
    handles = {b.data: b for b in made}

    def rule(x: Any) -> Any:
        t = type(x)
        if t is Load or t is Store:
            if x.buffer in made:
                return replace(x, buffer=made[x.buffer], indices=(which, *x.indices))
        elif t is Attr:
            if isinstance(x.about, Buffer) and x.about in made:
                return replace(x, about=made[x.about])
        elif t is AllReduce:
            return _all_reduce(x, made, which)
        elif t is Call:
            return _call(x, handles, which, doing)
        return None

    return rewrite(n, rule) if made else n


def _call(x: Call, handles: Mapping[Var, Buffer], which: Expr, doing: str) -> Call | None:
    taken = [handles[a] for a in x.args if isinstance(a, Var) and a in handles]
    if not taken:
        return None
    b = taken[0]
    if x.name in POINTERS:
        data, offset, *rest = x.args
        return replace(x, args=(data, binary("+", offset, binary("*", which, _apart(b))), *rest))
    if fragments.is_call(x):
        raise LabError(
            "fragment-copies",
            f"{doing} {b.name}, a fragment of tensor cores, of which there is one in a warp",
            legal=[
                "instead of virtual threads: bind that axis to blockIdx or threadIdx, or leave it a loop",
                "instead of double_buffer of a fragment: that of the shared memory that it is loaded from",
            ],
        )
    raise LabError(
        "address-taken",
        f"{doing} {b.name}: `{x.name}` takes the address of all of it, so it cannot be one of several copies",
        legal=["pass a part of it, with a pointer: B.access_ptr('r', offset=...)"],
    )


def _all_reduce(x: AllReduce, made: Mapping[Buffer, Buffer], which: Expr) -> Any:
    """The result goes to element 0 of a buffer: into a buffer of its own, and from there to the copy."""
    moved = {b: b.with_() for b in x.buffers if b in made}
    if not moved:
        return None
    body = seq(replace(x, buffers=tuple(moved.get(b, b) for b in x.buffers)))
    for b, mine in moved.items():
        zero = tuple(const(0) for _ in b.shape)
        body = seq(body, Store(made[b], (which, *zero), Load(mine, zero, b.dtype)))
    for mine in moved.values():
        body = Alloc(mine, body)
    return body
