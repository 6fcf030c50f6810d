"""Ids of stages and loops: unique, decodable, and steady from step to step."""

import random

import pytest

from tests.traces import random_steps
from tvmlab import te
from tvmlab.view.ids import axis_id, id_of, ids


def test_a_loop_goes_by_its_path_and_a_stage_by_its_name():
    A = te.placeholder((8, 8), name="A")
    C = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    xo, xi = s[C].split(C.op.axis[0], 4)
    assert list(ids(s.state)) == ["A", "C", "C.i", "C.j", "C.i.outer", "C.i.inner"]
    assert axis_id(s.state, xo) == "C.i.outer"
    assert ids(s.state)["C.i.inner"] == (1, xi)
    assert ids(s.state)["C"] == (1, None)


def test_names_that_clash_get_numbers_by_age():
    A = te.placeholder((8,), name="C")
    C = te.compute((8,), lambda i: A[i] + 1.0, name="C")
    k = te.reduce_axis((0, 8), name="k")
    D = te.compute((8,), lambda k_: te.sum(C[k] * 1.0, axis=k), name="C.k")
    s = te.create_schedule(D.op)
    assert list(ids(s.state)) == ["C", "C#2", "C.k", "C#2.i", "C.k.k_", "C.k.k"]
    s.cache_write(D, "local")
    assert list(ids(s.state))[:4] == ["C", "C#2", "C.k", "C.k.local"]


def test_an_axis_of_no_stage_has_no_id():
    A = te.placeholder((8,), name="A")
    s = te.create_schedule(te.compute((8,), lambda i: A[i] + 1.0, name="B").op)
    assert axis_id(s.state, te.reduce_axis((0, 8), name="k")) == ""
    assert id_of(s.state, 7) == ""


@pytest.mark.parametrize("seed", range(60))
def test_every_stage_and_axis_has_one_id(seed):
    s = random_steps(random.Random(seed), 12).schedule
    for n in range(len(s.trace) + 1):
        state = s.trace.prefix(n).state
        places = [(x.index, a) for x in state.in_order for a in (None, *x.axes)]
        assert sorted(map(repr, ids(state).values())) == sorted(map(repr, places))
        assert all(ids(state)[id_of(state, *place)] == place for place in places)
