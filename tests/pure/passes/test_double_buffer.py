"""Double buffering: the next iteration's part is computed into the other copy while this one is read."""

import pytest

from tests.pure.passes.ir import buffer, ints, load, loop, nodes, program, same_result, store
from tests.pure.passes.schedules import numbers, owed, pictures, run, with_, without
from tvmlab import te
from tvmlab.core.error import BuildError, LabError
from tvmlab.core.node import Alloc, Attr, Barrier, Call, Const, Evaluate, For, If
from tvmlab.core.text import show
from tvmlab.core.walk import constant, seq
from tvmlab.face.api import build, create_schedule
from tvmlab.lowering.config import Config
from tvmlab.lowering.passes import get

double_buffer = get("double_buffer")


def row_sums(n=8, m=6, factor=None):
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, m), "k")
    C = te.compute((n,), lambda i: te.sum(B[i, k], axis=k), name="C")
    s = create_schedule(C.op)
    at = C.op.axis[0] if factor is None else s[C].split(C.op.axis[0], factor=factor)[0]
    s[B].compute_at(s[C], at)
    s[B].double_buffer()
    return s, [A, C]


def test_rows(golden):
    s, args = row_sums()
    pictures(golden, s, args, "double_buffer")
    a = numbers(8, 6)
    assert (run(s, args, [a, a[:, 0]]) == 2 * a.sum(1)).all()


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8, 9])
@pytest.mark.parametrize("split", [1, 2, 4])
def test_any_number_of_rows(rows, split):
    s, args = row_sums(rows)
    a = numbers(rows, 6)
    assert (run(s, args, [a, a[:, 0]], config=Config(split_loop=split)) == 2 * a.sum(1)).all()


def test_split_loop_makes_the_copy_a_constant(golden):
    s, args = row_sums()
    golden(double_buffer(without(s, args, "double_buffer"), Config(split_loop=2)))


def test_split_loop_is_even_or_one():
    s, args = row_sums()
    with pytest.raises(LabError, match="split_loop of double buffering is 3"):
        double_buffer(without(s, args, "double_buffer"), Config(split_loop=3))


@pytest.mark.parametrize("split", [1, 2])
@pytest.mark.parametrize("n", [1, 7, 8])
def test_symbolic_rows_and_a_tail(golden, n, split):
    rows = te.size_var("n")
    s, args = row_sums(rows, factor=4)
    if (n, split) == (1, 1):
        golden(with_(s, args))
    a = numbers(n, 6)
    assert (run(s, args, [a, a[:, 0]], config=Config(split_loop=split)) == 2 * a.sum(1)).all()


def test_one_iteration_has_nothing_to_overlap():
    s, args = row_sums(1)
    assert not nodes(with_(s, args), Attr)
    assert [a.buffer.ndim for a in nodes(with_(s, args), Alloc)] == [2]


def two_stages(both, n=6):
    """P, then Q from P, for each row of C."""
    A = te.placeholder((n, n), name="A")
    P = te.compute((n, n), lambda i, j: A[i, j] + 1.0, name="P")
    Q = te.compute((n, n), lambda i, j: P[i, j] * 2.0, name="Q")
    C = te.compute((n, n), lambda i, j: Q[i, j] - P[i, j], name="C")
    s = create_schedule(C.op)
    for t in (P, Q):
        s[t].compute_at(s[C], C.op.axis[0])
    s[Q].double_buffer()
    if both:
        s[P].double_buffer()
    return s, [A, C]


@pytest.mark.parametrize("split", [1, 2])
def test_a_chain_runs_ahead_together(golden, split):
    s, args = two_stages(both=True)
    if split == 1:
        pictures(golden, s, args, "double_buffer")
    a = numbers(6, 6)
    assert (run(s, args, [a, a], config=Config(split_loop=split)) == (a + 1)).all()


