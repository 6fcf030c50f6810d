"""Transactions and bank conflicts of a warp, against counts by hand."""

import pytest

from tests.pure.passes.ir import buffer, ints, load, loop, store, var, when
from tvmlab.analysis import warps
from tvmlab.core import build
from tvmlab.core.node import Alloc, Seq, Store


def kernel(body, threads=32, t=None):
    return loop(t, threads, body, kind="thread", thread="threadIdx.x")


def one(index, dtype="float32", scope="global", size=4096, threads=32, wrap=None, number=0):
    """The access S[index(t)] = 0."""
    (t,) = ints("t")
    s = buffer("S", size, dtype=dtype, scope=scope)
    body = store(s, index(t), build.const(0, dtype))
    found = warps.warp(kernel(wrap(t, body) if wrap else body, threads, t), number=number)
    return found.accesses[0]


@pytest.mark.parametrize(
    "index, sectors, ideal",
    [
        (lambda t: t, 4, 4),  # 128 bytes side by side
        (lambda t: t + 1, 5, 4),  # not at the beginning of a sector
        (lambda t: t * 2, 8, 4),
        (lambda t: t * 64, 32, 4),
        (lambda t: t * 0 + 7, 1, 1),  # all lanes one element
        (lambda t: 31 - t, 4, 4),  # the order does not matter
        (lambda t: t // 8 * 100, 4, 1),  # 4 elements in as many sectors
    ],
)
def test_sectors(index, sectors, ideal):
    found = one(index)
    assert (found.sectors, found.ideal, found.degree, found.width) == (sectors, ideal, None, 4)


@pytest.mark.parametrize("dtype, sectors", [("float64", 8), ("int8", 1), ("float16", 2)])
def test_other_widths(dtype, sectors):
    assert one(lambda t: t, dtype).sectors == sectors


@pytest.mark.parametrize(
    "index, degree",
    [
        (lambda t: t, 1),
        (lambda t: t * 2, 2),
        (lambda t: t * 32, 32),
        (lambda t: t * 33, 1),
        (lambda t: t * 0, 1),  # one word, which all read
        (lambda t: t % 2 * 32, 2),
        (lambda t: t * 4, 4),
    ],
)
def test_banks(index, degree):
    assert one(index, scope="shared").degree == degree


def test_wide_accesses_go_by_parts_of_a_warp():
    """A float4 for each of 8 lanes fills the 32 banks once."""
    (t, v) = ints("t v")
    s = buffer("S", 4096, scope="shared")
    vector = loop(v, 4, store(s, t * 4 + v, 0.0), kind="vectorized")
    (found,) = warps.warp(kernel(vector, 32, t)).accesses
    assert (found.width, found.degree) == (16, 1)
    strided = loop(v, 4, store(s, t * 8 + v, 0.0), kind="vectorized")
    (found,) = warps.warp(kernel(strided, 32, t)).accesses
    assert (found.width, found.degree) == (16, 2)
    assert one(lambda t: t, "float64", "shared").degree == 1


def test_lanes_that_are_off():
    found = one(lambda t: t, wrap=lambda t, s: when(t < 5, s))
    assert found.lanes == 5 and found.offsets[:6] == (0, 4, 8, 12, 16, -1)
    assert one(lambda t: t, threads=40, number=1).lanes == 8


def test_a_choice_reads_for_the_lanes_that_take_it():
    (t,) = ints("t")
    a, c = buffer("A", 32), buffer("C", 32)
    value = build.if_then_else(t >= 1, load(a, t - 1), 0.0)
    read, written = warps.warp(kernel(store(c, t, value), 32, t)).accesses
    assert (read.store, read.lanes, written.lanes) == (False, 31, 32)


def test_what_memory_decides_is_listed_without_numbers():
    (t,) = ints("t")
    i, a, c = buffer("I", 32, dtype="int32"), buffer("A", 32), buffer("C", 32)
    index, gathered, stored = warps.warp(kernel(store(c, t, load(a, load(i, t))), 32, t)).accesses
    assert index.sectors == 4 and gathered.offsets is None and gathered.sectors is None and stored.sectors == 4


def test_two_dimensions_of_threads_and_a_block_of_ones_own():
    (b, ty, tx) = ints("b ty tx")
    c = buffer("C", 8, 4, 16)
    inner = loop(tx, 16, store(c, (b, ty, tx), 1.0), kind="thread", thread="threadIdx.x")
    inside = loop(ty, 4, inner, kind="thread", thread="threadIdx.y")
    body = loop(b, 8, inside, kind="thread", thread="blockIdx.x")
    assert warps.launch(body) == {"blockIdx.x": 8, "threadIdx.x": 16, "threadIdx.y": 4}
    assert warps.kernels(body) == [body]
    found = warps.warp(body, {"blockIdx.x": 3}, 1)
    assert found.at[0] == {"threadIdx.x": 0, "threadIdx.y": 2} and found.accesses[0].offsets[0] == (3 * 64 + 32) * 4


def test_registers_are_no_memory_and_strides_count():
    (t,) = ints("t")
    r, s = buffer("R", 4, scope="local"), buffer("S", 8, 32, scope="shared", strides=(build.const(33), build.const(1)))
    body = Alloc(r, Alloc(s, Seq((store(r, 0, 1.0), store(s, (t % 8, t // 8 * 0), 1.0)))))
    (found,) = warps.warp(kernel(body, 32, t)).accesses
    assert found.offsets[1] == 33 * 4 and found.degree == 1


def test_a_size_that_nobody_gave():
    n = var("n", nonneg=True)
    (t,) = ints("t")
    c = buffer("C", n)
    body = loop(t, n, store(c, t, 1.0), kind="thread", thread="threadIdx.x")
    with pytest.raises(warps.Unknown):
        warps.launch(body)
    assert warps.warp(body, sizes={n: 3}).accesses[0].lanes == 3


def test_a_condition_that_memory_decides_is_not_known():
    (t,) = ints("t")
    flags, a, b = buffer("F", 32), buffer("A", 32), buffer("B", 32)
    body = when(load(flags, t) > 0.0, store(b, t, load(a, t)))
    found = {x.buffer.name: x for x in warps.warp(kernel(body, t=t)).accesses}
    assert (found["F"].sectors, found["A"].offsets, found["B"].offsets) == (4, None, None)


def test_a_mask_of_a_store_counts():
    (t,) = ints("t")
    s = buffer("S", 32)
    body = Store(s, (t,), build.const(0, "float32"), build.binary("<", t, build.const(4)))
    (found,) = warps.warp(kernel(body, t=t)).accesses
    assert found.sectors == 1 and sum(o >= 0 for o in found.offsets) == 4
