"""Reductions over threads as trees in shared memory: results, every barrier needed, and what is refused."""

import numpy as np
import pytest

from tests.pure.passes import reductions as red
from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, store, when
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.build import const
from tvmlab.core.error import BuildError
from tvmlab.core.node import Alloc, AllReduce, For, LetStmt
from tvmlab.lowering.passes import get
from tvmlab.lowering.passes.allreduce_tree import SYNC, folds

tree = get("allreduce_tree")
(B,) = ints("b")


def test_pictures(golden):
    golden(red.flat(*red.rows(x=6, y=2, n=4)[:2], "allreduce_tree"), "group")
    golden(red.flat(*red.best(parts=2)[:2], "allreduce_tree"), "tuple")
    golden(red.flat(*red.softmax()[:2], "allreduce_tree"), "loop")


@pytest.mark.parametrize(
    "size, expected", [(1, []), (2, [(1, 1)]), (3, [(1, 2), (1, 1)]), (8, [(4, 4), (2, 2), (1, 1)])]
)
def test_folds(size, expected):
    assert folds(size) == expected


@pytest.mark.parametrize("size", range(1, 70))
def test_folds_take_each_thread_once(size):
    parts = [{r} for r in range(size)]
    for active, distance in folds(size):
        for r in range(active):
            assert not parts[r] & parts[r + distance]
            parts[r] |= parts[r + distance]
    assert parts[0] == set(range(size))


@pytest.mark.parametrize("fold", red.FOLDS)
@pytest.mark.parametrize("serial", [1, 3])
def test_folds_of_one_row_of_threads(fold, serial):
    for x in (1, 2, 3, 7, 8, 13):
        made = red.check(*red.rows(fold, x=x, serial=serial), "allreduce_tree")
        assert not nodes(made, AllReduce)
        assert bool(nodes(made, Alloc)) and (x > 1) == any(a.buffer.scope == "shared" for a in nodes(made, Alloc))


@pytest.mark.parametrize("over", ["x", "y", "xy", "yx"])
@pytest.mark.parametrize("x, y", [(4, 3), (3, 4), (5, 1), (1, 5), (2, 7)])
def test_blocks_of_two_dimensions(over, x, y):
    for serial in (1, 2):
        red.check(*red.rows(n=5, x=x, y=y, over=over, serial=serial), "allreduce_tree")


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "float16", "float64"])
def test_types(dtype):
    red.check(*red.rows("max", x=6, dtype=dtype), "allreduce_tree")


@pytest.mark.parametrize("parts", [1, 2, 5, 8])
def test_argmax(parts):
    red.check(*red.best(parts=parts), "allreduce_tree")


@pytest.mark.parametrize("scope", ["local", "shared"])
def test_two_in_a_loop(scope):
    made = red.check(*red.softmax(scope), "allreduce_tree")
    memory = [a.buffer.name for a in nodes(made, Alloc) if a.buffer.name.startswith("red")]
    assert memory == ["red"]  # both use the same
    red.check(*red.softmax(scope), "allreduce_tree", "reuse_storage")


MUTANTS = {
    "one row": lambda: red.rows(x=4),
    "a small remainder": lambda: red.rows(x=6, serial=2),
    "a large remainder": lambda: red.rows(x=7, serial=2),
    "groups along y": lambda: red.rows(n=5, x=3, y=4, over="y"),
    "both": lambda: red.rows(x=3, y=3, over="xy"),
    "a tuple": red.best,
    "a loop around": lambda: red.rows(n=6, x=4, each=3),
    "two in a loop": red.softmax,
    "two in a loop, stored to shared memory": lambda: red.softmax("shared"),
}


@pytest.mark.parametrize("case", MUTANTS)
def test_every_barrier_is_needed(case):
    s, args, inputs, expected = MUTANTS[case]()
    made = red.flat(s, args, "allreduce_tree")
    added = [number for number, x in enumerate(red.barriers(made)) if x is SYNC]
    assert added and not red.races(made, inputs, expected)
    for number in added:
        assert red.races(red.without_barrier(made, number), inputs, expected), f"barrier {number}"


def test_memory_that_is_read_no_more_needs_no_barrier():
    """The barriers that the loop has already are enough for the second reduction, and for the next round."""
    steps = 4  # one after the values are stored, one after each of three halvings
    for scope, more in (("shared", 0), ("local", 2)):
        s, args = red.softmax(scope)[:2]
        before, after = red.flat(s, args), red.flat(s, args, "allreduce_tree")
        assert len(red.barriers(after)) == len(red.barriers(before)) + 2 * steps + more
    assert len(red.barriers(red.flat(*red.rows(x=8)[:2], "allreduce_tree"))) == steps
    assert len(red.barriers(red.flat(*red.rows(x=8, each=2)[:2], "allreduce_tree"))) == steps + 1


# ---------------------------------------------------------------- by hand


def by_hand(around=lambda body, tx, ty: body, x=4, y=2, cond=True):
    """A block of x * y threads; each row of x is summed."""
    a, c, total = buffer("A", x * y), buffer("C", y), buffer("total", 1, scope="local")
    tx, ty = ints("tx ty")
    fold = AllReduce(_sum(), (load(a, ty * x + tx),), const(cond, "bool"), (total,), (tx,))
    body = Alloc(total, red.Seq((around(fold, tx, ty), when(tx.equal(0), store(c, ty, load(total, 0))))))
    row = loop(ty, y, loop(tx, x, body, kind="thread", thread="threadIdx.x"), kind="thread", thread="threadIdx.y")
    return program((a, c), row)


