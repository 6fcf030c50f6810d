"""Vectors lane by lane, for text that has only scalars.

    B[i*4:i*4 + 4] = A[i*4:i*4 + 4] * 2.0      ->      for lane in range(4):
                                                           B[i*4 + lane] = A[i*4 + lane] * 2.0

`dot4` is written out as products and sums. A statement that reads what it writes elsewhere (`A[0:4] = A[1:5]`) reads
all lanes before it writes the first.
"""

from __future__ import annotations

from typing import Any

from ...core import dtype as dt
from ...core.build import binary, const
from ...core.error import BuildError
from ...core.node import (
    Bin,
    Broadcast,
    Call,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    Let,
    LetStmt,
    Load,
    Not,
    Ramp,
    Select,
    Stmt,
    Store,
    Var,
)
from ...core.text import show
from ...core.walk import map_children, replace, same, seq, substitute, walk
from ..gpu import dot

Held = dict[Any, tuple[Var, ...]]  # a vector variable -> the variables of its lanes


def scalarised(s: Stmt) -> Stmt:
    """The same statement without vectors."""
    return _stmt(s, {})


def _stmt(s: Any, held: Held) -> Any:
    if isinstance(s, Store):
        return _store(s, held)
    if isinstance(s, LetStmt) and dt.lanes(s.var.dtype) > 1:
        return _let(s, held)
    if isinstance(s, Evaluate) and dt.lanes(s.value.dtype) > 1:
        return seq()  # a value that nobody uses
    return map_children(s, lambda c: _stmt(c, held) if isinstance(c, Stmt) else _scalar(c, held))


def _scalar(e: Any, held: Held) -> Any:
    """An expression of one lane, without the vectors inside it: those of a `dot4`."""
    if not isinstance(e, Expr) or not dot.has_dot(e):
        return e
    if isinstance(e, Let) and dt.lanes(e.var.dtype) > 1:
        return _scalar(substitute(e.body, {e.var: e.value}), held)
    if dot.is_dot(e):
        return _dot(e, const(0), held)
    return map_children(e, lambda c: _scalar(c, held))


def _dot(e: Any, k: Expr, held: Held) -> Expr:
    """Lane `k` of four products and a sum."""
    return dot.plain(dot.of_lane(e, k, lambda x, j: lane(x, j, held)))


def _let(s: LetStmt, held: Held) -> Stmt:
    assert isinstance(s.var, Var)
    count, element = dt.lanes(s.var.dtype), dt.element(s.var.dtype)
    names = tuple(Var(f"{s.var.name}_{k}", element) for k in range(count))
    body = _stmt(s.body, {**held, s.var: names})
    for k in reversed(range(count)):
        body = LetStmt(names[k], lane(s.value, const(k), held), body)
    return body  # type: ignore[no-any-return]


def _store(s: Store, held: Held) -> Stmt:
    count = max(dt.lanes(s.value.dtype), dt.lanes(s.indices[0].dtype))
    if count == 1:
        return replace(s, value=_scalar(s.value, held), indices=(_scalar(s.indices[0], held),))
    if dt.lanes(s.indices[0].dtype) == 1:
        raise _vectors_of(s.buffer)
    nodes = list(walk(s))
    if _reads_elsewhere(s, nodes):
        return _all_before(s, count, held)
    if any(isinstance(x, Var) and x in held for x in nodes):
        return seq(*[_one(s, const(k), held) for k in range(count)])
    v = Var("lane")
    return For(v, const(0), const(count), "serial", _one(s, v, held))


def _reads_elsewhere(s: Store, nodes: list[Any]) -> bool:
    reads = [x for x in nodes if isinstance(x, Load) and x.buffer.data is s.buffer.data]
    return any(x.buffer is not s.buffer or not same(x.indices[0], s.indices[0]) for x in reads)


