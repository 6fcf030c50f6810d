"""Guards leave the hot part of loops; head and tail keep the rest."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, same_result, store, var, when
from tvmlab import lower, te
from tvmlab.core import build, intrin
from tvmlab.core.node import Alloc, Barrier, Const, For, If, Store
from tvmlab.core.text import show
from tvmlab.core.walk import seq
from tvmlab.lowering.config import Config
from tvmlab.lowering.passes import get

simplify, partition = get("simplify"), get("partition_loops")


def cut(before, config=None):
    return simplify(partition(simplify(before), config or Config()))


def tiles(n, m, f=8, kinds=("serial",) * 4):
    """B[n, m] = A * 2 by f x f tiles."""
    a, b = buffer("A", n, m), buffer("B", n, m)
    io, jo, ii, ji = ints("io jo ii ji")
    i, j = io * f + ii, jo * f + ji
    body = when(build.all_(i < n, j < m), store(b, (i, j), load(a, i, j) * 2.0))
    extents = [(n + f - 1) // f, (m + f - 1) // f, f, f]
    for v, extent, kind in reversed(list(zip((io, jo, ii, ji), extents, kinds))):
        body = loop(v, extent, body, kind=kind, origin=v.name)
    return program((a, b), body, sizes=[x for x in (n, m) if not isinstance(x, int)])


def test_two_tails(golden):
    before = simplify(tiles(30, 21))
    after = cut(before)
    golden(before, "before")
    golden(after, "after")
    same_result(before, after)
    assert not nodes(after, If)


@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 30])
def test_symbolic_extent(golden, n):
    size = var("n", nonneg=True)
    before = tiles(size, 20)
    after = cut(before)
    assert not nodes(after, If)
    same_result(before, after, {size: n})
    if n == 30:
        golden(after)


def test_parallel_loops_choose_per_iteration(golden):
    """One parallel region; the vectorized loop keeps its guard, which becomes a mask."""
    before = tiles(30, 21, kinds=("parallel", "serial", "unrolled", "vectorized"))
    after = cut(before)
    golden(after)
    same_result(before, after)


def test_fused_loops_test_once(golden):
    """The guard needs a quotient and a remainder of the fused variable."""
    a, b = buffer("A", 30, 21), buffer("B", 30, 21)
    f, ii, ji = ints("f ii ji")
    i, j = f // 3 * 8 + ii, f % 3 * 8 + ji
    body = when(build.all_(i < 30, j < 21), store(b, (i, j), load(a, i, j)))
    before = program((a, b), loop(f, 12, loop(ii, 8, loop(ji, 8, body)), kind="parallel"))
    after = cut(before)
    golden(after)
    same_result(before, after)
    hot = nodes(after, If)[0].then
    assert not nodes(program((), hot), If)


def test_head_and_tail(golden):
    """A region that starts before the array and ends after it."""
    a, b = buffer("A", 10), buffer("B", 16)
    (i,) = ints("i")
    copy = when(build.all_(i - 3 >= 0, i - 3 < 10), store(b, i, load(a, i - 3)))
    before = program((a, b), loop(i, 16, store(b, i, 0.0), copy))
    after = cut(before)
    golden(after)
    same_result(before, after)


def test_a_guard_around_everything_is_the_bound():
    a = buffer("A", 10)
    (i,) = ints("i")
    before = program((a,), loop(i, 16, when(build.all_(i >= 3, i < 10), store(a, i, 1.0))))
    after = cut(before)
    assert show(after.body) == "for i in range(3, 10):\n    A[i] = 1.0"
    same_result(before, after)


def test_nested_splits(golden):
    """32 into 4 x 8 of 100: whole tiles, a tail of the outer split, a tail of the inner."""
    a = buffer("A", 100)
    io, im, ii = ints("io im ii")
    x = io * 32 + im * 8 + ii
    before = program((a,), loop(io, 4, loop(im, 4, loop(ii, 8, when(x < 100, store(a, x, 1.0))))))
    after = cut(before)
    golden(after)
    same_result(before, after)


def test_origins_stay_in_every_part():
    after = cut(tiles(30, 21))
    assert {f.origin for f in nodes(after, For)} == {"io", "jo", "ii", "ji"}
    assert all(f.origin == f.var.name for f in nodes(after, For))


def test_each_part_has_its_own_variables():
    """Loops and allocations are bound once."""
    a, t = buffer("A", 30), buffer("T", 8, scope="local")
    io, ii, i2 = ints("io ii i2")
    fill = loop(ii, 8, store(t, ii, 1.0))
    copy = loop(i2, 8, when(io * 8 + i2 < 30, store(a, io * 8 + i2, load(t, i2))))
    before = program((a,), loop(io, 4, Alloc(t, seq(fill, copy))))
    after = cut(before)
    same_result(before, after)
    bound = [f.var for f in nodes(after, For)]
    assert len(bound) == len(set(bound)) == 5
    assert len({x.buffer for x in nodes(after, Alloc)}) == 2
    inside = {x.buffer for x in nodes(after, Store)}
    assert {x.buffer for x in nodes(after, Alloc)} <= inside


def test_constant_loops_can_be_left():
    before = simplify(tiles(30, 21))
    assert partition(before, Config(partition_const_loop=False)) is before
    size = var("n", nonneg=True)
    after = cut(tiles(size, 21), Config(partition_const_loop=False))
    assert len([f for f in nodes(after, For) if f.var.name == "io"]) == 2
    assert nodes(after, If)


def test_growth_is_limited():
    """Five axes with tails would be 32 copies."""
    vs = ints("a b c d e")
    inner = ints("a2 b2 c2 d2 e2")
    out = buffer("O", *[5] * 5)
    at = tuple(v * 2 + w for v, w in zip(vs, inner))
    body = when(build.all_(*[x < 5 for x in at]), store(out, at, 1.0))
    for v, n in [*[(w, 2) for w in reversed(inner)], *[(v, 3) for v in reversed(vs)]]:
        body = loop(v, n, body)
    before = program((out,), body)
    after = cut(before)
    assert len(nodes(after, Store)) <= 8
    same_result(before, after)


@pytest.mark.parametrize("what", ["barrier", "thread"])
def test_threads_and_barriers_are_not_copied(what):
    a = buffer("A", 30)
    io, ii, t = ints("io ii t")
    x = io * 8 + ii
    body = loop(ii, 8, when(x < 30, store(a, x, 1.0)))
    inner = seq(body, Barrier("shared")) if what == "barrier" else loop(t, 4, body, kind="thread", thread="threadIdx.x")
    before = program((a,), loop(io, 4, inner))
    assert len(nodes(partition(before), Store)) == 1


def test_guards_that_read_memory_stay():
    a, x = buffer("A", 30), buffer("X", 1, dtype="int32")
    (i,) = ints("i")
    before = program((a, x), loop(i, 30, when(i < load(x, 0), store(a, i, 1.0))))
    assert partition(before) is before


def test_unlikely_conditions_stay():
    """An `if` of the author's is not a guard of a split."""
    a = buffer("A", 30)
    (i,) = ints("i")
    before = program((a,), loop(i, 30, when(i < 12, store(a, i, 1.0), likely=False)))
    assert partition(before) is before


