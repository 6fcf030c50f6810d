"""Warp memory as slices of shared memory: results in the interpreter, and what is refused."""

import numpy as np
import pytest

from tests.pure.passes import reductions as red
from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, store, when
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.build import const
from tvmlab.core.error import BuildError
from tvmlab.core.node import Alloc, Barrier, Call, Evaluate, For, Ramp
from tvmlab.core.walk import replace
from tvmlab.face.api import create_schedule
from tvmlab.lowering.passes import get

warp_memory, flatten = get("warp_memory"), get("flatten_storage")


def rotated(m=256, warps=2, tag="threadIdx.y"):
    """Each row of 32 is read by its warp and stored rotated by one."""
    A = te.placeholder((m,), name="A")
    B = te.compute((m,), lambda i: A[i // 32 * 32 + (i + 1) % 32] + 1.0, name="B")
    s = create_schedule(B.op)
    AA = s.cache_read(A, "warp", [B])
    rows, x = s[B].split(B.op.axis[0], 32)
    bx, y = s[B].split(rows, warps)
    tx = te.thread_axis("threadIdx.x")
    s[B].bind(bx, te.thread_axis("blockIdx.x"))
    s[B].bind(y, te.thread_axis(tag))
    s[B].bind(x, tx)
    s[AA].compute_at(s[B], y)
    _, x = s[AA].split(AA.op.axis[0], 32)
    s[AA].bind(x, tx)
    a = red.numbers(m)
    return s, [A, B], [a], [np.roll(a.reshape(-1, 32), -1, 1).reshape(-1) + 1]


@pytest.mark.parametrize("warps", [1, 2, 4])
@pytest.mark.parametrize("tag", ["threadIdx.y", "threadIdx.z"])
def test_a_slice_for_each_warp(warps, tag):
    made = red.check(*rotated(warps=warps, tag=tag), "warp_memory")
    (memory,) = [a.buffer for a in nodes(made, Alloc) if a.buffer.scope != "local"]
    assert (memory.scope, memory.size) == ("shared", 32 * warps)
    assert {b.scope for b in nodes(made, Barrier)} == {"warp"}


def test_picture(golden):
    golden(red.flat(*rotated()[:2], "warp_memory"))


def test_where_there_is_no_warp_memory_nothing_changes():
    p = red.flat(*red.rows(x=4)[:2])
    assert warp_memory(p) is p


def by_hand(access=None, x=64, shape=32, scope="warp"):
    """64 threads in a row: each warp turns its half around."""
    a, c, w, (tx,) = buffer("A", x), buffer("C", x), buffer("W", shape, scope=scope), ints("tx")
    first = store(w, tx % 32, load(a, tx))
    last = access(a, c, w, tx) if access else store(c, tx, load(w, 31 - tx % 32))
    body = loop(tx, x, first, Barrier(scope), last, kind="thread", thread="threadIdx.x")
    return flatten(program((a, c), loop(B, 1, Alloc(w, body), kind="thread", thread="blockIdx.x")))


(B,) = ints("b")


def result(p, x=64):
    c = np.full(x, np.nan, "float32")
    red.interp.run(p, [np.arange(x, dtype="float32"), c])
    return c


def test_barriers_of_the_block_do_as_well():
    made = get("block_barriers")(red.check(*rotated(warps=2), "warp_memory", "block_barriers"))
    assert {b.scope for b in nodes(made, Barrier)} == {"shared"}
    p = red.flat(*red.rows(x=4)[:2])
    assert get("block_barriers")(p) is p


@pytest.mark.parametrize("scope", ["warp", "warp.mine"])
def test_barriers_of_a_person_too_whatever_else_their_scope_is_called(scope):
    p = by_hand(scope=scope)
    assert {b.scope for b in nodes(p, Barrier)} == {scope}
    made = get("block_barriers")(warp_memory(p))
    assert {b.scope for b in nodes(made, Barrier)} == {"shared"}
    assert {a.buffer.scope for a in nodes(made, Alloc)} == {"shared"}
    assert (result(made) == np.arange(64).reshape(2, 32)[:, ::-1].reshape(-1)).all()


def test_barriers_of_warps_stay():
    p = by_hand()
    made = warp_memory(p)
    assert [b.scope for b in nodes(made, Barrier)] == ["warp"]
    for q in (p, made):
        assert (result(q) == np.arange(64).reshape(2, 32)[:, ::-1].reshape(-1)).all()
    assert red.races(red.without_barrier(made, 0), [np.arange(64, dtype="float32")], [np.zeros(64, "float32")])


@pytest.mark.parametrize("x", [24, 64, 96, 80])
def test_rows_of_threads(x):
    made = warp_memory(by_hand(lambda a, c, w, tx: store(c, tx, load(w, tx % 32) + 0.0), x=x))
    assert (result(made, x) == np.arange(x)).all()


def test_without_slices_the_warps_write_over_each_other():
    p = by_hand()
    (w,) = [a.buffer for a in nodes(p, Alloc)]
    one = w.with_(scope="shared")

    def rule(n):
        return replace(n, buffer=one) if getattr(n, "buffer", None) is w else None

    same = p.map_bodies(lambda body: red.rewrite(body, rule))
    assert red.races(same, [np.arange(64, dtype="float32")], [np.zeros(64, "float32")])
    assert not red.races(warp_memory(p), [np.arange(64, dtype="float32")], [np.zeros(64, "float32")])


def test_vectors():
    def access(a, c, w, tx):
        return when((tx % 32).equal(0), store(c, Ramp(tx, const(1), 32), load(w, Ramp(const(0), const(1), 32)) + 0.0))

    made = warp_memory(by_hand(access))
    assert (result(made) == np.arange(64)).all()


def test_an_index_that_no_loop_around_names():
    """y stands outside of this loop only for some statements; the others get a name for it."""
    a, c, w = buffer("A", 64), buffer("C", 64), buffer("W", 32, scope="warp")
    tx, t2, ty = ints("tx t2 ty")
    fill = loop(tx, 32, store(w, tx, load(a, tx)), kind="thread", thread="threadIdx.x")
    use = loop(t2, 32, store(c, ty * 32 + t2, load(w, 31 - t2)), kind="thread", thread="threadIdx.x")
    use = loop(ty, 2, use, kind="thread", thread="threadIdx.y")
    p = flatten(
        program(
            (a, c), loop(B, 1, Alloc(w, red.Seq((fill, Barrier("shared"), use))), kind="thread", thread="blockIdx.x")
        )
    )
    made = warp_memory(p)
    assert [f.thread for f in nodes(made, For)].count("threadIdx.y") == 2
    assert (result(made) == np.tile(np.arange(31, -1, -1), 2)).all() and (result(p) == result(made)).all()


# ---------------------------------------------------------------- refused


def test_an_address_is_refused():
    def access(a, c, w, tx):
        pointer = Call("access_ptr", (w.data, const(0), const(4), const(3)), "handle", "intrin")
        return Evaluate(Call("f", (pointer,), "int32", "packed"))

    message = refused(BuildError, lambda: warp_memory(by_hand(access)))
    assert "takes the address of W in warp memory" in message


def test_a_block_of_unknown_size_is_refused():
    (n,) = ints("n")
    a, c, w, (tx,) = buffer("A", 64), buffer("C", 64), buffer("W", 32, scope="warp"), ints("tx")
    p = program((a, c), loop(tx, n, Alloc(w, store(w, tx % 32, 1.0)), kind="thread", thread="threadIdx.x"), sizes=(n,))
    assert "a kernel that uses warp memory needs a number" in refused(BuildError, lambda: warp_memory(flatten(p)))


def test_a_condition_where_an_index_has_no_name_is_refused():
    a, c, w = buffer("A", 64), buffer("C", 64), buffer("W", 32, scope="warp")
    tx, t2, ty = ints("tx t2 ty")
    fill = loop(tx, 32, store(w, tx, load(a, tx)), when(load(w, tx) > 0.0, store(c, tx, 1.0)), kind="thread",
                thread="threadIdx.x")  # fmt: skip
    use = loop(ty, 2, loop(t2, 32, store(c, t2, 1.0), kind="thread", thread="threadIdx.x"), kind="thread",
               thread="threadIdx.y")  # fmt: skip
    p = flatten(program((a, c), loop(B, 1, Alloc(w, red.Seq((fill, use))), kind="thread", thread="blockIdx.x")))
    message = refused(BuildError, lambda: warp_memory(p))
    assert "reads W, which is in warp memory, where threadIdx.y has no name" in message
