"""Indices that the verifier cannot bound, settled by trying all values of the loops that they depend on.

    if xo*4 + xi < 7: Y[xo*32 + xi*8 + j] = ...        2 * 4 * 8 values say that the index stays below 56

Only the loops that the index and its conditions name are tried, whatever else the program does, so that this also
works for programs that are far too big to run. What holds for all values is proved; nothing is refuted here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ..core.affine import Atom, Facts, Lin, bounds, var
from ..core.node import Var
from ..core.program import Function, Program
from ..core.verify import Verifier

MOST = 1 << 20  # values tried for one index: some hundredths of a second
Open = tuple[Lin, Lin, Facts]  # index, extent, what is known there


def settled(program: Program, messages: Iterable[str]) -> set[str]:
    """Those of the verifier's messages about indices that all values prove wrong."""
    found: dict[str, list[Open]] = {}
    for fn in program.functions:
        watching = _Watching(fn, found)
        watching.run()
    return {m for m in messages if m in found and all(map(inside, found[m]))}


class _Watching(Verifier):
    """Keeps the indices that are in doubt, by the message about them."""

    def __init__(self, fn: Function, found: dict[str, list[Open]]) -> None:
        super().__init__(fn)
        self.open = found

    def inside(self, a: Any, k: int, form: Lin, n: Lin, facts: Facts) -> None:
        before = len(self.found)
        super().inside(a, k, form, n, facts)
        for f in self.found[before:]:
            self.open.setdefault(f.message, []).append((form, n, facts))


def inside(doubt: Open) -> bool:
    """0 <= form < n for all values of the loops, where the conditions hold?"""
    form, n, facts = doubt
    try:
        return _tried(form, n, facts)
    except _NoNumber:
        return False


class _NoNumber(Exception):
    """Something that depends on memory or on a size that is known only when called."""


def _tried(form: Lin, n: Lin, facts: Facts) -> bool:
    known = set(variables(form)) | set(variables(n))
    ranges = {v: _range(v, facts) for v in known}
    conditions: list[Lin] = []
    for g in _conditions(facts):  # each one left out only widens what is tried
        more = {v: _range(v, facts) for v in variables(g) if v not in ranges} if _plain(g) else {}
        if _plain(g) and known & set(variables(g)) and _count({**ranges, **more}) <= MOST:
            ranges.update(more)
            known |= set(more)
            conditions.append(g)
    if _count(ranges) > MOST:
        return False
    values = _grid(ranges)
    index, extent = _value(form, values), _value(n, values)
    good = (index >= 0) & (index < extent)
    for g in conditions:
        good = good | (_value(g, values) < 0)
    return bool(np.all(good))


def _conditions(facts: Facts) -> Iterator[Lin]:
    """The guards, and the bounds of loops that depend on other loops; those of few variables first."""
    found = list(facts.guards)
    for v, (lo, hi) in facts.ranges.items():
        found += [var(v) - lo] if lo.terms else []
        found += [hi - var(v)] if hi.terms else []
    yield from sorted(found, key=lambda g: len(set(variables(g))))


def _range(v: Var, facts: Facts) -> tuple[int, int]:
    lo, hi = bounds(var(v), facts) if v in facts.ranges else (None, None)
    if lo is None or hi is None:
        raise _NoNumber
    return lo, hi


def _count(ranges: dict[Any, tuple[int, int]]) -> int:
    total = 1
    for lo, hi in ranges.values():
        total *= max(hi - lo + 1, 0)
    return total


def _grid(ranges: dict[Any, tuple[int, int]]) -> dict[Any, Any]:
    """A dimension for each variable."""
    made = {}
    for k, (v, (lo, hi)) in enumerate(ranges.items()):
        shape = [1] * len(ranges)
        shape[k] = max(hi - lo + 1, 0)
        made[v] = np.arange(lo, hi + 1, dtype=np.int64).reshape(shape)
    return made


def variables(x: Lin) -> Iterator[Any]:
    for atom in x.terms:
        yield from _inside_of(atom)


def _inside_of(atom: Any) -> Iterator[Any]:
    if not isinstance(atom, Atom):
        yield atom
    elif atom.op != "expr":
        for a in atom.args:
            yield from variables(a) if isinstance(a, Lin) else _inside_of(a)


def _plain(x: Lin) -> bool:
    """Is it made of loops' variables alone?"""
    return all(not isinstance(a, Atom) or _plain_atom(a) for a in x.terms)


def _plain_atom(a: Any) -> bool:
    if not isinstance(a, Atom):
        return True
    parts = (_plain(p) if isinstance(p, Lin) else _plain_atom(p) for p in a.args)
    return a.op in ("//", "%", "*") and all(parts)


def _value(x: Lin, values: dict[Any, Any]) -> Any:
    total: Any = np.int64(x.const)
    for atom, c in x.terms.items():
        total = total + c * _of(atom, values)
    return total


def _of(atom: Any, values: dict[Any, Any]) -> Any:
    if not isinstance(atom, Atom):
        return values[atom]
    if not _plain_atom(atom):
        raise _NoNumber
    if atom.op == "*":
        total: Any = np.int64(1)
        for a in atom.args:
            total = total * _of(a, values)
        return total
    num, den = (_value(a, values) for a in atom.args)
    if np.any(den == 0):
        raise _NoNumber
    return num // den if atom.op == "//" else num % den
