"""Virtual threads: interleaved statement by statement, with a copy of what is theirs and one of what is shared."""

from dataclasses import replace

import pytest

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, same_result, store
from tests.pure.passes.schedules import numbers, pictures, run, with_, without
from tvmlab import te
from tvmlab.core.error import BuildError, LabError
from tvmlab.core.node import Alloc, AllReduce, Attr, Call, Const, Evaluate, For, If, LetStmt, Load, Store, Var
from tvmlab.core.walk import seq
from tvmlab.face.api import build, create_schedule
from tvmlab.lowering.passes import get

virtual_threads = get("virtual_threads")


def matmul(n=12, tag="vthread", threads=2):
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = create_schedule(C.op)
    CL = s.cache_write(C, "local")
    AL, BL = s.cache_read(A, "local", [CL]), s.cache_read(B, "local", [CL])
    i, j = s[C].op.axis
    io, ii = s[C].split(i, nparts=threads)
    s[C].reorder(io, j, ii)
    s[C].bind(io, te.thread_axis(tag, name="vx"))
    s[CL].compute_at(s[C], j)
    kk, ci = s[CL].op.reduce_axis[0], s[CL].op.axis[0]
    s[CL].reorder(kk, ci)
    s[AL].compute_at(s[CL], kk)
    s[BL].compute_at(s[CL], kk)
    return s, [A, B, C]


@pytest.mark.parametrize("tag", ["vthread", "cthread"])
def test_matmul(golden, tag):
    s, args = matmul(tag=tag)
    pictures(golden, s, args, "virtual_threads")
    a, b = numbers(12, 12), numbers(12, 12, seed=1)
    assert (run(s, args, [a, b, a]) == a @ b).all()


def test_only_what_depends_on_the_thread_is_copied():
    s, args = matmul()
    shapes = {n.buffer.name: len(n.buffer.shape) for n in nodes(with_(s, args), Alloc)}
    assert shapes == {"C_local": 3, "A_local": 3, "B_local": 2}
    s, args = matmul(tag="cthread")
    assert {n.buffer.name: len(n.buffer.shape) for n in nodes(with_(s, args), Alloc)}["B_local"] == 3


def test_nested_threads_multiply(golden):
    n = 8
    A = te.placeholder((n, n), name="A")
    B = te.compute((n, n), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((n, n), lambda i, j: B[i, j] + 1.0, name="C")
    s = create_schedule(C.op)
    io, ii = s[C].split(C.op.axis[0], nparts=2)
    jo, ji = s[C].split(C.op.axis[1], nparts=2)
    s[C].reorder(io, jo, ii, ji)
    s[C].bind(io, te.thread_axis("vthread", name="vx"))
    s[C].bind(jo, te.thread_axis("vthread", name="vy"))
    s[B].compute_at(s[C], ii)
    pictures(golden, s, [A, C], "virtual_threads")
    a = numbers(n, n)
    assert (run(s, [A, C], [a, a]) == a * 2 + 1).all()


def test_a_guard_that_depends_on_the_thread(golden):
    n = 11
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((n,), lambda i: B[i] + 1.0, name="C")
    s = create_schedule(C.op)
    io, ii = s[C].split(C.op.axis[0], nparts=3)
    s[C].bind(io, te.thread_axis("vthread", name="v"))
    s[B].compute_at(s[C], ii)
    pictures(golden, s, [A, C], "virtual_threads")
    a = numbers(n)
    assert (run(s, [A, C], [a, a]) == a * 2 + 1).all()


def test_what_is_computed_outside_of_a_virtual_thread_serves_all():
    """B at the outer thread holds the rows of the inner threads too."""
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    s = create_schedule(C.op)
    io, ii = s[C].split(C.op.axis[0], nparts=2)
    s[C].bind(io, te.thread_axis("vthread", name="vx"))
    s[C].bind(ii, te.thread_axis("vthread", name="vy"))
    s[B].compute_at(s[C], io)
    a = numbers(8)
    assert (run(s, [A, C], [a, a]) == a * 2 + 1).all()


def test_sixteen_threads_run_in_a_loop():
    s, args = matmul(32, threads=16)
    assert any(f.var.name == "vx_s" for f in nodes(with_(s, args), For))
    s, args = matmul(30, threads=15)
    assert not any(f.var.name == "vx_s" for f in nodes(with_(s, args), For))


def test_vectors_keep_their_lanes():
    A = te.placeholder((8, 8), name="A")
    C = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="C")
    s = create_schedule(C.op)
    io, ii = s[C].split(C.op.axis[0], nparts=2)
    s[C].bind(io, te.thread_axis("vthread"))
    s[C].vectorize(C.op.axis[1])
    assert len(nodes(with_(s, [A, C]), Store)) == 2
    a = numbers(8, 8)
    assert (run(s, [A, C], [a, a]) == a + 1).all()


