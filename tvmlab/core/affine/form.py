"""Linear forms: integer combinations of atoms, the canonical shape of index arithmetic."""

from __future__ import annotations

from typing import Any

from .. import build
from ..node import Bin, Const, Expr, Node, Var

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
        return (self.const, frozenset((key_of(a), c) for a, c in self.terms.items()))

    def __add__(self, other: Lin | int) -> Lin:
        if isinstance(other, int):
            return Lin(self.terms, self.const + other)
        if not other.terms:
            return Lin(self.terms, self.const + other.const)
        if not self.terms:
            return Lin(other.terms, self.const + other.const)
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
        if isinstance(other, int):
            return Lin(self.terms, self.const - other)
        return self + other * -1 if other.terms else Lin(self.terms, self.const - other.const)

    def __neg__(self) -> Lin:
        return self * -1

    def is_const(self) -> bool:
        return not self.terms

    def __repr__(self) -> str:
        return f"Lin({to_expr(self)!r})"


def key_of(atom: Any) -> Any:
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


def quotient(num: Lin, den: Lin) -> Atom:
    return Atom("//", (num, den), ("//", num.key, den.key))


def remainder(num: Lin, den: Lin) -> Atom:
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
            total = total + Lin({multiplied((*factors(x), *factors(y))): cx * cy}, 0)
    return total


def factors(atom: Any) -> tuple[Any, ...]:
    return atom.args if isinstance(atom, Atom) and atom.op == "*" else (atom,)


def multiplied(parts: tuple[Any, ...]) -> Any:
    """The product of atoms as one atom, the same whatever their order."""
    if len(parts) == 1:
        return parts[0]
    return Atom("*", parts, ("*", *sorted((key_of(p) for p in parts), key=repr)))


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
        return Const(x.const, dtype) if dtype == "int32" else build.const(x.const, dtype)
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
