"""Bounds of forms: the innermost variable is eliminated first, so a bound may depend on outer loops."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from .. import dtype as dt
from ..node import Bin, Call, Cast, Expr, Select, Var
from ..walk import walk
from . import arith
from .facts import NOTHING, Facts
from .form import Atom, Lin, number, product

LONG_CHOICE = 60  # nodes


def lower(x: Lin, facts: Facts) -> Lin | None:
    """A lower bound without the variables of `facts.ranges`, or None."""
    return _bound(x, facts, -1, None)


def upper(x: Lin, facts: Facts) -> Lin | None:
    return _bound(x, facts, 1, None)


def relax(x: Lin, facts: Facts, over: Iterable[Var], sign: int) -> Lin | None:
    """The bound (sign 1: upper, -1: lower) of `x` over the given variables; the others stay symbolic."""
    return _bound(x, facts, sign, frozenset(map(id, over)))


def _bound(x: Lin, facts: Facts, sign: int, over: frozenset[int] | None) -> Lin | None:
    order, ranges = facts.order, facts.ranges
    for _ in range(200):
        inner, depth = None, -1
        for atom in x.terms:
            d = _depth(atom, order, over)
            if d > depth:
                inner, depth = atom, d
        if inner is None:
            return x
        terms = dict(x.terms)
        c = terms.pop(inner)
        if type(inner) is Var:
            value: Lin | None = ranges[inner][1 if (c > 0) == (sign > 0) else 0]
        else:
            value = _atom_bound(inner, facts, sign if c > 0 else -sign, over)
        if value is None:
            return None
        rest = Lin(terms, x.const + value.const * c)
        x = rest + Lin(value.terms, 0) * c if value.terms else rest
    return None


def _depth(atom: Any, order: Mapping[Any, int], over: frozenset[int] | None) -> int:
    """Position of the innermost variable to eliminate in the atom, or -1."""
    if type(atom) is Var:
        return order.get(atom, -1) if over is None or id(atom) in over else -1
    if atom.op in ("//", "%"):
        return max([-1, *[_depth(a, order, over) for part in atom.args for a in part.terms]])
    if atom.op == "*":
        return max(_depth(a, order, over) for a in atom.args)
    found = -1
    for v in _free(atom.args[0]):
        found = max(found, _depth(v, order, over))
    return found


def mentions(atom: Any, variables: Mapping[Any, int]) -> bool:
    """Does the atom contain one of the variables (the keys)?"""
    return _depth(atom, variables, None) >= 0


def _free(e: Any) -> Iterable[Var]:
    return (x for x in walk(e) if type(x) is Var)


def _atom_bound(atom: Any, facts: Facts, sign: int, over: frozenset[int] | None) -> Lin | None:
    if type(atom) is Var:
        lo, hi = facts.ranges[atom]
        return hi if sign > 0 else lo
    if atom.op == "//":
        num, den = atom.args
        if den.terms or den.const < 0:
            return None
        b = _bound(num, facts, sign, over)
        return None if b is None else arith.div_const(b, den.const, NOTHING)
    if atom.op == "%":
        den = atom.args[1]
        if not den.terms and den.const < 0:
            return None
        return den - 1 if sign > 0 else number(0)
    if atom.op == "*":
        return _product_bound(atom, facts, sign, over)
    if facts is NOTHING:
        return _opaque_bound(atom.args[0], facts, sign, over)
    key = (atom.args[0], sign, over)
    if key not in facts.limits:
        facts.limits[key] = _opaque_bound(atom.args[0], facts, sign, over)
    return facts.limits[key]


def _product_bound(atom: Atom, facts: Facts, sign: int, over: frozenset[int] | None) -> Lin | None:
    """Of a product of factors that are all >= 0: bound each."""
    total = number(1)
    for part in atom.args:
        form = Lin({part: 1}, 0)
        if not nonneg(form, facts):
            return None
        b = _bound(form, facts, sign, over)
        if b is None:
            return None
        total = product(total, b)
    return total


def _opaque_bound(e: Expr, facts: Facts, sign: int, over: frozenset[int] | None) -> Lin | None:
    if isinstance(e, Bin) and e.op in ("min", "max"):
        a, b = (_bound(arith.lin(s, facts), facts, sign, over) for s in (e.a, e.b))
        if a is None or b is None:
            keep = a if b is None else b  # min(a, b) <= either; max(a, b) >= either
            return keep if (e.op == "min") == (sign > 0) else None
        return arith.extreme(e.op, a, b, NOTHING)
    if isinstance(e, Select) or (isinstance(e, Call) and e.name == "if_then_else"):
        if _is_long(e):
            return None
        then, other = (e.then, e.other) if isinstance(e, Select) else e.args[1:]
        a, b = (_bound(arith.lin(s, facts), facts, sign, over) for s in (then, other))
        return None if a is None or b is None else arith.extreme("max" if sign > 0 else "min", a, b, NOTHING)
    if isinstance(e, Cast) and dt.is_bool(e.value.dtype):
        return number(1 if sign > 0 else 0)
    if dt.is_int(e.dtype) and dt.bits(e.dtype) <= 16 or dt.is_int(e.dtype) and not dt.is_signed(e.dtype) and sign < 0:
        return number(int(dt.limits(e.dtype)[1 if sign > 0 else 0]))
    if isinstance(e, Cast) and dt.is_int(e.value.dtype) and dt.bits(e.value.dtype) <= 16:
        return number(int(dt.limits(e.value.dtype)[1 if sign > 0 else 0]))
    return None


def _is_long(e: Expr) -> bool:
    """Too long a choice of choices to be worth bounding: every part has facts of its own."""
    return next(islice(walk(e), LONG_CHOICE, None), None) is not None


def bounds(x: Lin, facts: Facts) -> tuple[int | None, int | None]:
    """Constant bounds, where there are some; sizes count as >= 0."""
    return _constant(lower(x, facts), -1), _constant(upper(x, facts), 1)


def _constant(x: Lin | None, sign: int) -> int | None:
    if x is None:
        return None
    for atom, c in x.terms.items():
        if not (_is_size(atom) and (c > 0) == (sign < 0)):
            return None
    return x.const


def _is_size(atom: Any) -> bool:
    if isinstance(atom, Var):
        return atom.nonneg
    if atom.op == "*":
        return all(_is_size(a) for a in atom.args)
    if atom.op == "//":
        num, den = atom.args
        return not den.terms and den.const > 0 and _constant(num, -1) is not None and (_constant(num, -1) or 0) >= 0
    return atom.op == "%" and (bool(atom.args[1].terms) or atom.args[1].const > 0)


def nonneg(x: Lin, facts: Facts = NOTHING) -> bool:
    """x >= 0, proved from the ranges, or from one of the guards."""
    if not x.terms:
        return x.const >= 0
    if _never_negative(lower(x, facts)):
        return True
    if not facts.guards:
        return False
    bare = facts.without_guards()  # one guard a proof: several could lead round in circles
    related = (g for g in facts.guards if any(a in x.terms for a in g.terms))
    return any(_never_negative(lower(x - g, bare)) for g in related)


def _never_negative(x: Lin | None) -> bool:
    lo = _constant(x, -1)
    return lo >= 0 if lo is not None else x is not None and _by_fractions(x)


def _by_fractions(x: Lin) -> bool:
    """x >= 0 with each quotient bounded by its fraction: (n - d + 1)/d <= n//d <= n/d, so n - 32*(n//32) >= 0."""
    divisors = [a.args[1].const for a in x.terms if _is_quotient(a)]
    if not divisors:
        return False
    scale = math.lcm(*divisors)
    total = number(x.const * scale)
    for atom, c in x.terms.items():
        if _is_quotient(atom):
            num, d = atom.args[0], atom.args[1].const
            total = total + (num if c < 0 else num - (d - 1)) * (c * scale // d)
        else:
            total = total + Lin({atom: c * scale}, 0)
    lo = _constant(total, -1)
    return lo is not None and lo > -scale


def _is_quotient(atom: Any) -> bool:
    return type(atom) is Atom and atom.op == "//" and not atom.args[1].terms and bool(atom.args[1].const > 0)