def test_nothing_to_do_is_the_same_object():
    before = simplify(tiles(32, 16))
    assert partition(before) is before


def test_init_and_update_share_the_cut(golden):
    a, b = buffer("A", 30, 5), buffer("B", 30)
    io, i1, i2, k = ints("io i1 i2 k")
    init = loop(i1, 8, when(io * 8 + i1 < 30, store(b, io * 8 + i1, 0.0)))
    x = io * 8 + i2
    update = loop(k, 5, loop(i2, 8, when(x < 30, store(b, x, load(b, x) + load(a, x, k)))))
    before = program((a, b), loop(io, 4, init, update))
    after = cut(before)
    golden(after)
    same_result(before, after)


kinds = st.sampled_from(["serial", "unrolled", "parallel"])


@settings(max_examples=50)
@given(st.integers(1, 40), st.integers(1, 30), st.integers(1, 9), st.tuples(kinds, kinds, kinds, kinds), st.booleans())
def test_any_tiles(n, m, f, kinds, symbolic):
    size = var("n", nonneg=True)
    before = tiles(size if symbolic else n, m, f, kinds)
    same_result(before, cut(before), {size: n})


@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 6), st.integers(-5, 5), st.integers(1, 30))
def test_any_window(n, f, g, start, size):
    """start <= x < start + size of a nested split, the guard's bounds anywhere."""
    a = buffer("A", 400)
    io, im, ii = ints("io im ii")
    x = (io * f + im) * g + ii
    guard = build.all_(x + start >= 0, x < size, (io * f + im) < n)
    body = loop(io, 4, loop(im, f, loop(ii, g, when(guard, store(a, x + 5, x.astype("float32"))))))
    before = program((a,), body)
    same_result(before, cut(before))


def test_variable_bound_of_an_unrolled_loop_stays_a_guard():
    """An unrolled loop keeps its constant extent."""
    size = var("n", nonneg=True)
    before = tiles(size, 16, kinds=("serial", "serial", "unrolled", "serial"))
    after = cut(before)
    assert all(isinstance(f.extent, Const) for f in nodes(after, For) if f.kind == "unrolled")
    assert nodes(after, If)
    same_result(before, after, {size: 9})


def test_the_tail_of_partial_sums_is_cut():
    """rfactor's condition is a guard like any other; so is an affine `where=` of a person's."""
    A, k = te.placeholder((40,), name="A"), te.reduce_axis((0, 40), name="k")
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(k, factor=16)
    F = s.rfactor(B, ki)
    lanes, i = s[F].op.axis
    s[F].reorder(i, *s[F].op.reduce_axis, lanes)
    s[F].vectorize(lanes)
    assert [f.extent.value for f in nodes(lower(s, [A, B]), For) if f.var.name == "k_outer"] == [2]


def padded(cond, n=5):
    """B[i] = A[i - 1] if cond(i) else 0, for i in 0..n+1"""
    a, b, (i,) = buffer("A", n), buffer("B", n + 2), ints("i")
    value = build.if_then_else(cond(i), load(a, i - 1), 0.0)
    return program((a, b), loop(i, n + 2, store(b, i, value)))


def test_what_is_likely_of_a_stored_value_is_cut(golden):
    """The author of a pad stage asks for it; other conditions inside expressions stay selections."""
    inside = lambda i: build.all_(i >= 1, i < 6)
    before = padded(lambda i: intrin.likely(inside(i)))
    after = cut(before)
    golden(after, "after")
    same_result(before, after)
    same = padded(inside)
    assert partition(same) is same
