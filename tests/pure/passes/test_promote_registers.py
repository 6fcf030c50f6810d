"""Accumulators leave memory for the time of their reduction loop."""

import pytest

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, same_result, store, var, when
from tvmlab.core import build
from tvmlab.core.node import Alloc, Call, Const, Evaluate, For, LetStmt, Load, Ramp, Store
from tvmlab.core.text import show
from tvmlab.core.walk import seq
from tvmlab.lowering.passes import get

promote = get("promote_registers")


def lanes(base, n=8):
    return Ramp(build.to_expr(base), Const(1), n)


def tile_program(rows=6, m=12, before=True, guard=False, kind="unrolled", split=True):
    """C[m, 32] += A[m, 5] * B[5, 32] by tiles of rows x (2 vectors of 8)."""
    a, b, c = buffer("A", m, 5), buffer("B", 5, 32), buffer("C", m, 32)
    io, jo, k, ii, jv, i2, j2 = ints("io jo k ii jv i2 j2")

    def body(i, j, value):
        at = (io * rows + i, lanes(jo * 16 + j * 8))
        made = store(c, at, value(*at))
        return when(io * rows + i < m, made) if guard else made

    def product(i, j):
        return load(c, i, j) + build.cast(load(a, i, k), "float32x8") * load(b, k, j)

    init = loop(j2, 2, loop(i2, rows, body(i2, j2, lambda *_: build.const(0.0, "float32x8")), kind=kind), kind=kind)
    update = loop(k, 5, loop(ii, rows, loop(jv, 2, body(ii, jv, product), kind=kind), kind=kind))
    tile = seq(init, update) if before else update
    return program((a, b, c), loop(io, -(-m // rows), loop(jo, 2, tile)))


def test_tile_with_its_initialisation(golden):
    """The loops of the initialisation may be in another order."""
    before = tile_program()
    after = promote(before)
    golden(before, "before")
    golden(after, "after")
    same_result(before, after)
    k = next(f for f in nodes(after, For) if f.var.name == "k")
    assert not [x for x in nodes(program((), k), Load, Store) if x.buffer.name == "C"]


def test_tile_that_is_loaded(golden):
    before = tile_program(before=False)
    after = promote(before)
    golden(after)
    same_result(before, after)


def test_guards_go_along(golden):
    before = tile_program(m=10, guard=True)
    after = promote(before)
    golden(after)
    same_result(before, after)


def test_scalar_accumulator(golden):
    a, b = buffer("A", 4, 6), buffer("B", 4)
    i, k = ints("i k")
    before = program((a, b), loop(i, 4, store(b, i, 0.0), loop(k, 6, store(b, i, load(b, i) + load(a, i, k)))))
    after = promote(before)
    golden(after)
    same_result(before, after)


def test_the_outermost_reduction_loop_is_taken(golden):
    a, b = buffer("A", 4, 6), buffer("B", 4)
    i, ko, ki, ii = ints("i ko ki ii")
    update = store(b, ii, load(b, ii) + load(a, ii, ko * 2 + ki))
    inner = loop(ko, 3, loop(ki, 2, loop(ii, 4, update, kind="unrolled"), kind="unrolled"))
    before = program((a, b), loop(i, 2, inner))
    after = promote(before)
    golden(after)
    same_result(before, after)


def test_masks_go_along(golden):
    n = var("n", nonneg=True)
    a, b = buffer("A", 4, n), buffer("B", n)
    jo, k = ints("jo k")
    j = lanes(jo * 8)
    mask = j < build.cast(n, "int32x8")

    def masked(x):
        return Load(x.buffer, x.indices, x.dtype, mask)

    update = store(b, (j,), masked(load(b, j)) + masked(load(a, k, j)), mask=mask)
    zero = store(b, (j,), build.const(0.0, "float32x8"), mask=mask)
    before = program((a, b), loop(jo, (n + 7) // 8, zero, loop(k, 4, update)), sizes=(n,))
    after = promote(before)
    golden(after)
    same_result(before, after, {n: 13})


def test_tail_of_the_reduction(golden):
    """A guard on k says nothing about the element: it is provably inside, so it is loaded and stored without."""
    a, b = buffer("A", 4, 5), buffer("B", 4)
    i, ko, ki = ints("i ko ki")
    k = ko * 2 + ki
    update = when(k < 5, store(b, i, load(b, i) + load(a, i, k)))
    before = program((a, b), loop(i, 4, store(b, i, 0.0), loop(ko, 3, loop(ki, 2, update))))
    after = promote(before)
    golden(after)
    same_result(before, after)


def test_two_accumulators(golden):
    """argmax: both results wait in registers."""
    a, v, p = buffer("A", 4, 6), buffer("V", 4), buffer("P", 4, dtype="int32")
    i, k = ints("i k")
    new_v, new_p = var("new_v", "float32"), var("new_p")
    better = load(a, i, k) > load(v, i)
    update = LetStmt(
        new_v,
        build.select(better, load(a, i, k), load(v, i)),
        LetStmt(new_p, build.select(better, k, load(p, i)), seq(store(v, i, new_v), store(p, i, new_p))),
    )
    init = [store(v, i, -1e30), store(p, i, -1)]
    before = program((a, v, p), loop(i, 4, *init, loop(k, 6, update)))
    after = promote(before)
    golden(after)
    same_result(before, after)


def cases():
    a, b, c = buffer("A", 8, 8), buffer("B", 8), buffer("C", 8)
    i, k, ii = ints("i k ii")
    add = store(b, i, load(b, i) + load(a, i, k))
    yield "no-loop-of-its-own", loop(i, 8, loop(k, 8, store(b, k, load(b, k) + load(a, i, k))))
    yield "tile-loop-not-unrolled", loop(k, 8, loop(ii, 8, store(b, ii, load(b, ii) + load(a, ii, k))))
    yield "another-read", loop(i, 8, loop(k, 8, store(b, i, load(b, i) + load(b, k))))
    yield "another-store", loop(i, 8, loop(k, 8, add, store(b, k, 1.0)))
    yield "other-memory-written", loop(i, 8, loop(k, 8, add, store(c, k, 1.0)))
    yield "one-element-for-two", loop(
        k, 8, loop(ii, 8, store(b, ii // 2, load(b, ii // 2) + load(a, ii, k)), kind="unrolled")
    )
    pointer = Call("access_ptr", (b.data, Const(0), Const(8), Const(3)), "handle", "intrin")
    yield "address-taken", loop(i, 8, loop(k, 8, add, Evaluate(Call("f", (pointer,), "int32", "extern"))))
    view = b.with_(name="view", data=b.data)
    yield "view-of-the-same-memory", loop(i, 8, loop(k, 8, store(b, i, load(b, i) + load(view, k))))
    n = var("n", nonneg=True)
    big = buffer("B", 9 * n)
    tail = when(k < n, store(big, i, load(big, i) + 1.0))
    yield "may-be-outside", loop(i, 8, loop(k, 8, tail))
    large = buffer("L", 256)
    yield "too-large", loop(k, 8, loop(ii, 256, store(large, ii, load(large, ii) + 1.0), kind="unrolled"))
    where = store(b, load(c, 0).astype("int32"), load(b, load(c, 0).astype("int32")) + 1.0)
    yield "place-read-from-memory", loop(k, 8, where)


@pytest.mark.parametrize("name, body", [pytest.param(*case, id=case[0]) for case in cases()])
def test_left_alone(name, body):
    before = program((), body)
    assert promote(before) is before


def test_an_initialisation_of_something_else_stays():
    """It covers more than the tile."""
    a, b = buffer("A", 4, 6), buffer("B", 4)
    i, k, i2 = ints("i k i2")
    init = loop(i2, 4, store(b, i2, 0.0), kind="unrolled")
    before = program((a, b), loop(i, 1, init, loop(k, 6, store(b, i, load(b, i) + load(a, i, k)))))
    after = promote(before)
    assert len(nodes(after, Alloc)) == 1 and "B[i2] = 0.0" in show(after.body)
    same_result(before, after)


def test_initialisation_that_reads_the_accumulator_stays():
    a, b = buffer("A", 4, 6), buffer("B", 4)
    i, k = ints("i k")
    init = store(b, i, load(b, i) * 2.0)
    before = program((a, b), loop(i, 4, init, loop(k, 6, store(b, i, load(b, i) + load(a, i, k)))))
    after = promote(before)
    assert "B[i] *= 2.0" in show(after.body)
    same_result(before, after)


def test_origins_are_kept():
    a, b = buffer("A", 6), buffer("B", 1)
    (k,) = ints("k")
    update = store(b, 0, load(b, 0) + load(a, k), origin="update")
    after = promote(program((a, b), loop(k, 6, update, origin="k")))
    assert {s.origin for s in nodes(after, Store)} == {"update"}
    assert nodes(after, For)[0].origin == "k"


def test_a_register_tile_stays_as_it_is():
    """A small local buffer whose indices are constant once unrolled needs no second tile."""
    a, b = buffer("A", 5, 16), buffer("B", 2, 16)
    tile = buffer("T", 2, 8).with_(scope="local")
    k, i, i2, i3 = ints("k i i2 i3")
    init = loop(i2, 2, store(tile, (i2, lanes(0)), build.const(0.0, "float32x8")), kind="unrolled")
    add = store(tile, (i, lanes(0)), load(tile, i, lanes(0)) + load(a, k, lanes(i * 8)))
    out = loop(i3, 2, store(b, (i3, lanes(0)), load(tile, i3, lanes(0))), kind="unrolled")
    before = program((a, b), Alloc(tile, seq(init, loop(k, 5, loop(i, 2, add, kind="unrolled")), out)))
    assert promote(before) is before
    adds = loop(k, 5, loop(i, 2, add, kind="unrolled"))
    rolled = program((a, b), Alloc(tile, seq(init, adds, loop(i3, 2, out.body))))
    assert promote(rolled) is not rolled
