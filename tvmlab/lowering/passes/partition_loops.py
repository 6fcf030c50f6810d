"""Tails out of hot loops: where a `likely` guard holds for a range of iterations, that range runs without it.

    for io in range(4):                       for io in range(3):
        for ii in range(8):                       for ii in range(8):
            if io*8 + ii < 30:        ->              S(io*8 + ii)
                S(io*8 + ii)                  for ii in range(6):
                                                  S(24 + ii)

- The outermost loop whose variable decides is cut, into [head][main][tail]: upper bounds (splits that do not divide)
  give a tail, lower bounds (a region that starts outside) a head. Symbolic extents are cut too.
- A guard that bounds a loop's variable by itself becomes the loop's bound.
- A parallel loop is not cut in pieces that would run one after another: the choice is made inside, per iteration.
  So it is where the guard needs a quotient or remainder of the variable (fused loops).
- At most MAX_COPIES of a body come about; beyond that guards stay. Vectorized loops keep theirs (they become masks),
  thread loops too, and what contains a barrier or a cross-thread reduction is not copied.
- Conditions inside expressions (padding) are left to the vectorizer: a select of masked loads costs less than nine
  copies of a convolution. A pad stage of its own is cut where its author says `if_then_else(likely(inside), x, 0)`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ...core import affine, build
from ...core.affine import Facts, Lin, number
from ...core.fresh import fresh
from ...core.node import (
    NOP,
    Alloc,
    AllReduce,
    Attr,
    Barrier,
    Call,
    Const,
    Expr,
    For,
    If,
    LetStmt,
    Seq,
    Stmt,
    Store,
    While,
)
from ...core.program import Program
from ...core.walk import constant, map_children, replace, seq, substitute
from ..config import DEFAULT, Config

MAX_COPIES = 8
CUT = frozenset({"serial", "parallel", "unrolled"})


def partition_loops(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(lambda body: _Partitioner(config).stmt(body, Facts(), MAX_COPIES))


@dataclass(frozen=True, eq=False)
class Guard:
    """A condition `form >= 0` below a loop.

    `over`: the variables of the loops between the two; `facts`: what is known at the condition.
    """

    form: Lin
    over: tuple[Any, ...]
    facts: Facts

    def always(self) -> Lin | None:
        """Where this is >= 0 the guard holds for every iteration of the loops between."""
        return affine.relax(self.form, self.facts, self.over, -1)

    def ever(self) -> Lin | None:
        """Where this is < 0 the guard holds for none."""
        return affine.relax(self.form, self.facts, self.over, 1)


class _Partitioner:
    def __init__(self, config: Config) -> None:
        self.constants = config.partition_const_loop
        self.forms: dict[Any, list[Lin]] = {}
        self.known: dict[Stmt, bool] = {}

    # ------------------------------------------------------------ statements

    def stmt(self, s: Stmt, facts: Facts, copies: int) -> Stmt:
        if not self.guarded(s):
            return s
        if isinstance(s, For):
            return self.loop(s, facts, copies)
        if isinstance(s, If):
            return self.branch(s, facts, copies)
        if isinstance(s, Seq):
            return seq(*[self.stmt(x, facts, copies) for x in s.stmts])
        return map_children(s, lambda c: self.stmt(c, facts, copies) if isinstance(c, Stmt) else c)

    def guarded(self, s: Stmt) -> bool:
        """Is there a guard that can be cut off?"""
        found = self.known.get(s)
        if found is None:
            here = s.likely if isinstance(s, If) else _likely_inside(s) is not None
            found = here or any(map(self.guarded, _statements(s)))
            self.known[s] = found
        return found

    def branch(self, s: If, facts: Facts, copies: int) -> Stmt:
        """A guard loses the conditions that the cut loops around it settle."""
        if affine.reads_memory(s.cond):
            return map_children(s, lambda c: self.stmt(c, facts, copies) if isinstance(c, Stmt) else c)
        kept = self.settled(s, facts)
        if kept is not s:
            return self.stmt(kept, facts, copies)
        then = self.stmt(s.then, facts.with_condition(s.cond), copies)
        other = None if s.other is None else self.stmt(s.other, facts, copies)
        return s if then is s.then and other is s.other else replace(s, then=then, other=other)

    def settled(self, s: If, facts: Facts) -> Stmt:
        """The guard without the conditions that are proved; what it guards, or its other side, when it is decided."""
        if not s.likely:
            return s
        parts = list(affine.conjuncts(s.cond))
        known = [affine.decide(c, facts) for c in parts]
        if False in known:
            return NOP if s.other is None else s.other
        still = [c for c, k in zip(parts, known, strict=True) if k is None]
        if len(still) == len(parts):
            return s
        return replace(s, cond=build.all_(*still)) if still else s.then

    def freed(self, s: Stmt, facts: Facts) -> Stmt:
        """A part of a cut loop without the guards that hold in it."""
        if not self.guarded(s):
            return s
        if isinstance(s, If) and not affine.reads_memory(s.cond):
            kept = self.settled(s, facts)
            if not isinstance(kept, If) or kept.then is not s.then:
                return self.freed(kept, facts)
            s = kept
        if isinstance(s, Seq):
            return seq(*[self.freed(x, facts) for x in s.stmts])
        inside = facts.with_loop(s.var, s.lo, s.extent) if isinstance(s, For) else facts
        return map_children(s, lambda c: self.freed(c, inside) if isinstance(c, Stmt) else c)

    def loop(self, s: For, facts: Facts, copies: int) -> Stmt:
        if s.kind not in CUT or (constant(s.extent) is not None and not self.constants):
            return self.inside(s, facts, copies)
        guards = list(self.guards(s.body, (), facts.with_loop(s.var, s.lo, s.extent)))
        s, settled = self.shrunk(s, facts)
        if copies > 1 and not _fixed(s.body):
            for attempt in (self.cut, self.chosen):
                made = attempt(s, guards, facts, copies)
                if made is not None:
                    return made
        return self.inside(s, facts, copies, settled)

    def inside(self, s: For, facts: Facts, copies: int, settled: Sequence[Lin] = ()) -> Stmt:
        """The loop with its body partitioned; a loop of one known iteration is its body."""
        if constant(s.extent) == 1 and s.kind in CUT and self.constants:
            return self.stmt(substitute(s.body, {s.var: s.lo}), facts, copies)
        body = self.stmt(s.body, facts.with_loop(s.var, s.lo, s.extent).with_guards(settled), copies)
        return s if body is s.body else NOP if body is NOP else replace(s, body=body)

    # ------------------------------------------------------------ guards

    def guards(self, s: Stmt, over: tuple[Any, ...], facts: Facts) -> Iterator[Guard]:
        """The conditions of likely guards in a loop's body, and of what is stored."""
        if isinstance(s, For):
            yield from self.guards(s.body, (*over, s.var), facts.with_loop(s.var, s.lo, s.extent))
        elif isinstance(s, If):
            if s.likely and not affine.reads_memory(s.cond):
                for form in self.forms_of(s.cond):
                    yield Guard(form, over, facts)
            for side in (s.then, s.other):
                if side is not None:
                    yield from self.guards(side, over, facts)
        elif isinstance(s, LetStmt) and not affine.reads_memory(s.value) and s.value.dtype in ("int32", "int64"):
            value, v = affine.lin(s.value, facts), s.var
            yield from self.guards(s.body, (*over, v), facts.with_range(v, value, value))  # type: ignore[arg-type]
        elif isinstance(s, Seq):
            for x in s.stmts:
                yield from self.guards(x, over, facts)
        elif isinstance(s, (Alloc, Attr, LetStmt, While)):
            yield from self.guards(s.body, over, facts)
        elif (cond := _likely_inside(s)) is not None:
            for form in self.forms_of(cond):
                yield Guard(form, over, facts)

    def forms_of(self, cond: Expr) -> list[Lin]:
        found = self.forms.get(cond)
        if found is None:
            self.forms[cond] = found = list(affine.conditions(cond, affine.NOTHING))
        return found

    # ------------------------------------------------------------ a guard becomes the bound of its loop

    def shrunk(self, s: For, facts: Facts) -> tuple[For, list[Lin]]:
        """The loop without the iterations in which nothing at all happens, and the guards that its bounds replace."""
        around = self.around(s.body, (), facts.with_loop(s.var, s.lo, s.extent))
        lo, hi = affine.lin(s.lo, facts), affine.lin(s.lo, facts) + affine.lin(s.extent, facts)
        first, last, settled = lo, hi, []
        for g in around:
            form = g.ever()
            side = None if form is None else _side(form, s.var, facts)
            if side is None or not self.bounds_loop(s, g, side[1]):
                continue
            if side[0] == "start":
                first = _larger(first, side[1], facts)
            else:
                last = _smaller(last, side[1], facts)
            if not _mentions(g.form, g.over):
                settled.append(g.form)
        if first is lo and last is hi:
            return s, settled
        extent = _extent(first, last, facts, s.extent.dtype)
        return replace(s, lo=affine.to_expr(first, s.lo.dtype), extent=extent), settled

    def bounds_loop(self, s: For, g: Guard, bound: Lin) -> bool:
        """A constant bound is always better; another only where it replaces the guard and no unrolling is lost."""
        return not bound.terms or (s.kind == "serial" and not _mentions(g.form, g.over))

    def around(self, s: Stmt, over: tuple[Any, ...], facts: Facts) -> list[Guard]:
        """The guards around all of a loop's body."""
        if isinstance(s, For):
            return self.around(s.body, (*over, s.var), facts.with_loop(s.var, s.lo, s.extent))
        if isinstance(s, Attr):
            return self.around(s.body, over, facts)
        if isinstance(s, If) and s.likely and s.other is None and not affine.reads_memory(s.cond):
            return [*(Guard(f, over, facts) for f in self.forms_of(s.cond)), *self.around(s.then, over, facts)]
        return []

    # ------------------------------------------------------------ head, main, tail

    def cut(self, s: For, guards: Sequence[Guard], facts: Facts, copies: int) -> Stmt | None:
        lo = affine.lin(s.lo, facts)
        hi = lo + affine.lin(s.extent, facts)
        first, last = self.main_range(s, guards, lo, hi, facts)
        if first is lo and last is hi:
            return None
        ranges = [(a, b) for a, b in ((lo, first), (first, last), (last, hi)) if not _empty(a, b, facts)]
        if len(ranges) < 2 or copies < len(ranges):
            return None
        share = copies // len(ranges)
        if s.kind == "parallel":
            return self.per_iteration(s, ranges, first, facts, share)
        return seq(*[self.part(s if a is first else fresh(s), a, b, facts, share) for a, b in ranges])

    def main_range(self, s: For, guards: Sequence[Guard], lo: Lin, hi: Lin, facts: Facts) -> tuple[Lin, Lin]:
        """The iterations for which the guards hold that hold for some of them at all."""
        first, last = lo, hi
        for g in guards:
            form = g.always()
            side = None if form is None else _side(form, s.var, facts)
            if side is None or any(affine.mentions(a, facts.order) for a in side[1].terms):
                continue
            a = _larger(first, side[1], facts) if side[0] == "start" else first
            b = _smaller(last, side[1], facts) if side[0] == "end" else last
            if not _empty(a, b, facts):
                first, last = a, b
        last = last if last is hi else _larger(last, first, facts)
        first = first if first is lo else _smaller(first, hi, facts)
        return first, last

    def part(self, s: For, lo: Lin, hi: Lin, facts: Facts, copies: int) -> Stmt:
        """These iterations; its own guard may now bound the loop."""
        first, extent = affine.to_expr(lo, s.var.dtype), _extent(lo, hi, facts, s.extent.dtype)
        body = self.freed(s.body, facts.with_range(s.var, lo, hi - 1))
        piece, settled = self.shrunk(replace(s, lo=first, extent=extent, body=body), facts)
        return NOP if body is NOP else self.inside(piece, facts, copies, settled)

    def per_iteration(self, s: For, ranges: Sequence[tuple[Lin, Lin]], main: Lin, facts: Facts, copies: int) -> Stmt:
        """for v in parallel(n): if v < first: head  else: if v < last: main  else: tail"""
        made: Stmt | None = None
        for lo, hi in reversed(ranges):
            inside = facts.with_range(s.var, lo, hi - 1)
            body = s.body
            if lo is not main:
                single = (hi - lo).is_const() and (hi - lo).const == 1
                body = fresh(body, {s.var: affine.to_expr(lo, s.var.dtype)} if single else {})
            body = self.stmt(self.freed(body, inside), inside, copies)
            if made is None:
                made = body
            else:
                made = If(s.var < affine.to_expr(hi, s.var.dtype), body, None if made is NOP else made)
        return replace(s, body=made)

    # ------------------------------------------------------------ one test per iteration instead of many

    def chosen(self, s: For, guards: Sequence[Guard], facts: Facts, copies: int) -> Stmt | None:
        """for f in ...: if the guards below hold throughout: main  else: the body with its guards"""
        own = facts.with_loop(s.var, s.lo, s.extent)
        tests: dict[Any, Expr] = {}
        for g in guards:
            form = g.always()
            if not g.over or form is None or not _needs_test(form, s.var) or affine.nonneg(-form - 1, own):
                continue
            left, right = _sides(form)
            tests[form.key] = build.binary("<=", left, right)
        if not tests:
            return None
        cond = build.all_(*tests.values())
        if isinstance(cond, Const):
            return None
        other = self.stmt(fresh(s.body), own, copies // 2)
        hot = own.with_condition(cond)
        main = self.stmt(self.freed(s.body, hot), hot, copies // 2)
        return replace(s, body=If(cond, main, other, likely=True))


def _likely_inside(s: Stmt) -> Expr | None:
    """The condition of `A[i] = if_then_else(likely(cond), x, y)`; simplify drops it where the cut loops settle it."""
    value = s.value if isinstance(s, Store) else None
    if not isinstance(value, Call) or value.name != "if_then_else":
        return None
    cond = value.args[0]
    return cond if isinstance(cond, Call) and cond.name == "likely" and not affine.reads_memory(cond) else None


def _side(form: Lin, v: Any, facts: Facts) -> tuple[str, Lin] | None:
    """`form >= 0` as a bound on v: ("start", first value) or ("end", first value that is too large)."""
    c = form.terms.get(v, 0)
    rest = Lin({a: k for a, k in form.terms.items() if a is not v}, form.const)
    if not c or any(affine.mentions(a, {v: 0}) for a in rest.terms):
        return None
    if c < 0:
        return "end", affine.floordiv(rest, number(-c), facts) + 1
    return "start", -affine.floordiv(rest, number(c), facts)


def _needs_test(form: Lin, v: Any) -> bool:
    """Does the variable decide, but through a quotient or a remainder?"""
    return any(affine.mentions(a, {v: 0}) for a in form.terms if a is not v)


def _sides(form: Lin) -> tuple[Expr, Expr]:
    """form >= 0  as  left <= right  without minus signs"""
    left = Lin({a: -c for a, c in form.terms.items() if c < 0}, max(0, -form.const))
    right = Lin({a: c for a, c in form.terms.items() if c > 0}, max(0, form.const))
    return affine.to_expr(left), affine.to_expr(right)


def _mentions(form: Lin, variables: Sequence[Any]) -> bool:
    order = dict.fromkeys(variables, 0)
    return any(affine.mentions(a, order) for a in form.terms)


def _larger(a: Lin, b: Lin, facts: Facts) -> Lin:
    return a if affine.nonneg(a - b, facts) else affine.larger(a, b, facts)


def _smaller(a: Lin, b: Lin, facts: Facts) -> Lin:
    return a if affine.nonneg(b - a, facts) else affine.smaller(a, b, facts)


def _empty(lo: Lin, hi: Lin, facts: Facts) -> bool:
    """lo >= hi, proved"""
    return affine.nonneg(lo - hi, facts)


def _extent(lo: Lin, hi: Lin, facts: Facts, dtype: str) -> Expr:
    return affine.to_expr(_larger(hi - lo, number(0), facts), dtype)


def _fixed(s: Stmt) -> bool:
    """Does it hold what must not come twice: threads, barriers, cross-thread reductions?"""
    if isinstance(s, (AllReduce, Barrier)) or (isinstance(s, For) and s.kind in ("thread", "vthread")):
        return True
    return any(_fixed(c) for c in _statements(s))


def _statements(s: Stmt) -> Iterator[Stmt]:
    if isinstance(s, Seq):
        yield from s.stmts
    elif isinstance(s, If):
        yield s.then
        if s.other is not None:
            yield s.other
    elif isinstance(s, (For, Alloc, Attr, LetStmt, While)):
        yield s.body
