"""Counts from the program alone are those of the interpreter, and footprints those of visiting every iteration."""

import random
from functools import cache

import numpy as np
import pytest

from tests.pure.analysis import brute
from tests.traces import random_case, random_steps
from tvmlab import lower
from tvmlab.analysis.metrics import metrics
from tvmlab.core.node import Var
from tvmlab.target.interp.run import run

SEEDS = range(200)
BATCH = 20


@cache
def program(seed: int, simple: bool, more: bool = False):
    case = random_steps(random.Random(seed), 10) if more else random_case(seed)
    return case, lower(case.schedule, case.args, simple_mode=simple)


def interpreted(case, p):
    """What a run counts, and the sizes it ran with."""
    outs = [np.zeros(e.shape, e.dtype) for e in case.expected]
    sizes = {
        v.name: n
        for b, a in zip(p.entry.buffers, [*case.inputs, *outs])
        for v, n in zip(b.shape, a.shape)
        if isinstance(v, Var)
    }
    return run(p, [*case.inputs, *outs], check=False, count=True), sizes


def same_counts(seed: int, simple: bool, more: bool = False) -> bool:
    """False where the program is incomplete or depends on data."""
    case, p = program(seed, simple, more)
    if p.notes:
        return False
    report, sizes = interpreted(case, p)
    m = metrics(p, sizes)
    if not m.counted:
        assert m.why
        assert m.flops is None or m.flops >= report.flops, seed
        return False
    found = (m.flops, nonzero(m.loads), nonzero(m.stores), nonzero(m.iterations))
    assert found == (report.flops, nonzero(report.loads), nonzero(report.stores), nonzero(report.iterations)), seed
    return True


def nonzero(d):
    return {k: v for k, v in d.items() if v}


@pytest.mark.parametrize("start", range(0, len(SEEDS), BATCH))
def test_counts_are_those_of_the_interpreter(start):
    held = [same_counts(seed, simple) for seed in SEEDS[start : start + BATCH] for simple in (True, False)]
    assert sum(held) > len(held) // 2


@pytest.mark.parametrize("start", range(0, 80, BATCH))
def test_counts_of_programs_with_sizes_scans_and_gathers(start):
    assert sum([same_counts(seed, simple, True) for seed in range(start, start + BATCH) for simple in (True, False)])


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("start", range(0, 100, BATCH))
def test_footprints_are_those_of_every_iteration(start, more):
    held = 0
    for seed in range(start, start + BATCH):
        for simple in (True, False):
            _, p = program(seed, simple, more)
            m = metrics(p)
            if m.exact:
                held += 1
                compare(m, *brute.runs(p.body), seed)
    assert held > BATCH // 2


def compare(m, whole, runs, seed):
    assert (m.unique, m.moved) == (whole.bytes, whole.moved), seed
    for level in m.levels:
        mine = [r for r in runs if r.loop is level.loop]
        about = seed, level.name
        assert level.runs == len(mine), about
        assert (level.iterations, level.total) == (sum(r.iterations for r in mine), sum(r.moved for r in mine)), about
        if mine:
            (there,) = (r for r in mine if r.at == level.at)
            found = level.bytes, level.moved, level.extent
            assert found == (there.bytes, there.moved, there.iterations), about
