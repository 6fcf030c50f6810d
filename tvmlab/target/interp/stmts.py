"""Statements as lines of Python. Thread loops are in kernels.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.node import (
    Alloc,
    AllReduce,
    Attr,
    Barrier,
    Buffer,
    Evaluate,
    For,
    If,
    LetStmt,
    Seq,
    Stmt,
    Store,
    Var,
    While,
)  # fmt: skip
from ...core.walk import free_variables
from . import kernels
from .access import write
from .sharing import handles, private
from .writer import Place, Writer

SERIAL = frozenset({"serial", "parallel", "vectorized", "unrolled"})


def statement(w: Writer, s: Stmt) -> None:
    """Write `s`; where the code is crowded, as a call of a function that holds it."""
    if isinstance(s, (For, If, While)) and w.crowded():
        params = w.arguments()
        syncs = w.kernel is not None and kernels.syncs(s)
        name = w.outline(lambda: STMT[type(s)](w, s), params, generator=syncs)
        w.line(f"{'yield from ' if syncs else ''}{name}({', '.join(params)})")
        return
    STMT[type(s)](w, s)


def body(w: Writer, s: Stmt, loop: str = "") -> None:
    with w.counted(loop):
        statement(w, s)


def _for(w: Writer, s: For) -> None:
    if s.kind not in SERIAL | {"thread", "vthread"}:
        raise w.refuse(
            "loop-kind", f"the interpreter has no loops of kind {s.kind}", sorted(SERIAL | {"thread", "vthread"})
        )
    w.stmt = s
    if s.kind in ("thread", "vthread"):
        kernels.thread_loop(w, s, body)
        return
    lo, extent = w.atom(w.index(s.lo)), w.atom(w.index(s.extent))
    stop = f"{lo} + {extent}" if lo != "0" else extent
    name = w.local(s.var)
    apart = s.kind == "parallel" and w.kernel is None and bool(w.tracked)
    if apart:
        run, outer = w.fresh("t"), w.fresh("t")
        w.line(f"{run} = R.parallel({s.var.name!r}); {outer} = R.task")
    w.line(f"for {name} in range({lo}, {stop}):" if lo != "0" else f"for {name} in range({stop}):")
    with w.indented(), w.inside(s, name):
        if apart:
            w.line(f"R.task = R.tasks.child({outer}, {run}, {name})")
        body(w, s.body, s.var.name)
    if apart:
        w.line(f"R.task = {outer}")


def _while(w: Writer, s: While) -> None:
    w.line("while True:")
    w.nest += 1
    with w.indented(), w.counted("while"):
        w.stmt = s
        w.line(f"if not {w.value(s.cond)}: break")
        statement(w, s.body)
    w.nest -= 1


def _if(w: Writer, s: If) -> None:
    w.stmt = s
    w.line(f"if {w.value(s.cond)}:")
    with w.indented():
        body(w, s.then)
    if s.other is not None:
        w.line("else:")
        with w.indented():
            body(w, s.other)


def _store(w: Writer, s: Store) -> None:
    w.stmt = s
    write(w, s)


def _seq(w: Writer, s: Seq) -> None:
    for x in s.stmts:
        statement(w, x)


def _let(w: Writer, s: LetStmt) -> None:
    assert isinstance(s.var, Var)
    w.stmt = s
    name = w.local(s.var)
    w.line(f"{name} = {w.value(s.value)}")
    with w.bound(s.var, name):
        statement(w, s.body)


def _evaluate(w: Writer, s: Evaluate) -> None:
    w.stmt = s
    w.line(w.value(s.value))


def _alloc(w: Writer, s: Alloc) -> None:
    w.stmt = s
    b: Buffer = s.buffer
    place = layout(w, b)
    place.init, place.writer = ("I_" if w.options.init else ""), ("W_" if b in w.tracked else "")
    k, shape, strides = len(w.buffers), _tuple(place.shape), "None" if place.strides is None else _tuple(place.strides)
    w.buffers.append(b)
    what = f"{k}, {shape}, {strides}, {_logical(w, b)}, {w.options.init}, {b in w.tracked}"
    if w.kernel is None or private(b.scope):
        w.line(f"{place.record} = R.allocation({what})")
    else:
        place.version = w.fresh("t")
        w.line(f"{place.record} = shared(R, g, {what}); {place.version} = g.entered({k})")
    declare(w, place)
    w.origins.append(s.origin)
    with w.named(*place.names):
        statement(w, s.body)
    w.origins.pop()
    for key in handles(b):
        w.places.pop(key, None)


def layout(w: Writer, b: Buffer) -> Place:
    """The place of a buffer: its extents as names or numbers; names for its parts."""
    stem = w.unique(b)
    strides = None if b.strides is None else tuple(w.atom(w.index(x)) for x in b.strides)
    shape = tuple(w.atom(w.index(x)) for x in b.shape)
    return Place(b, f"B_{stem}", f"M_{stem}", shape, strides, "0")


def declare(w: Writer, p: Place) -> None:
    """Short names for the parts of a buffer's record."""
    stem = p.record[2:]
    parts = [f"{p.view} = {p.record}.view"]
    if p.init:
        p.init = f"I_{stem}"
        parts.append(f"{p.init} = {p.record}.init")
    if p.writer:
        p.writer = f"W_{stem}"
        parts.append(f"{p.writer} = {p.record}.writer")
    w.line("; ".join(parts))
    for key in handles(p.buffer):
        w.places[key] = p


def _tuple(parts: tuple[str, ...]) -> str:
    return f"({''.join(f'{x}, ' for x in parts)})"


def _logical(w: Writer, b: Buffer) -> str:
    """The shape to report for a flat buffer; None where it is its own."""
    if b.logical is None or any(v not in w.names for x in b.logical.shape for v in free_variables(x)):
        return "None"
    return _tuple(tuple(w.index(x) for x in b.logical.shape))


def parameter(w: Writer, b: Buffer, k: int) -> None:
    """Bind buffer parameter `k` to its array."""
    place = layout(w, b)
    place.offset = "0" if b.offset is None else w.atom(w.index(b.offset))
    forget = not w.options.uninitialised.isdisjoint((b.name, b.owner.name))
    place.loose = b.owner.strides is not None or b.owner.offset is not None
    place.init, place.writer = ("I_" if forget else ""), ("W_" if b in w.tracked else "")
    strides = "None" if place.strides is None else _tuple(place.strides)
    w.buffers.append(b)
    what = f"{_tuple(place.shape)}, {strides}, {place.offset}, {_logical(w, b)}, {forget}, {b in w.tracked}"
    w.line(f"{place.record} = R.parameter({k}, {what})")
    declare(w, place)
    w.scope.extend(place.names)


STMT: dict[type, Callable[[Writer, Any], None]] = {
    For: _for, While: _while, If: _if, Store: _store, Seq: _seq, LetStmt: _let, Evaluate: _evaluate, Alloc: _alloc,
    Attr: lambda w, s: statement(w, s.body), Barrier: kernels.barrier, AllReduce: kernels.all_reduce,
}  # fmt: skip
