"""Barriers and shuffles that not all of their threads reach: every target with kernels refuses them, in one voice."""

import numpy as np
import pytest

import tvmlab
from tests.loops import alloc, buffer, function, load, loop, store
from tests.pure.passes import reductions as red
from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core.build import const, if_then_else
from tvmlab.core.error import BuildError
from tvmlab.core.node import AllReduce, Barrier, Call, Combiner, If, LetStmt, Var, While
from tvmlab.core.program import Program
from tvmlab.core.walk import seq
from tvmlab.face.api import for_target
from tvmlab.lowering import passes, pipeline
from tvmlab.target import Target
from tvmlab.target.gpu import divergence

GPUS = ("cuda", "cuda_c", "opencl", "metal")
A, C, n = buffer("A", (1024,)), buffer("C", (1024,)), Var("n")
S, L = buffer("S", (32,), "int32", scope="shared"), buffer("L", (1,), "int32", scope="local")
i, w = Var("i"), Var("w")
tx, ty, a, b = Var("tx"), Var("ty"), Var("a", "float32"), Var("b", "float32")
SYNC, WARP_SYNC = Barrier("shared"), Barrier("warp")


def shuffle(value, mask=1, width=32):
    return Call("shuffle_xor", (value, const(mask), const(width)), value.dtype, "intrin")


def threads(body, x=32, y=1):
    inner = loop(tx, x, body, thread="threadIdx.x")
    return loop(ty, y, inner, thread="threadIdx.y") if y > 1 else inner


def checked(body, target="cuda_c"):
    """The kernel as the target's generator gets it."""
    return for_target(Program((function([A, C, n], body, name="main"),)), Target(target))


def hand(body, target="cuda_c", x=32, y=1):
    return refused(BuildError, lambda: checked(threads(body, x, y), target))


def by_a_person():
    """C[i] = A[i], by a program in which three threads of eight wait."""

    def body(ins, outs):
        ib = tir.ir_builder.create()
        a, c, t = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0]), te.thread_axis("threadIdx.x")
        ib.scope_attr(t, "thread_extent", 8)
        with ib.if_scope(t < 3):
            ib.emit(tir.call_intrin("int32", "tir.tvm_storage_sync", "shared"))
        c[t] = a[t]
        return ib.get()

    X = te.placeholder((8,), name="X")
    Y = te.extern((8,), [X], body, name="Y", dtype="float32")
    return te.create_schedule(Y.op), [X, Y]


@pytest.mark.parametrize("target", GPUS)
def test_a_barrier_of_a_person(target):
    s, args = by_a_person()
    assert refused(BuildError, lambda: tvmlab.build(s, args, target)).splitlines() == [
        f"the target `{target}` would wait forever at this barrier: `threadIdx_x < 3` does not hold for all threads",
        '    for threadIdx_x in thread("threadIdx.x", 8):',
        "        if threadIdx_x < 3:",
        '            barrier("shared")',
        "  every thread of a block must reach a barrier: bind all stages of the kernel to thread axes of the same "
        "extent, or attach the stage that needs the barrier outside of the condition",
    ]


def test_the_interpreter_has_its_own_report():
    s, args = by_a_person()
    made = tvmlab.build(s, args, "interp")
    with pytest.raises(tvmlab.core.error.LabError, match="divergent barrier: the threads of a block do not all reach"):
        made(np.zeros(8, "float32"), np.zeros(8, "float32"))


DIVERGENT = {
    "if": (If(tx < 3, SYNC), "`tx < 3` does not hold for all threads"),
    "else": (If(tx < 3, store(C, tx, 1.0), SYNC), "`tx < 3` does not hold for all threads"),
    "turns": (loop(i, tx, SYNC), "not all threads run as many turns of `i`"),
    "while": (While(load(A, tx) < 1.0, SYNC), "not all threads run as many turns of `while A[tx] < 1.0`"),
    "local": (alloc(L, store(L, 0, tx), If(load(L, 0) < 3, SYNC)), "`L[0] < 3` does not hold for all threads"),
    "named": (LetStmt(w, tx + n, If(w < 3, SYNC)), "`w < 3` does not hold for all threads"),
    "counted": (loop(i, 4, If(i < 3, SYNC), lo=tx), "`i < 3` does not hold for all threads"),
    "called": (If(Call("mine", (n,), "int32", "extern") < 3, SYNC), "`extern('mine', n) < 3` does not hold"),
    "warps": (If(tx < 32, SYNC), "`tx < 32` does not hold for all threads"),
}


