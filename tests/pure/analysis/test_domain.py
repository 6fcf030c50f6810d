"""Points of cut boxes and their images, against visiting every point."""

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tvmlab.analysis import domain, image
from tvmlab.analysis.domain import Unknown
from tvmlab.analysis.image import Definition, Place
from tvmlab.core.affine import Lin
from tvmlab.core.node import Var

VARIABLES = [Var(name) for name in "ijkl"]
COEFFICIENT = st.integers(-6, 6)


@st.composite
def forms(draw, box):
    terms = {v: c for v in box if (c := draw(COEFFICIENT))}
    return Lin(terms, draw(st.integers(-12, 12)))


@st.composite
def domains(draw):
    n = draw(st.integers(1, 4))
    box = {v: (lo := draw(st.integers(-3, 3)), lo + draw(st.integers(0, 6)) - 1) for v in VARIABLES[:n]}
    return box, draw(st.lists(forms(box), max_size=3))


def visited(box, cons):
    for values in product(*(range(lo, hi + 1) for lo, hi in box.values())):
        at = dict(zip(box, values))
        if all(value(x, at) >= 0 for x in cons):
            yield at


def value(x, at):
    return x.const + sum(c * at[v] for v, c in x.terms.items())


@given(domains())
@settings(max_examples=300)
def test_points(made):
    box, cons = made
    assert domain.points(box, cons) == len(list(visited(box, cons)))


@given(domains(), st.sampled_from([(0, 0), (2, 8), (10_000, 0), (10_000, 10**6)]))
def test_points_whatever_way_they_are_counted(made, sizes):
    """With little patience for single values everything is a grid, with no grid everything is split."""
    few, large = domain.FEW, domain.GRID
    domain.FEW, domain.GRID = sizes
    try:
        test_points.hypothesis.inner_test(made)
    except Unknown:
        pytest.fail("small boxes have an answer either way")
    finally:
        domain.FEW, domain.GRID = few, large


@given(domains())
def test_a_smaller_box_holds_the_same_points(made):
    box, cons = made
    cut = domain.tightened(box, cons)
    there = list(visited(box, cons))
    assert (cut is not None) or not there
    if cut is not None:
        assert list(visited(*cut)) == there


@given(domains())
def test_a_projection_keeps_what_is_seen(made):
    box, cons = made
    keep = dict.fromkeys(list(box)[:2])
    left = domain.projected(box, cons, keep)
    if any(v not in keep for x in left for v in x.terms):
        return
    if any(hi < lo for lo, hi in box.values()):
        return
    seen = {tuple(at[v] for v in keep) for at in visited(box, cons)}
    assert seen == {tuple(at.values()) for at in visited({v: box[v] for v in keep}, left)}


@st.composite
def places(draw, count):
    """Accesses to one buffer, and its shape, into which all their indices fall."""
    dims = draw(st.integers(1, 3))
    made = [(*draw(domains()), None) for _ in range(count)]
    listed = [[draw(forms(box)) for _ in range(dims)] for box, _, _ in made]
    spans = [[domain.span(f, _filled(box)) for f in fs] for fs, (box, _, _) in zip(listed, made)]
    lows = [min(s[d][0] for s in spans) for d in range(dims)]
    shape = [max(s[d][1] for s in spans) - lows[d] + 1 for d in range(dims)]
    found = [
        Place(tuple(f - lows[d] for d, f in enumerate(fs)), box, tuple(cons))
        for fs, (box, cons, _) in zip(listed, made)
    ]
    return found, shape


def _filled(box):
    return {v: (lo, max(lo, hi)) for v, (lo, hi) in box.items()}


@given(st.integers(1, 3).flatmap(places))
@settings(max_examples=300)
def test_elements_of_several_accesses(made):
    found, shape = made
    seen = {tuple(value(f, at) for f in p.forms) for p in found for at in visited(p.box, p.cons)}
    elements, _ = image.distinct(found, shape, 16)
    assert elements == len(seen)


@given(places(2), st.sampled_from([2, 4, 16]))
def test_lines_of_one_dimension(made, per_line):
    found, shape = made
    found = [p._replace(forms=p.forms[:1]) for p in found]
    seen = {value(p.forms[0], at) // per_line for p in found for at in visited(p.box, p.cons)}
    assert image.distinct(found, shape[:1], per_line)[1] == len(seen)


@given(st.integers(1, 9), st.integers(1, 40), st.integers(0, 30), st.integers(1, 4), st.integers(0, 60))
@settings(max_examples=200)
def test_quotients_and_remainders(d, n, start, inner, most):
    divided(d, n, start, inner, most)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_quotients_and_remainders_of_short_rows(d):
    for n, start, inner in product(range(1, 7), range(6), (1, 2)):
        for most in (start + 1, 100):
            divided(d, n, start, inner, most)


def divided(d, n, start, inner, most):
    """C[x // d, x % d] for x = inner*f + g, under a guard on x, alone and with the plain elements of C."""
    f, g, q = VARIABLES[0], VARIABLES[1], Var("q")
    x = Lin({f: inner, g: 1}, start)
    box = {f: (0, n - 1), g: (0, inner - 1)}
    lo, hi = domain.span(x, box)
    rest = x - Lin({q: d}, 0)
    cons = (Lin(x.terms and {v: -c for v, c in x.terms.items()}, most - x.const), rest, -rest + (d - 1))
    forms_ = (Lin({q: 1}, 0), rest)
    p = Place(forms_, {**box, q: (lo // d, hi // d)}, cons, (Definition(q, x, d),))
    seen = {(v // d, v % d) for at in visited(box, ()) if (v := value(x, at)) <= most}
    shape = [hi // d + 1, d]
    assert image.distinct([p], shape)[0] == len(seen)
    for k in (0, 1):
        one = p._replace(forms=forms_[k : k + 1])
        assert image.distinct([one], shape[k : k + 1])[0] == len({v[k] for v in seen})
    i, j = VARIABLES[2:]
    under = p._replace(cons=(*cons, Lin({q: -1}, 1)))  # a guard on the quotient: at most 1
    assert image.distinct([under], shape)[0] == len({v for v in seen if v[0] <= 1})
    plain = Place((Lin({i: 1}, 0), Lin({j: 1}, 0)), {i: (0, 1), j: (0, d - 1)}, ())
    both = seen | {(a, b) for a in range(2) for b in range(d)}
    assert image.distinct([p, plain], [max(2, shape[0]), d])[0] == len(both)


def test_middle():
    i, j = VARIABLES[:2]
    assert domain.middle([i, j], {i: (0, 9), j: (0, 9)}, []) == {i: 4, j: 4}
    assert domain.middle([i, j], {i: (0, 9), j: (0, 9)}, [Lin({i: 1}, -9)]) == {i: 9, j: 4}
    assert domain.middle([i], {i: (0, 9)}, [Lin({i: 1}, -10)]) is None
    q = VARIABLES[2]  # i = 2*q + 1
    odd = [Lin({i: 1, q: -2}, -1), Lin({i: -1, q: 2}, 1)]
    assert domain.middle([i], {i: (0, 9), q: (0, 9)}, odd) == {i: 5}
    assert domain.middle([i], {i: (0, -1)}, []) is None


def test_what_is_too_large_says_so():
    box = dict.fromkeys(VARIABLES, (0, 10 ** 6))
    i, j, k, l = VARIABLES
    with pytest.raises(Unknown):
        domain.points(box, [Lin({i: 3, j: 5, k: -7, l: -2}, 1), Lin({i: -2, j: 3, k: 5, l: -7}, 1)])