@pytest.mark.parametrize("split", [1, 2])
def test_a_double_buffer_inside_another(split):
    """P is computed for each row of Q, Q for each tile of C; both run ahead."""
    s, args = two_stages_of_tiles()
    after = with_(s, args)
    copies = sorted((a.buffer.name, constant(a.buffer.shape[0])) for a in nodes(after, Alloc))
    assert copies == [("P", 2), ("P", 2), ("Q", 2)]
    assert not nodes(after, Attr)
    a = numbers(8, 6)
    assert (run(s, args, [a, a], config=Config(split_loop=split)) == 2 * (a + 1)).all()


def two_stages_of_tiles():
    A = te.placeholder((8, 6), name="A")
    P = te.compute((8, 6), lambda i, j: A[i, j] + 1.0, name="P")
    Q = te.compute((8, 6), lambda i, j: P[i, j] * 2.0, name="Q")
    C = te.compute((8, 6), lambda i, j: Q[i, j], name="C")
    s = create_schedule(C.op)
    s[Q].compute_at(s[C], s[C].split(C.op.axis[0], factor=4)[0])
    s[P].compute_at(s[Q], Q.op.axis[0])
    s[P].double_buffer()
    s[Q].double_buffer()
    return s, [A, C]


def test_what_the_same_iteration_computes_is_not_there_ahead():
    s, args = two_stages(both=False)
    with pytest.raises(LabError, match=r"double buffer Q over `i`: it reads P, which the same iteration") as e:
        owed(s, args)
    assert "double buffer P too" in e.value.legal


def shared_matmul(n=8):
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = create_schedule(C.op)
    CL = s.cache_write(C, "local")
    AS = s.cache_read(A, "shared", [CL])
    i, j = s[C].op.axis
    tx = te.thread_axis("threadIdx.x")
    s[C].bind(i, te.thread_axis("blockIdx.x"))
    s[C].bind(j, tx)
    s[CL].compute_at(s[C], j)
    ko, ki = s[CL].split(s[CL].op.reduce_axis[0], factor=4)
    s[CL].reorder(ko, ki)
    s[AS].compute_at(s[CL], ko)
    _, inner = s[AS].split(s[AS].op.axis[1], nparts=1)
    s[AS].split(inner, nparts=n)
    s[AS].double_buffer()
    return s, [A, B, C]


def test_shared_memory_needs_one_barrier_per_iteration(golden):
    s, args = shared_matmul()
    before, after = without(s, args, "double_buffer"), with_(s, args)
    golden(after)
    inside = [len([b for b in nodes_of(f) if isinstance(b, Barrier)]) for f in loops_over(before, after)]
    assert inside == [2, 1]
    a, b = numbers(8, 8), numbers(8, 8, seed=1)
    assert (run(s, args, [a, b, a]) == a @ b).all()


def loops_over(*programs):
    for p in programs:
        yield next(f for f in nodes(p, For) if f.var.name == "k_outer" or f.var.name == "ko")


def nodes_of(stmt):
    from tvmlab.core.walk import walk

    return list(walk(stmt))


def test_a_stage_at_the_root_is_an_open_obligation():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((4,), lambda i: B[i] + 1.0, name="C")
    s = create_schedule(C.op)
    s[B].double_buffer()
    with pytest.raises(BuildError) as e:
        build(s, [A, C], "interp")
    assert "B is double buffered, but computed at the root" in str(e.value)


def test_virtual_threads_are_not_the_loop(golden):
    """Attached at a virtual thread inside a loop, the copies alternate over the loop; at the root there is none."""
    s, args = row_sums(8, factor=4)
    C, B = args[1], s[args[1]].op.input_tensors[0]
    io, ii = s[C].leaf_iter_vars[:2]
    s[C].bind(ii, te.thread_axis("vthread"))
    s[B].compute_at(s[C], ii)
    golden(with_(s, args))
    a = numbers(8, 6)
    assert (run(s, args, [a, a[:, 0]]) == 2 * a.sum(1)).all()
    s[C].bind(io, te.thread_axis("vthread", name="outer"))
    assert "there is no loop to run ahead in" in str(with_(s, args))


