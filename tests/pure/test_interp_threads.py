"""The interpreter: threads, barriers, scopes, reductions over threads."""

import numpy as np
import pytest

from tests.loops import alloc, buffer, floats, function, ints, load, loop, store
from tvmlab.core.build import const, if_then_else
from tvmlab.core.error import BuildError
from tvmlab.core.node import AllReduce, Barrier, Call, Cast, Combiner, If, Seq, Var, While
from tvmlab.target.interp import InterpError, run

i, j, v = Var("i"), Var("j"), Var("v")
bx, tx, ty = Var("bx"), Var("tx"), Var("ty")
SYNC = Barrier("shared")


def block(extent, *body, var=bx):
    return loop(var, extent, *body, thread="blockIdx.x")


def thread(extent, *body, var=tx, axis="x", lo=0):
    return loop(var, extent, *body, thread=f"threadIdx.{axis}", lo=lo)


def fault(params, body, arrays, **options):
    with pytest.raises(InterpError) as e:
        run(function(params, body), arrays, **options)
    return e.value


def reverse(*between, n=8):
    """Each thread stores its element, and reads the one opposite."""
    s = buffer("S", (n,), scope="shared")
    a, c = buffer("A", (2 * n,)), buffer("C", (2 * n,))
    body = block(
        2, alloc(s, thread(n, store(s, tx, load(a, bx * n + tx)), *between, store(c, bx * n + tx, load(s, n - 1 - tx))))
    )
    return [a, c], body


# ---------------------------------------------------------------- what they compute


def test_threads_meet_at_a_barrier():
    data, result = floats(np.arange(16)), floats(16)
    run(function(*reverse(SYNC)), [data, result])
    assert result.tolist() == [*range(7, -1, -1), *range(15, 7, -1)]


def test_sibling_loops_of_a_tag_are_the_same_threads():
    s, r = buffer("S", (8,), scope="shared"), buffer("R", (1,), scope="local")
    c = buffer("C", (8,), "float32")
    t2 = Var("t2")
    body = block(1, alloc(s, alloc(r, Seq((
        thread(8, store(s, tx, Cast(tx, "float32")), store(r, 0, Cast(tx * 10, "float32"))),
        SYNC,
        thread(8, store(c, t2, load(s, 7 - t2) + load(r, 0)), var=t2),
    )))))  # fmt: skip
    result = floats(8)
    run(function([c], body), [result])
    assert result.tolist() == [7 - t + 10 * t for t in range(8)]


def test_two_dimensions_of_threads_and_barriers_in_loops():
    s, c = buffer("S", (4, 3), scope="shared"), buffer("C", (4, 3))
    step = loop(i, 3, store(s, (ty, tx), Cast(i * 100 + ty * 10 + tx, "float32")), SYNC,
                store(c, (ty, tx), load(s, (ty + 1) % 4, (tx + 1) % 3)), SYNC)  # fmt: skip
    result = floats(12).reshape(4, 3)
    run(function([c], alloc(s, thread(4, thread(3, step), var=ty, axis="y"))), [result])
    assert result.tolist() == [[200.0 + ((y + 1) % 4) * 10 + (x + 1) % 3 for x in range(3)] for y in range(4)]


def test_smaller_sibling_loops_leave_threads_out():
    c = buffer("C", (8,))
    t2 = Var("t2")
    body = block(1, Seq((thread(8, store(c, tx, 1.0)), thread(3, store(c, t2, 2.0), var=t2))))
    result = floats(8)
    run(function([c], body), [result])
    assert result.tolist() == [2, 2, 2, 1, 1, 1, 1, 1]


def test_thread_loops_that_do_not_start_at_zero_and_empty_grids():
    c = buffer("C", (8,))
    result = floats(8)
    run(function([c], thread(3, store(c, tx, 1.0), lo=4)), [result])
    assert result.tolist() == [0, 0, 0, 0, 1, 1, 1, 0]
    run(function([c], block(0, thread(3, store(c, tx, 5.0)))), [result])
    run(function([c], block(2, thread(0, store(c, tx, 5.0)))), [result])
    assert result.max() == 1