def _sum():
    A = te.placeholder((2,), name="A")
    k = te.reduce_axis((0, 2), name="k")
    return te.compute((), lambda: te.sum(A[k], axis=k), name="s").op.body[0].combiner


def test_a_row_of_threads_by_hand():
    a, c = np.arange(8, dtype="float32"), np.zeros(2, "float32")
    red.interp.run(tree(by_hand()), [a, c])
    assert c.tolist() == [6, 22]


def test_tags_that_no_loop_around_names():
    """y stands elsewhere in the kernel: all its threads come here, and each needs a place of its own."""
    a, c, total = buffer("A", 4), buffer("C", 3), buffer("total", 1, scope="local")
    tx, ty, t2 = ints("tx ty t2")
    fold = AllReduce(_sum(), (load(a, tx),), const(True), (total,), (tx,))
    first = loop(tx, 4, fold, kind="thread", thread="threadIdx.x")
    out = when(t2.equal(0), store(c, ty, load(total, 0) + 0.0))
    second = loop(ty, 3, loop(t2, 4, out, kind="thread", thread="threadIdx.x"), kind="thread", thread="threadIdx.y")
    body = Alloc(total, red.Seq((first, second)))
    made = tree(program((a, c), loop(B, 1, body, kind="thread", thread="blockIdx.x")))
    assert [n.thread for n in nodes(made, For)].count("threadIdx.y") == 2
    result = np.zeros(3, "float32")
    red.interp.run(made, [np.arange(4, dtype="float32"), result])
    assert result.tolist() == [6, 6, 6]


def parted(around):
    return refused(BuildError, lambda: tree(by_hand(around)))


NOT_REACHED = "`total[0] = allreduce_sum(A[ty*4 + tx], over=[tx])` is not reached by all threads of its block, "
NOT_REACHED += (
    "which must wait for each other there\n    {}    <- not every thread enters\n  all threads must take part: "
)
NOT_REACHED += "move the condition into the sum (where=...), or out of the block"


def test_a_condition_that_parts_the_threads_is_refused():
    assert parted(lambda s, tx, ty: when(ty < 1, s)) == NOT_REACHED.format("if ty < 1:")


def test_a_loop_of_different_lengths_is_refused():
    (i,) = ints("i")
    assert parted(lambda s, tx, ty: loop(i, ty + 1, s)) == NOT_REACHED.format("for i in range(ty + 1):")


def test_a_name_for_what_differs_is_seen_through():
    (n,) = ints("n")
    assert parted(lambda s, tx, ty: LetStmt(n, tx * 2, when(n < 3, s))) == NOT_REACHED.format("if n < 3:")


def test_what_is_the_same_for_all_threads_parts_nobody():
    i, n = ints("i n")
    made = tree(by_hand(lambda s, tx, ty: LetStmt(n, const(3), loop(i, n, when(i < 2, s)))))
    a, c = np.arange(8, dtype="float32"), np.zeros(2, "float32")
    red.interp.run(made, [a, c])
    assert c.tolist() == [6, 22]


def test_fewer_threads_than_the_block_has_are_refused():
    a, c, total, d = buffer("A", 4), buffer("C", 1), buffer("total", 1, scope="local"), buffer("D", 8)
    tx, t2 = ints("tx t2")
    fold = AllReduce(_sum(), (load(a, tx),), const(True), (total,), (tx,))
    first = loop(tx, 4, Alloc(total, fold), kind="thread", thread="threadIdx.x")
    second = loop(t2, 8, store(d, t2, 1.0), kind="thread", thread="threadIdx.x")
    p = program((a, c, d), loop(B, 1, first, second, kind="thread", thread="blockIdx.x"))
    assert 'for tx in thread("threadIdx.x", 4):    <- not every thread enters' in refused(BuildError, lambda: tree(p))


def test_virtual_threads_are_refused():
    (v,) = ints("v")
    assert parted(lambda s, tx, ty: loop(v, 2, s, kind="vthread")) == (
        "a reduction over threads inside the virtual threads `v` has no meaning\n"
        "  bind the axis to threads, or reduce serially"
    )


def test_a_block_whose_size_is_not_known_is_refused():
    s, args, *_ = _rows_of_unknown_number()
    assert refused(BuildError, lambda: red.flat(s, args, "allreduce_tree")) == (
        "threadIdx.y has n threads in `i` of stage B: a kernel that reduces over threads needs a number\n"
        "  split the axis by the number of threads and bind the inner part"
    )


def _rows_of_unknown_number():
    n = te.size_var("n")
    A, k = te.placeholder((n, 4), name="A"), te.reduce_axis((0, 4), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(k, red.threads("x"))
    s[B].bind(B.op.axis[0], red.threads("y"))
    return s, [A, B]


def test_threads_that_no_loop_binds_are_refused():
    tx, stranger = ints("tx u")
    a, total = buffer("A", 4), buffer("total", 1, scope="local")
    fold = AllReduce(_sum(), (load(a, tx),), const(True), (total,), (stranger,))
    p = program((a,), loop(tx, 4, Alloc(total, fold), kind="thread", thread="threadIdx.x"))
    assert "is over u, but no loop over the threads of a block binds it" in refused(BuildError, lambda: tree(p))
    assert "stands outside of every thread loop" in refused(BuildError, lambda: tree(program((a,), fold)))
