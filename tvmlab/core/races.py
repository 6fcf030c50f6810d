"""Do the iterations of a parallel loop stay out of each other's elements?

Each access to memory that the iterations share is `c*p + rest` in every dimension, p being the loop's variable. If in
one dimension c is the same for all accesses to a buffer and the rests of all of them span less than |c|, iteration p
has the window [c*p + least, c*p + most] to itself. Where the loop is a fused one, p is known from its digits p//d and
p%d, which may lie in different dimensions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from . import affine
from .affine import Facts, Lin
from .node import For, Var

Race = tuple[str, str, str, Any]


@dataclass(frozen=True, eq=False)
class Access:
    """A load or store with the forms of its indices and what is known there."""

    node: Any
    store: bool
    forms: tuple[Lin, ...]
    facts: Facts


def races(loop: For, accesses: Sequence[Access]) -> Iterator[Race]:
    """(rule, status, message, place) for each buffer that iterations may share."""
    extent = affine.lin(loop.extent)
    if extent.is_const() and extent.const <= 1:
        return
    written = {a.node.buffer.data for a in accesses if a.store}
    for memory in written:
        mine = [a for a in accesses if a.node.buffer.data is memory]
        if apart(loop.var, mine):
            continue
        name = mine[0].node.buffer.name
        same = next((a for a in mine if a.store and _ignores(a, loop.var)), None)
        if same is not None and extent.is_const():
            message = f"every iteration of the parallel loop `{loop.var.name}` writes the same elements of `{name}`"
            yield "parallel-race", "refuted", message, same.node
        else:
            place = next(a.node for a in mine if a.store)
            message = f"may iterations of the parallel loop `{loop.var.name}` touch the same elements of `{name}`?"
            yield "parallel-race", "unknown", message, place


def apart(p: Var, accesses: Sequence[Access]) -> bool:
    """Do different values of p touch different elements, proved?"""
    if len({len(a.forms) for a in accesses}) != 1:
        return False
    digits: set[Any] = set()
    for dim in range(len(accesses[0].forms)):
        digits |= _digits(p, dim, accesses)
    return _known(p, digits)


def _ignores(a: Access, p: Var) -> bool:
    """Neither the place nor anything known about it has to do with p."""
    order = {p: 0}
    forms = (*a.forms, *a.facts.guards, *(x for v in a.facts.ranges if v is not p for x in a.facts.ranges[v]))
    return not any(affine.mentions(atom, order) for form in forms for atom in form.terms)


def _digits(p: Var, dim: int, accesses: Sequence[Access]) -> set[Any]:
    """The digits of p (p itself, p//d, p%d) that the index in this dimension tells, whichever access it is."""
    parts = [_split(p, a.forms[dim], a) for a in accesses]
    if None in parts:
        return set()
    kept = [part for part in parts if part is not None]
    shape = next((digits for digits, _ in kept if digits), None)
    if shape is None:
        return set()
    lows, highs = [], []
    for access, (digits, own) in zip(accesses, kept, strict=True):
        rest = own if digits else _at_its_value(p, own, shape, access)
        if rest is None or (digits and not _same(digits, shape)):
            return set()
        inner = [v for v, k in access.facts.order.items() if k > access.facts.order[p]]
        lows.append(affine.relax(rest, access.facts, inner, -1))
        highs.append(affine.relax(rest, access.facts, inner, 1))
    facts = accesses[0].facts
    around = {v: r for v, r in facts.ranges.items() if facts.order[v] <= facts.order[p]}
    return _told(shape, lows, highs, Facts(around))


def _split(p: Var, form: Lin, access: Access) -> tuple[dict[Any, tuple[Any, Lin]], Lin] | None:
    """form = sum(coefficient * digit) + rest;  {key of the digit: (digit, coefficient)}, rest"""
    order = {p: 0}
    digits: dict[Any, tuple[Any, Lin]] = {}
    rest = Lin({}, form.const)
    for atom, c in form.terms.items():
        if not affine.mentions(atom, order):
            rest = rest + Lin({atom: c}, 0)
            continue
        digit, factor = _digit_and_factor(atom, order)
        if digit is None:
            return None
        key = id(digit) if type(digit) is Var else digit.key
        old = digits.get(key)
        digits[key] = (digit, factor * c if old is None else old[1] + factor * c)
    return digits, rest


def _digit_and_factor(atom: Any, order: dict[Any, int]) -> tuple[Any, Lin]:
    """p*n*m -> p, n*m;  p//8 -> p//8, 1"""
    if type(atom) is Var or atom.op in ("//", "%"):
        return atom, affine.number(1)
    if atom.op != "*":
        return None, affine.number(0)
    inside = [x for x in atom.args if affine.mentions(x, order)]
    factor = affine.number(1)
    for x in atom.args:
        if x is not inside[0]:
            factor = affine.product(factor, Lin({x: 1}, 0))
    return (None, factor) if len(inside) != 1 or not _is_digit(inside[0]) else (inside[0], factor)


def _is_digit(x: Any) -> bool:
    return type(x) is Var or x.op in ("//", "%")


def _same(a: dict[Any, tuple[Any, Lin]], b: dict[Any, tuple[Any, Lin]]) -> bool:
    return a.keys() == b.keys() and all(a[k][1].key == b[k][1].key for k in a)


def _at_its_value(p: Var, rest: Lin, shape: dict[Any, tuple[Any, Lin]], access: Access) -> Lin | None:
    """An access that does not name p, in a branch that only one value of p takes: that value's window."""
    value = _only_value(p, access.facts)
    if value is None or list(shape) != [id(p)]:
        return None
    return rest - shape[id(p)][1] * value


def _only_value(p: Var, facts: Facts) -> int | None:
    lo, hi = facts.ranges[p]
    if not (lo.is_const() and hi.is_const()):
        return None
    first, last = lo.const, hi.const
    for g in facts.guards:
        c = g.terms.get(p)
        if len(g.terms) == 1 and c:
            if c > 0:
                first = max(first, -(g.const // c))
            else:
                last = min(last, g.const // -c)
    return first if first == last else None


def _told(shape: dict[Any, tuple[Any, Lin]], lows: list[Any], highs: list[Any], facts: Facts) -> set[Any]:
    """Mixed radix: the coefficient of each digit is larger than what everything below it spans."""
    if None in lows or None in highs:
        return set()
    terms = [(c if affine.nonneg(c, facts) else -c, digit) for digit, c in shape.values()]
    if not all(affine.nonneg(c, facts) for c, _ in terms):
        return set()
    terms.sort(key=lambda t: (len(t[0].terms), abs(t[0].const)))
    below = affine.number(0)
    lows, highs = list({x.key: x for x in lows}.values()), list({x.key: x for x in highs}.values())
    for c, digit in terms:
        room = c - 1 - below
        if not all(affine.nonneg(room - (hi - lo), facts) for lo in lows for hi in highs):
            return set()
        span = _span(digit, facts)
        if span is None:
            return set() if len(terms) > 1 else {_key(digit)}
        below = below + affine.product(c, span)
    return {_key(digit) for _, digit in terms}


def _span(digit: Any, facts: Facts) -> Lin | None:
    """Largest minus smallest value of a digit."""
    lo, hi = affine.lower(Lin({digit: 1}, 0), facts), affine.upper(Lin({digit: 1}, 0), facts)
    return None if lo is None or hi is None else hi - lo


def _key(digit: Any) -> Any:
    return id(digit) if type(digit) is Var else digit.key


def _known(p: Var, digits: set[Any]) -> bool:
    """Is p known from the digits? x is, from x//d and x%d; x%d is, from (x%d)//e and x%e where e divides d."""
    return _follows(affine.var(p), digits)


def _follows(x: Lin, digits: set[Any]) -> bool:
    if len(x.terms) == 1 and not x.const:
        (atom, c), = x.terms.items()
        if c == 1 and _key(atom) in digits:
            return True
    for key in digits:
        if not (isinstance(key, tuple) and key[0] == "//" and key[1] == x.key):
            continue
        if ("%", x.key, key[2]) in digits:  # also by a symbolic divisor
            return True
        if not key[2][1] and key[2][0] and _follows_atom(affine.floormod(x, Lin({}, key[2][0])), digits):
            return True
    return False


def _follows_atom(x: Lin, digits: set[Any]) -> bool:
    return len(x.terms) == 1 and not x.const and (_key(next(iter(x.terms))) in digits or _follows(x, digits))
