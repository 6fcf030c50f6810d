"""All passes in their order: the program stays legal after each, and computes the same."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, same_result, store, var, when
from tvmlab.core import build
from tvmlab.core.node import Alloc, For, If, Load, Store
from tvmlab.core.verify import check, verify
from tvmlab.core.walk import seq
from tvmlab.lowering.config import DEFAULT
from tvmlab.lowering.passes import get

ORDER = (
    "simplify", "hoist_guards", "partition_loops", "simplify", "unroll_loops", "vectorize", "promote_registers",
    "remove_noop", "flatten_storage",
)  # fmt: skip


def lowered(p, sizes=None, every=True):
    first = p
    for name in ORDER:
        p = get(name)(p, DEFAULT)
        check(p)
        if every:
            same_result(first, p, sizes)
    return p


def matmul(n, m, k, rows=4, lanes=8, step=2, kind="parallel"):
    """Rows x lanes tiles over a packed B, summed in a local tile that is written once."""
    a, b, c = buffer("A", n, k), buffer("B", k, m), buffer("C", n, m)
    cols = (m + lanes - 1) // lanes
    packed, tile = buffer("P", cols, k, lanes), buffer("T", rows, lanes, scope="local")
    po, pk, pj, io, jo, i1, j1, ko, ki, i2, j2, i3, j3 = ints("po pk pj io jo i1 j1 ko ki i2 j2 i3 j3")
    inside = po * lanes + pj < m
    value = build.if_then_else(inside, load(b, pk, po * lanes + pj), 0.0)
    pack = loop(pj, lanes, store(packed, (po, pk, pj), value), kind="vectorized")
    pack = loop(po, cols, loop(pk, k, pack), kind=kind)
    zero = loop(i1, rows, loop(j1, lanes, store(tile, (i1, j1), 0.0), kind="vectorized"), kind="unrolled")
    kk = ko * step + ki
    term = load(a, io * rows + i2, kk) * load(packed, jo, kk, j2)
    add = when(build.all_(io * rows + i2 < n, kk < k), store(tile, (i2, j2), load(tile, i2, j2) + term))
    reduce = loop(i2, rows, loop(j2, lanes, add, kind="vectorized"), kind="unrolled")
    reduce = loop(ko, (k + step - 1) // step, loop(ki, step, reduce))
    i, j = io * rows + i3, jo * lanes + j3
    write = when(build.all_(i < n, j < m), store(c, (i, j), load(tile, i3, j3)))
    write = loop(i3, rows, loop(j3, lanes, write, kind="vectorized"), kind="unrolled")
    body = loop(io, (n + rows - 1) // rows, loop(jo, cols, Alloc(tile, seq(zero, reduce, write))), kind=kind)
    sizes = [x for x in (n, m, k) if not isinstance(x, int)]
    return program((a, b, c), Alloc(packed, seq(pack, body)), sizes=sizes)


@pytest.mark.parametrize("n, m, k", [(8, 16, 4), (7, 13, 5), (1, 1, 1), (9, 8, 3)])
def test_matmul(n, m, k):
    after = lowered(matmul(n, m, k))
    assert all(len(x.indices) == 1 for x in nodes(after, Load, Store))


def test_matmul_golden(golden):
    golden(lowered(matmul(10, 24, 6), every=False))


def test_matmul_hot_loop_is_clean():
    """Whole tiles: no guard, no mask, and no access but to the operands and the register tile."""
    after = lowered(matmul(10, 24, 6), every=False)
    hot = next(f for f in nodes(after, For) if f.var.name == "ko")
    inside = nodes(program((), hot), If, Load, Store)
    assert not [x for x in inside if isinstance(x, If)]
    assert all(x.mask is None for x in inside)
    assert {x.buffer.name for x in inside} == {"A", "P", "T"}


def test_nothing_is_unknown():
    for p in (matmul(10, 24, 6), matmul(7, 13, 5)):
        assert verify(p) == []


def test_symbolic_matmul():
    n, k = var("n", nonneg=True), var("k", nonneg=True)
    before = matmul(n, 9, k)
    after = lowered(before, every=False)
    for a, b in ((0, 3), (1, 1), (8, 4), (11, 0), (9, 5)):
        same_result(before, after, {n: a, k: b})


small = st.integers(1, 5)


@settings(max_examples=40)
@given(st.integers(1, 13), st.integers(1, 20), small, small, st.sampled_from([2, 4, 7]), st.integers(1, 3))
def test_any_matmul(n, m, k, rows, lanes, step):
    p = matmul(n, m, k, rows, lanes, step)
    same_result(p, lowered(p, every=False))
