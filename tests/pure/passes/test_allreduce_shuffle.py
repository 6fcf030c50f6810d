"""Reductions over threads as shuffles: results in the interpreter, what is left for the tree, shuffles by hand."""

import numpy as np
import pytest

from tests.pure.passes import reductions as red
from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, store, when
from tests.refusal import refused
from tvmlab.core.build import const, if_then_else
from tvmlab.core.error import BuildError
from tvmlab.core.node import Alloc, AllReduce, Barrier, Call, LetStmt, Seq, Var
from tvmlab.target.interp import InterpError, run

BOTH = "allreduce_shuffle", "allreduce_tree"


def shuffles(p):
    return [x for x in nodes(p, Call) if x.name == "shuffle_xor"]


def test_pictures(golden):
    golden(red.flat(*red.rows(x=4, y=2, n=4)[:2], "allreduce_shuffle"), "group")
    golden(red.flat(*red.rows(x=96)[:2], "allreduce_shuffle"), "warps")
    golden(red.flat(*red.best(parts=2)[:2], "allreduce_shuffle"), "tuple")


@pytest.mark.parametrize("fold", red.FOLDS)
@pytest.mark.parametrize("x", [1, 2, 4, 8, 16, 32])
def test_within_a_warp(fold, x):
    made = red.check(*red.rows(fold, x=x, y=3, n=5, serial=2), "allreduce_shuffle")
    assert len(shuffles(made)) == x.bit_length() - 1
    assert not nodes(made, AllReduce, Barrier)


@pytest.mark.parametrize("x", [64, 96, 160])
@pytest.mark.parametrize("y", [1, 2])
def test_several_warps(x, y):
    made = red.check(*red.rows(x=x, y=y, n=5, serial=2), "allreduce_shuffle")
    (memory,) = [a.buffer for a in nodes(made, Alloc) if a.buffer.scope == "shared"]
    assert memory.size == x * y // 32 and len(nodes(made, Barrier)) == 1


def test_as_many_warps_as_a_block_may_have():
    red.check(*red.rows(n=1, x=1024), "allreduce_shuffle")


@pytest.mark.parametrize("case", [
    lambda: red.rows(x=6), lambda: red.rows(x=33), lambda: red.rows(x=3, y=2, over="xy"),  # sizes
    lambda: red.rows(n=4, x=2, y=4, over="y"),  # not one after another
    lambda: red.rows(x=4, dtype="float16"), lambda: red.rows(x=4, dtype="int8"),
])  # fmt: skip
def test_what_is_left_for_the_tree(case):
    s, args, inputs, expected = case()
    left = red.flat(s, args, "allreduce_shuffle")
    assert nodes(left, AllReduce) and not shuffles(left)
    assert not nodes(red.check(s, args, inputs, expected, *BOTH), AllReduce)


@pytest.mark.parametrize("over, x, y", [("xy", 4, 8), ("yx", 8, 8), ("y", 1, 8), ("x", 16, 1)])
def test_two_dimensions_one_after_another(over, x, y):
    made = red.check(*red.rows(x=x, y=y, over=over), "allreduce_shuffle")
    assert shuffles(made) and not nodes(made, AllReduce)


@pytest.mark.parametrize("dtype", ["float64", "int32", "int64"])
def test_types(dtype):
    assert shuffles(red.check(*red.rows("max", x=8, dtype=dtype), "allreduce_shuffle"))


@pytest.mark.parametrize("parts", [1, 2, 8, 24, 64])
def test_argmax(parts):
    red.check(*red.best(parts=parts, k=70), *BOTH)


@pytest.mark.parametrize("parts", [8, 64])
def test_all_lanes_agree_whatever_the_combiner(parts):
    """Of equal values the left one wins: lanes that each put themselves on the left would not agree."""
    s, (V, I, M), (v,), _ = red.best(n=2, k=parts, parts=parts, ties=False)
    s[I].set_store_predicate(_last(s, I, parts))
    v[:] = 5
    index, _ = red.computed(red.flat(s, [V, I, M], "allreduce_shuffle"), [v], [((2,), "int32"), ((2,), "float32")])
    assert index.tolist() == [0, 0]


def _last(s, I, parts):
    """Only the last thread stores."""
    return next(m.thread for m in s[I].record.marks.values() if m.thread.thread_tag == "threadIdx.x").var.equal(
        parts - 1
    )


