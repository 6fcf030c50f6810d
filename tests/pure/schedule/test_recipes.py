"""Recipes: what they make of loops, that what they make is right, and that they are taken whole or not at all."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from tests.pure.schedule.programs import matmul, rows, text
from tests.traces import MORE, Case, random_steps
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.face import recipes
from tvmlab.face.api import build
from tvmlab.face.handle import Schedule
from tvmlab.face.verdict import ILLEGAL, OWES, UNKNOWN


def taken(s: Schedule, name: str, stage: Any, **values: Any) -> Schedule:
    return Schedule(recipes.traces(s.trace, name, {"stage": s[stage].index, **values})[-1])


def computes(s: Schedule, case: Case) -> None:
    outs = [np.full(e.shape, 77, e.dtype) for e in case.expected]
    build(s, case.args, "interp")(*case.inputs, *outs)
    for have, want in zip(outs, case.expected, strict=True):
        np.testing.assert_array_equal(have, want, err_msg=s.to_code())


@pytest.mark.parametrize("name", recipes.names())
def test_what_it_makes_of_a_matmul(golden, name):
    s, A, B, C, k = matmul(70)
    t = taken(s, name, C)
    golden(f"{recipes.get(name).about}\n\n{t.to_code()}\n\n{text(t, [A, B, C])}")


@pytest.mark.parametrize("tens", range(3))
def test_what_is_called_legal_is_right(tens):
    assert sum(map(legal_and_right, range(tens * 10, tens * 10 + 10))) > 20


def legal_and_right(seed: int) -> int:
    """How many recipes were legal on a random schedule; each of them was run."""
    rng = random.Random(seed)
    case = random_steps(rng, 3, MORE)
    s = case.schedule
    if s.check():
        s.undo(len(s.trace))
    tried = 0
    for handle in s.stages:
        for name in recipes.names():
            args = {"stage": handle.index}
            verdict = recipes.judge(s.trace, name, args)
            if verdict.kind == ILLEGAL:
                with pytest.raises(LabError):
                    recipes.traces(s.trace, name, args)
                continue
            t = Schedule(recipes.traces(s.trace, name, args)[-1])
            if verdict.kind in (OWES, UNKNOWN):
                assert verdict.kind == UNKNOWN or t.check()
                continue
            assert t.check() == [], (name, t.to_code())
            computes(t, case)
            tried += 1
    return tried


def test_values_change_what_it_makes():
    s, A, B, C, k = matmul(64)
    t = taken(s, "tile-for-cache", C, rows=4, columns=16, depth=2)
    assert "i_outer, i_inner = s[C].split(i, factor=4)" in t.to_code()
    assert "k_outer, k_inner = s[C].split(k, factor=2)" in t.to_code()


def test_partial_sums_in_parallel():
    s, A, B, k = rows(4, 64)
    t = taken(s, "partial-sums", B, axis=k, parts=4, then="parallel")
    assert "for k_outer in parallel(4):" in text(t, [A, B])
    assert taken(s, "recipe:partial-sums", B, then="nothing").check() == []


def test_two_recipes_after_each_other():
    """A tiled, parallel, vectorized matmul in two acts."""
    s, A, B, C, k = matmul(64)
    t = taken(taken(s, "tile-for-cache", C), "parallel-outer-vectorize-inner", C)
    assert t.check() == []
    made = text(t, [A, B, C])
    assert "parallel(2)" in made and "vectorized(8)" in made


def test_it_stops_before_its_first_step_where_it_does_not_fit():
    s, A, B, C, k = matmul(8)
    s[C].vectorize(C.op.axis[1])
    took: list[str] = []
    with pytest.raises(LabError, match="tile for cache needs plain loops: j of C is vectorized already"):
        recipes.follow("tile-for-cache", {"stage": s[C].index}, s.state, lambda p, a: took.append(p))  # type: ignore
    assert took == []


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"rows": 0}, "tile for cache: rows must be a positive number, not 0"),
        ({"rows": True}, "rows must be a positive number"),
        ({"rows": "8"}, "rows must be a positive number"),
        ({"colour": 1}, "tile for cache has no `colour`"),
        ({"stage": 99}, "tile for cache is of a stage"),
    ],
)
def test_wrong_values_are_refused(values, says):
    s, A, B, C, k = matmul(8)
    with pytest.raises(LabError, match=says):
        recipes.traces(s.trace, "tile-for-cache", {"stage": s[C].index, **values})


def test_an_unknown_one_answers_with_those_that_exist():
    with pytest.raises(LabError, match="there is no recipe `tile-for-cash`") as caught:
        recipes.get("tile-for-cash")
    assert "recipe:tile-for-cache" in str(caught.value)


def test_a_stage_with_one_loop_is_told_what_is_missing():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    verdict = recipes.judge(s.trace, "register-block", {"stage": s[B].index})
    assert verdict.kind == ILLEGAL and verdict.reason == "register block needs 2 data loops, B has 1"
