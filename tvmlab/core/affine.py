"""Index arithmetic in one canonical form: an integer linear combination of atoms, plus a constant.

    4*i + j - 3        terms {i: 4, j: 1}, const -3
    atoms              variables; floor quotients `x // d` and remainders `x % d`; products (`i*n`);
                       anything else, kept as an opaque expression

`Facts` holds what is known about variables (inclusive bounds, outermost first) and conditions (each >= 0);
`lower` and `upper` bound a form by eliminating the innermost variable first, so bounds may depend on outer loops.
Division rounds towards minus infinity. By contract index arithmetic does not overflow.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from . import build
from . import dtype as dt
from .node import Bin, Call, Cast, Const, Expr, IterVar, Load, Node, Not, Select, Var
from .walk import identical, map_children, replace, walk


LONG_CHOICE = 60  # nodes
WIDE = 2**31


class Atom:
    """A term that is not a variable: op `//`, `%` (of two forms), `*` (of atoms), `expr` (opaque)."""

    __slots__ = ("args", "hash", "key", "op")

    def __init__(self, op: str, args: tuple[Any, ...], key: tuple[Any, ...]) -> None:
        self.op, self.args, self.key, self.hash = op, args, key, hash(key)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Atom) and self.hash == other.hash and self.key == other.key)


class Lin:
    """`sum(coefficient * atom) + const`. Treat as immutable."""

    __slots__ = ("const", "terms")

    def __init__(self, terms: dict[Any, int], const: int = 0) -> None:
        self.terms, self.const = terms, const

    @property
    def key(self) -> tuple[Any, ...]:
        return (self.const, frozenset((_key(a), c) for a, c in self.terms.items()))

    def __add__(self, other: Lin | int) -> Lin:
        if isinstance(other, int):
            return Lin(self.terms, self.const + other)
        if not other.terms:
            return Lin(self.terms, self.const + other.const)
        terms = dict(self.terms)
        joined = False
        for atom, c in other.terms.items():
            total = terms.get(atom, 0) + c
            if total:
                terms[atom] = total
            else:
                del terms[atom]
            joined = joined or type(atom) is Atom
        made = Lin(terms, self.const + other.const)
        return _join(made) if joined else made

    def __mul__(self, k: int) -> Lin:
        if k == 1:
            return self
        return Lin({a: c * k for a, c in self.terms.items()} if k else {}, self.const * k)

    def __sub__(self, other: Lin | int) -> Lin:
        return self + (-other if isinstance(other, int) else other * -1)

    def __neg__(self) -> Lin:
        return self * -1

    def is_const(self) -> bool:
        return not self.terms

    def __repr__(self) -> str:
        return f"Lin({to_expr(self)!r})"


def _key(atom: Any) -> Any:
    return id(atom) if isinstance(atom, Var) else atom.key


def number(k: int) -> Lin:
    return Lin({}, k)


def var(v: Var) -> Lin:
    return Lin({v: 1}, 0)


def _join(x: Lin) -> Lin:
    """(a // d) * d + b % d  ->  a, where a and b differ by a multiple of d (so that a % d is b % d)"""
    for atom, c in x.terms.items():
        if type(atom) is not Atom or atom.op != "%" or atom.args[1].terms:
            continue
        num, d = atom.args[0], atom.args[1].const
        for other, k in x.terms.items():
            if k == c * d and type(other) is Atom and other.op == "//" and other.args[1].key == atom.args[1].key:
                gap = other.args[0] - num
                if gap.const % d == 0 and all(v % d == 0 for v in gap.terms.values()):
                    rest = {a: v for a, v in x.terms.items() if a is not atom and a is not other}
                    whole: Lin = other.args[0] * c
                    return Lin(rest, x.const) + whole
    return x


def _atom_div(num: Lin, den: Lin) -> Atom:
    return Atom("//", (num, den), ("//", num.key, den.key))


def _atom_mod(num: Lin, den: Lin) -> Atom:
    return Atom("%", (num, den), ("%", num.key, den.key))


def opaque(e: Expr) -> Lin:
    return Lin({Atom("expr", (e,), ("expr", structure(e))): 1}, 0)


def structure(e: Any) -> Any:
    """A hashable key that is equal for structurally equal expressions over the same variables and buffers."""
    if isinstance(e, Var):
        return id(e)
    if isinstance(e, Const):
        return (e.value, e.dtype)
    if isinstance(e, Node):
        return (type(e).__name__, *[structure(getattr(e, f)) for f in e.FIELDS])
    if isinstance(e, tuple):
        return tuple(structure(x) for x in e)
    return e if isinstance(e, (str, int, float, bool, type(None))) else id(e)


class Facts:
    """What is known: `ranges` of variables (inclusive, outer variables first), `guards` (forms that are >= 0)."""

    __slots__ = ("forms", "guards", "limits", "order", "ranges")

    def __init__(self, ranges: Mapping[Var, tuple[Lin, Lin]] | None = None, guards: Iterable[Lin] = ()) -> None:
        self.ranges: dict[Any, tuple[Lin, Lin]] = dict(ranges or {})
        self.order: dict[Any, int] = {v: i for i, v in enumerate(self.ranges)}
        self.guards: tuple[Lin, ...] = tuple(guards)
        self.forms: dict[Any, Lin] = {}  # of expressions that were costly to bring into form
        self.limits: dict[Any, Lin | None] = {}  # and their bounds: what is nested is asked for again and again

    def with_range(self, v: Var, lo: Lin, hi: Lin) -> Facts:
        made = Facts.__new__(Facts)
        made.ranges = {**self.ranges, v: (lo, hi)}
        made.order = {**self.order, v: len(self.order)}
        made.guards, made.forms, made.limits = self.guards, {}, {}
        return made

    def with_guards(self, guards: Iterable[Lin]) -> Facts:
        made = Facts.__new__(Facts)
        made.ranges, made.order = self.ranges, self.order
        made.guards, made.forms, made.limits = (*self.guards, *guards), {}, {}
        return made

    def with_loop(self, v: Var, lo: Expr, extent: Expr) -> Facts:
        if type(lo) is Const and type(extent) is Const:
            return self.with_range(v, Lin({}, lo.value), Lin({}, lo.value + extent.value - 1))
        first, n = lin(lo, self), lin(extent, self)
        return self.with_range(v, first, first + n - 1)

    def with_condition(self, cond: Expr) -> Facts:
        found = list(conditions(cond, self))
        return self.with_guards(found) if found else self


NOTHING = Facts()


def conditions(cond: Expr, facts: Facts) -> Iterable[Lin]:
    """The forms that are >= 0 where `cond` holds."""
    if isinstance(cond, Call) and cond.name == "likely":
        yield from conditions(cond.args[0], facts)
    elif isinstance(cond, Bin) and cond.op == "and":
        for part in conjuncts(cond):
            yield from conditions(part, facts)
    elif isinstance(cond, Not) and isinstance(cond.a, Bin) and cond.a.op in NEGATED:
        yield from conditions(replace(cond.a, op=NEGATED[cond.a.op]), facts)
    elif isinstance(cond, Bin) and dt.is_int(cond.a.dtype) and dt.lanes(cond.a.dtype) == 1:
        d = lin(cond.b, facts) - lin(cond.a, facts)
        if cond.op == "<":
            yield d - 1
        elif cond.op == "<=":
            yield d
        elif cond.op == ">":
            yield -d - 1
        elif cond.op == ">=":
            yield -d
        elif cond.op == "==":
            yield d
            yield -d


def conjuncts(cond: Expr) -> Iterable[Expr]:
    """The parts of `a and b and c`."""
    return operands("and", cond)


def operands(op: str, e: Expr) -> Iterable[Expr]:
    """The parts of `a op b op c`."""
    stack = [e]
    while stack:
        top = stack.pop()
        if type(top) is Bin and top.op == op:
            stack += [top.b, top.a]
        else:
            yield top


def reads_memory(e: Expr) -> bool:
    """Does it load, or call something that may?"""
    return any(map(touches_memory, walk(e)))


def touches_memory(e: Any) -> bool:
    """Does this node, without its parts?"""
    return type(e) is Load or (type(e) is Call and e.kind != "pure")


NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


# ---------------------------------------------------------------- expression -> form


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
            return _extreme(op, lin(a, facts, env), lin(b, facts, env), facts)
        if op in ("truncdiv", "truncmod"):
            x, y = lin(a, facts, env), lin(b, facts, env)
            if nonneg(x, facts) and nonneg(y, facts):
                return (floordiv if op == "truncdiv" else floormod)(x, y, facts)
    if t is Cast and dt.is_int(e.dtype) and dt.is_int(e.value.dtype):  # type: ignore[attr-defined]
        wide = dt.bits(e.dtype) >= dt.bits(e.value.dtype) and dt.is_signed(e.dtype)  # type: ignore[attr-defined]
        if wide:
            return lin(e.value, facts, env)  # type: ignore[attr-defined]
    return opaque(_simplify_parts(_with_env(e, env), facts))


def _simplify_parts(e: Expr, facts: Facts) -> Expr:
    """What `lin` cannot take apart (`i & j`): only its operands get simpler."""
    if type(e) is not Bin:
        return simplify(e, facts)
    a, b = simplify(e.a, facts), simplify(e.b, facts)
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


def product(a: Lin, b: Lin) -> Lin:
    if not b.terms:
        return a * b.const
    if not a.terms:
        return b * a.const
    total = Lin({}, a.const * b.const)
    if a.const:
        total = total + Lin(b.terms, 0) * a.const
    if b.const:
        total = total + Lin(a.terms, 0) * b.const
    for x, cx in a.terms.items():
        for y, cy in b.terms.items():
            total = total + Lin({_multiply(x, y): cx * cy}, 0)
    return total


def _factors(atom: Any) -> tuple[Any, ...]:
    return atom.args if isinstance(atom, Atom) and atom.op == "*" else (atom,)


def _multiply(x: Any, y: Any) -> Atom:
    parts = (*_factors(x), *_factors(y))
    key = ("*", *sorted((_key(p) for p in parts), key=repr))
    return Atom("*", parts, key)


def floordiv(a: Lin, d: Lin, facts: Facts = NOTHING) -> Lin:
    """a // d"""
    if not d.terms:
        return _div_const(a, d.const, facts)
    whole, rest = _divisible(a, d)
    if not whole.terms and not whole.const:
        return number(0) if within(a, d, facts) else Lin({_atom_div(a, d): 1}, 0)
    if within(rest, d, facts):
        return whole
    return whole + Lin({_atom_div(rest, d): 1}, 0)


def floormod(a: Lin, d: Lin, facts: Facts = NOTHING) -> Lin:
    """a % d"""
    if not d.terms:
        return _mod_const(a, d.const, facts)
    _, rest = _divisible(a, d)
    if within(rest, d, facts):
        return rest
    return Lin({_atom_mod(rest, d): 1}, 0)


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
        parts = list(_factors(x))
        at = next((i for i, p in enumerate(parts) if _key(p) == _key(atom)), None)
        if len(parts) > 1 and at is not None:
            parts.pop(at)
            left = parts[0] if len(parts) == 1 else Atom("*", tuple(parts), ("*", *sorted(map(_key, parts), key=repr)))
            q = q + Lin({left: c}, 0)
        else:
            r = r + Lin({x: c}, 0)
    return q, r


def within(x: Lin, d: Lin, facts: Facts) -> bool:
    """0 <= x < d, proved."""
    return nonneg(x, facts) and nonneg(d - x - 1, facts)


def _div_const(a: Lin, d: int, facts: Facts) -> Lin:
    if d == 1:
        return a
    if d == 0:
        raise ZeroDivisionError("division by zero in an index")
    if not a.terms:
        return number(a.const // d)
    if d < 0:
        return Lin({_atom_div(a, number(d)): 1}, 0)
    q = Lin({x: c // d for x, c in a.terms.items() if c % d == 0}, a.const // d)  # (d*x + r)//d -> x + r//d
    r = Lin({x: c for x, c in a.terms.items() if c % d}, a.const % d)
    if not r.terms or within(r, number(d), facts):
        return q
    g = _gcd(d, *r.terms.values())
    if g > 1:  # (g*x + k)//(g*e) -> (x + k//g)//e
        return q + _div_const(Lin({x: c // g for x, c in r.terms.items()}, r.const // g), d // g, facts)
    if not r.const and len(r.terms) == 1:
        (atom, c), = r.terms.items()
        if c == 1 and type(atom) is Atom and atom.op == "//" and not atom.args[1].terms:  # (x//a)//b -> x//(a*b)
            return q + _div_const(atom.args[0], atom.args[1].const * d, facts)
    if d * 2 > 2 and nonneg(r - d, facts) and nonneg(number(2 * d - 1) - r, facts):
        return q + 1
    return q + Lin({_atom_div(r, number(d)): 1}, 0)


def _mod_const(a: Lin, d: int, facts: Facts) -> Lin:
    if d == 1:
        return number(0)
    if d == 0:
        raise ZeroDivisionError("remainder by zero in an index")
    if not a.terms:
        return number(a.const % d)
    if d < 0:
        return Lin({_atom_mod(a, number(d)): 1}, 0)
    r = Lin({x: c % d for x, c in a.terms.items() if c % d}, a.const % d)  # (d*x + r) % d -> r % d
    if not r.terms or within(r, number(d), facts):
        return r
    plain = Lin({x: c for x, c in a.terms.items() if c % d}, a.const)
    if within(plain, number(d), facts):
        return plain
    g = _gcd(d, *r.terms.values())
    if g > 1 and r.const % g == 0:  # (g*x + g*k) % (g*e) -> g * ((x + k) % e)
        return _mod_const(Lin({x: c // g for x, c in r.terms.items()}, r.const // g), d // g, facts) * g
    if len(r.terms) == 1 and not r.const:
        (atom, c), = r.terms.items()
        if c == 1 and type(atom) is Atom and atom.op == "%" and not atom.args[1].terms and atom.args[1].const % d == 0:
            return _mod_const(atom.args[0], d, facts)  # (x % (d*e)) % d -> x % d
    return Lin({_atom_mod(r, number(d)): 1}, 0)


def _gcd(first: int, *rest: int) -> int:
    from math import gcd

    return gcd(first, *rest)


def smaller(a: Lin, b: Lin, facts: Facts = NOTHING) -> Lin:
    """min(a, b)"""
    return _extreme("min", a, b, facts)


def larger(a: Lin, b: Lin, facts: Facts = NOTHING) -> Lin:
    """max(a, b)"""
    return _extreme("max", a, b, facts)


def _extreme(op: str, a: Lin, b: Lin, facts: Facts) -> Lin:
    d = b - a
    if nonneg(d, facts):
        return a if op == "min" else b
    if nonneg(-d, facts):
        return b if op == "min" else a
    return opaque(Bin(op, to_expr(a), to_expr(b), "int32"))


# ---------------------------------------------------------------- bounds


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
        return None if b is None else _div_const(b, den.const, NOTHING)
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
        a, b = (_bound(lin(s, facts), facts, sign, over) for s in (e.a, e.b))
        if a is None or b is None:
            keep = a if b is None else b  # min(a, b) <= either; max(a, b) >= either
            return keep if (e.op == "min") == (sign > 0) else None
        return _extreme(e.op, a, b, NOTHING)
    if isinstance(e, Select) or (isinstance(e, Call) and e.name == "if_then_else"):
        if _is_long(e):
            return None
        then, other = (e.then, e.other) if isinstance(e, Select) else e.args[1:]
        a, b = (_bound(lin(s, facts), facts, sign, over) for s in (then, other))
        return None if a is None or b is None else _extreme("max" if sign > 0 else "min", a, b, NOTHING)
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
    for g in facts.guards:
        if any(a in x.terms for a in g.terms) and _never_negative(lower(x - g, facts)):
            return True
    return False


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


def decide(cond: Expr, facts: Facts) -> bool | None:
    """Is the condition always true, never true, or not known?"""
    if isinstance(cond, Const):
        return bool(cond.value)
    if isinstance(cond, Call) and cond.name == "likely":
        return decide(cond.args[0], facts)
    if isinstance(cond, Not):
        inner = decide(cond.a, facts)
        return None if inner is None else not inner
    if not isinstance(cond, Bin):
        return None
    if cond.op in ("and", "or"):
        a, b = decide(cond.a, facts), decide(cond.b, facts)
        if cond.op == "and":
            return False if False in (a, b) else True if a and b else None
        return True if True in (a, b) else False if a is False and b is False else None
    if not dt.is_int(cond.a.dtype) or dt.lanes(cond.a.dtype) > 1 or cond.op not in NEGATED:
        return None
    a, b = lin(cond.a, facts), lin(cond.b, facts)
    if _wraps(cond.a, a) or _wraps(cond.b, b):
        return None
    return _compare(cond.op, b - a, facts)


def _wraps(e: Expr, form: Lin) -> bool:
    """Arithmetic on data, unlike that on indices, may overflow: x + 1 > x is not always true."""
    return type(e) is Bin and any(type(a) is not Var and reads_memory(_atom_expr(a, e.dtype)) for a in form.terms)


def _compare(op: str, d: Lin, facts: Facts) -> bool | None:
    """`a op b` for d = b - a."""
    if op in ("==", "!="):
        if not d.terms:
            return (d.const == 0) == (op == "==")
        apart = nonneg(d - 1, facts) or nonneg(-d - 1, facts)
        return (op == "!=") if apart else None
    if op in (">", ">="):
        d, op = -d, "<" if op == ">" else "<="
    gap = d - 1 if op == "<" else d
    if nonneg(gap, facts):
        return True
    return False if nonneg(-gap - 1, facts) else None


# ---------------------------------------------------------------- form -> expression


def to_expr(x: Lin, dtype: str = "int32") -> Expr:
    """Positive terms first, then the negative ones, the constant last (first, in `7 - i`).

    Numbers that int32 does not hold make it int64.
    """
    total: Expr | None = None
    if dtype == "int32" and not (-WIDE <= x.const < WIDE and all(abs(c) < WIDE for c in x.terms.values())):
        dtype = "int64"
    if x.const > 0 and x.terms and all(c < 0 for c in x.terms.values()):
        total, x = Const(x.const, dtype), Lin(x.terms)
    for positive in (True, False):
        for atom, c in x.terms.items():
            if (c > 0) != positive:
                continue
            term = _atom_expr(atom, dtype)
            scaled = term if abs(c) == 1 else Bin("*", term, Const(abs(c), dtype), dtype)
            if total is None:
                total = scaled if positive else Bin("*", term, Const(c, dtype), dtype)
            else:
                total = Bin("+" if positive else "-", total, scaled, dtype)
    if total is None:
        return build.const(x.const, dtype)
    return Bin("+", total, Const(x.const, dtype), dtype) if x.const else total


def _atom_expr(atom: Any, dtype: str) -> Expr:
    if isinstance(atom, Var):
        return build.cast(atom, dtype)
    if atom.op in ("//", "%"):
        return Bin(atom.op, to_expr(atom.args[0], dtype), to_expr(atom.args[1], dtype), dtype)
    if atom.op == "*":
        total = _atom_expr(atom.args[0], dtype)
        for part in atom.args[1:]:
            total = Bin("*", total, _atom_expr(part, dtype), dtype)
        return total
    return build.cast(atom.args[0], dtype)


# ---------------------------------------------------------------- simplification of any expression


def simplify(e: Expr, facts: Facts = NOTHING) -> Expr:
    """The same value, plainer: index arithmetic in canonical form, decided conditions removed."""
    t = type(e)
    if t is Const or t is Var:
        return e
    if t is Bin:
        if e.op in NEGATED or e.op in ("and", "or"):  # type: ignore[attr-defined]
            return _simplify_condition(e, facts)  # type: ignore[arg-type]
        if _is_index(e.dtype):
            x = lin(e, facts)
            if len(x.terms) == 1 and not x.const:
                (atom, c), = x.terms.items()
                if c == 1 and type(atom) is Atom and atom.op == "expr":
                    return build.cast(atom.args[0], e.dtype)
            return _kept(e, to_expr(x, e.dtype))
    if t is Not:
        known = decide(e, facts)
        if known is not None:
            return build.const(known, "bool")
        inner = simplify(e.a, facts)  # type: ignore[attr-defined]
        return e if inner is e.a else build.not_(inner)  # type: ignore[attr-defined]
    if t is Select or (t is Call and e.name == "if_then_else"):  # type: ignore[attr-defined]
        return _simplify_choice(e, facts)
    made = map_children(e, lambda c: simplify(c, facts) if isinstance(c, Expr) else c)
    if type(made) is Cast and isinstance(made.value, Const):
        return build.cast(made.value, made.dtype)
    if type(made) is Bin and made is not e:
        return build.binary(made.op, made.a, made.b) if dt.lanes(made.dtype) == 1 else made
    return made


def _kept(old: Expr, new: Expr) -> Expr:
    """The old node where the new one says the same: `is` tells what changed."""
    return old if identical(old, new) else new


def _is_index(dtype: str) -> bool:
    return dtype in ("int32", "int64")


def _simplify_condition(e: Bin, facts: Facts) -> Expr:
    if e.op in ("and", "or"):
        return _simplify_logic(e, facts)
    known = decide(e, facts)
    if known is not None and dt.lanes(e.dtype) == 1:
        return build.const(known, "bool")
    a, b = simplify(e.a, facts), simplify(e.b, facts)
    return e if a is e.a and b is e.b else replace(e, a=a, b=b)


def _simplify_logic(e: Bin, facts: Facts) -> Expr:
    """`a and b and c`: each knows what comes before it."""
    parts = list(operands(e.op, e))
    made = []
    for part in parts:
        made.append(simplify(part, facts))
        if e.op == "and":
            facts = facts.with_condition(made[-1])
    if all(map(operator.is_, made, parts)):
        return e
    joined = made[0]
    for part in made[1:]:
        joined = build.binary(e.op, joined, part)
    return _kept(e, joined)


def _simplify_choice(e: Any, facts: Facts) -> Expr:
    cond, then, other = (e.cond, e.then, e.other) if isinstance(e, Select) else e.args
    cond = simplify(cond, facts)
    known = decide(cond, facts)
    if known is not None:
        return simplify(then if known else other, facts)
    a = simplify(then, facts.with_condition(cond))
    b = simplify(other, facts.with_condition(build.not_(cond)) if dt.lanes(cond.dtype) == 1 else facts)
    return _kept(e, Select(cond, a, b) if isinstance(e, Select) else replace(e, args=(cond, a, b)))


def resolve(value: Any) -> Expr:
    """An axis or a number as an expression."""
    return value.var if isinstance(value, IterVar) else build.to_expr(value)


def loads(e: Any) -> Iterable[Load]:
    """Every load in an expression, in reading order."""
    return (x for x in walk(e) if type(x) is Load)
