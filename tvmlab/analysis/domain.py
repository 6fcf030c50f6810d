"""Sets of integer points: a box of variables cut by conditions (forms that are >= 0), and how many points they hold.

    for i in 0..32: for j in 0..32: if 32*i + j < 1000      box {i: 0..31, j: 0..31}, condition 999 - 32*i - j

Counted without visiting the points: conditions that always hold are dropped, variables that no condition ties together
are counted apart, and a variable whose values hardly ever cross a condition is split at those that do. What is left
(two triangular loops, say) is counted over all variables but one, with NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.affine import Lin

Box = Mapping[Any, tuple[int, int]]  # inclusive bounds
FEW = 4  # values that are looked at one by one
MANY = 2000
TRIES = 500  # points that are tried in search of one in the middle
GRID = 1_200_000  # points of a grid


class Unknown(Exception):
    """It has no closed form, and is too large to be counted point by point."""


def span(x: Lin, box: Box) -> tuple[int, int]:
    """The smallest and the largest value of a form over a box."""
    lo = hi = x.const
    for v, c in x.terms.items():
        a, b = box[v]
        lo, hi = (lo + c * a, hi + c * b) if c > 0 else (lo + c * b, hi + c * a)
    return lo, hi


def at(x: Lin, values: Mapping[Any, int]) -> Lin:
    """The form with values for some variables."""
    if not x.terms or not values:
        return x
    terms, const = {}, x.const
    for v, c in x.terms.items():
        known = values.get(v)
        if known is None:
            terms[v] = c
        else:
            const += c * known
    return Lin(terms, const)


def tightened(box: Box, cons: Sequence[Lin]) -> tuple[dict[Any, tuple[int, int]], list[Lin]] | None:
    """The same points in a smaller box with fewer conditions; None where there are none."""
    made = dict(box)
    if any(lo > hi for lo, hi in made.values()):
        return None
    left = list(cons)
    for _ in range(8):
        kept, moved = [], False
        for x in left:
            lo, hi = span(x, made)
            if hi < 0:
                return None
            if lo >= 0:
                continue
            kept.append(x)
            moved |= _narrow(x, hi, made)
        left = kept
        if not moved:
            break
    return made, left


def _narrow(x: Lin, most: int, box: dict[Any, tuple[int, int]]) -> bool:
    """Cut from each variable the values at which x < 0 whatever the others are. `most`: the largest value of x."""
    moved = False
    for v, c in x.terms.items():
        lo, hi = box[v]
        if c > 0:  # c*v + rest >= 0 with rest <= most - c*hi
            first = -((most - c * hi) // c)
            if first > lo:
                box[v] = (first, hi)
                moved = True
        else:
            last = (most - c * lo) // -c
            if last < hi:
                box[v] = (lo, last)
                moved = True
    return moved


def components(cons: Sequence[Lin]) -> list[tuple[list[Any], list[Lin]]]:
    """The conditions in groups that have no variable in common, each with its variables."""
    groups: list[tuple[list[Any], list[Lin]]] = []
    for x in cons:
        mine = dict.fromkeys(x.terms)
        together, apart = [x], []
        for variables, forms in groups:
            if any(v in mine for v in variables):
                mine.update(dict.fromkeys(variables))
                together = forms + together
            else:
                apart.append((variables, forms))
        groups = [*apart, (list(mine), together)]
    return groups


def points(box: Box, cons: Sequence[Lin] = ()) -> int:
    """How many points of the box meet all conditions. Raises Unknown."""
    if not cons:
        return math.prod([max(0, hi - lo + 1) for lo, hi in box.values()])
    cut = tightened(box, cons)
    if cut is None:
        return 0
    small, left = cut
    if not left:
        return math.prod([hi - lo + 1 for lo, hi in small.values()])
    groups = components(left)
    tied = {v for variables, _ in groups for v in variables}
    total = math.prod([hi - lo + 1 for v, (lo, hi) in small.items() if v not in tied])
    for variables, forms in groups:
        total *= _tied({v: small[v] for v in variables}, forms)
    return total


def _tied(box: dict[Any, tuple[int, int]], cons: list[Lin]) -> int:
    """Points of variables that the conditions tie together."""
    best, fewest = None, MANY + 1
    for v in sorted(box, key=lambda v: -max(abs(x.terms.get(v, 0)) for x in cons)):
        first, last = _free(v, box, cons)
        crossing = box[v][1] - box[v][0] + 1 - max(0, last - first + 1)
        if crossing < fewest:
            best, fewest = (v, first, last), crossing
        if crossing <= FEW:
            break
    if fewest > FEW and (apart := _apart(box, cons)):
        return _grid(box, cons, apart)
    if best is None:
        raise Unknown
    v, first, last = best
    rest = {w: r for w, r in box.items() if w is not v}
    total = 0
    if last >= first:
        total = (last - first + 1) * points(rest, [x for x in cons if v not in x.terms])
    for value in range(box[v][0], box[v][1] + 1):
        if not first <= value <= last:
            total += points(rest, [at(x, {v: value}) for x in cons])
    return total


def _free(v: Any, box: Box, cons: Sequence[Lin]) -> tuple[int, int]:
    """The values of a variable at which every condition on it holds, whatever the others are."""
    first, last = box[v]
    for x in cons:
        c = x.terms.get(v)
        if not c:
            continue
        least = span(x, box)[0] - (c * box[v][0] if c > 0 else c * box[v][1])  # of the rest
        if c > 0:
            first = max(first, -(least // c))
        else:
            last = min(last, least // -c)
    return first, last


def _apart(box: Box, cons: Sequence[Lin]) -> list[Any]:
    """Variables of which no condition ties two together, the longest first; none where the others make a large grid."""
    found: list[Any] = []
    for v in sorted(box, key=lambda v: box[v][0] - box[v][1]):
        if not any(v in x.terms and any(w in x.terms for w in found) for x in cons):
            found.append(v)
    rest = math.prod([hi - lo + 1 for v, (lo, hi) in box.items() if v not in found])
    return found if rest <= GRID else []


def _grid(box: Box, cons: Sequence[Lin], apart: Sequence[Any]) -> int:
    """Over a grid of the variables that are not `apart`; the values of each of those are counted by its bounds."""
    values = grid({v: r for v, r in box.items() if v not in apart})
    total: Any = np.int64(1)
    for x in cons:
        if not any(v in x.terms for v in apart):
            total = total * (evaluate(x, values) >= 0)
    for v in apart:
        lo, hi = (np.int64(b) for b in box[v])
        for x in cons:
            c = x.terms.get(v, 0)
            if c:
                other = evaluate(Lin({w: k for w, k in x.terms.items() if w is not v}, x.const), values)
                lo, hi = (np.maximum(lo, -(other // c)), hi) if c > 0 else (lo, np.minimum(hi, other // -c))
        total = total * np.maximum(hi - lo + 1, 0)
    return int(total.sum())


def projected(box: Box, cons: Sequence[Lin], keep: Mapping[Any, Any]) -> list[Lin]:
    """The conditions without variables that are not kept, where that is exact: those that count in steps of one."""
    left = list(cons)
    for v in dict.fromkeys(v for x in cons for v in x.terms if v not in keep):
        lows = [x for x in left if x.terms.get(v, 0) > 0]
        highs = [x for x in left if x.terms.get(v, 0) < 0]
        if any(abs(x.terms[v]) != 1 for x in (*lows, *highs)) or len(lows) * len(highs) > FEW:
            continue
        first, last = box[v]
        lows, highs = [*lows, Lin({v: 1}, -first)], [*highs, Lin({v: -1}, last)]
        left = [x for x in left if v not in x.terms] + [a + b for a in lows for b in highs]
        left = [x for x in left if x.terms or x.const < 0]
    return left


def grid(box: Box) -> dict[Any, Any]:
    """Arrays that broadcast to all points of the box, one axis per variable."""
    if math.prod([hi - lo + 1 for lo, hi in box.values()]) > GRID:
        raise Unknown
    n = len(box)
    return {
        v: np.arange(lo, hi + 1, dtype=np.int64).reshape([-1 if k == i else 1 for k in range(n)])
        for i, (v, (lo, hi)) in enumerate(box.items())
    }


def evaluate(x: Lin, values: Mapping[Any, Any]) -> Any:
    """The form's value for numbers or arrays."""
    total = np.int64(x.const)
    for v, c in x.terms.items():
        total = total + values[v] * c
    return total


def middle(order: Iterable[Any], box: Box, cons: Sequence[Lin]) -> dict[Any, int] | None:
    """A point in the middle: the variables, outermost first, each as near the middle of what is left as may be.

    None where no point is found. Variables that are not in `order` only have to have some value.
    """
    return _middle(list(order), dict(box), list(cons), [TRIES])


def _middle(
    order: list[Any], box: dict[Any, tuple[int, int]], cons: list[Lin], tries: list[int]
) -> dict[Any, int] | None:
    cut = tightened(box, cons)
    if cut is None:
        return None
    if not order:
        return {}
    (v, *rest), (box, cons) = order, cut
    for value in _outwards(*box[v]):
        tries[0] -= 1
        if tries[0] < 0:
            return None
        found = _middle(rest, {**box, v: (value, value)}, cons, tries)
        if found is not None:
            return {v: value, **found}
    return None


def _outwards(lo: int, hi: int) -> Iterator[int]:
    """The numbers from the middle on: 4, 5, 3, 6, 2 ..."""
    start = (lo + hi) // 2
    yield start
    for k in range(1, hi - lo + 1):
        if start + k <= hi:
            yield start + k
        if start - k >= lo:
            yield start - k
