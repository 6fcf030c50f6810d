"""Index arithmetic, decided conditions, loops of one iteration."""

import pytest

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, same_result, store, var, when
from tvmlab.core import build
from tvmlab.core.node import Alloc, Call, Const, For, If, LetStmt, Seq
from tvmlab.core.text import show
from tvmlab.core.walk import seq
from tvmlab.lowering.config import Config
from tvmlab.lowering.passes import get

simplify = get("simplify")


def test_split_of_a_divisible_axis(golden):
    """The guard of a split that divides is proved; nested unit loops go."""
    a, b = buffer("A", 32), buffer("B", 4, 8)
    i0, io, ii = ints("i0 io ii")
    x = i0 * 32 + io * 8 + ii
    before = program(
        (a, b), loop(i0, 1, loop(io, 4, loop(ii, 8, when(x < 32, store(b, (x // 8, x % 8), load(a, x * 2 // 2))))))
    )
    after = simplify(before)
    golden(before, "before")
    golden(after, "after")
    same_result(before, after)


def test_nothing_to_do_is_the_same_object():
    after = simplify(make_plain())
    assert simplify(after) is after


def make_plain():
    n = var("n", nonneg=True)
    a, b = buffer("A", n), buffer("B", n)
    io, ii = ints("io ii")
    x = io * 8 + ii
    value = build.if_then_else(x >= 3, load(a, x - 3), 0.0) + 1.0
    body = loop(io, (n + 7) // 8, loop(ii, 8, when(x < n, store(b, x, value))))
    return program((a, b), body, sizes=(n,))


def test_symbolic_guard_stays(golden):
    before = make_plain()
    after = simplify(before)
    golden(after)
    same_result(before, after, {before.entry.sizes[0]: 21})


def test_conjuncts_that_hold_are_dropped():
    a = buffer("A", 30)
    io, ii = ints("io ii")
    x = io * 8 + ii
    before = program((a,), loop(io, 4, loop(ii, 8, when(build.all_(x >= 0, x < 30, ii < 8), store(a, x, 1.0)))))
    after = simplify(before)
    assert show(nodes(after, If)[0].cond) == "io*8 + ii < 30"
    assert nodes(after, If)[0].likely
    same_result(before, after)


def test_outer_guard_decides_inner_one():
    a = buffer("A", 30)
    (i,) = ints("i")
    inner = If(i < 25, store(a, i, 1.0), store(a, i, 2.0))
    before = program((a,), loop(i, 30, If(i < 20, inner, If(i >= 20, store(a, i, 3.0)))))
    after = simplify(before)
    assert len(nodes(after, If)) == 1
    same_result(before, after)


def test_false_condition_leaves_the_other_side():
    a = buffer("A", 8)
    (i,) = ints("i")
    before = program((a,), loop(i, 8, If(i > 10, store(a, i, 1.0), store(a, i, 2.0)), If(i < 0, store(a, i, 5.0))))
    after = simplify(before)
    assert show(after.body) == "for i in range(8):\n    A[i] = 2.0"


def test_conditions_on_memory_are_not_facts():
    """A[0] changes between the two tests."""
    a = buffer("A", 1, dtype="int32")
    inner = If(load(a, 0) < 3, store(a, 0, 7))
    before = program((a,), store(a, 0, 1), If(load(a, 0) < 3, seq(store(a, 0, 5), inner)))
    after = simplify(before)
    assert len(nodes(after, If)) == 2
    same_result(before, after)


def test_a_let_of_memory_is_not_its_later_value():
    a = buffer("A", 2, dtype="int32")
    v = var("v")
    body = seq(store(a, 0, 9), store(a, 1, v - load(a, 0)))
    before = program((a,), LetStmt(v, load(a, 0), body))
    after = simplify(before)
    same_result(before, after)


def test_lets_are_known():
    a = buffer("A", 64)
    i, v, w = ints("i v w")
    body = LetStmt(v, i * 4, LetStmt(w, v, when(v < 64, store(a, w // 4, 1.0))))
    before = program((a,), loop(i, 16, body))
    after = simplify(before)
    assert not nodes(after, If)
    assert show(after.body).endswith("v = i*4\n    A[v//4] = 1.0")
    same_result(before, after)


def test_loaded_integers_wrap():
    """(x*4)//4 is x only where x*4 does not overflow; loaded values may."""
    a = buffer("A", 8, dtype="int32")
    (i,) = ints("i")
    before = program((a,), loop(i, 8, store(a, i, load(a, i + 0 * i) * 4 // 4)))
    after = simplify(before)
    assert "*4//4" in show(after.body).replace(" ", "")


def test_calls_with_effects_are_kept():
    a = buffer("A", 8, dtype="int32")
    (i,) = ints("i")
    rand = Call("rand", (), "int32", "extern")
    again = Call("rand", (), "int32", "extern")
    after = simplify(program((a,), loop(i, 8, store(a, i, rand - again))))
    assert len(nodes(after, Call)) == 2


@pytest.mark.parametrize("kind, gone", [("serial", True), ("vectorized", True), ("parallel", True), ("thread", False)])
def test_loops_of_one_iteration(kind, gone):
    a = buffer("A", 8)
    (i,) = ints("i")
    tag = "threadIdx.x" if kind == "thread" else ""
    before = program((a,), loop(i, 1, store(a, i, 1.0), kind=kind, lo=0 if tag else 3, thread=tag))
    assert bool(nodes(simplify(before), For)) is not gone
    assert nodes(simplify(before, Config(keep_unit_loops=True)), For)


def test_loops_of_no_iteration():
    a = buffer("A", 8)
    i, j = ints("i j")
    before = program((a,), loop(i, 8, loop(j, i - i, store(a, j, 1.0))), store(a, 0, 1.0))
    assert not any(f.var is j for f in nodes(simplify(before), For))


def test_shape_of_an_allocation_follows(golden):
    """The buffer's extent names the variable of a loop that goes."""
    out = buffer("O", 8)
    i, j, k = ints("i j k")
    t = buffer("T", i + 4, scope="local")
    inside = Alloc(t, seq(loop(j, 5, store(t, j, 2.0)), loop(k, 5, store(out, k, load(t, k)))))
    before = program((out,), loop(i, 1, inside, lo=1))
    after = simplify(before)
    golden(after)
    same_result(before, after)


def test_padding_inside_an_expression():
    """if_then_else: each side is simplified under its condition."""
    a, b = buffer("A", 8), buffer("B", 10)
    (i,) = ints("i")
    inside = build.if_then_else(i < 5, load(a, i), load(a, i - 1))
    before = program((a, b), loop(i, 9, store(b, i, build.if_then_else(i < 4, inside, 0.0))))
    after = simplify(before)
    assert show(after.body).endswith("B[i] = A[i] if i < 4 else 0.0")
    same_result(before, after)


def test_bit_operations_and_truncating_division():
    a = buffer("A", 64, dtype="int32")
    i, j = ints("i j")
    x = build.binary("truncdiv", i - 3, j - 9) + build.binary("&", i + 0, j + 1 - 1)
    before = program((a,), loop(i, 8, loop(j, 8, store(a, i * 8 + j, x))))
    after = simplify(before)
    assert "truncdiv(i - 3, j - 9) + (i & j)" in show(after.body)
    same_result(before, after)


def test_seq_of_removed_statements():
    a = buffer("A", 4)
    (i,) = ints("i")
    before = program((a,), Seq((loop(i, 0, store(a, i, 1.0)), store(a, Const(0), 1.0))))
    assert show(simplify(before).body) == "A[0] = 1.0"
