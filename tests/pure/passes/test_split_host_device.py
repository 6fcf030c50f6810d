"""The host launches, kernels compute; what neither may do is refused with the way out."""

import pytest

from tests.pure.passes.ir import buffer, ints, loop, program, store
from tvmlab import te
from tvmlab.core.error import BuildError
from tvmlab.core.node import Barrier, Seq
from tvmlab.core.verify import check
from tvmlab.face.api import lower
from tvmlab.lowering import pipeline
from tvmlab.lowering.passes import get

split = get("split_host_device")


def bind(s, t, factor=64, axis=0):
    outer, inner = s[t].split(s[t].op.axis[axis], factor=factor)
    s[t].bind(outer, te.thread_axis("blockIdx.x"))
    s[t].bind(inner, te.thread_axis("threadIdx.x"))


def cut(s, args):
    made = split(pipeline.run(lower(s, args), pipeline.FLAT))
    check(made)
    return made


def chain():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((n,), lambda i: B[i] * 2.0, name="C")
    return te.create_schedule(C.op), A, B, C


def test_two_kernels_and_memory_between_them(golden):
    s, A, B, C = chain()
    bind(s, B)
    bind(s, C)
    made = cut(s, [A, C])
    golden(made)
    kernel = made.functions[1]
    assert [p.name for p in kernel.params] == ["A", "B", "n"] and dict(kernel.attrs)["kernel"] is True
    assert list(dict(kernel.attrs)["launch"]) == ["blockIdx.x", "threadIdx.x"]


def test_a_loop_of_the_host_is_an_argument(golden):
    c = buffer("C", 3, 8)
    step, t = ints("step t")
    body = loop(step, 3, loop(t, 8, store(c, (step, t), 1.0), kind="thread", thread="threadIdx.x"))
    made = split(program((c,), body))
    check(made)
    golden(made)
    assert [p.name for p in made.functions[1].params] == ["C", "step"]


def test_a_stage_that_is_not_bound():
    s, A, B, C = chain()
    bind(s, C)
    with pytest.raises(BuildError) as e:
        cut(s, [A, C])
    assert str(e.value) == (
        "B would be computed on the host: no loop of it is bound to blocks or threads\n"
        "    for i in range(n):\n"
        "        B[i] = A[i] + 1.0\n"
        "  add two lines, or let s.default(target) bind all that is left:\n"
        "    bx, tx = s[B].split(i, factor=64)\n"
        '    s[B].bind(bx, te.thread_axis("blockIdx.x")); s[B].bind(tx, te.thread_axis("threadIdx.x"))'
    )


def test_the_lines_name_the_two_outermost_data_loops():
    A = te.placeholder((4, 5), name="A")
    k = te.reduce_axis((0, 5), name="k")
    D = te.compute((4, 5), lambda i, j: te.sum(A[i, k], axis=k), name="D")
    s = te.create_schedule(D.op)
    with pytest.raises(BuildError) as e:
        cut(s, [A, D])
    assert str(e.value).splitlines()[-2:] == [
        '    s[D].bind(i, te.thread_axis("blockIdx.x"))',
        '    s[D].bind(j, te.thread_axis("threadIdx.x"))',
    ]


def test_the_lines_that_are_offered_do_it():
    s, A, B, C = chain()
    bind(s, C)
    i = s[B].op.axis[0]
    bx, tx = s[B].split(i, factor=64)
    s[B].bind(bx, te.thread_axis("blockIdx.x"))
    s[B].bind(tx, te.thread_axis("threadIdx.x"))
    assert len(cut(s, [A, C]).functions) == 3


def test_global_memory_cannot_begin_in_a_kernel():
    s, A, B, C = chain()
    bind(s, C)
    s[B].compute_at(s[C], s[C].leaf_iter_vars[1])
    s[B].set_scope("global")
    with pytest.raises(BuildError, match="`B` is in global memory, but computed inside the kernel main_C") as e:
        cut(s, [A, C])
    assert 's[B].set_scope("local")' in str(e.value)


def test_two_extents_of_one_axis_are_launched_as_the_larger():
    c = buffer("C", 8)
    t, t2 = ints("t t2")
    inside = Seq((loop(t, 8, store(c, t, 1.0), kind="thread", thread="threadIdx.x"),
                  loop(t2, 3, store(c, t2, 2.0), kind="thread", thread="threadIdx.x")))  # fmt: skip
    (b,) = ints("b")
    made = split(program((c,), loop(b, 1, inside, kind="thread", thread="blockIdx.x")))
    assert "f_kernel[(1, 1, 1), (8, 1, 1)](C)" in str(made)


def test_an_extent_that_is_known_inside_only():
    c = buffer("C", 8, 8)
    b, t = ints("b t")
    inside = loop(t, b + 1, store(c, (b, t), 1.0), kind="thread", thread="threadIdx.x")
    with pytest.raises(BuildError, match=r"threadIdx.x of kernel f_kernel has the extent `b \+ 1`, which depends"):
        split(program((c,), loop(b, 8, inside, kind="thread", thread="blockIdx.x")))


def test_a_barrier_of_the_host():
    c = buffer("C", 8)
    (t,) = ints("t")
    body = Seq((Barrier("shared"), loop(t, 8, store(c, t, 1.0), kind="thread", thread="threadIdx.x")))
    with pytest.raises(BuildError, match=r'`barrier\("shared"\)` stands outside of all kernels'):
        split(program((c,), body))


def test_tags_that_no_device_has():
    c = buffer("C", 8)
    (t,) = ints("t")
    with pytest.raises(BuildError, match="`laneIdx` is no thread axis of a device"):
        split(program((c,), loop(t, 8, store(c, t, 1.0), kind="thread", thread="laneIdx")))


def test_a_long_name_of_a_stage_is_shortened_in_the_kernels():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B" * 300)
    C = te.compute((8,), lambda i: B[i] + 1.0, name="B" * 299 + "C")
    s = te.create_schedule(C.op)
    bind(s, B)
    bind(s, C)
    first, second = (f.name for f in cut(s, [A, C]).functions[1:])
    assert first == "main_" + "B" * 115 and second == f"{first}_1"