@pytest.mark.parametrize("parts", [8, 64])
@pytest.mark.parametrize("scope", ["local", "shared"])
def test_two_in_a_loop(parts, scope):
    s, args, inputs, expected = red.softmax(scope, k=2 * parts, parts=parts)
    made = red.check(s, args, inputs, expected, "allreduce_shuffle")
    added = [number for number, b in enumerate(red.barriers(made)) if b not in red.barriers(red.flat(s, args))]
    assert parts == 64 or scope == "local" or len(red.barriers(made)) == len(red.barriers(red.flat(s, args)))
    if parts == 64 and scope == "local":
        assert len(added) == 4  # two for each: before the slots are written, before they are read
        for number in added:
            assert red.races(red.without_barrier(made, number), inputs, expected), f"barrier {number}"


# ---------------------------------------------------------------- shuffles by hand


def shuffled(mask=1, width=32, threads=8, around=lambda s, tx: s, between=()):
    a, c = buffer("A", threads), buffer("C", threads)
    (tx,), got = ints("tx"), Var("got", "float32")
    value = Call("shuffle_xor", (load(a, tx), const(mask), const(width)), "float32", "intrin")
    body = around(LetStmt(got, value, store(c, tx, got)), tx)
    return program((a, c), loop(tx, threads, *between, body, kind="thread", thread="threadIdx.x"))


def result(p, n):
    a, c = np.arange(n, dtype="float32"), np.full(n, np.nan, "float32")
    run(p, [a, c])
    return c.tolist()


def test_lanes_exchange_values():
    assert result(shuffled(1), 8) == [1, 0, 3, 2, 5, 4, 7, 6]
    assert result(shuffled(6, 8), 8) == [6, 7, 4, 5, 2, 3, 0, 1]
    assert result(shuffled(16, threads=64), 64) == [i ^ 16 for i in range(64)]  # within each warp


def test_a_lane_that_is_not_there():
    message = refused(InterpError, lambda: result(shuffled(4, threads=6), 6))
    assert "lane 2 shuffles with lane 6 of its warp, which has 6 lanes (threadIdx.x = 2)" in message


def test_a_shuffle_that_not_all_lanes_reach():
    p = shuffled(around=lambda s, tx: when(tx < 3, s))
    assert "divergent barrier: the threads of a warp do not all reach" in refused(InterpError, lambda: result(p, 8))


def test_a_shuffle_orders_no_memory():
    """Without a barrier, what lanes stored before it is not there for others after it."""
    s, (tx,) = buffer("S", 8, scope="shared"), ints("tx")
    a, c, got = buffer("A", 8), buffer("C", 8), Var("got", "float32")
    value = Call("shuffle_xor", (load(a, tx), const(1), const(32)), "float32", "intrin")
    body = Seq((store(s, tx, load(a, tx)), LetStmt(got, value, store(c, tx, load(s, 7 - tx) + got))))
    for between, fine in ((None, False), (Barrier("warp"), True)):
        first, second = body.stmts
        steps = [first, *([between] if between else []), second]
        whole = Alloc(s, loop(tx, 8, *steps, kind="thread", thread="threadIdx.x"))
        p = program((a, c), loop(Var("b"), 1, whole, kind="thread", thread="blockIdx.x"))
        if fine:
            assert result(p, 8) == [7 - i + (i ^ 1) for i in range(8)]
        else:
            assert refused(InterpError, lambda p=p: result(p, 8))


def test_a_shuffle_in_a_choice_that_one_lane_makes():
    a, c = buffer("A", 8), buffer("C", 8)
    (tx,) = ints("tx")
    value = Call("shuffle_xor", (load(a, tx), const(1), const(32)), "float32", "intrin")
    chosen = store(c, tx, if_then_else(tx < 3, value, const(0.0)))
    p = program((a, c), loop(tx, 8, chosen, kind="thread", thread="threadIdx.x"))
    assert "the threads of a warp do not all reach" in refused(InterpError, lambda: result(p, 8))


def test_inside_virtual_threads_it_has_no_meaning():
    (v,) = ints("v")
    p = shuffled(around=lambda s, tx: loop(v, 2, s, kind="vthread"))
    assert "a shuffle inside the virtual threads v has no meaning" in refused(InterpError, lambda: result(p, 8))


@pytest.mark.parametrize("mask, width", [(0, 32), (32, 32), (4, 4), (1, 5), (1, 64)])
def test_lanes_that_do_not_exist_are_refused(mask, width):
    assert "names no lanes of a warp" in refused(BuildError, lambda: result(shuffled(mask, width), 8))


def test_outside_of_threads_it_is_refused():
    a, c = buffer("A", 1), buffer("C", 1)
    value = Call("shuffle_xor", (load(a, 0), const(1), const(2)), "float32", "intrin")
    message = refused(BuildError, lambda: result(program((a, c), store(c, 0, value)), 1))
    assert "stands outside of every thread loop" in message
