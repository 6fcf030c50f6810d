"""Addresses as LLVM IR: of buffers and their elements, for functions and for prefetches."""

from __future__ import annotations

from typing import Any

from ...core.error import BuildError
from ...core.node import Call, Const, Expr, Load, Var
from ...core.text import show


def access_ptr(c: Any, e: Call) -> str:
    """access_ptr(data, offset, extent, mask)"""
    place = c.places.get(e.args[0])
    if place is None:
        raise BuildError(
            "unknown-pointer", f"`{show(e.args[0])}` is not the data of a buffer in scope", where=[show(e)]
        )
    c.forget(place)
    made: str = c.address(place, c.lin(e.args[1]), inside=False)
    return made


def address_of(c: Any, e: Call) -> str:
    read = e.args[0]
    if not isinstance(read, Load):
        raise BuildError("address-of", "address_of needs an element of a buffer", where=[show(e)])
    place = c.place(read.buffer)
    c.forget(place)
    made: str = c.address(place, c.lin(c.index_of(read.indices, read.buffer)), inside=False)
    return made


def prefetch(c: Any, e: Call) -> str:
    """prefetch(pointer, rw = 0, locality = 3, kind = 1); a missing number is as in LLVM."""
    f = c.m.declare("llvm.prefetch.p0", "void", ["ptr", "i32", "i32", "i32"])
    numbers = [str(int(a.value)) if isinstance(a, Const) else "0" for a in e.args[1:4]]
    rw, locality, kind = [*numbers, *("0", "3", "1")[len(numbers) :]]
    target = e.args[0]
    if isinstance(target, Load):  # nothing is read or written there: what is known of the memory stays known
        at = c.lin(c.index_of(target.indices, target.buffer))
        where = c.address(c.place(target.buffer), at, inside=False)
    else:
        where = pointer(c, target)
    c.emit(f"call void {f}(ptr {where}, i32 {rw}, i32 {locality}, i32 {kind})")
    return "0"


def pointer(c: Any, e: Expr) -> str:
    """The operand of a handle."""
    if isinstance(e, Var) and e in c.places:
        place = c.places[e]
        c.forget(place)
        return str(place.pointer)
    if isinstance(e, Load):
        return address_of(c, Call("address_of", (e,), "handle", "intrin"))
    return str(c.value(e))