def test_the_number_of_threads_must_be_constant():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[i] + 1.0, name="C")
    s = create_schedule(C.op)
    io, ii = s[C].split(C.op.axis[0], factor=4)
    s[C].bind(io, te.thread_axis("vthread"))
    note = "`io` (C.i.outer) is bound to vthread, whose extent must be a constant"
    assert note in str(with_(s, [A, C]))  # as a comment
    with pytest.raises(BuildError, match="not complete"):
        build(s, [A, C], "interp")
    with pytest.raises(LabError, match=r"axis i\.outer of stage C.*must be a constant"):
        virtual_threads(replace(without(s, [A, C], "virtual_threads"), notes=()))


def hand(body, count=2, tag="vthread"):
    (v,) = ints("v")
    a, c = buffer("A", 64), buffer("C", 64)
    return program((a, c), loop(v, count, *body(v, a, c), kind="vthread", thread=tag))


def test_what_is_stored_under_a_condition_of_the_thread_depends_on_it():
    """t += 1 in one of the two threads only: each thread needs its own t."""

    def body(v, a, c):
        t = buffer("t", 1, scope="local")
        add = store(t, 0, load(t, 0) + 1.0)
        return [Alloc(t, seq(store(t, 0, 0.0), If(v < 1, add), store(c, v, load(t, 0))))]

    before = hand(body)
    after = virtual_threads(before)
    same_result(before, after)
    assert not nodes(after, If)


def test_what_is_stored_in_a_loop_as_long_as_the_thread_says_depends_on_it():
    def body(v, a, c):
        t = buffer("t", 1, scope="local")
        (k,) = ints("k")
        add = loop(k, v + 1, store(t, 0, load(t, 0) + 1.0))
        return [Alloc(t, seq(store(t, 0, 0.0), add, store(c, v, load(t, 0))))]

    before = hand(body)
    same_result(before, virtual_threads(before))


def test_a_let_of_the_thread_is_repeated_whole():
    def body(v, a, c):
        x = Var("x")
        return [LetStmt(x, v * 3, store(c, x, load(a, x)))]

    before = hand(body)
    same_result(before, virtual_threads(before))


def test_pointers_move_with_the_copies():
    def body(v, a, c):
        t = buffer("t", 4, scope="local")
        pointer = Call("access_ptr", (t.data, Const(1), Const(2), Const(2)), "handle", "intrin")
        call = Evaluate(Call("f", (pointer, v), "int32", "packed"))
        return [Alloc(t, seq(call, store(c, v, load(t, 1))))]

    after = virtual_threads(hand(body))
    assert [c.args[1].value for c in nodes(after, Call) if c.name == "access_ptr"] == [1, 5]


def test_a_buffer_given_away_whole_cannot_be_copied():
    def body(v, a, c):
        t = buffer("t", 4, scope="local")
        return [Alloc(t, seq(store(t, v, 0.0), Evaluate(Call("f", (t.data,), "int32", "packed"))))]

    with pytest.raises(LabError, match="copies of t: `f` takes the address of all of it"):
        virtual_threads(hand(body))


def test_an_all_reduce_goes_through_a_buffer_of_its_own():
    (tx,) = ints("tx")
    summing = te.sum.combiner(("float32",))

    def body(v, a, c):
        t = buffer("t", 1, scope="local")
        total = AllReduce(summing, (load(a, v),), Const(True, "bool"), (t,), (tx,))
        return [Alloc(t, seq(total, store(c, v, load(t, 0))))]

    after = virtual_threads(hand(body))
    assert all(len(b.shape) == 1 for r in nodes(after, AllReduce) for b in r.buffers)
    assert len(nodes(after, AllReduce)) == 2


def test_marks_follow_their_buffer():
    def body(v, a, c):
        t = buffer("t", 1, scope="local")
        return [Alloc(t, Attr("double_buffer", t, Const(1), seq(store(t, 0, load(a, v)), store(c, v, load(t, 0)))))]

    after = virtual_threads(hand(body))
    assert nodes(after, Attr)[0].about is nodes(after, Alloc)[0].buffer
    assert all(len(x.indices) == 2 for x in nodes(after, Load) if x.buffer.name == "t")


def test_without_the_pass_a_native_target_has_no_such_loop():
    s, args = matmul()
    assert [f for f in nodes(without(s, args, "virtual_threads"), For) if f.kind == "vthread"]
    assert not [f for f in nodes(with_(s, args), For) if f.kind == "vthread"]


def test_a_schedule_shows_its_threads():
    s, args = matmul()
    assert "io (2) vthread" in repr(s)
