"""Expressions to forms, and the division of forms: what does not divide is proved small, or stays a quotient."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .. import build
from .. import dtype as dt
from ..node import Bin, Cast, Const, Expr, Var
from ..walk import map_children
from . import bound, rules
from .facts import NOTHING, Facts
from .form import Atom, Lin, factors, key_of, multiplied, number, opaque, product, quotient, remainder, to_expr


def lin(e: Expr, facts: Facts = NOTHING, env: Mapping[Any, Lin] | None = None) -> Lin:
    """The canonical form of an integer expression; `env` replaces variables."""
    t = type(e)
    if t is Const:
        return Lin({}, int(e.value))  # type: ignore[attr-defined]
    if t is Var:
        found = env.get(e) if env else None
        return Lin({e: 1}, 0) if found is None else found
    if t is Bin:
        a, b, op = e.a, e.b, e.op  # type: ignore[attr-defined]
        if op == "+":
            return lin(a, facts, env) + lin(b, facts, env)
        if op == "-":
            return lin(a, facts, env) - lin(b, facts, env)
        if op == "*":
            return product(lin(a, facts, env), lin(b, facts, env))
    if env or facts is NOTHING:
        return _costly(e, facts, env)
    known = facts.forms.get(e)
    if known is None:
        facts.forms[e] = known = _costly(e, facts, None)
    return known


def _costly(e: Expr, facts: Facts, env: Mapping[Any, Lin] | None) -> Lin:
    """What needs proofs about its parts."""
    t = type(e)
    if t is Bin:
        a, b, op = e.a, e.b, e.op  # type: ignore[attr-defined]
        if op == "//":
            return floordiv(lin(a, facts, env), lin(b, facts, env), facts)
        if op == "%":
            return floormod(lin(a, facts, env), lin(b, facts, env), facts)
        if op in ("min", "max"):
            return extreme(op, lin(a, facts, env), lin(b, facts, env), facts)
        if op in ("truncdiv", "truncmod"):
            x, y = lin(a, facts, env), lin(b, facts, env)
            if bound.nonneg(x, facts) and bound.nonneg(y, facts):
                return (floordiv if op == "truncdiv" else floormod)(x, y, facts)
    if t is Cast and dt.is_int(e.dtype) and dt.is_int(e.value.dtype):  # type: ignore[attr-defined]
        wide = dt.bits(e.dtype) >= dt.bits(e.value.dtype) and dt.is_signed(e.dtype)  # type: ignore[attr-defined]
        if wide:
            return lin(e.value, facts, env)  # type: ignore[attr-defined]
    return opaque(_simplify_parts(_with_env(e, env), facts))


def _simplify_parts(e: Expr, facts: Facts) -> Expr:
    """What `lin` cannot take apart (`i & j`): only its operands get simpler."""
    if type(e) is not Bin:
        return rules.simplify(e, facts)
    a, b = rules.simplify(e.a, facts), rules.simplify(e.b, facts)
    return e if a is e.a and b is e.b else build.binary(e.op, a, b)


def _with_env(e: Expr, env: Mapping[Any, Lin] | None) -> Expr:
    if not env:
        return e

    def visit(x: Any) -> Any:
        if type(x) is Var:
            found = env.get(x)
            return x if found is None else to_expr(found, x.dtype)
        return map_children(x, visit)

    made: Expr = visit(e)
    return made


def floordiv(a: Lin, d: Lin, facts: Facts = NOTHING) -> Lin:
    """a // d"""
    if not d.terms:
        return div_const(a, d.const, facts)
    whole, rest = _divisible(a, d)
    if not whole.terms and not whole.const:
        return number(0) if within(a, d, facts) else Lin({quotient(a, d): 1}, 0)
    if within(rest, d, facts):
        return whole
    return whole + Lin({quotient(rest, d): 1}, 0)


def floormod(a: Lin, d: Lin, facts: Facts = NOTHING) -> Lin:
    """a % d"""
    if not d.terms:
        return mod_const(a, d.const, facts)
    _, rest = _divisible(a, d)
    if within(rest, d, facts):
        return rest
    return Lin({remainder(rest, d): 1}, 0)


def _divisible(a: Lin, d: Lin) -> tuple[Lin, Lin]:
    """a = q*d + r, taking into q the terms that contain the (single) symbolic divisor."""
    if len(d.terms) != 1 or d.const:
        return number(0), a
    (atom, k), = d.terms.items()
    if k != 1:
        return number(0), a
    q, r = number(0), number(a.const)
    for x, c in a.terms.items():
        if x == atom if isinstance(x, Atom) or isinstance(atom, Atom) else x is atom:
            q = q + c
            continue
        parts = list(factors(x))
        at = next((i for i, p in enumerate(parts) if key_of(p) == key_of(atom)), None)
        if len(parts) > 1 and at is not None:
            parts.pop(at)
            q = q + Lin({multiplied(tuple(parts)): c}, 0)
        else:
            r = r + Lin({x: c}, 0)
    return q, r