def test_symbolic_extents():
    n = Var("n", nonneg=True)
    c = buffer("C", (n,))
    for count in (0, 5):
        result = floats(count)
        run(function([c], block(n, thread(1, store(c, bx, 3.0))), sizes=(n,)), [result])
        assert result.tolist() == [3.0] * count


@pytest.mark.parametrize("scope", ["local", "warp", "shared", "shared.dyn"])
def test_scopes_belong_to_a_thread_a_warp_or_a_block(scope):
    """Thread 0, 32 and 64 write; the others read: of a warp only their own first thread is seen."""
    r, c = buffer("R", (1,), "int32", scope=scope), buffer("C", (96,), "int32")
    first = {"local": tx >= 0, "warp": (tx % 32).equal(0), "shared": tx.equal(0), "shared.dyn": tx.equal(0)}[scope]
    body = thread(96, alloc(r, If(first, store(r, 0, tx + 1)), SYNC, store(c, tx, load(r, 0))))
    result = ints(96)
    run(function([c], body), [result])
    of = {"local": lambda t: t, "warp": lambda t: t // 32 * 32}.get(scope, lambda t: 0)
    assert result.tolist() == [of(t) + 1 for t in range(96)]


def test_shared_memory_is_undefined_in_each_round():
    s, c = buffer("S", (4,), scope="shared"), buffer("C", (4,))
    fill = If(i < 1, store(s, tx, 1.0))
    body = thread(4, loop(i, 2, alloc(s, fill, SYNC, store(c, tx, load(s, 3 - tx)), SYNC)))
    e = fault([c], body, [floats(4)])
    assert str(e) == (
        "read of S[3], which nothing has written yet\n    C[tx] = S[3 - tx]\n    at tx = 0, i = 1\n"
        "  if another thread writes it, a barrier must stand between"
    )


def test_a_warp_barrier_orders_a_warp_only():
    s, c = buffer("S", (64,), scope="shared"), buffer("C", (64,))
    within = thread(
        64,
        alloc(
            s, store(s, tx, Cast(tx, "float32")), Barrier("warp"), store(c, tx, load(s, tx // 32 * 32 + 31 - tx % 32))
        ),
    )
    result = floats(64)
    run(function([c], within), [result])
    assert result[:2].tolist() == [31, 30] and result[32] == 63
    across = thread(
        64, alloc(s, store(s, tx, Cast(tx, "float32")), Barrier("warp"), If(tx >= 32, store(c, tx, load(s, 63 - tx))))
    )
    assert str(fault([c], across, [floats(64)])).splitlines()[0] == (
        "race between threads: threadIdx.x = 31 writes S[31], threadIdx.x = 32 reads it"
    )


# ---------------------------------------------------------------- virtual threads


def test_virtual_threads_have_their_own_memory_and_meet_at_barriers():
    s, r, c = buffer("S", (4,), scope="shared"), buffer("R", (1,), scope="local"), buffer("C", (2, 4))
    body = loop(v, 2, alloc(s, alloc(r, Seq((
        thread(4, store(s, tx, Cast(v * 10 + tx, "float32")), store(r, 0, Cast(v * 100, "float32"))),
        SYNC,
        thread(4, store(c, (v, tx), load(s, 3 - tx) + load(r, 0))),
    )))), kind="vthread")  # fmt: skip
    result = floats(8).reshape(2, 4)
    run(function([c], body), [result])
    assert result.tolist() == [[w * 110.0 + 3 - t for t in range(4)] for w in range(2)]
    run(function([c], block(1, body)), [result])
    assert result.tolist() == [[w * 110.0 + 3 - t for t in range(4)] for w in range(2)]


def test_virtual_threads_race():
    r, c = buffer("R", (1,), scope="local"), buffer("C", (2,))
    body = thread(1, alloc(r, loop(v, 2, store(r, 0, Cast(v, "float32")), store(c, v, load(r, 0)), kind="vthread")))
    assert str(fault([c], body, [floats(2)])) == (
        "race between virtual threads: v = 0 writes R[0], v = 1 writes it\n"
        "    R[0] = float32(v)\n"
        "    at tx = 0, v = 1\n"
        "  virtual threads must be independent"
    ).replace("v = 0 writes R[0], v = 1 writes it", "v = 0 and v = 1 both write R[0]")


# ---------------------------------------------------------------- races


def test_a_missing_barrier():
    assert str(fault(*reverse(), [floats(16), floats(16)])) == (
        "read of S[7], which nothing has written yet\n"
        "    C[bx*8 + tx] = S[7 - tx]\n"
        "    at bx = 0, tx = 0\n"
        "  if another thread writes it, a barrier must stand between"
    )


def test_a_thread_reads_what_another_wrote_without_a_barrier():
    s, c = buffer("S", (8,), scope="shared"), buffer("C", (8,))
    body = thread(8, alloc(s, store(s, tx, 1.0), store(c, tx, load(s, tx // 2))))
    assert str(fault([c], body, [floats(8)])) == (
        "race between threads: threadIdx.x = 0 writes S[0], threadIdx.x = 1 reads it\n"
        "    C[tx] = S[tx//2]\n"
        "    at tx = 1\n"
        "    the other access: S[tx] = 1.0\n"
        "  a barrier must stand between the two accesses"
    )


def test_a_thread_overwrites_what_another_still_reads():
    s, c = buffer("S", (4,), scope="shared"), buffer("C", (4,))
    step = loop(i, 2, store(s, tx, Cast(i * 4 + tx, "float32")), SYNC, store(c, tx, load(s, 3 - tx)))
    e = fault([c], thread(4, alloc(s, step)), [floats(4)])
    assert e.rule == "thread-race" and str(e).splitlines()[:3] == [
        "race between threads: threadIdx.x = 1 writes S[1], threadIdx.x = 2 reads it",
        "    C[tx] = S[3 - tx]",
        "    at tx = 2, i = 0",
    ]


def test_every_reader_is_remembered():
    """Threads 0 and 1 read, thread 0 writes after a reduction, which is no barrier: it clashes with thread 1."""
    s, c, r = buffer("S", (1,), scope="shared"), buffer("C", (2,)), buffer("R", (1,), scope="local")
    body = thread(2, alloc(s, If(tx.equal(1), store(s, 0, 1.0)), SYNC, store(c, tx, load(s, 0)),
                           alloc(r, reduction(r, load(c, tx)), If(tx.equal(0), store(s, 0, load(r, 0))))))  # fmt: skip
    assert str(fault([c], body, [floats(2)])).startswith(
        "race between threads: threadIdx.x = 1 reads S[0], threadIdx.x = 0 writes it"
    )


def test_blocks_race():
    c = buffer("C", (8,))
    e = fault([c], block(2, thread(4, store(c, tx, Cast(bx, "float32")))), [floats(8)])
    assert str(e) == (
        "race between blocks: blockIdx.x = 0 and blockIdx.x = 1 both write C[0]\n"
        "    C[tx] = float32(bx)\n"
        "    at bx = 1, tx = 0\n"
        "  no barrier orders blocks"
    )


def test_one_value_from_all_threads_is_no_race_unless_strict():
    c = buffer("C", (1,))
    body = thread(4, store(c, 0, 2.0))
    result = floats(1)
    run(function([c], body), [result])
    assert result[0] == 2
    e = fault([c], body, [floats(1)], strict=True)
    assert str(e).startswith("race between threads: threadIdx.x = 0 and threadIdx.x = 1 both write C[0]")


def test_kernels_one_after_another_do_not_race():
    a, c = buffer("A", (4,)), buffer("C", (4,))
    t2 = Var("t2")
    body = Seq(
        (block(2, thread(2, store(a, bx * 2 + tx, 1.0))), block(1, thread(4, store(c, t2, load(a, 3 - t2)), var=t2)))
    )
    result = floats(4)
    run(function([a, c], body), [floats(4), result])
    assert result.tolist() == [1, 1, 1, 1]


# ---------------------------------------------------------------- divergence


def test_a_barrier_that_not_all_threads_reach():
    c = buffer("C", (8,))
    body = block(2, thread(8, If(tx < 5, Seq((SYNC, store(c, tx, 1.0))))))
    e = fault([c], body, [floats(8)])
    assert str(e) == (
        'divergent barrier: the threads of a block do not all reach barrier("shared")\n'
        '    threadIdx.x = 0 waits at barrier("shared")\n'
        "    threadIdx.x = 5 has ended\n"
        "    at bx = 0, tx = 0\n"
        "  a barrier must stand where every thread reaches it, outside conditions that depend on the thread"
    )
    assert e.rule == "divergent-barrier" and e.loops == {"bx": 0, "tx": 0}


def test_threads_that_wait_at_two_barriers():
    c = buffer("C", (8,))
    body = thread(8, If(tx < 5, Seq((Barrier("shared"), store(c, tx, 1.0))), Barrier("shared")))
    e = fault([c], body, [floats(8)])
    assert e.rule == "divergent-barrier" and "threadIdx.x = 5 waits at barrier" in str(e)


def test_a_warp_that_parts():
    body = thread(40, If(tx < 33, Barrier("warp")))
    assert str(fault([], body, [])).splitlines()[:3] == [
        'divergent barrier: the threads of a warp do not all reach barrier("warp")',
        '    threadIdx.x = 32 waits at barrier("warp")',
        "    threadIdx.x = 33 has ended",
    ]


def test_loops_that_meet_a_barrier_unequally_often():
    n = buffer("N", (4,), "int32")
    body = thread(4, loop(i, load(n, tx), SYNC))
    assert fault([n], body, [np.array([2, 2, 2, 3], "int32")]).rule == "divergent-barrier"
    run(function([n], body), [np.array([2, 2, 2, 2], "int32")])


def test_virtual_threads_that_part():
    body = thread(2, loop(v, 2, If(v < 1, SYNC), kind="vthread"))
    assert str(fault([], body, [])).splitlines()[:3] == [
        'divergent barrier: the virtual threads of a thread do not all reach barrier("shared")',
        '    v = 0 waits at barrier("shared")',
        "    v = 1 has ended",
    ]


def test_barriers_under_while_and_deep_nests():
    s, c, n = buffer("S", (4,), scope="shared"), buffer("C", (4,)), buffer("N", (1,), "int32", scope="local")
    step = Seq(
        (
            store(s, tx, Cast(load(n, 0), "float32")),
            SYNC,
            store(c, tx, load(s, 3 - tx)),
            SYNC,
            store(n, 0, load(n, 0) - 1),
        )
    )
    body = thread(4, alloc(s, alloc(n, store(n, 0, 3), While(load(n, 0) > 0, step))))
    result = floats(4)
    run(function([c], body), [result])
    assert result.tolist() == [1, 1, 1, 1]
    deep = Seq((store(s, tx, Cast(tx, "float32")), SYNC, store(c, tx, load(s, 3 - tx)), SYNC))
    for d in range(40):
        deep = loop(Var(f"d{d}"), 1, deep)
    run(function([c], thread(4, alloc(s, deep))), [result])
    assert result.tolist() == [3, 2, 1, 0]


# ---------------------------------------------------------------- reductions over threads


def reduction(out, source, cond=True, threads=(tx,), name="sum"):
    x, y = Var("x", "float32"), Var("y", "float32")
    result, identity = {"sum": (x + y, 0.0), "max": (if_then_else(x > y, x, y), -1e30)}[name]
    return AllReduce(
        Combiner(name, (x,), (y,), (result,), (const(identity),)),
        (source,),
        const(cond) if isinstance(cond, bool) else cond,
        (out,),
        threads,
    )


def test_allreduce_over_one_axis_of_two():
    a, r, c = buffer("A", (3, 8)), buffer("R", (1,), scope="local"), buffer("C", (3, 8))
    inner = alloc(r, reduction(r, load(a, ty, tx)), store(c, (ty, tx), load(r, 0)))
    data, result = floats(np.arange(24)).reshape(3, 8), floats(24).reshape(3, 8)
    run(function([a, c], block(1, thread(3, thread(8, inner), var=ty, axis="y"))), [data, result])
    assert (result == data.sum(1, keepdims=True)).all()


def test_allreduce_under_a_condition_and_with_other_folds():
    a, r, c = buffer("A", (5,)), buffer("R", (1,), scope="local"), buffer("C", (8,))
    body = thread(8, alloc(r, reduction(r, load(a, tx), tx < 5, name="max"), store(c, tx, load(r, 0))))
    result = floats(8)
    run(function([a, c], body), [floats([3, 1, 7, 2, 5]), result])
    assert result.tolist() == [7.0] * 8


def test_allreduce_of_a_tuple():
    """argmax: value and place."""
    a = buffer("A", (6,))
    rv, ri = buffer("RV", (1,), scope="local"), buffer("RI", (1,), "int32", scope="local")
    c = buffer("C", (6,), "int32")
    x, xi, y, yi = Var("x", "float32"), Var("xi"), Var("y", "float32"), Var("yi")
    better = if_then_else(x >= y, x, y), if_then_else(x >= y, xi, yi)
    argmax = Combiner("argmax", (x, xi), (y, yi), better, (const(-1e30), const(-1)))
    body = thread(
        6,
        alloc(
            rv, alloc(ri, AllReduce(argmax, (load(a, tx), tx), const(True), (rv, ri), (tx,)), store(c, tx, load(ri, 0)))
        ),
    )
    result = ints(6)
    run(function([a, c], body), [floats([3, 1, 7, 2, 7, 5]), result])
    assert result.tolist() == [2] * 6


def test_allreduce_that_not_all_threads_reach():
    r, c = buffer("R", (1,), scope="local"), buffer("C", (8,))
    body = thread(8, alloc(r, If(tx < 5, reduction(r, const(1.0)))))
    assert str(fault([c], body, [floats(8)])).splitlines()[0] == (
        "divergent barrier: the threads of a block do not all reach R[0] = allreduce_sum(1.0, over=[tx])"
    )


# ---------------------------------------------------------------- refused


def refusal(body, *params):
    with pytest.raises(BuildError) as e:
        run(function(params, body), [floats(4) for _ in params])
    return str(e.value)


def test_threads_that_cannot_be_run():
    c, n = buffer("C", (4,)), Var("n")
    assert refusal(loop(tx, 4, store(c, tx, 1.0), thread="lane.x"), c) == (
        "the interpreter has no threads `lane.x` (loop tx)\n"
        '    for tx in thread("lane.x", 4):\n'
        "  legal here:  blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z"
    )
    assert refusal(block(4, loop(n, 2, thread(n, store(c, tx, 1.0)))), c) == (
        "the extent of thread loop tx (threadIdx.x) uses n, which is bound inside the kernel\n"
        '    for bx in thread("blockIdx.x", 4):'
    )
    assert refusal(thread(4, Barrier("global")), c) == (
        "the interpreter runs blocks one after another, so they cannot wait for each other\n"
        '    barrier("global")\n'
        '  legal here:  barrier("shared"), barrier("warp")\n'
        "  to order blocks, end the kernel and start another"
    )
    r = buffer("R", (1,), scope="local")
    assert refusal(alloc(r, loop(i, 4, reduction(r, const(1.0), threads=(i,)))), c) == (
        "this reduces over i, but no thread loop binds it\n    R[0] = allreduce_sum(1.0, over=[i])"
    )


def test_a_reduction_over_threads_among_virtual_threads_is_refused():
    r = buffer("R", (1,), scope="local")
    body = thread(2, loop(v, 2, alloc(r, reduction(r, const(1.0))), kind="vthread"))
    assert fault([], body, []).rule == "vthread-reduce"


def test_barriers_outside_threads_wait_for_nobody():
    c = buffer("C", (1,))
    result = floats(1)
    run(function([c], Seq((SYNC, store(c, 0, Call("exp", (const(0.0),), "float32"))))), [result])
    assert result[0] == 1