@pytest.mark.parametrize("target", GPUS)
@pytest.mark.parametrize("name", DIVERGENT)
def test_barriers_of_a_block(target, name):
    body, why = DIVERGENT[name]
    message = hand(body, target, x=64)
    assert message.startswith(f"the target `{target}` would wait forever at this barrier: {why}"), message


@pytest.mark.parametrize("target", GPUS)
def test_fewer_threads_than_the_kernel_has(target):
    """The verifier refuses them before, for the reason that there are two extents."""
    both = seq(threads(store(C, tx, 1.0), 8), loop(w, 5, SYNC, thread="threadIdx.x"))
    program = Program((function([A, C, n], loop(ty, 2, both, thread="blockIdx.x")),))
    for name in (*pipeline.FLAT, "split_host_device"):
        program = passes.get(name)(program)
    message = refused(BuildError, lambda: divergence.check(program, target))
    why = "only 5 of 8 threads of threadIdx.x run `w`"
    assert message.startswith(f"the target `{target}` would wait forever at this barrier: {why}")
    assert 'for w in thread("threadIdx.x", 5):' in message


@pytest.mark.parametrize("extent, taken", [(32, True), (16, False)])
def test_a_loop_of_some_warps(extent, taken):
    """Of two warps of a block one waits for itself; half of one does not."""
    both = seq(threads(store(C, tx, 1.0), 64), loop(w, extent, WARP_SYNC, thread="threadIdx.x"))
    program = Program((function([A, C, n], loop(ty, 2, both, thread="blockIdx.x")),))
    for name in (*pipeline.FLAT, "split_host_device"):
        program = passes.get(name)(program)
    if taken:
        divergence.check(program, "cuda_c")
    else:
        message = refused(BuildError, lambda: divergence.check(program, "cuda_c"))
        assert "only 16 of 64 threads of threadIdx.x run `w`" in message


@pytest.mark.parametrize("target", GPUS)
@pytest.mark.parametrize("body", [
    If(n < 3, SYNC), loop(i, n, SYNC), loop(i, 4, SYNC, lo=tx), If(load(S, 3) < 3, SYNC), If(load(A, n) < 3.0, SYNC),
    loop(i, 4, If(i < 3, SYNC)), LetStmt(w, n + 1, If(w < 3, SYNC)), If(ty < 1, SYNC),
])  # fmt: skip
def test_what_all_threads_share_is_taken(target, body):
    one = loop(ty, 1, threads(body), thread="threadIdx.y")
    checked(alloc(S, loop(Var("bx"), 4, one, thread="blockIdx.x")), target)


# ---------------------------------------------------------------- siblings: warps, shuffles, reductions


