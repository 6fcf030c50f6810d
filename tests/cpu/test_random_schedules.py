"""Random schedules of all the programs in tests/traces.py, on every target, against NumPy.

Hypothesis draws the seed, so that a failure comes back smaller in steps: fewer of them are tried first.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.traces import MORE, random_steps
from tvmlab.core.error import BuildError
from tvmlab.face.api import build, lower

SEEDS = st.integers(0, 1 << 30)
RANDOM = settings(deadline=None, suppress_health_check=list(HealthCheck))


def check(target: str, seed: int, steps: int) -> None:
    case = random_steps(random.Random(seed), steps, MORE)
    owed = case.schedule.check()
    if owed:  # accepted, printed, refused by a build
        assert all(f"# {line}" in str(lower(case.schedule, case.args)) for o in owed for line in o.message.splitlines())
        with pytest.raises(BuildError, match="this schedule is not complete"):
            build(case.schedule, case.args, target)
        return
    outs = [np.full(e.shape, 77, e.dtype) for e in case.expected]
    build(case.schedule, case.args, target)(*case.inputs, *outs)
    for have, want in zip(outs, case.expected, strict=True):
        np.testing.assert_array_equal(have, want, err_msg=case.schedule.to_code())


@settings(RANDOM, max_examples=250)
@given(SEEDS, st.integers(0, 14))
@example(660, 14)  # a virtual thread inside another of the same tag
@example(3203, 14)  # a proof that used a guard to prove that guard
@example(6785, 14)  # the race check of a loop without iterations
def test_on_the_interpreter(seed, steps):
    check("interp", seed, steps)


@settings(RANDOM, max_examples=100)
@given(SEEDS, st.integers(0, 14))
@example(0, 14)  # shared memory inside a virtual thread needs no barrier
@example(388, 14)  # a prefetch of memory made inside the loop
def test_on_llvm(seed, steps):
    check("llvm", seed, steps)


@settings(RANDOM, max_examples=8)
@given(SEEDS, st.integers(0, 14))
def test_on_numba(seed, steps):
    check("numba", seed, steps)
