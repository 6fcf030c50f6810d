"""What the accesses of one statement touch, loop by loop.

    for i in 0..4: for j in 0..8: C[i] += A[i, j] * B[j]        levels: 0 the whole, 1 one run of j, 2 one iteration

Distinct elements are exact where a dimension's index is a sum of loops whose steps fill it or lie apart (tiles,
strides, windows), and are cut to the shape; otherwise (quotients of fused loops, data) they are an upper bound. Guards
are not looked at: what they forbid counts as touched.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..analysis.access import Loop, Reader, Site
from ..core import dtype as dt
from ..core.affine import Lin
from ..core.node import Buffer, Const

LINE = 64  # bytes
FLAT = ("vectorized", "unrolled")  # loops that are none in the code


class Nest:
    """The loops around a statement, outermost first, a vector's lanes last."""

    def __init__(self, reader: Reader, loop: Loop, lane: Any, lanes: int) -> None:
        path = [x for x in loop.path if x.var is not None and x.node is not None]
        self.reader = reader
        self.loops = path
        self.vars = [x.var for x in path]
        self.extents = [max(1, x.box[1] - x.box[0] + 1) for x in path]
        self.kinds = [x.node.kind for x in path if x.node is not None]
        self.threads = [x.node.thread for x in path if x.node is not None]
        if lane is not None:
            self.vars.append(lane)
            self.extents.append(lanes)
            self.kinds.append("vectorized")
            self.threads.append("")
        self.place = {v: k for k, v in enumerate(self.vars)}
        self.inside = [1] * (len(self.vars) + 1)  # iterations of all loops from a level inwards
        for k in range(len(self.vars) - 1, -1, -1):
            self.inside[k] = self.inside[k + 1] * self.extents[k]

    @property
    def depth(self) -> int:
        return len(self.vars)

    @property
    def body(self) -> int:
        """The level of the body of the innermost loop that is one in the code."""
        k = self.depth
        while k and (self.kinds[k - 1] in FLAT or self.extents[k - 1] == 1):
            k -= 1
        return k

    def counts(self, v: Any) -> list[int]:
        """How many values a variable, or a quotient of some, takes at each level."""
        k = self.place.get(v)
        if k is not None:
            return [self.extents[k]] * (k + 1) + [1] * (self.depth - k)
        definition = self.reader.defs.get(v)
        if definition is None:
            return [1] * (self.depth + 1)
        most = self.reader.box[v][1] - self.reader.box[v][0] + 1
        spans = self.spans(definition.num)
        return [min(most, x // definition.d + 1) for x in spans]

    def spans(self, form: Lin) -> list[int]:
        """The largest value minus the smallest, at each level."""
        total = [0] * (self.depth + 1)
        for v, c in form.terms.items():
            for level, n in enumerate(self.counts(v)):
                total[level] += abs(c) * (n - 1)
        return total

    def uses(self, form: Lin) -> set[int]:
        """The loops that a form depends on, by place."""
        found = set()
        for v in form.terms:
            k = self.place.get(v)
            if k is not None:
                found.add(k)
            elif v in self.reader.defs:
                found |= self.uses(self.reader.defs[v].num)
        return found


class Access:
    """All accesses of a statement to one buffer that differ by constants only.

    `elements`, `lines`: distinct ones touched, per level; `strides`: elements between one iteration and the next, per
    loop, 0 where the loop does not matter.
    """

    def __init__(self, nest: Nest, sites: Sequence[Site]) -> None:
        first = sites[0]
        self.nest, self.buffer, self.sites = nest, first.buffer, sites
        self.size = dt.nbytes(self.buffer.dtype)
        self.reads = any(not s.store for s in sites)
        self.writes = any(s.store for s in sites)
        self.count = sum(1 for s in sites if not s.store)
        self.shape = shape(self.buffer)
        self.whole = math.prod(self.shape)
        self.known = first.forms is not None
        if first.forms is not None:
            self._affine(first.forms, sites)
        else:
            self.used = set(range(nest.depth))
            self.elements = [min(n, self.whole) for n in nest.inside]
            self.lines = list(self.elements)
            self.strides = [self.whole] * nest.depth

    def _affine(self, forms: Sequence[Lin], sites: Sequence[Site]) -> None:
        nest = self.nest
        per_form = [nest.uses(f) for f in forms]
        self.used = set().union(*per_form) if per_form else set()
        spread = [_spread([s.forms[d].const for s in sites if s.forms]) for d in range(len(forms))]
        dims = [self._dimension(f, spread[d], self.shape[d]) for d, f in enumerate(forms)]
        shared = len(self.used) < sum(map(len, per_form))  # a loop in two dimensions: a diagonal
        most = self._most(len(sites)) if shared else None
        self.elements, self.lines = [], []
        for level in range(nest.depth + 1):
            parts = [d[level] for d in dims]
            n = min(math.prod([runs * count for runs, count, _ in parts]), self.whole)
            if most is not None:
                n = min(n, most[level])
            self.elements.append(n)
            self.lines.append(self._lines(parts, n))
        steps = strides(self.buffer, self.shape)
        self.strides = [0] * nest.depth
        for form, step in zip(forms, steps, strict=True):
            for v, c in form.terms.items():
                k = nest.place.get(v)
                if k is not None:
                    self.strides[k] += c * step
        for k in self.used:
            self.strides[k] = self.strides[k] or 1  # by way of a quotient

    def _most(self, sites: int) -> list[int]:
        """Iterations of the loops that matter, per level."""
        total = [sites] * (self.nest.depth + 1)
        for k in self.used:
            for level in range(k + 1):
                total[level] *= self.nest.extents[k]
        return total

    def _dimension(self, form: Lin, spread: tuple[int, int], extent: int) -> list[tuple[int, int, int]]:
        """Per level: runs, elements in each, their step."""
        terms = [(abs(c), self.nest.counts(v)) for v, c in form.terms.items()]
        terms.sort(key=_first)
        found, last, key = [], (1, 1, 1), None
        for level in range(self.nest.depth, -1, -1):
            now = [(c, n[level]) for c, n in terms]
            if now != key:
                last, key = progression([spread, *now] if spread[1] > 1 else now, extent), now
            found.append(last)
        return found[::-1]

    def _lines(self, parts: Sequence[tuple[int, int, int]], elements: int) -> int:
        """Cache lines: of the stretches that lie together, along the last dimensions."""
        if not parts or parts[-1][2] * self.size >= LINE:
            return elements
        runs, whole, step = parts[-1]
        stretch = (whole - 1) * step + 1
        full = runs == step == 1 and whole == self.shape[-1]
        for (runs, count, step), extent in zip(parts[-2::-1], self.shape[-2::-1], strict=True):
            if not full or not runs == step == 1:
                break
            stretch, whole, full = stretch * count, whole * count, count == extent
        rows = -(-elements // (parts[-1][0] * parts[-1][1])) * -(-self.shape[-1] * self.size // LINE)
        apart = -(-elements // whole) * -(-stretch * self.size // LINE)
        return min(elements, apart, rows, -(-self.whole * self.size // LINE))

    def innermost(self) -> int:
        """The innermost loop that takes it from one element to another; -1: there is none."""
        return max((k for k in self.used if self.nest.extents[k] > 1), default=-1)

    def again(self) -> int:
        """The innermost loop that comes back to the same elements; -1: there is none."""
        nest = self.nest
        return max((k for k in range(nest.depth) if k not in self.used and nest.extents[k] > 1), default=-1)


def _first(term: tuple[int, Any]) -> int:
    return term[0]


def _spread(consts: Sequence[int]) -> tuple[int, int]:
    """Constants as a loop: their step, and how many."""
    kinds = sorted(set(consts))
    if len(kinds) < 2:
        return 1, 1
    step = math.gcd(*[b - a for a, b in zip(kinds, kinds[1:])])
    return step, (kinds[-1] - kinds[0]) // step + 1


def progression(terms: Sequence[tuple[int, int]], extent: int) -> tuple[int, int, int]:
    """The values of a sum of `step * (0 .. n - 1)`: so many runs, of so many values each, so far apart.

    [(1, 4), (4, 8)]  ->  (1, 32, 1)        [(1, 4), (32, 8)]  ->  (8, 4, 1)        [(1, 3), (2, 5)]  ->  (1, 11, 1)
    """
    runs, count, step, last = 1, 1, 1, 0
    for c, n in sorted(terms):
        if n == 1 or c == 0:
            continue
        last += c * (n - 1)
        if count == 1:
            count, step = n, c
        elif runs == 1 and c % step == 0 and c // step <= count:
            count += (n - 1) * (c // step)
        else:
            runs *= n
    values = min(extent, last + 1)  # of a span that is cut to the shape
    if runs == 1:
        return 1, max(1, min(count, (values - 1) // step + 1)), step
    return (runs, count, step) if runs * count <= values else (1, values, 1)


def shape(b: Buffer) -> list[int]:
    """Extents; of those that are known only at the call, 1."""
    return [int(n.value) if type(n) is Const else 1 for n in b.shape]


def strides(b: Buffer, extents: Sequence[int]) -> list[int]:
    if b.strides is not None:
        return [int(s.value) if type(s) is Const else 1 for s in b.strides]
    made, step = [0] * len(extents), 1
    for d in range(len(extents) - 1, -1, -1):
        made[d] = step
        step *= extents[d]
    return made
