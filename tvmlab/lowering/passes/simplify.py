"""Index arithmetic in canonical form, decided conditions gone, loops of one iteration gone.

    for i in range(1):                              for j in range(30):
        for j in range(30):                             A[j] = 1.0
            if i*32 + j < 32 and j >= 0:    ->
                A[(i*32 + j)//1] = 1.0

What is known on the way down: loop ranges, lets, the conditions of enclosing ifs. A condition that reads memory
says nothing about later statements (memory changes), so it is not used as a fact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core import affine, build
from ...core import dtype as dt
from ...core.affine import Facts, conjuncts, touches_memory
from ...core.node import (
    NOP,
    Alloc,
    Attr,
    Bin,
    Buffer,
    Call,
    Cast,
    Const,
    Expr,
    For,
    If,
    LetStmt,
    Load,
    Not,
    Select,
    Seq,
    Stmt,
    Store,
    Var,
)
from ...core.program import Program
from ...core.walk import Holds, identical, map_children, replace, seq, substitute
from ..config import DEFAULT, Config

UNIT_KINDS = frozenset({"serial", "unrolled", "vectorized", "parallel"})
NO_FACTS = affine.NOTHING


def simplify(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(lambda body: Simplifier(config.keep_unit_loops).stmt(body, NO_FACTS))


class Simplifier:
    """`values`: what replaces variables that are gone (unit loops, plain lets).

    `buffers`: those whose shape used such a variable, and what they became.
    """

    def __init__(self, keep_unit_loops: bool) -> None:
        self.keep_unit_loops = keep_unit_loops
        self.values: dict[Any, Expr] = {}
        self.buffers: dict[Any, Buffer] = {}
        self.reads_memory = Holds(touches_memory)

    # ------------------------------------------------------------ expressions

    def index(self, e: Expr, facts: Facts) -> Expr:
        """An expression whose arithmetic does not overflow, by contract."""
        return affine.simplify(substitute(e, self.values) if self.values else e, facts)

    def expr(self, e: Any, facts: Facts) -> Any:
        """A value: integers wrap, so sums of loaded integers stay as they are; indices inside are simplified."""
        t = type(e)
        if t is Const:
            return e
        if t is Var:
            return self.values.get(e, e)
        if t is Load:
            return self._load(e, facts)
        if t is Bin or t is Not:
            if self._is_exact(e):
                return self.index(e, facts)
        elif t is Select or (t is Call and e.name == "if_then_else"):
            return self._choice(e, facts)
        made = map_children(e, lambda c: self.expr(c, facts))
        if made is e:
            return e
        if t is Bin and dt.lanes(e.dtype) == 1:
            return build.binary(e.op, made.a, made.b)
        return build.cast(made.value, e.dtype) if t is Cast and type(made.value) is Const else made

    def _is_exact(self, e: Expr) -> bool:
        """Arithmetic or comparison of index variables only."""
        if type(e) is Bin and dt.is_float(e.a.dtype):
            return False
        return not self.reads_memory(e)

    def _load(self, e: Load, facts: Facts) -> Load:
        made = map_children(e, lambda c: self.index(c, facts))
        found = self.buffers.get(e.buffer) if self.buffers else None
        return made if found is None else replace(made, buffer=found)

    def _choice(self, e: Any, facts: Facts) -> Expr:
        cond, then, other = (e.cond, e.then, e.other) if type(e) is Select else e.args
        c = self.expr(cond, facts)
        known = None if dt.lanes(c.dtype) > 1 else affine.decide(c, facts)
        if known is not None:
            return self.expr(then if known else other, facts)  # type: ignore[no-any-return]
        a = self.expr(then, self.knowing(c, facts))
        b = self.expr(other, self.knowing(build.not_(c), facts) if dt.lanes(c.dtype) == 1 else facts)
        if c is cond and a is then and b is other:
            return e  # type: ignore[no-any-return]
        return Select(c, a, b) if type(e) is Select else replace(e, args=(c, a, b))

    def knowing(self, cond: Expr, facts: Facts) -> Facts:
        if dt.lanes(cond.dtype) > 1 or self.reads_memory(cond):
            return facts
        return facts.with_condition(cond)

    # ------------------------------------------------------------ statements

    def stmt(self, s: Stmt, facts: Facts) -> Stmt:
        rule = RULES.get(type(s))
        if rule is not None:
            return rule(self, s, facts)
        made = map_children(s, lambda c: self.stmt(c, facts) if isinstance(c, Stmt) else self.expr(c, facts))
        if self.buffers and type(made) is Attr and made.about in self.buffers:
            return replace(made, about=self.buffers[made.about])
        return made

    def _for(self, s: For, facts: Facts) -> Stmt:
        lo, extent = self.index(s.lo, facts), self.index(s.extent, facts)
        n = extent.value if type(extent) is Const else None
        if n is not None and n <= 0 and s.kind != "thread":
            return NOP
        if n == 1 and s.kind in UNIT_KINDS and not self.keep_unit_loops:
            self.values[s.var] = build.cast(lo, s.var.dtype)
            return self.stmt(s.body, facts)
        body = self.stmt(s.body, facts.with_loop(s.var, lo, extent))
        if lo is s.lo and extent is s.extent and body is s.body:
            return s
        return replace(s, lo=lo, extent=extent, body=body)

    def _if(self, s: If, facts: Facts) -> Stmt:
        cond, inside = self._guard(s.cond, facts)
        if type(cond) is Const:
            return self.stmt(s.then, facts) if cond.value else NOP if s.other is None else self.stmt(s.other, facts)
        then = self.stmt(s.then, inside)
        other = None if s.other is None else self.stmt(s.other, self.knowing(build.not_(cond), facts))
        if then is NOP and other is None:
            return NOP
        if cond is s.cond and then is s.then and other is s.other:
            return s
        return replace(s, cond=cond, then=then, other=other)

    def _guard(self, cond: Expr, facts: Facts) -> tuple[Expr, Facts]:
        """The conjuncts that are not proved (a constant when it is decided), and what holds inside."""
        kept: list[Expr] = []
        parts = list(conjuncts(cond))
        for part in parts:
            e = self.expr(part, facts)
            known = None if dt.lanes(e.dtype) > 1 else affine.decide(e, facts)
            if known is False:
                return Const(False, "bool"), facts
            if known is None:
                kept.append(e)
                facts = self.knowing(e, facts)
        if len(kept) == len(parts) and all(map(identical, kept, parts)):
            return cond, facts
        return (build.all_(*kept) if kept else Const(True, "bool")), facts

    def _let(self, s: LetStmt, facts: Facts) -> Stmt:
        v: Any = s.var
        value = self.expr(s.value, facts)
        if type(value) in (Const, Var):
            self.values[v] = value
            return self.stmt(s.body, facts)
        if v.dtype in ("int32", "int64") and not self.reads_memory(value):
            form = affine.lin(value, facts)
            facts = facts.with_range(v, form, form)
        body = self.stmt(s.body, facts)
        return s if value is s.value and body is s.body else replace(s, value=value, body=body)

    def _store(self, s: Store, facts: Facts) -> Stmt:
        indices = tuple([self.index(i, facts) for i in s.indices])
        value = self.expr(s.value, facts)
        mask = None if s.mask is None else self.expr(s.mask, facts)
        target = self.buffers.get(s.buffer, s.buffer)
        if value is s.value and mask is s.mask and target is s.buffer and all(map(_is, indices, s.indices)):
            return s
        return replace(s, buffer=target, indices=indices, value=value, mask=mask)

    def _alloc(self, s: Alloc, facts: Facts) -> Stmt:
        target = self._sized(s.buffer)
        body = self.stmt(s.body, facts)
        return s if body is s.body and target is s.buffer else replace(s, buffer=target, body=body)

    def _sized(self, b: Buffer) -> Buffer:
        """A buffer whose shape names a variable that is gone gets a shape that does not."""
        if not self.values:
            return b
        shape = tuple(self.index(n, NO_FACTS) for n in b.shape)
        strides = None if b.strides is None else tuple(self.index(n, NO_FACTS) for n in b.strides)
        if all(map(_is, shape, b.shape)) and (strides is None or all(map(_is, strides, b.strides or ()))):
            return b
        self.buffers[b] = made = b.with_(shape=shape, strides=strides, data=b.data)
        return made

    def _seq(self, s: Seq, facts: Facts) -> Stmt:
        made = [self.stmt(x, facts) for x in s.stmts]
        return s if all(map(_is, made, s.stmts)) else seq(*made)


def _is(a: Any, b: Any) -> bool:
    return a is b


RULES: dict[type, Callable[[Simplifier, Any, Facts], Stmt]] = {
    For: Simplifier._for,
    If: Simplifier._if,
    LetStmt: Simplifier._let,
    Store: Simplifier._store,
    Alloc: Simplifier._alloc,
    Seq: Simplifier._seq,
}
