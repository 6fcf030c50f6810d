"""What the printer does to loops first: expands unrolled ones, and finds the local buffers that become variables.

for i in unrolled(2):                 acc[0:16] = ...
    acc[i*16:i*16 + 16] = ...   ->    acc[16:32] = ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...core import dtype as dt
from ...core.build import binary, const
from ...core.node import (
    Alloc,
    Bin,
    Buffer,
    Const,
    Evaluate,
    Expr,
    For,
    LetStmt,
    Load,
    Ramp,
    Seq,
    Stmt,
    Store,
)
from ...core.walk import constant, map_children, replace, rewrite, seq, substitute, uses, walk

CAP = 300  # statements that one nest of unrolled loops may become: beyond, compiling takes seconds
REGISTERS = 64  # variables that one buffer may become,
WRITTEN_OUT = 32  # and when loops that nobody marked are written out for it: no more than registers of vectors
REGISTER_BYTES = 8192


def expand(s: Stmt) -> Stmt:
    """Unrolled loops of constant extent written out, inner ones first, while the text stays short."""
    if isinstance(s, Alloc):
        return _expand_tile(replace(s, body=expand(s.body)))
    if isinstance(s, For):
        body = expand(s.body)
        s = s if body is s.body else replace(s, body=body)
        if s.kind == "unrolled":
            return write_out(s) if fits(s) else replace(s, kind="serial")
        return replace(s, kind="serial") if s.kind == "vectorized" else s
    return map_children(s, lambda c: expand(c) if isinstance(c, Stmt) else c)


def fits(s: For) -> bool:
    extent = constant(s.extent)
    return extent is not None and extent * statements(s.body) <= CAP


def statements(s: Stmt) -> int:
    return sum(1 for x in walk(s) if isinstance(x, Stmt) and not isinstance(x, (Seq, For)))


def write_out(s: For) -> Stmt:
    count = constant(s.extent) or 0
    return seq(*[fold(substitute(s.body, {s.var: binary("+", s.lo, const(i, s.var.dtype))})) for i in range(count)])


def _expand_tile(s: Alloc) -> Stmt:
    """Loops that index a small buffer are written out too where that lets it live in registers."""
    if not small(s.buffer) or registers(s) is not None:
        return s
    body = _write_out_indexing(s.body, s.buffer)
    tile = replace(s, body=body)
    pieces = registers(tile)
    return tile if pieces is not None and len(pieces) <= WRITTEN_OUT else s


def _write_out_indexing(s: Stmt, b: Buffer) -> Stmt:
    made = map_children(s, lambda c: _write_out_indexing(c, b) if isinstance(c, Stmt) else c)
    if isinstance(made, For) and made.kind == "serial" and fits(made) and _indexes(made, b):
        return write_out(made)
    return made


def _indexes(s: For, b: Buffer) -> bool:
    return any(
        isinstance(x, (Load, Store)) and x.buffer is b and any(uses(i, s.var) for i in x.indices) for x in walk(s.body)
    )


# ---------------------------------------------------------------- index arithmetic after substitution


def fold(s: Stmt) -> Stmt:
    """Subscripts as `variables + constant`, so that copies of a statement share their variable part."""

    def rule(x: Any) -> Any:
        if isinstance(x, Bin) and not dt.is_float(x.a.dtype) and dt.lanes(x.dtype) == 1 and isinstance(x.a, Const):
            made = binary(x.op, x.a, x.b)
            return None if type(made) is Bin else made
        if isinstance(x, (Load, Store)) and x.indices:
            return replace(x, indices=tuple(linear(i) for i in x.indices))
        return None

    return rewrite(s, rule)


def linear(e: Expr) -> Expr:
    if isinstance(e, Ramp):
        return Ramp(linear(e.base), e.stride, e.count)
    if not dt.is_int(e.dtype) or dt.lanes(e.dtype) > 1:
        return e
    terms: dict[int, tuple[Expr, int]] = {}
    rest = _collect(e, 1, terms)
    total: Expr | None = None
    for atom, factor in terms.values():
        if factor:
            term = binary("*", atom, const(factor, e.dtype))
            total = term if total is None else binary("+", total, term)
    return const(rest, e.dtype) if total is None else binary("+", total, const(rest, e.dtype))


def _collect(e: Expr, factor: int, terms: dict[int, tuple[Expr, int]]) -> int:
    """Add factor*e to `terms`; gives the constant part."""
    if isinstance(e, Const):
        return factor * int(e.value)
    if isinstance(e, Bin) and e.op in ("+", "-"):
        left = _collect(e.a, factor, terms)
        return left + _collect(e.b, factor if e.op == "+" else -factor, terms)
    if isinstance(e, Bin) and e.op == "*":
        for x, y in ((e.a, e.b), (e.b, e.a)):
            if isinstance(y, Const):
                return _collect(x, factor * int(y.value), terms)
    key = id(e)
    old = terms.get(key, (e, 0))[1]
    terms[key] = (e, old + factor)
    return 0


# ---------------------------------------------------------------- buffers that become variables


def small(b: Buffer) -> bool:
    return b.size is not None and b.size * dt.nbytes(b.dtype) <= REGISTER_BYTES


Place = tuple[int, int]  # first element, lanes


def place(index: Expr) -> Place | None:
    """Which elements a subscript with constant numbers means."""
    if isinstance(index, Ramp):
        base = constant(index.base)
        return (base, index.count) if base is not None and constant(index.stride) == 1 else None
    at = constant(index)
    return None if at is None else (at, 1)


def registers(s: Alloc) -> list[Place] | None:
    """The pieces of the buffer when each is always read and written whole, at constant places, by one thread."""
    b = s.buffer
    if not small(b) or _shared(s.body, b):
        return None
    places: set[Place] = set()
    for x in walk(s.body):
        if isinstance(x, (Load, Store)) and x.buffer is b:
            found = place(x.indices[0]) if len(x.indices) == 1 and x.mask is None else None
            if found is None:
                return None
            places.add(found)
        elif x is b.data:
            return None
    ordered = sorted(places)
    apart = all(a + n <= c for (a, n), (c, _) in zip(ordered, ordered[1:], strict=False))
    return ordered if apart and 0 < len(ordered) <= REGISTERS else None


def _shared(s: Stmt, b: Buffer) -> bool:
    return any(isinstance(x, For) and x.kind == "parallel" and touches(x, b) for x in walk(s))


def touches(s: Any, b: Buffer) -> bool:
    return any(isinstance(x, (Load, Store)) and x.buffer is b for x in walk(s))


def written_first(s: Stmt, b: Buffer) -> set[Place]:
    """Pieces that are written before anything reads them or may branch: their variables need no first value."""
    done: set[Place] = set()
    for x in _straight(s):
        if any(isinstance(y, Load) and y.buffer is b and place(y.indices[0]) not in done for y in walk(x)):
            return done
        if not isinstance(x, Store) and touches(x, b):
            return done
        if isinstance(x, Store) and x.buffer is b and (found := place(x.indices[0])) is not None:
            done.add(found)
    return done


def _straight(s: Stmt) -> Iterator[Stmt]:
    if isinstance(s, Seq):
        for x in s.stmts:
            yield from _straight(x)
    elif isinstance(s, Alloc):
        yield from _straight(s.body)
    elif isinstance(s, LetStmt):
        yield Evaluate(s.value)
        yield from _straight(s.body)
    else:
        yield s
