"""Division of index forms by numbers: what is simplified must be equal for all values of the variables."""

import itertools
import random

import pytest

from tvmlab.core.affine import Facts, floordiv, floormod, lin, number, to_expr, var
from tvmlab.core.build import FOLD
from tvmlab.core.node import Bin, Const, Var
from tvmlab.core.text import show


def value(e, at):
    """An index expression with these values of its variables."""
    if isinstance(e, Const):
        return e.value
    if isinstance(e, Var):
        return at[e]
    assert isinstance(e, Bin)
    return FOLD[e.op](value(e.a, at), value(e.b, at))


@pytest.mark.parametrize("seed", range(60))
def test_quotients_and_remainders(seed):
    rng = random.Random(seed)
    names = [Var(n) for n in "xyz"]
    facts, ranges = Facts(), {}
    for v in names:
        lo, n = rng.choice([0, 0, 0, -3]), rng.choice([1, 2, 3, 4, 8])
        facts, ranges[v] = facts.with_range(v, number(lo), number(lo + n - 1)), range(lo, lo + n)
    form = number(rng.choice([0, 0, 1, 5, -2]))
    for v in names:
        form = form + var(v) * rng.choice([0, 1, 2, 3, 4, 8, 12, -4])
    d = rng.choice([2, 3, 4, 6, 8, 12, 16])
    quotient, rest = (to_expr(f(form, number(d), facts)) for f in (floordiv, floormod))
    for values in itertools.product(*ranges.values()):
        at = dict(zip(ranges, values, strict=True))
        whole = value(to_expr(form), at)
        assert (value(quotient, at), value(rest, at)) == (whole // d, whole % d), (show(to_expr(form)), d, at)


def test_a_split_of_a_fused_axis_finds_its_way_back():
    """fuse(i, j of 8), split by 4: the inner part stays within one row."""
    outer, inner = Var("o"), Var("f")
    facts = Facts().with_range(outer, number(0), number(15)).with_range(inner, number(0), number(3))
    fused = lin(outer) * 4 + lin(inner)
    assert show(to_expr(floordiv(fused, number(8), facts))) == "o//2"
    assert show(to_expr(floormod(fused, number(8), facts))) == "o%2*4 + f"
    assert show(to_expr(floordiv(fused, number(6), facts))) == "(o*4 + f)//6"
