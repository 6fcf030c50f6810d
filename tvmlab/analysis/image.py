"""Which elements a set of accesses touches: images of boxes under index forms, and the size of their union.

The image of an access is a product of sets, one for each group of dimensions whose indices depend on each other; most
are single dimensions, and most sets are ranges (`range`), else sorted arrays. A union is counted dimension by
dimension: where a value is reached by the same accesses as its neighbour, both count alike.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.affine import Lin
from . import domain
from .domain import Box, Unknown

SET = 1_200_000  # elements of a set that is written out
WIDE = 8_000_000  # the largest minus the smallest value of one


class Definition(NamedTuple):
    """The variable `q` is `num // d`."""

    q: Any
    num: Lin
    d: int


class Place(NamedTuple):
    """The elements that one access touches: index forms over a box of variables that meet the conditions."""

    forms: tuple[Lin, ...]
    box: dict[Any, tuple[int, int]]
    cons: tuple[Lin, ...]
    defs: tuple[Definition, ...] = ()

    @property
    def key(self) -> Any:
        """Equal keys: the same elements. The variables count by the order in which they occur."""
        number: dict[Any, int] = {}
        forms = [(x.const, *[(number.setdefault(v, len(number)), c) for v, c in x.terms.items()]) for x in self.forms]
        cons = [
            (x.const, *sorted([(number.setdefault(v, len(number)), c) for v, c in x.terms.items()])) for x in self.cons
        ]
        return tuple(forms), frozenset(cons), tuple([self.box[v] for v in number])

    def plainer(self) -> Place | None:
        """The same elements with fewer conditions and variables; None where there are none."""
        if not self.cons:
            return None if any(hi < lo for lo, hi in self.box.values()) else self
        cut = domain.tightened(self.box, self.cons)
        if cut is None:
            return None
        box, cons = cut
        cons = [*cons, *self.bounding(box)]
        if cons:
            keep = dict.fromkeys(v for f in self.forms for v in f.terms)
            keep.update({v: None for d in self.defs for v in (d.q, *d.num.terms)})
            cons = domain.projected(box, cons, keep)
        return Place(self.forms, box, tuple(cons), self.defs)

    def bounding(self, box: Box) -> Iterator[Lin]:
        """Bounds of quotients that those of their numerators do not imply, as conditions on these."""
        for q, num, d in self.defs:
            (lo, hi), (least, most) = box[q], domain.span(num, box)
            if lo > least // d:
                yield num - d * lo
            if hi < most // d:
                yield -num + (d * hi + d - 1)

    def defining(self) -> set[Any]:
        """The keys of the conditions that only say what the quotients are."""
        rests = [(num - Lin({q: d}, 0), d) for q, num, d in self.defs]
        return {key for rest, d in rests for key in (rest.key, (-rest + (d - 1)).key)}


Factor = tuple[tuple[int, ...], Any]  # dimensions, the set of their values (of several: of their numbers in the shape)


def distinct(places: Sequence[Place], shape: Sequence[int | None], per_line: int = 1) -> tuple[int, int]:
    """How many elements of a buffer the places hold, each counted once, and how many lines of so many elements.

    Lines are those of a compact buffer that begins on one. Raises Unknown.
    """
    plain = [p for place in places if (p := place.plainer()) is not None]
    different = list({p.key: p for p in plain}.values()) if len(plain) > 1 else plain
    try:
        images = [i for p in different if (i := image(p, shape)) is not None]
    except Unknown:
        if len(different) > 1 or not _injective(different[0]):
            raise
        n = _points(different[0])
        return n, -(-n // per_line)
    if not images:
        return 0, 0
    images = _alike(images, shape)
    elements = _union([tuple([s for _, s in i]) for i in images])
    if per_line == 1 or not shape:
        return elements, elements
    try:
        return elements, _union(_in_lines(images, shape, per_line))
    except Unknown:
        return elements, -(-elements // per_line)


def _points(p: Place) -> int:
    """Of one access, where each point has an element of its own."""
    used = {v for x in (*p.forms, *p.cons) for v in x.terms}
    return domain.points({v: r for v, r in p.box.items() if v in used}, p.cons)


def _injective(p: Place) -> bool:
    """Do the indices tell the variables? One dimension after the other gives those that it is a number system of."""
    known: set[Any] = set()
    forms = list(p.forms)
    while True:
        told = next((f for f in forms if _digits(f, known, p.box)), None)
        if told is None:
            break
        forms.remove(told)
        known |= set(told.terms)
    for q, num, _ in p.defs:
        if all(v in known for v in num.terms):
            known.add(q)
    return all(v in known for x in (*p.forms, *p.cons) for v in x.terms)


def _digits(x: Lin, known: set[Any], box: Box) -> bool:
    below = 0
    for c, v in sorted(((abs(c), v) for v, c in x.terms.items() if v not in known), key=lambda t: t[0]):
        if c <= below:
            return False
        below += c * (box[v][1] - box[v][0])
    return True


# ---------------------------------------------------------------- the image of one access


def image(p: Place, shape: Sequence[int | None]) -> list[Factor] | None:
    """The factors in order of their first dimension; None where nothing is touched. Raises Unknown."""
    box, cons = p.box, p.cons
    groups = _groups(p.forms, cons)
    factors: list[Factor] = []
    for dims, tying in groups:
        if not dims:
            mine = {v: box[v] for x in tying for v in x.terms}
            if not domain.points(mine, tying):
                return None
            continue
        found = _factor(p, dims, tying, box, shape)
        if not len(found):
            return None
        factors.append((dims, found))
    return sorted(factors, key=lambda f: f[0])


def _groups(forms: Sequence[Lin], cons: Sequence[Lin]) -> list[tuple[tuple[int, ...], list[Lin]]]:
    """Dimensions, and the conditions on them, in groups that share no variable."""
    groups: list[tuple[set[Any], list[int], list[Lin]]] = []
    for k, x in enumerate((*forms, *cons)):
        mine, dims, tying = set(x.terms), [k] if k < len(forms) else [], [x] if k >= len(forms) else []
        apart = []
        for g in groups:
            if g[0].isdisjoint(mine):
                apart.append(g)
            else:
                mine, dims, tying = g[0] | mine, g[1] + dims, g[2] + tying
        groups = [*apart, (mine, dims, tying)]
    return [(tuple(sorted(dims)), tying) for _, dims, tying in groups]


def _factor(p: Place, dims: tuple[int, ...], cons: Sequence[Lin], box: Box, shape: Sequence[int | None]) -> Any:
    if len(dims) == 1:
        form = p.forms[dims[0]]
        if not cons:
            return line(form, box)
        limits = [_limit(x, form) for x in cons]
        if all(limit is not None for limit in limits):
            return _clipped(line(form, box), limits)
        if (found := _divided(p, form, cons, box)) is not None:
            return found
    elif (flat := _flat(p, dims, cons, box, shape)) is not None:
        return flat
    return _listed(p, dims, cons, box, shape)


def _flat(p: Place, dims: tuple[int, ...], cons: Sequence[Lin], box: Box, shape: Sequence[int | None]) -> Any:
    """C[f // 8, f % 8] is element f of C: the numbers in the shape, where they are simpler than the indices."""
    form = Lin({}, 0)
    for d in dims:
        n = shape[d]
        if n is None:
            return None
        form = form * n + p.forms[d]
    quotients = {d.q for d in p.defs}
    if not form.terms or not quotients or any(q in form.terms for q in quotients):
        return None
    return _along(p, form, cons, box)


def _along(p: Place, form: Lin, cons: Sequence[Lin], box: Box) -> Any:
    """The values of a form where all conditions but those that define quotients are on it; else None."""
    known = p.defining()
    limits = [_limit(x, form) for x in cons if x.key not in known]
    return _clipped(line(form, box), limits) if all(limit is not None for limit in limits) else None


def _divided(p: Place, form: Lin, cons: Sequence[Lin], box: Box) -> Any:
    """The values of k*(x // d) + c, or k*(x % d) + c, where those of x are one range; else None."""
    inside = [d for d in p.defs if d.q in form.terms]
    if len(inside) != 1:
        return None
    q, num, d = inside[0]
    rest = Lin({v: c for v, c in form.terms.items() if v is not q}, form.const)
    values = _along(p, num, cons, box)
    if not isinstance(values, range) or values.step != 1 and len(values) > 1:
        return None
    if not len(values):
        return values
    first, last, k = values[0], values[-1], form.terms[q]
    if not any(v in num.terms for v in rest.terms):
        return _with_rest(range(first // d, last // d + 1), k, q, rest, box)
    k = -k // d
    offset, rest = -k * num.const, rest - Lin(num.terms, 0) * k
    if form.terms[q] != -k * d or any(v in num.terms for v in rest.terms):
        return None
    if last - first + 1 >= d:
        return _with_rest(range(d), k, q, rest + offset, box)
    if first % d <= last % d:
        return _with_rest(range(first % d, last % d + 1), k, q, rest + offset, box)
    return None


def _with_rest(values: range, k: int, q: Any, rest: Lin, box: Box) -> Any:
    """k * values + rest, where the rest has nothing to do with the values."""
    return line(rest + Lin({q: k}, 0), {**box, q: (values[0], values[-1])})


def line(x: Lin, box: Box) -> Any:
    """The values of a form over a box: a range, or a sorted array."""
    start, terms = x.const, []
    for v, c in x.terms.items():
        lo, hi = box[v]
        start += c * (lo if c > 0 else hi)
        if hi > lo:
            terms.append((abs(c), hi - lo + 1))
    terms.sort()
    size, step = 1, 1
    for i, (c, n) in enumerate(terms):
        if size == 1:
            size, step = n, c
        elif c % step == 0 and c // step <= size:
            size += (n - 1) * (c // step)
        else:
            return _sums(range(0, size * step, step), terms[i:]) + start
    return range(start, start + size * step, step)


def _sums(first: range, terms: Sequence[tuple[int, int]]) -> Any:
    values = np.arange(first.start, first.stop, first.step, dtype=np.int64)
    for c, n in terms:
        if len(values) * n > SET:
            raise Unknown
        values = _once(np.add.outer(np.arange(n, dtype=np.int64) * c, values))
    return values


def _once(values: Any) -> Any:
    """The values sorted, each once."""
    if not values.size:
        return values.ravel()
    lo, hi = int(values.min()), int(values.max())
    if hi - lo >= WIDE:
        return np.unique(values)
    there = np.zeros(hi - lo + 1, dtype=bool)
    there[values - lo] = True
    return np.flatnonzero(there) + lo


def _limit(cond: Lin, form: Lin) -> tuple[bool, int] | None:
    """A condition on the value of the form: (True, least) or (False, most); None where it is on something else."""
    if len(cond.terms) != len(form.terms):
        return None
    v = next(iter(form.terms))
    a, b = cond.terms.get(v), form.terms[v]
    if a is None or any(cond.terms.get(w, 0) * b != c * a for w, c in form.terms.items()):
        return None
    # cond = a/b * (form - form.const) + cond.const >= 0
    offset = cond.const * abs(b)
    if a * b > 0:
        return True, form.const - offset // abs(a)
    return False, form.const + offset // abs(a)


def _clipped(values: Any, limits: Sequence[Any]) -> Any:
    for least, bound in limits:
        if not isinstance(values, range):
            values = values[values >= bound] if least else values[values <= bound]
        elif least and len(values) and bound > values.start:
            values = values[-((values.start - bound) // values.step) :]
        elif not least and len(values) and bound < values[-1]:
            values = values[: max(0, (bound - values.start) // values.step + 1)]
    return values


def _listed(p: Place, dims: tuple[int, ...], cons: Sequence[Lin], box: Box, shape: Sequence[int | None]) -> Any:
    """The set written out: every point that meets the conditions, its indices, each once."""
    forms = [p.forms[d] for d in dims]
    wanted = dict.fromkeys(v for x in (*forms, *cons) for v in x.terms)
    defined = [d for d in p.defs if d.q in wanted]
    for d in reversed(defined):
        wanted.update(dict.fromkeys(d.num.terms))
    values = domain.grid({v: box[v] for v in wanted if all(v is not d.q for d in defined)})
    for q, num, d in defined:
        values[q] = domain.evaluate(num, values) // d
    total: Any = np.int64(0)
    for d, form in zip(dims, forms, strict=True):
        n = shape[d]
        if n is None and len(dims) > 1:
            raise Unknown
        total = total * (n or 1) + domain.evaluate(form, values)
    inside: Any = np.bool_(True)
    for x in cons:
        inside = inside & (domain.evaluate(x, values) >= 0)
    total, inside = np.broadcast_arrays(total, inside)
    return _once(total[inside])


# ---------------------------------------------------------------- lines


def _in_lines(images: list[list[Factor]], shape: Sequence[int | None], per_line: int) -> list[tuple[Any, ...]]:
    """The images with the numbers of lines in place of elements. Rows that lie behind each other become one."""
    while len(images[0]) > 1:
        joined = [_joined(i[-2], i[-1], shape, per_line) for i in images]
        if None in joined:
            break
        images = [[*i[:-2], f] for i, f in zip(images, joined, strict=True) if f is not None]
    return [(*[s for _, s in i[:-1]], _lines(i[-1][1], per_line)) for i in images]


def _joined(outer: Factor, inner: Factor, shape: Sequence[int | None], per_line: int) -> Factor | None:
    """Rows as one range: whole ones, and those so short that lines hold several."""
    dims, (a, b) = (*outer[0], *inner[0]), (outer[1], inner[1])
    row = math.prod([shape[d] or 0 for d in inner[0]])
    if not (row and isinstance(a, range) and isinstance(b, range)) or (len(a) > 1 and a.step > 1):
        return None
    if len(b) != row and row >= per_line:
        return None
    return dims, range(a[0] * row + b[0], a[-1] * row + b[-1] + 1)


def _lines(values: Any, per_line: int) -> Any:
    if not isinstance(values, range):
        return _once(values // per_line)
    first, last = values[0] // per_line, values[-1] // per_line
    if len(values) == 1 or values.step <= per_line:
        return range(first, last + 1)
    if values.step % per_line == 0:
        return range(first, last + 1, values.step // per_line)
    if len(values) > SET:
        raise Unknown
    return _once(np.asarray(values, dtype=np.int64) // per_line)


# ---------------------------------------------------------------- unions


def _alike(images: list[list[Factor]], shape: Sequence[int | None]) -> list[list[Factor]]:
    """All images with the same groups of dimensions."""
    if all([d for d, _ in i] == [d for d, _ in images[0]] for i in images):
        return images
    groups: list[set[int]] = []
    for dims in (set(d) for i in images for d, _ in i):
        touching = [g for g in groups if g & dims]
        groups = [g for g in groups if not g & dims] + [set.union(dims, *touching)]
    order = sorted(tuple(sorted(g)) for g in groups)
    return [[(g, _product([f for f in i if set(f[0]) <= set(g)], g, shape)) for g in order] for i in images]


def _product(factors: list[Factor], dims: tuple[int, ...], shape: Sequence[int | None]) -> Any:
    """Several factors as one set of numbers."""
    if len(factors) == 1:
        return factors[0][1]
    if (block := _block(factors, dims, shape)) is not None:
        return block
    if math.prod([len(s) for _, s in factors]) > SET or any(shape[d] is None for d in dims):
        raise Unknown
    weight, total = {}, 1
    for d in reversed(dims):
        weight[d] = total
        total *= shape[d] or 1
    made = np.zeros(1, dtype=np.int64)
    for own, values in factors:
        numbers: Any = np.asarray(values, dtype=np.int64)
        shifted: Any = np.int64(0)
        for d in reversed(own):
            n = shape[d] or 1
            shifted = shifted + (numbers % n if len(own) > 1 else numbers) * weight[d]
            numbers = numbers // n
        made = np.add.outer(made, shifted).ravel()
    return _once(made)


def _block(factors: list[Factor], dims: tuple[int, ...], shape: Sequence[int | None]) -> range | None:
    """Whole rows are one range of numbers."""
    first, *rest = sorted(factors, key=lambda f: f[0])
    if any(len(d) > 1 or len(s) != shape[d[0]] for d, s in rest) or not isinstance(first[1], range):
        return None
    if first[1].step != 1 and len(first[1]) > 1 or first[0] != dims[: len(first[0])]:
        return None
    row = math.prod([len(s) for _, s in rest])
    return range(first[1].start * row, (first[1].start + len(first[1])) * row)


def _union(products: list[tuple[Any, ...]]) -> int:
    """The size of a union of products of sets."""
    if all(isinstance(s, range) for p in products for s in p):
        products = list(dict.fromkeys(products))
    if len(products) == 1:
        return math.prod([len(s) for s in products[0]])
    if not products[0]:
        return 1
    total = 0
    for members, count in _cells([p[0] for p in products]):
        total += count * _union([products[m][1:] for m in members])
    return total


def _cells(sets: list[Any]) -> list[tuple[tuple[int, ...], int]]:
    """Values in groups: (which of the sets they are in, how many)."""
    ranges = _steps_of_one(sets)
    if ranges is None:
        return _cells_listed(sets)
    ends = sorted({e for r in ranges for e in (r.start, r.stop)})
    found: dict[tuple[int, ...], int] = {}
    for a, b in zip(ends, ends[1:]):
        inside = tuple(i for i, r in enumerate(ranges) if r.start <= a and b <= r.stop)
        if inside:
            found[inside] = found.get(inside, 0) + b - a
    return list(found.items())


def _steps_of_one(sets: list[Any]) -> list[range] | None:
    """Ranges with the same step and phase as ranges of step 1; None where they are not."""
    if not all(isinstance(s, range) for s in sets):
        return None
    steps = {s.step for s in sets if len(s) > 1}
    if not steps or steps == {1}:
        return [range(s.start, s.start + len(s)) for s in sets]
    step = steps.pop()
    if steps or len({s.start % step for s in sets}) > 1:
        return None
    return [range(s.start // step, s.start // step + len(s)) for s in sets]


def _cells_listed(sets: list[Any]) -> list[tuple[tuple[int, ...], int]]:
    if sum(map(len, sets)) > 4 * SET:
        raise Unknown
    arrays = [np.asarray(s, dtype=np.int64) for s in sets]
    lo = min(int(a[0]) for a in arrays)
    size = max(int(a[-1]) for a in arrays) - lo + 1
    if size > WIDE or len(sets) > 60:
        raise Unknown
    inside = np.zeros(size, dtype=np.int64)  # bit i: is the value in set i
    for i, a in enumerate(arrays):
        inside[a - lo] |= 1 << i
    if len(sets) <= 16:
        found = np.bincount(inside, minlength=1 << len(sets))
        kinds = [(int(k), int(found[k])) for k in np.flatnonzero(found)]
    else:
        values, counts = np.unique(inside, return_counts=True)
        kinds = [(int(k), int(n)) for k, n in zip(values, counts)]
    return [(tuple([i for i in range(len(sets)) if k >> i & 1]), n) for k, n in kinds if k]
