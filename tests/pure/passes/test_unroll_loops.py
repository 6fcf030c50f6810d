"""Which loops get the mark `unrolled`."""

import warnings

import pytest

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, store, var
from tvmlab.core.node import Attr, Const, For
from tvmlab.lowering.config import Config
from tvmlab.lowering.passes import get

unroll_loops = get("unroll_loops")


def nest(*, pragma=None, kind="serial", n=4):
    a, b = buffer("A", 8, 8, 8), buffer("B", 8, 8, 8)
    i, j, k = ints("i j k")
    inner = loop(k, n, store(b, (i, j, k), load(a, i, j, k)), kind=kind)
    if pragma is not None:
        inner = Attr("pragma_auto_unroll_max_step", Const(pragma), Const(1), inner)
    return program((a, b), loop(i, 8, loop(j, 2, inner)))


def kinds(p):
    return {f.var.name: f.kind for f in nodes(p, For)}


def test_small_bodies(golden):
    before = nest()
    after = unroll_loops(before, Config(auto_unroll_max_step=8))
    golden(before, "before")
    golden(after, "after")


def test_off_by_default():
    before = nest()
    assert unroll_loops(before) is before


@pytest.mark.parametrize(
    "config, unrolled",
    [
        (Config(auto_unroll_max_step=3), ""),
        (Config(auto_unroll_max_step=4), "k"),
        (Config(auto_unroll_max_step=64), "ijk"),
        (Config(auto_unroll_max_step=64, auto_unroll_max_depth=1), "jk"),
        (Config(auto_unroll_max_extent=4), "jk"),
        (Config(auto_unroll_max_extent=3), ""),
    ],
)
def test_options(config, unrolled):
    assert "".join(v for v, kind in kinds(unroll_loops(nest(), config)).items() if kind == "unrolled") == unrolled


def test_a_pragma_is_for_its_loop_and_what_is_inside():
    """A note just inside a loop is on that loop."""
    assert kinds(unroll_loops(nest(pragma=8))) == {"i": "serial", "j": "unrolled", "k": "unrolled"}
    assert kinds(unroll_loops(nest(pragma=0), Config(auto_unroll_max_step=64)))["k"] == "serial"


def test_loops_with_a_kind_keep_it():
    assert kinds(unroll_loops(nest(kind="parallel"), Config(auto_unroll_max_step=64))) == {
        "i": "serial",
        "j": "serial",
        "k": "parallel",
    }


def test_a_huge_unroll_stays_a_loop():
    with pytest.warns(UserWarning) as seen:
        after = unroll_loops(nest(kind="unrolled", n=5000))
    assert kinds(after)["k"] == "serial"
    assert str(seen[0].message) == (
        "`k` stays a loop: unrolling it would give 5000 statements (at most 4096); split it and unroll the inner part"
    )


def test_a_marked_loop_of_unknown_extent_stays_a_loop():
    n = var("n", nonneg=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kinds(unroll_loops(nest(kind="unrolled", n=n)))["k"] == "serial"


def test_marked_loops_of_reasonable_size_stay():
    before = nest(kind="unrolled")
    assert unroll_loops(before) is before