def _one(s: Store, k: Expr, held: Held) -> Store:
    mask = None if s.mask is None else lane(s.mask, k, held)
    return Store(s.buffer, (lane(s.indices[0], k, held),), lane(s.value, k, held), mask, s.origin)


def _all_before(s: Store, count: int, held: Held) -> Stmt:
    stores = [_one(s, const(k), held) for k in range(count)]
    values = [Var(f"{s.buffer.name}_{k}", dt.element(s.value.dtype)) for k in range(count)]
    body = seq(*[Store(x.buffer, x.indices, v, x.mask, x.origin) for x, v in zip(stores, values, strict=True)])
    for x, v in zip(reversed(stores), reversed(values), strict=True):
        body = LetStmt(v, x.value, body)
    return body


def lane(e: Expr, k: Expr, held: Held) -> Expr:
    """Lane `k` of a vector; a scalar is itself. A vector that is a variable has lanes of constant number only."""
    if dt.lanes(e.dtype) == 1 and not isinstance(e, Load):
        return _scalar(e, held)  # type: ignore[no-any-return]
    element = dt.element(e.dtype)
    if isinstance(e, Ramp):
        return binary("+", e.base, binary("*", e.stride, Cast(k, element) if k.dtype != element else k))
    if isinstance(e, Broadcast):
        return e.value
    if isinstance(e, Var):
        return held[e][int(k)] if isinstance(k, Const) else e  # type: ignore[call-overload]
    if isinstance(e, Const):
        return Const(e.value, element)
    if isinstance(e, Load):
        return _load(e, k, held)
    if isinstance(e, Let):
        return _let_value(e, k, held)
    return _parts(e, k, held, element)


def _parts(e: Expr, k: Expr, held: Held, element: str) -> Expr:
    if isinstance(e, Bin):
        return Bin(e.op, lane(e.a, k, held), lane(e.b, k, held), element)
    if isinstance(e, Not):
        return Not(lane(e.a, k, held))
    if isinstance(e, Cast):
        return Cast(lane(e.value, k, held), element)
    if isinstance(e, Select):
        return Select(lane(e.cond, k, held), lane(e.then, k, held), lane(e.other, k, held))
    if dot.is_dot(e):
        return _dot(e, k, held)
    if isinstance(e, Call):
        return Call(e.name, tuple(lane(a, k, held) for a in e.args), element, e.kind)
    raise BuildError("vector", f"the target `cuda` cannot take `{show(e)}` apart into lanes")


def _load(e: Load, k: Expr, held: Held) -> Expr:
    if dt.lanes(e.dtype) == 1:
        return e
    if dt.lanes(e.indices[0].dtype) == 1:
        raise _vectors_of(e.buffer)
    mask = None if e.mask is None else lane(e.mask, k, held)
    return Load(e.buffer, (lane(e.indices[0], k, held),), dt.element(e.dtype), mask)


def _let_value(e: Let, k: Expr, held: Held) -> Expr:
    assert isinstance(e.var, Var)
    if dt.lanes(e.var.dtype) == 1:
        return Let(e.var, _scalar(e.value, held), lane(e.body, k, held))
    if dot.has_dot(e.body):  # its lanes are not those of the body
        return lane(substitute(e.body, {e.var: e.value}), k, held)
    own = Var(e.var.name, dt.element(e.var.dtype))
    return Let(own, lane(e.value, k, held), _with(e.body, e.var, own, k, held))


def _with(body: Expr, var: Var, own: Var, k: Expr, held: Held) -> Expr:
    """Lane `k` of `body`, in which the vector `var` is the scalar `own`."""
    return lane(substitute(body, {var: Broadcast(own, dt.lanes(var.dtype))}), k, held)


def _vectors_of(buffer: Any) -> BuildError:
    return BuildError(
        "vector-buffer", f"the target `cuda` has no arrays of vectors: `{buffer.name}` holds {buffer.dtype}",
        hint="give it one more dimension, for the lanes",
    )  # fmt: skip