def within(x: Lin, d: Lin, facts: Facts) -> bool:
    """0 <= x < d, proved."""
    return bound.nonneg(x, facts) and bound.nonneg(d - x - 1, facts)


def div_const(a: Lin, d: int, facts: Facts) -> Lin:
    if d == 1:
        return a
    if d == 0:
        raise ZeroDivisionError("division by zero in an index")
    if not a.terms:
        return number(a.const // d)
    if d < 0:
        return Lin({quotient(a, number(d)): 1}, 0)
    q = Lin({x: c // d for x, c in a.terms.items() if c % d == 0}, a.const // d)  # (d*x + r)//d -> x + r//d
    r = Lin({x: c for x, c in a.terms.items() if c % d}, a.const % d)
    if not r.terms or within(r, number(d), facts):
        return q
    g = math.gcd(d, *r.terms.values())
    if g > 1:  # (g*x + k)//(g*e) -> (x + k//g)//e
        return q + div_const(Lin({x: c // g for x, c in r.terms.items()}, r.const // g), d // g, facts)
    if split := _small_part(r, d, facts):  # (h*x + s)//(h*e) -> x//e for 0 <= s < h
        h, x, _ = split
        return q + div_const(x, d // h, facts)
    if not r.const and len(r.terms) == 1:
        (atom, c), = r.terms.items()
        if c == 1 and type(atom) is Atom and atom.op == "//" and not atom.args[1].terms:  # (x//a)//b -> x//(a*b)
            return q + div_const(atom.args[0], atom.args[1].const * d, facts)
    if d * 2 > 2 and bound.nonneg(r - d, facts) and bound.nonneg(number(2 * d - 1) - r, facts):
        return q + 1
    return q + Lin({quotient(r, number(d)): 1}, 0)


def mod_const(a: Lin, d: int, facts: Facts) -> Lin:
    if d == 1:
        return number(0)
    if d == 0:
        raise ZeroDivisionError("remainder by zero in an index")
    if not a.terms:
        return number(a.const % d)
    if d < 0:
        return Lin({remainder(a, number(d)): 1}, 0)
    r = Lin({x: c % d for x, c in a.terms.items() if c % d}, a.const % d)  # (d*x + r) % d -> r % d
    if not r.terms or within(r, number(d), facts):
        return r
    plain = Lin({x: c for x, c in a.terms.items() if c % d}, a.const)
    if within(plain, number(d), facts):
        return plain
    g = math.gcd(d, *r.terms.values())
    if g > 1 and r.const % g == 0:  # (g*x + g*k) % (g*e) -> g * ((x + k) % e)
        return mod_const(Lin({x: c // g for x, c in r.terms.items()}, r.const // g), d // g, facts) * g
    if split := _small_part(r, d, facts):  # (h*x + s) % (h*e) -> h * (x % e) + s for 0 <= s < h
        h, x, small = split
        return mod_const(x, d // h, facts) * h + small
    if len(r.terms) == 1 and not r.const:
        (atom, c), = r.terms.items()
        if c == 1 and type(atom) is Atom and atom.op == "%" and not atom.args[1].terms and atom.args[1].const % d == 0:
            return mod_const(atom.args[0], d, facts)  # (x % (d*e)) % d -> x % d
    return Lin({remainder(r, number(d)): 1}, 0)


def _small_part(r: Lin, d: int, facts: Facts) -> tuple[int, Lin, Lin] | None:
    """(h, x, s) with r = h*x + s, where h divides d and 0 <= s < h: what a split leaves of a fused axis."""
    for h in sorted({math.gcd(c, d) for c in r.terms.values()}, reverse=True):
        s = Lin({a: c for a, c in r.terms.items() if c % h}, r.const % h)
        if h > 1 and s.terms and within(s, number(h), facts):
            return h, Lin({a: c // h for a, c in r.terms.items() if c % h == 0}, r.const // h), s
    return None


def smaller(a: Lin, b: Lin, facts: Facts = NOTHING) -> Lin:
    """min(a, b)"""
    return extreme("min", a, b, facts)


def larger(a: Lin, b: Lin, facts: Facts = NOTHING) -> Lin:
    """max(a, b)"""
    return extreme("max", a, b, facts)


def extreme(op: str, a: Lin, b: Lin, facts: Facts) -> Lin:
    d = b - a
    if bound.nonneg(d, facts):
        return a if op == "min" else b
    if bound.nonneg(-d, facts):
        return b if op == "min" else a
    return opaque(Bin(op, to_expr(a), to_expr(b), "int32"))
