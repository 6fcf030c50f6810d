"""Indices settled by trying all values: the same as counting them one by one, and never more than can be known."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from tvmlab import te
from tvmlab.core.affine import Facts, Lin, lin, number, var
from tvmlab.core.node import Var
from tvmlab.face.bounded import inside
from tvmlab.face.verdict import LEGAL, UNKNOWN

XO, XI, J = Var("xo"), Var("xi"), Var("j")


def facts(*guards: Lin, **ends: int) -> Facts:
    made = Facts()
    for v, last in ((XO, ends.get("xo", 1)), (XI, ends.get("xi", 3)), (J, ends.get("j", 7))):
        made = made.with_range(v, number(0), number(last))
    return made.with_guards(guards)


def test_a_tail_of_a_tail():
    index = lin(XO * 32 + XI * 8 + J)
    guard = lin(6 - (XO * 4 + XI))
    assert inside((index, number(56), facts(guard)))
    assert not inside((index, number(55), facts(guard)))
    assert not inside((index, number(56), facts()))
    assert not inside((index - 1, number(56), facts(guard)))


def test_what_is_not_known_is_not_proved():
    n = te.size_var("n")
    assert not inside((var(J), lin(n), facts()))
    A = te.placeholder((8,), "int32", name="A")
    assert not inside((lin(A[J]), number(8), facts()))
    assert not inside((var(Var("q")), number(8), facts()))  # nothing is known of q
    assert not inside((lin(XO * XI * J), number(10**9), facts(xo=1 << 12, xi=1 << 12, j=1 << 12)))  # too many to try
    assert inside((var(XO), number(1 << 13), facts(xo=1 << 12, xi=1 << 12, j=1 << 12)))


def test_a_loop_that_depends_on_another_and_one_without_iterations():
    made = Facts().with_range(XO, number(0), number(9)).with_range(XI, number(0), var(XO))
    assert inside((lin(XI - XO + 9), number(10), made)) and not inside((lin(XI - XO + 9), number(9), made))
    assert inside((var(XO), number(1), facts(xo=-1)))


@pytest.mark.parametrize("seed", range(60))
def test_against_counting(seed):
    rng = random.Random(seed)

    def form() -> Any:
        made = sum(v * rng.randrange(-3, 9) for v in (XO, XI, J)) + rng.randrange(-2, 6)
        return rng.choice((made, made // 3, made % 5 + J, made // 2 * 2 - XI))

    ends = {"xo": rng.randrange(4), "xi": rng.randrange(4), "j": rng.randrange(6)}
    index, conditions = lin(form()), [lin(form()) for _ in range(rng.randrange(3))]
    reached = []
    for point in itertools.product(*(range(ends[k] + 1) for k in ("xo", "xi", "j"))):
        at = dict(zip((XO, XI, J), point, strict=True))
        if all(value(c, at) >= 0 for c in conditions):
            reached.append(value(index, at))
    n = max([*reached, 0]) + 1
    assert inside((index, number(n), facts(*conditions, **ends))) == (min([*reached, 0]) >= 0)
    assert not reached or not inside((index, number(max(reached)), facts(*conditions, **ends)))


def value(x: Lin, at: dict[Any, int]) -> int:
    total = x.const
    for a, c in x.terms.items():
        if isinstance(a, Var):
            total += c * at[a]
        else:
            num, den = (value(p, at) for p in a.args)
            total += c * (num // den if a.op == "//" else num % den)
    return total


def test_a_large_convolution_cut_twice_is_legal():
    """56 = 7 * 8, and 7 = 2 * 4 - 1: the verifier cannot tell, and the program is too large to run."""
    A = te.placeholder((64, 512, 56), name="A")
    B = te.compute((64, 512, 56), lambda b, c, x: A[b, c, x] + 1.0, name="B")
    s = te.create_schedule(B.op)
    b, c, x = s[B].op.axis
    xo, xi = s[B].split(x, 8)
    s[B].reorder(xo, b, c, xi)
    assert s.verdict("split", B, xo, 4).kind == LEGAL


def test_a_race_that_cannot_be_decided_stays_open():
    A = te.placeholder((1000, 1001), name="A")
    B = te.compute((999, 1001), lambda i, j: A[i, j] + A[i + 1, j], name="B")
    s = te.create_schedule(B.op)
    fused = s[B].fuse(*s[B].op.axis)
    outer, _ = s[B].split(fused, 8)
    verdict = s.verdict("parallel", B, outer)
    assert verdict.kind == UNKNOWN and "may iterations of the parallel loop" in verdict.reason
