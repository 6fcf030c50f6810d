"""The short way through a call must notice everything that the long way checks."""

import contextlib

import numpy as np
import pytest

from tests import fakes
from tests.fakes import adder, buffer, f32, module
from tvmlab.core.error import CallError
from tvmlab.core.node import Var
from tvmlab.runtime import array, empty
from tvmlab.runtime.module import Module


@pytest.fixture(autouse=True)
def fake_target(monkeypatch):
    fakes.install(monkeypatch)


@pytest.fixture
def long_ways(monkeypatch):
    """The number of calls that took the long way, as a list that grows."""
    taken, checked = [], Module._checked
    monkeypatch.setattr(Module, "_checked", lambda self, args: (taken.append(args), checked(self, args)))
    return taken


def fresh(n=4):
    return np.ones(n, "float32"), np.ones(n, "float32"), np.zeros(n, "float32")


@pytest.mark.parametrize("use", [tuple, lambda x: tuple(map(array, x)), lambda x: (x[0], array(x[1]), x[2])])
def test_arrays_like_the_last_ones_take_the_short_way(long_ways, use):
    mod = adder()
    for _ in range(3):
        args = use(fresh())
        mod(*args)
        assert np.asarray(args[2]).tolist() == [2] * 4
    assert len(long_ways) == 1


def test_each_difference_takes_the_long_way(long_ways):
    mod = adder()
    good = fresh()
    mod(*good)
    a, b, c = fresh()
    locked = c.copy()
    locked.flags.writeable = False
    different = [
        (a, b), (a, b, c, c), fresh(5), (a, b.astype("float64"), c), (a, b[:3], c), (a, b, 1.0), (a, [1, 2, 3, 4], c),
        (a, b.reshape(2, 2), c), (a, b, locked), (array(a), b, c), (a, np.repeat(b, 2)[::2], c), (a, a, a), (),
        (a, b.astype(">f4"), c), (a, b.view(np.matrix), c),
    ]  # fmt: skip
    for args in different:
        before = len(long_ways)
        with contextlib.suppress(CallError):
            mod(*args)
        assert len(long_ways) == before + 1, args
        mod(*good)


def test_overlap_is_seen_also_between_views(long_ways):
    mod = adder()
    memory = np.arange(12, dtype="float32")
    mod(memory[:4], memory[4:8], memory[8:])
    mod(memory[:4], memory[4:8], memory[8:])
    assert len(long_ways) == 1
    memory[:] = np.arange(12)
    mod(memory[:4], memory[4:8], memory[5:9])
    assert len(long_ways) == 2 and memory[5:9].tolist() == [4, 6, 8, 10]


def test_a_change_of_shape_in_place_is_seen(long_ways):
    mod = adder()
    a, b, c = fresh()
    mod(a, b, c)
    b.shape = (2, 2)
    with pytest.raises(CallError, match=r"^argument 1 \(B\) has 2 dimensions \(2, 2\), expected 1: \(n,\)$"):
        mod(a, b, c)


def test_scalars_are_checked_on_the_short_way(long_ways):
    n, k, x = Var("n"), Var("k", "int8"), Var("x", "float32")
    a = buffer("A", n)
    seen = []
    mod = module((a, n, k, x), (a,), lambda *args: seen.append(args[1:]))
    memory = f32(0, 0)
    mod(memory, 2, 1, 0.1)
    mod(memory, 2, -7, 0.5)
    assert len(long_ways) == 1 and seen[-1] == (2, -7, 0.5)
    for bad in ((3, 1, 0.1), (2, 128, 0.1), (2, 1.0, 0.1), (2, 1, "0.1"), (2, None, 0.1)):
        with pytest.raises(CallError):
            mod(memory, *bad)


def test_raw_gets_addresses_then_numbers(long_ways):
    calls = []
    mod = adder(raw=lambda *args: calls.append(args), call=None)
    for args in (fresh(), fresh(), tuple(map(array, fresh()))):
        mod(*args)
        assert calls[-1] == (*[np.asarray(a).ctypes.data for a in args], 4)
    assert len(long_ways) == 2


def test_strides_are_part_of_the_likeness(long_ways):
    n, s = Var("n"), Var("s")
    a = buffer("A", n, strides=(s,))
    seen = []
    mod = module((a,), (a,), lambda x, *numbers: seen.append(numbers), (n, s))
    memory = np.zeros(12, "float32")
    for step in (2, 2, 3, 3):
        mod(memory[::step][:4])
    assert seen == [(4, 2), (4, 2), (4, 3), (4, 3)] and len(long_ways) == 2


def test_a_failing_run_leaves_the_module_usable():
    def call(arrays, scalars):
        if arrays[0][0] < 0:
            raise ZeroDivisionError
        fakes.add_arrays(arrays, scalars)

    mod = adder(call=call)
    a, b, c = fresh()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            mod(-a, b, c)
    mod(a, b, c)
    assert c.tolist() == [2] * 4


def test_empty_nd_arrays_overlap_with_nothing():
    mod = adder()
    e = empty((0,))
    mod(e, e, e)
    mod(e, e, e)