INSIDE = {
    "lanes": (If(tx < 7, WARP_SYNC), 64, 1),
    "lanes above": (If(n < tx, WARP_SYNC), 64, 1),
    "short rows": (If(ty < 1, WARP_SYNC), 16, 4),
    "halves of rows": (If(tx < 32, WARP_SYNC), 48, 2),
    "turns": (loop(i, tx, WARP_SYNC), 64, 1),
    "parity": (If(tx % 32 < 4, WARP_SYNC), 64, 1),
    "rounded to zero": (If(tir.truncdiv(tx - 64, 64) < 0, WARP_SYNC), 64, 1),  # -1 for lane 0, else 0
    "by a negative number": (If(tx // -32 < 0, WARP_SYNC), 64, 1),  # 0 for lane 0, else -1
    "rounded to zero, from somewhere": (If(tir.truncdiv(tx + n * 32, 32) < 0, WARP_SYNC), 64, 1),
}
WHOLE = {
    "a warp": (If(tx < 32, WARP_SYNC), 64, 1),
    "the others": (If(tx >= 32, WARP_SYNC), 64, 1),
    "at most": (If(tx <= 31, WARP_SYNC), 64, 1),
    "the number of the warp": (If(tx // 32 < n, WARP_SYNC), 96, 1),
    "below the first": (If((tx - 64) // 64 < n, WARP_SYNC), 64, 1),
    "the number, rounded to zero": (If(tir.truncdiv(tx + 64, 32) < n, WARP_SYNC), 96, 1),
    "a name for it": (LetStmt(w, tx // 32, If((w < 2).equal(n < 3), WARP_SYNC)), 96, 1),
    "long rows": (If(ty < 1, WARP_SYNC), 32, 4),
    "both": (If((tx < 32) & (n < 3), WARP_SYNC), 64, 1),
    "turns": (loop(i, ty, WARP_SYNC), 64, 2),
}


@pytest.mark.parametrize("target", ["cuda", "cuda_c"])
@pytest.mark.parametrize("name", INSIDE)
def test_barriers_of_a_part_of_a_warp(target, name):
    body, x, y = INSIDE[name]
    message = hand(body, target, x, y)
    assert message.startswith(f"the target `{target}` would wait forever at this barrier: ")
    assert "all 32 lanes of a warp must reach" in message


@pytest.mark.parametrize("target", ["cuda", "cuda_c"])
@pytest.mark.parametrize("name", WHOLE)
def test_barriers_of_whole_warps(target, name):
    body, x, y = WHOLE[name]
    checked(threads(body, x, y), target)


@pytest.mark.parametrize("lo, taken", [(const(32), True), (const(7), False), (n, False)])
def test_warps_where_threads_are_not_counted_from_zero(lo, taken):
    """`tx` is the thread's number and `lo`: where that is no multiple of 32, `tx < 64` parts a warp."""
    body = loop(tx, 64, If(tx < 64, WARP_SYNC), thread="threadIdx.x", lo=lo)
    if taken:
        checked(body)
    else:
        assert "all 32 lanes of a warp must reach" in refused(BuildError, lambda: checked(body))


@pytest.mark.parametrize("target", ["opencl", "metal"])
def test_barriers_of_a_warp_that_became_those_of_the_block(target):
    assert "would wait forever at this barrier: `tx < 32`" in hand(If(tx < 32, WARP_SYNC), target, 64)


def test_shuffles():
    x = load(A, tx)
    assert "`tx < 3` does not hold for all threads" in hand(If(tx < 3, store(C, tx, shuffle(x))))
    assert "needs all lanes of the warp at this shuffle: it stands in" in hand(
        store(C, tx, if_then_else(tx < 3, shuffle(x), const(0.0)))
    )
    assert "it stands in" in hand(If((tx < 3) & (shuffle(x) < 1.0), store(C, tx, 1.0)))
    assert "`tx < 3` does not hold for all lanes" in hand(store(C, tx, shuffle(x), mask=tx < 3))
    assert "turns of `while" in hand(While(shuffle(x) + x < 1.0, store(C, tx, 1.0)))
    checked(threads(If(tx < 32, store(C, tx, shuffle(x))), 64))
    checked(threads(store(C, tx, if_then_else(n < 3, shuffle(x), const(0.0)))))
    checked(threads(If(shuffle(x) < 1.0, store(C, tx, 1.0))))


@pytest.mark.parametrize("target", GPUS)
def test_reductions_over_threads(target):
    tvmlab.build(*red.rows(x=32)[:2], target)  # one of all threads is taken
    total = buffer("total", (1,), scope="local")
    plus = Combiner("sum", (a,), (b,), (a + b,), (const(0.0),))
    body = alloc(total, If(tx < 3, AllReduce(plus, (load(A, tx),), const(True, "bool"), (total,), (tx,))))
    message = refused(BuildError, lambda: checked(threads(body), target))
    assert "is not reached by all threads of its block" in message and "if tx < 3:    <- not every" in message