@pytest.mark.parametrize("split", [1, 2])
def test_virtual_threads_that_repeat_the_mark(split):
    """A guard on the thread stands around the mark: each thread has its own, on one widened buffer."""
    (i,), (v,) = ints("i"), ints("v")
    a, b, c = buffer("A", 8), buffer("B", 2), buffer("C", 8)
    mark = Attr("double_buffer", b, i, seq(store(b, 0, load(a, i * 2 + v)), store(c, i * 2 + v, load(b, 0))))
    rows = loop(i, 4, Alloc(b, If(i * 2 + v < 7, mark)))
    before = program((a, c), loop(v, 2, rows, kind="vthread", thread="vthread"))
    same_result(before, double_buffer(get("virtual_threads")(before), Config(split_loop=split)))


def test_a_part_of_the_iterations_may_need_nothing_of_it():
    """The last tile has one row; the loop over the others is empty, with all that was in it."""
    A = te.placeholder((5, 4), name="A")
    B = te.compute((5, 4), lambda i, j: A[i, j] * 2.0, name="B")
    C = te.compute((5, 4), lambda i, j: B[i, j] + 1.0, name="C")
    s = create_schedule(C.op)
    s[B].compute_at(s[C], s[C].split(C.op.axis[0], factor=4)[1])
    s[B].double_buffer()
    a = numbers(5, 4)
    for split in (1, 2, 4):
        assert (run(s, [A, C], [a, a], config=Config(split_loop=split)) == 2 * a + 1).all()


def test_a_parallel_loop_has_no_next_iteration():
    s, args = row_sums()
    s[args[1]].parallel(s[args[1]].op.axis[0])
    with pytest.raises(LabError, match="double buffer B: the loop it is computed in, `i`, is parallel"):
        owed(s, args)


def test_an_argument_has_one_copy():
    A = te.placeholder((4, 4), name="A")
    B = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((4, 4), lambda i, j: B[i, j] + 1.0, name="C")
    s = create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].double_buffer()
    with pytest.raises(LabError, match="double buffer B: its memory is not allocated inside the loop `i`"):
        owed(s, [A, B, C])


def hand(make):
    (i,) = ints("i")
    a, b, c = buffer("A", 8), buffer("B", 2), buffer("C", 8)
    mark = Attr("double_buffer", b, i, seq(*make(i, a, b, c)))
    return program((a, c), loop(i, 8, Alloc(b, mark)))


def pointer(b, mask):
    return Call("access_ptr", (b.data, Const(0), Const(2), Const(mask)), "handle", "intrin")


def test_pointers_go_to_the_right_copy(golden):
    """A tensorised body: the producer writes, and the consumer reads, through pointers."""

    def make(i, a, b, c):
        return [Evaluate(Call("fill", (pointer(b, 2), i), "int32", "packed")),
                Evaluate(Call("use", (pointer(b, 1), i), "int32", "packed"))]  # fmt: skip

    golden(show(double_buffer(hand(make)).body))


def test_memory_given_away_whole_cannot_be_doubled():
    def make(i, a, b, c):
        return [store(b, 0, load(a, i)), Evaluate(Call("use", (b.data, i), "int32", "extern"))]

    with pytest.raises(LabError, match="cannot double buffer B: `use` takes the address of all of it"):
        double_buffer(hand(make))


def test_what_stands_under_a_condition_is_computed_under_the_next_ones():
    (i,) = ints("i")
    a, b, c = buffer("A", 8), buffer("B", 2), buffer("C", 8)
    mark = Attr("double_buffer", b, i, seq(store(b, 0, load(a, i)), store(c, i, load(b, 0))))
    before = program((a, c), loop(i, 9, If(i % 3 < 2, If(i < 8, Alloc(b, mark)))))
    same_result(before, double_buffer(before))
    same_result(before, double_buffer(before, Config(split_loop=2)))


def test_what_the_loop_changes_is_not_there_ahead():
    (i,) = ints("i")
    a, b, c = buffer("A", 9), buffer("B", 2), buffer("C", 8)
    mark = Attr("double_buffer", b, i, seq(store(b, 0, load(a, i)), store(a, i + 1, load(b, 0))))
    with pytest.raises(LabError, match="reads A, which the same iteration computes"):
        double_buffer(program((a, c), loop(i, 8, Alloc(b, mark))))
