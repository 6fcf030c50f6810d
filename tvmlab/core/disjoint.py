"""May two accesses in different threads of a block touch the same element?

    A[c*2 + ty//2, ty%2*4 + tx]    and    A[c'*2 + ty'//2, ty'%2*4 + tx']    (two threads, two iterations)

The element is the same where, in every dimension, the difference of the indices is 0. From `2*(c - c') + (ty//2 -
ty'//2) = 0` follow `c - c' = 0` and `ty//2 - ty'//2 = 0`, since the latter is less than 2; from the other dimension
`ty%2 = ty'%2` and `tx = tx'`; from both quotient and remainder `ty = ty'`. What is equal is one symbol from there on.
Where all thread variables are, the two threads are one: different ones never meet. Nor do they where a difference is
never 0.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from . import affine
from .affine import Facts, Lin
from .affine.form import key_of
from .node import Stmt, Var
from .walk import substitute


@dataclass(frozen=True, eq=False)
class Access:
    """`stmt` reads or writes an element of `memory`.

    `forms`: its indices, None where one is not known; `forms` None: any element. `facts`: what is known there; the
    variables that have a value of their own for each thread or iteration are those of `facts.ranges`.
    """

    memory: Any
    name: str
    store: bool
    stmt: Stmt
    forms: tuple[Lin | None, ...] | None
    facts: Facts


@dataclass(frozen=True)
class Carried:
    """The second access comes in a later iteration of the loop over `var`: the next one, or any (`far`)."""

    var: Var
    far: bool


def meet(a: Access, b: Access, threads: Iterable[Var], fixed: Collection[Var], carried: Carried | None = None) -> bool:
    """May `a`, and after it `b` in another thread, touch one element? False is proved.

    `threads`: the thread variables of the block; `fixed`: variables that have one value for both accesses.
    """
    if a.forms is None or b.forms is None or len(a.forms) != len(b.forms):
        return True
    equal, wanted = set(fixed), set(threads)
    while True:
        pair = _Pair(a, b, equal, carried)
        if pair.impossible():
            return False
        found = pair.told() - equal
        if pair.never:
            return False
        equal |= found
        if wanted <= equal:
            return False
        if not found:
            return True


def one_element(a: Access, b: Access, threads: Iterable[Var]) -> bool:
    """Do all threads touch the same element in both, proved: has no place, and nothing known, to do with a thread?"""
    if a.forms is None or b.forms is None or None in a.forms or None in b.forms:
        return False
    if [x.key for x in a.forms if x is not None] != [x.key for x in b.forms if x is not None]:
        return False
    order = dict.fromkeys(threads, 0)
    for access in (a, b):
        ranges = [x for v, r in access.facts.ranges.items() if v not in order for x in r]
        forms = [x for x in (*(access.forms or ()), *access.facts.guards, *ranges) if x is not None]
        if any(affine.mentions(atom, order) for form in forms for atom in form.terms):
            return False
    return True


class _Pair:
    """The two accesses with names of their own: what is not `equal` gets another name in the second one."""

    def __init__(self, a: Access, b: Access, equal: set[Var], carried: Carried | None) -> None:
        self.a, self.equal = a, equal
        self.names: dict[Var, Lin] = {
            v: affine.var(Var(f"{v.name}'", v.dtype)) for v in b.facts.ranges if v not in equal
        }
        self.same_variable: dict[Var, Var] = {v: next(iter(x.terms)) for v, x in self.names.items()}
        self.order = dict.fromkeys(self.names, 0)
        ranges = dict(a.facts.ranges)
        if carried is not None:
            ranges = self._carry(carried, ranges)
        loose: list[Lin] = []
        for v, (lo, hi) in b.facts.ranges.items():
            lo, hi = self.renamed(lo), self.renamed(hi)
            if v in self.same_variable:
                ranges[self.same_variable[v]] = (lo, hi)
            elif v not in ranges or ranges[v][0].key != lo.key or ranges[v][1].key != hi.key:
                here = self.names.get(v, affine.var(v))
                loose += [here - lo, hi - here]
        guards = {g.key: g for g in (*a.facts.guards, *map(self.renamed, b.facts.guards), *loose) if g.terms}
        self.facts = Facts(_tightened(ranges, guards.values()), guards.values())
        pairs = zip(a.forms or (), b.forms or (), strict=True)
        self.zero = [x - self.renamed(y) for x, y in pairs if x is not None and y is not None]

    def _carry(self, carried: Carried, ranges: dict[Any, tuple[Lin, Lin]]) -> dict[Any, tuple[Lin, Lin]]:
        """The loop's variable is v in the first access, v + distance in the second (whose thread may end elsewhere)."""
        v, made = carried.var, {}
        self.same_variable.pop(v, None)
        for x, (lo, hi) in ranges.items():
            if x is v:
                distance = affine.number(1)
                if carried.far:
                    far = Var(f"{v.name}''", v.dtype)
                    distance = affine.var(far)
                    made[far] = (affine.number(1), self.renamed(hi) - lo)
                self.names[v] = affine.var(v) + distance
                made[v] = (lo, hi - distance if self.renamed(hi) is hi else hi)
            else:
                made[x] = (lo, hi)
        return made

    # ------------------------------------------------------------ renaming

    def renamed(self, x: Lin) -> Lin:
        if not any(affine.mentions(atom, self.order) for atom in x.terms):
            return x
        total = affine.number(x.const)
        for atom, c in x.terms.items():
            total = total + self._atom(atom) * c
        return total

    def _atom(self, atom: Any) -> Lin:
        if type(atom) is Var:
            return self.names.get(atom, affine.var(atom))
        if atom.op == "//":
            return affine.floordiv(self.renamed(atom.args[0]), self.renamed(atom.args[1]))
        if atom.op == "%":
            return affine.floormod(self.renamed(atom.args[0]), self.renamed(atom.args[1]))
        if atom.op == "*":
            total = affine.number(1)
            for part in atom.args:
                total = affine.product(total, self._atom(part))
            return total
        names = {v: affine.to_expr(x, v.dtype) for v, x in self.names.items()}
        return affine.opaque(substitute(atom.args[0], names))

    # ------------------------------------------------------------ what follows

    def impossible(self) -> bool:
        """Is one of the places never reached, or a difference never 0?"""
        facts = self.facts
        if any(hi.is_const() and lo.is_const() and hi.const < lo.const for lo, hi in facts.ranges.values()):
            return True
        return any(_never_zero(x, facts) for x in self.zero) or any(affine.nonneg(-g - 1, facts) for g in facts.guards)

    def told(self) -> set[Var]:
        """The variables that are equal in both, since their element is. `never`: found out that it is not."""
        self.gaps: dict[
            Any, tuple[Any, Any, int]
        ] = {}  # keys of two atoms -> the atoms, and how much the first is more
        zero: dict[Any, Lin] = {}  # the parts
        whole: set[Any] = set()
        todo = {x.key: x for x in self.zero}
        while todo:
            for x in todo.values():
                self._split(x, zero)
            whole |= todo.keys()
            todo = {x.key: x for x in self._numbers({*zero, *whole}) if x.key not in whole}
        self.never = any(_never_zero(x, self.facts) for x in zero.values())
        pairs = [(p, q) for p, q, gap in self.gaps.values() if gap == 0]
        variables = {p for p, q in pairs if type(p) is Var and self.same_variable.get(p) is q}
        return variables | set(self._only_values())

    def _only_values(self) -> Iterable[Var]:
        """Variables that have one and the same value on both sides, as under `if tx == 0`."""
        for v, other in self.same_variable.items():
            ranges = [self.facts.ranges[x] for x in (v, other) if x in self.facts.ranges]
            ends = {x.const if x.is_const() else None for r in ranges for x in r}
            if len(ranges) == 2 and len(ends) == 1 and None not in ends:
                yield v

    def _split(self, x: Lin, zero: dict[Any, Lin]) -> None:
        """c*y + rest = 0 and |rest| < c: then y = 0 and rest = 0. Enters the parts that cannot be split."""
        if x.key in zero or not x.terms:
            zero[x.key] = x
            return
        for c in sorted({abs(k) for k in x.terms.values()} - {1}, reverse=True):
            inner = {atom: k for atom, k in x.terms.items() if k % c}
            for const in (x.const % c, x.const % c - c):
                if self._small(Lin(inner, const), c):
                    outer = {atom: k // c for atom, k in x.terms.items() if not k % c}
                    self._split(Lin(outer, (x.const - const) // c), zero)
                    return self._split(Lin(inner, const), zero)
        zero[x.key] = x
        if sorted(x.terms.values()) == [-1, 1]:
            p, q = sorted(x.terms, key=lambda atom: -x.terms[atom])
            gap = -x.const
            if type(q) is Var and self.same_variable.get(q) is p:
                p, q, gap = q, p, -gap
            self.gaps[frozenset((key_of(p), key_of(q)))] = p, q, gap
        return None

    def _small(self, rest: Lin, c: int) -> bool:
        """|rest| < c, proved"""
        return affine.nonneg(-rest + (c - 1), self.facts) and affine.nonneg(rest + (c - 1), self.facts)

    def _numbers(self, zero: Collection[Any]) -> Iterable[Lin]:
        """y - z - d*k for each y//d - z//d = k where y%d = z%d too, and y - z where y%d = z%d are that near."""
        for p, q, gap in list(self.gaps.values()):
            if type(p) is Var or type(q) is Var or p.op != q.op or p.op not in ("//", "%"):
                continue
            if p.args[1].key != q.args[1].key:
                continue
            (y, d), (z, _) = p.args, q.args
            if p.op == "%":
                if gap == 0 and d.is_const() and self._small(y - z, d.const):
                    yield y - z
                continue
            # under what is known a remainder may be written differently
            rests = [affine.floormod(y, d, f) - affine.floormod(z, d, f) for f in (affine.NOTHING, self.facts)]
            if any(x.key in zero or (-x).key in zero or not (x.terms or x.const) for x in rests):
                yield y - z - d * gap


def _tightened(ranges: dict[Any, tuple[Lin, Lin]], guards: Iterable[Lin]) -> dict[Any, tuple[Lin, Lin]]:
    """Ranges that are numbers, cut by the guards about their variable alone."""
    made = dict(ranges)
    for g in guards:
        if len(g.terms) != 1:
            continue
        ((v, c),) = g.terms.items()
        lo, hi = made.get(v, (None, None))
        if type(v) is not Var or lo is None or hi is None:
            continue
        if c > 0 and lo.is_const():
            made[v] = (affine.number(max(lo.const, -(g.const // c))), hi)
        elif c < 0 and hi.is_const():
            made[v] = (lo, affine.number(min(hi.const, g.const // -c)))
    return made


def _never_zero(x: Lin, facts: Facts) -> bool:
    if not x.terms:
        return x.const != 0
    if x.const % math.gcd(*x.terms.values()):
        return True
    return _other_remainder(x) or affine.nonneg(x - 1, facts) or affine.nonneg(-x - 1, facts)


def _other_remainder(x: Lin) -> bool:
    """y%d - (y + k)%d, where d does not divide k: the copies of a double buffer."""
    if len(x.terms) != 2 or x.const:
        return False
    (p, c), (q, k) = x.terms.items()
    if c != -k or any(type(atom) is Var or atom.op != "%" or atom.args[1].terms for atom in (p, q)):
        return False
    d, gap = p.args[1].const, p.args[0] - q.args[0]
    return bool(d == q.args[1].const and gap.is_const() and gap.const % d)
