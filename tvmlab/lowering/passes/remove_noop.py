"""What does nothing goes: empty bodies, loops of no iterations, allocations that nobody reads.

    T = alloc((8,))                       for i in range(8):
    for i in range(8):            ->          A[i] = 1.0
        T[i] = A[i]
        A[i] = 1.0
    for j in range(0): ...

Calls with an effect stay, and so does what their arguments need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from ...core.build import not_
from ...core.node import (
    NOP,
    Alloc,
    AllReduce,
    Attr,
    Buffer,
    Call,
    Evaluate,
    Expr,
    For,
    If,
    Let,
    LetStmt,
    Load,
    Seq,
    Stmt,
    Store,
    Var,
)
from ...core.program import Program
from ...core.walk import constant, map_children, replace, seq, walk
from ..config import DEFAULT, Config


def remove_noop(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(_cleaned)


def _cleaned(body: Stmt) -> Stmt:
    """Removing one thing may leave another unused: an unread buffer was computed from a second one."""
    while True:
        after = _Remover(body).stmt(body)
        if after is body:
            return body
        body = after


class _Remover:
    """`needed`: variables that are used, and handles of buffers that are read or whose address is taken.

    `own`: the handles of buffers that the program allocates.
    """

    def __init__(self, body: Stmt) -> None:
        self.needed: set[Any] = set()
        self.own: set[Any] = set()
        uses: Counter[Var] = Counter()  # a let mentions its variable once itself
        for x in walk(body):
            t = type(x)
            if t is Var:
                uses[x] += 1  # type: ignore[index]
            elif t is Load:
                self.needed.add(x.buffer.data)  # type: ignore[attr-defined]
            elif t is LetStmt or t is Let:
                uses[x.var] -= 1  # type: ignore[attr-defined]
            elif t is Alloc:
                self._allocated(x.buffer)  # type: ignore[attr-defined]
            elif t is AllReduce:
                self.needed.update(b.data for b in x.buffers)  # type: ignore[attr-defined]
        self.needed.update(v for v, n in uses.items() if n > 0)

    def _allocated(self, b: Buffer) -> None:
        self.own.add(b.data)
        for e in (*b.shape, *(b.strides or ())):
            self.needed.update(v for v in walk(e) if type(v) is Var)

    def unused(self, b: Any) -> bool:
        return b.data in self.own and b.data not in self.needed

    def stmt(self, s: Stmt) -> Stmt:
        rule = RULES.get(type(s))
        if rule is not None:
            return rule(self, s)
        return map_children(s, lambda c: self.stmt(c) if isinstance(c, Stmt) else c)

    def _store(self, s: Store) -> Stmt:
        return effects(s.value, *s.indices) if self.unused(s.buffer) else s

    def _for(self, s: For) -> Stmt:
        n = constant(s.extent)
        return NOP if n is not None and n <= 0 and s.kind != "thread" else self._inside(s)

    def _inside(self, s: Any) -> Stmt:
        body = self.stmt(s.body)
        return NOP if body is NOP else s if body is s.body else replace(s, body=body)

    def _attr(self, s: Attr) -> Stmt:
        return self.stmt(s.body) if isinstance(s.about, Buffer) and self.unused(s.about) else self._inside(s)

    def _alloc(self, s: Alloc) -> Stmt:
        return self.stmt(s.body) if self.unused(s.buffer) else self._inside(s)

    def _if(self, s: If) -> Stmt:
        then = self.stmt(s.then)
        other = None if s.other is None else self.stmt(s.other)
        other = None if other is NOP else other
        if then is NOP and other is None:
            return effects(s.cond)
        if then is NOP and other is not None:
            return If(not_(s.cond), other)
        return s if then is s.then and other is s.other else replace(s, then=then, other=other)

    def _let(self, s: LetStmt) -> Stmt:
        if not has_effect(s.value):
            return self.stmt(s.body) if s.var not in self.needed else self._inside(s)
        body = self.stmt(s.body)
        return Evaluate(s.value) if body is NOP else s if body is s.body else replace(s, body=body)

    def _seq(self, s: Seq) -> Stmt:
        made = [self.stmt(x) for x in s.stmts]
        return s if made and all(a is b for a, b in zip(made, s.stmts, strict=True)) else seq(*made)

    def _evaluate(self, s: Evaluate) -> Stmt:
        return s if has_effect(s.value) else NOP


def has_effect(e: Expr) -> bool:
    return any(type(x) is Call and x.kind != "pure" for x in walk(e))


def effects(*values: Expr) -> Stmt:
    """What must still be evaluated of expressions whose values are not used."""
    return seq(*[Evaluate(v) for v in values if has_effect(v)])


RULES: dict[type, Callable[[_Remover, Any], Stmt]] = {
    Store: _Remover._store,
    For: _Remover._for,
    Attr: _Remover._attr,
    If: _Remover._if,
    LetStmt: _Remover._let,
    Alloc: _Remover._alloc,
    Seq: _Remover._seq,
    Evaluate: _Remover._evaluate,
}
