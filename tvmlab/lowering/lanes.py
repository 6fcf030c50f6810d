"""One vectorized loop on its way to vectors: `Lanes` gives the vector form of the expressions and statements inside.

An expression that does not depend on the lane comes back as it is, scalar; others come back as vectors of `count`
elements. `mask` (None: all lanes) tells which lanes run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core import affine, build
from ..core import dtype as dt
from ..core.affine import Facts, conjuncts, reads_memory
from ..core.fresh import fresh
from ..core.node import (
    COMPARE,
    LOGIC,
    NOP,
    Alloc,
    Attr,
    Barrier,
    Bin,
    Broadcast,
    Buffer,
    Call,
    Cast,
    Const,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    LetStmt,
    Load,
    Not,
    Ramp,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
)
from ..core.walk import replace, rewrite, seq, size, uses, walk

Mask = Expr | None
LONG_MASK = 12  # nodes of a condition


class NoVector(Exception):
    """The statement has no vector form: it runs in a serial loop."""


class Lanes:
    """`vectors`: variables and their vector forms. `buffers`: allocations inside the loop, widened by the lanes.

    `strict`: inside something that only exists as a vector (a mask, a let): a statement without a vector form takes
    the whole of it along into the serial loop.
    """

    def __init__(self, s: For, count: int) -> None:
        self.loop, self.count = s, count
        self.vectors: dict[Any, Expr] = {s.var: Ramp(build.cast(s.lo, s.var.dtype), Const(1, s.var.dtype), count)}
        self.buffers: dict[Any, Buffer] = {}
        self.strict = False

    # ------------------------------------------------------------ expressions

    def expr(self, e: Any, mask: Mask, facts: Facts) -> Any:
        rule = EXPR.get(type(e))
        if rule is None:
            raise NoVector
        return rule(self, e, mask, facts)

    def wide(self, e: Expr) -> Expr:
        """The expression as a vector."""
        return e if dt.lanes(e.dtype) > 1 else Broadcast(e, self.count)

    def dtype(self, e: Expr) -> str:
        return dt.vector(e.dtype, self.count)

    def both(self, mask: Mask, cond: Expr) -> Expr:
        return self.wide(cond) if mask is None else Bin("and", mask, self.wide(cond), self.dtype(cond))

    def _bin(self, e: Bin, mask: Mask, facts: Facts) -> Expr:
        if e.op in LOGIC and reads_memory(e.b):
            return self._lazy_logic(e, mask, facts)
        a, b = self.expr(e.a, mask, facts), self.expr(e.b, mask, facts)
        return self._joined(e, a, b, mask)

    def _lazy_logic(self, e: Bin, mask: Mask, facts: Facts) -> Expr:
        """The right side may be readable only where the left one leaves the matter open."""
        a = self.expr(e.a, mask, facts)
        if dt.lanes(a.dtype) == 1:
            return self._joined(e, a, self.expr(e.b, mask, facts), mask)
        on = self._named(a)
        b = self.expr(e.b, self.both(mask, on if e.op == "and" else Not(on)), facts)
        made = self._joined(e, on, b, mask)
        return made if on is a else Let(on, a, made)

    def _named(self, cond: Expr) -> Expr:
        """A condition that goes into the masks of all loads inside: by name, where it is long and reads memory."""
        return Var("on", cond.dtype) if reads_memory(cond) and size(cond) > LONG_MASK else cond

    def _joined(self, e: Bin, a: Expr, b: Expr, mask: Mask) -> Expr:
        if a is e.a and b is e.b:
            return e
        if dt.lanes(a.dtype) == dt.lanes(b.dtype) == 1:
            return replace(e, a=a, b=b)
        ramp = _ramp_comparison(e.op, a, b) if e.op in COMPARE else _ramp_arithmetic(e.op, a, b)
        if ramp is not None:
            return ramp
        a, b = self.wide(a), self.wide(b)
        if mask is not None and e.op in build.DIVISIONS and not dt.is_float(e.dtype) and not _constant_lanes(b):
            b = Select(mask, b, Broadcast(Const(1, dt.element(b.dtype)), self.count))  # lanes that are off divide too
        return Bin(e.op, a, b, dt.vector("bool", self.count) if e.op in COMPARE else self.dtype(e))

    def _cast(self, e: Cast, mask: Mask, facts: Facts) -> Expr:
        value = self.expr(e.value, mask, facts)
        if value is e.value:
            return e
        if dt.lanes(value.dtype) == 1:
            return build.cast(value, e.dtype)
        if isinstance(value, Ramp) and dt.is_int(e.dtype) and dt.is_signed(e.dtype) and dt.bits(e.dtype) >= 32:
            return Ramp(build.cast(value.base, e.dtype), build.cast(value.stride, e.dtype), value.count)
        return Cast(value, self.dtype(e))

    def _choice(self, e: Any, mask: Mask, facts: Facts) -> Expr:
        cond, then, other = (e.cond, e.then, e.other) if type(e) is Select else e.args
        c = self.expr(cond, mask, facts)
        if dt.lanes(c.dtype) == 1:
            return self._uniform_choice(e, c, then, other, mask, facts)
        on = self._named(c)
        a = self.wide(self.expr(then, self.both(mask, on), facts))
        b = self.wide(self.expr(other, self.both(mask, Not(on)), facts))
        return Select(c, a, b) if on is c else Let(on, c, Select(on, a, b))

    def _uniform_choice(self, e: Any, c: Expr, then: Expr, other: Expr, mask: Mask, facts: Facts) -> Expr:
        """All lanes take the same side; `if_then_else` stays lazy."""
        a = self.expr(then, mask, _knowing(facts, c))
        b = self.expr(other, mask, _knowing(facts, build.not_(c)))
        if dt.lanes(a.dtype) > 1 or dt.lanes(b.dtype) > 1:
            a, b = self.wide(a), self.wide(b)
        if type(e) is Call:
            return replace(e, args=(c, a, b), dtype=a.dtype)
        return Select(self.wide(c) if dt.lanes(a.dtype) > 1 else c, a, b)

    def _call(self, e: Call, mask: Mask, facts: Facts) -> Expr:
        if e.kind != "pure":
            raise NoVector
        if e.name == "if_then_else":
            return self._choice(e, mask, facts)
        args = [self.expr(a, mask, facts) for a in e.args]
        if all(a is b for a, b in zip(args, e.args, strict=True)):
            return e
        if all(dt.lanes(a.dtype) == 1 for a in args):
            return replace(e, args=tuple(args))
        if e.name == "likely":
            return args[0]  # type: ignore[no-any-return]
        return Call(e.name, tuple(map(self.wide, args)), self.dtype(e))

    def _load(self, e: Load, mask: Mask, facts: Facts) -> Expr:
        if e.mask is not None or dt.lanes(e.dtype) > 1:
            raise NoVector
        buffer, indices = self.place(e, mask, facts)
        if all(dt.lanes(i.dtype) == 1 for i in indices):
            if mask is None or inside(buffer, indices, facts):
                return e if _unchanged(indices, e.indices) else replace(e, indices=indices)
            indices = (*indices[:-1], self.wide(indices[-1]))  # may be outside where no lane runs
        return Load(buffer, indices, self.dtype(e), mask)

    def place(self, access: Any, mask: Mask, facts: Facts) -> tuple[Buffer, tuple[Expr, ...]]:
        """Buffer and indices of an access; in a buffer of the loop itself each lane has its own element."""
        indices = tuple([self.expr(i, mask, facts) for i in access.indices])
        own = self.buffers.get(access.buffer)
        if own is None:
            return access.buffer, indices
        return own, (*indices, Ramp(Const(0), Const(1), self.count))

    def _let(self, e: Let, mask: Mask, facts: Facts) -> Expr:
        value = self.expr(e.value, mask, facts)
        if dt.lanes(value.dtype) > 1:
            var: Any = e.var
            self.vectors[var] = Var(var.name, self.dtype(var))
            return Let(self.vectors[var], value, self.wide(self.expr(e.body, mask, facts)))
        body = self.expr(e.body, mask, facts)
        return e if value is e.value and body is e.body else replace(e, value=value, body=body)

    def _not(self, e: Not, mask: Mask, facts: Facts) -> Expr:
        a = self.expr(e.a, mask, facts)
        return e if a is e.a else Not(a)

    # ------------------------------------------------------------ statements

    def stmt(self, s: Stmt, mask: Mask, facts: Facts) -> Stmt:
        rule, strict = STMT.get(type(s)), self.strict
        try:
            if rule is None:
                raise NoVector
            return rule(self, s, mask, facts)
        except NoVector:
            if strict:
                raise
            return self.serial(s)
        finally:
            self.strict = strict

    def serial(self, s: Stmt) -> Stmt:
        """for v in range(count): the statement as it was"""
        loop = self.loop
        v = Var(loop.var.name, loop.var.dtype)

        def widened(x: Any) -> Any:
            if type(x) in (Load, Store) and x.buffer in self.buffers:
                return replace(x, buffer=self.buffers[x.buffer], indices=(*x.indices, v - loop.lo))
            return None

        body = fresh(s, {loop.var: v})
        return replace(loop, var=v, kind="serial", body=rewrite(body, widened) if self.buffers else body)

    def _store(self, s: Store, mask: Mask, facts: Facts) -> Stmt:
        if s.mask is not None:
            raise NoVector
        buffer, indices = self.place(s, mask, facts)
        value = self.expr(s.value, mask, facts)
        if all(dt.lanes(i.dtype) == 1 for i in indices):
            again = dt.lanes(value.dtype) > 1 or mask is not None or _reads(value, buffer)
            if again:
                raise NoVector  # all lanes write one place: the last one counts, or they accumulate
            if _unchanged(indices, s.indices) and value is s.value:
                return s
            return replace(s, indices=indices, value=value)
        return Store(buffer, indices, self.wide(value), mask, s.origin)

    def _for(self, s: For, mask: Mask, facts: Facts) -> Stmt:
        lo, extent = self.expr(s.lo, mask, facts), self.expr(s.extent, mask, facts)
        if dt.lanes(lo.dtype) > 1 or dt.lanes(extent.dtype) > 1:
            raise NoVector
        body = self.stmt(s.body, mask, facts.with_loop(s.var, lo, extent))
        return replace(s, lo=lo, extent=extent, body=body)

    def _if(self, s: If, mask: Mask, facts: Facts) -> Stmt:
        """Conjuncts that all lanes share stay a condition; the others make the mask."""
        shared: list[Expr] = []
        lanes: Mask = None
        known = facts
        for part in conjuncts(s.cond):
            c = self.expr(part, mask if lanes is None else self.both(mask, lanes), known)
            if dt.lanes(c.dtype) == 1:
                shared.append(c)
                known = _knowing(known, c)
            else:
                lanes = self.both(lanes, c)
        body = self._masked(s, lanes, mask, known) if lanes is not None else self.stmt(s.then, mask, known)
        if not shared:
            return body
        other = None
        if s.other is not None:
            other = self.stmt(s.other if lanes is None else fresh(s.other), mask, facts)
        return If(build.all_(*shared), body, other, s.likely)

    def _masked(self, s: If, lanes: Expr, mask: Mask, facts: Facts) -> Stmt:
        """Both sides, each for its own lanes. A mask that reads memory is read once, before anything changes."""
        bound: Any = None
        if reads_memory(lanes):
            bound = Var("on", lanes.dtype)
        on = lanes if bound is None else bound
        self.strict = True
        then = self.stmt(s.then, self.both(mask, on), facts)
        other = NOP if s.other is None else self.stmt(s.other, self.both(mask, Not(on)), facts)
        body = seq(then, other)
        return body if bound is None else LetStmt(bound, lanes, body)

    def _letstmt(self, s: LetStmt, mask: Mask, facts: Facts) -> Stmt:
        value = self.expr(s.value, mask, facts)
        if dt.lanes(value.dtype) == 1:
            return replace(s, value=value, body=self.stmt(s.body, mask, facts))
        var: Any = s.var
        self.vectors[var] = Var(var.name, self.dtype(var))
        self.strict = True
        return LetStmt(self.vectors[var], value, self.stmt(s.body, mask, facts))

    def _alloc(self, s: Alloc, mask: Mask, facts: Facts) -> Stmt:
        b: Buffer = s.buffer
        dims = (*b.shape, *(b.strides or ()))
        if any(uses(d, self.loop.var) for d in dims) or uses(s.body, b.data):
            raise NoVector  # each lane has a size of its own, or its address is taken
        strides = None if b.strides is None else (*[x * self.count for x in b.strides], Const(1))
        self.buffers[b] = wide = b.with_(shape=(*b.shape, Const(self.count)), strides=strides)
        try:
            return replace(s, buffer=wide, body=self.stmt(s.body, mask, facts))
        except NoVector:
            del self.buffers[b]
            raise

    def _attr(self, s: Attr, mask: Mask, facts: Facts) -> Stmt:
        if dt.lanes(self.expr(s.value, mask, facts).dtype) > 1:
            raise NoVector
        return replace(s, about=self.buffers.get(s.about, s.about), body=self.stmt(s.body, mask, facts))

    def _seq(self, s: Seq, mask: Mask, facts: Facts) -> Stmt:
        return seq(*[self.stmt(x, mask, facts) for x in s.stmts])

    def _evaluate(self, s: Evaluate, mask: Mask, facts: Facts) -> Stmt:
        self.expr(s.value, mask, facts)  # a call with an effect has no vector form
        return NOP


EXPR: dict[type, Callable[[Lanes, Any, Mask, Facts], Expr]] = {
    Const: lambda p, e, mask, facts: e,
    Var: lambda p, e, mask, facts: p.vectors.get(e, e),
    Bin: Lanes._bin,
    Not: Lanes._not,
    Cast: Lanes._cast,
    Select: Lanes._choice,
    Call: Lanes._call,
    Load: Lanes._load,
    Let: Lanes._let,
}

STMT: dict[type, Callable[[Lanes, Any, Mask, Facts], Stmt]] = {
    Store: Lanes._store,
    For: Lanes._for,
    If: Lanes._if,
    LetStmt: Lanes._letstmt,
    Alloc: Lanes._alloc,
    Attr: Lanes._attr,
    Seq: Lanes._seq,
    Evaluate: Lanes._evaluate,
    Barrier: lambda p, s, mask, facts: s,
}


def inside(buffer: Buffer, indices: tuple[Expr, ...], facts: Facts) -> bool:
    """Is the element in the buffer, proved?"""
    return all(
        affine.within(affine.lin(i, facts), affine.lin(n, facts), facts)
        for i, n in zip(indices, buffer.shape, strict=True)
    )


def _knowing(facts: Facts, cond: Expr) -> Facts:
    return facts if reads_memory(cond) else facts.with_condition(cond)


def _unchanged(new: tuple[Expr, ...], old: tuple[Expr, ...]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))


def _reads(e: Expr, buffer: Buffer) -> bool:
    return any(type(x) is Load and x.buffer is buffer for x in walk(e))


def _constant_lanes(e: Expr) -> bool:
    return type(e) is Broadcast and type(e.value) is Const


def _ramp_arithmetic(op: str, a: Expr, b: Expr) -> Expr | None:
    """Sums and multiples of ramps are ramps; so are quotients and remainders that do not cross a multiple."""
    if not dt.is_int(a.dtype):
        return None
    (ab, sa), (bb, sb) = _base_and_stride(a), _base_and_stride(b)
    if ab is None or bb is None:
        return None
    count = max(dt.lanes(a.dtype), dt.lanes(b.dtype))
    if op in ("+", "-"):
        return _ramp(build.binary(op, ab, bb), build.binary(op, sa, sb), count)
    if op == "*" and build.is_const(sb, 0):
        return _ramp(build.binary("*", ab, bb), build.binary("*", sa, bb), count)
    if op == "*" and build.is_const(sa, 0):
        return _ramp(build.binary("*", ab, bb), build.binary("*", ab, sb), count)
    if op in ("//", "%") and type(bb) is Const and bb.value > 0 and build.is_const(sb, 0):
        return _ramp_division(op, ab, sa, bb, count)
    return None


SWAPPED = {">": "<", "<=": ">="}


def _ramp_comparison(op: str, a: Expr, b: Expr) -> Expr | None:
    """base + stride*lane < limit  ->  base < limit   where they are never apart by less than the lanes reach.

    So it is where both are multiples of the number of lanes: a vector is inside or outside as a whole.
    """
    if op in SWAPPED:
        op, a, b = SWAPPED[op], b, a
    if op not in ("<", ">=") or type(a) is not Ramp or type(a.stride) is not Const or a.stride.value < 1:
        return None
    limit = b.value if type(b) is Broadcast else b
    if dt.lanes(limit.dtype) > 1 or reads_memory(limit):
        return None
    gap = affine.lin(limit) - affine.lin(a.base)
    if math.gcd(gap.const, *gap.terms.values()) <= a.stride.value * (a.count - 1):
        return None
    return build.binary(op, a.base, limit)


def _base_and_stride(e: Expr) -> tuple[Any, Any]:
    if type(e) is Ramp:
        return e.base, e.stride
    if type(e) is Broadcast:
        e = e.value
    if dt.lanes(e.dtype) > 1:
        return None, None
    return e, Const(0, e.dtype)


def _ramp(base: Expr, stride: Expr, count: int) -> Expr:
    return Broadcast(base, count) if build.is_const(stride, 0) else Ramp(base, stride, count)


def _ramp_division(op: str, base: Expr, stride: Expr, d: Const, count: int) -> Expr | None:
    """(d*q + r + stride*lane) // d  ->  q   where 0 <= r + stride*lane < d for every lane"""
    x = affine.lin(base)
    if type(stride) is not Const or any(c % d.value for c in x.terms.values()):
        return None
    first = x.const % d.value
    last = first + stride.value * (count - 1)
    if not 0 <= last < d.value:
        return None
    if op == "%":
        return _ramp(Const(first, base.dtype), stride, count)
    return affine.to_expr(affine.floordiv(x, affine.number(d.value)), base.dtype)
