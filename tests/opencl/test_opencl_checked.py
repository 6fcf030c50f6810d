"""Kernels that check their indices (`tir.instrument_bound_checkers`): the first that is outside is named, and what is
right stays right."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import tvmlab
from tests import kernels
from tests.cuda.samples import bound, module, tiled
from tests.loops import alloc, buffer, load, loop, store
from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core.error import LabError
from tvmlab.core.node import Var
from tvmlab.core.program import Program
from tvmlab.runtime import Module
from tvmlab.runtime.gpu import LaunchError
from tvmlab.target import Target
from tvmlab.target.clike import CHECKED

CHECKS = {"tir.instrument_bound_checkers": True}
N, M = 100, 64


def build(s, args, target="opencl"):
    with tvmlab.transform.PassContext(config=CHECKS):
        return tvmlab.build(s, args, target)


def gather(dtype="float32", m=M, index=lambda A, I, i: A[I[i]]):
    A, I = te.placeholder((m,), dtype, name="A"), te.placeholder((N,), "int32", name="I")
    B = te.compute((N,), lambda i: index(A, I, i), name="B")
    s = te.create_schedule(B.op)
    o, i = s[B].split(B.op.axis[0], 32)
    s[B].bind(o, te.thread_axis("blockIdx.x"))
    s[B].bind(i, te.thread_axis("threadIdx.x"))
    return s, [A, I, B]


def scatter():
    """B[I[i]] = A[i], where every other element of B stays as it is."""
    A, I = te.placeholder((N,), name="A"), te.placeholder((N,), "int32", name="I")

    def body(ins, outs):
        ib = tir.ir_builder.create()
        a, at, b = (ib.buffer_ptr(x) for x in (*ins, *outs))
        t = te.thread_axis("threadIdx.x")
        ib.scope_attr(t, "thread_extent", N)
        b[at[t]] = a[t]
        return ib.get()

    B = te.extern((M,), [A, I], body, name="B", dtype="float32")
    return te.create_schedule(B.op), [A, I, B]


def indices(bad=None):
    found = np.arange(N, dtype="int32") % M
    if bad is not None:
        found[77] = bad
    return found


def gathered(made, bad=None, dtype="float32", m=M):
    a, b = np.arange(m).astype(dtype), np.zeros(N, dtype)
    made(a, indices(bad), b)
    return a, b


@pytest.fixture(scope="module")
def reads():
    return build(*gather())


@pytest.mark.parametrize("bad, index", [(-1, "-1"), (M, "64"), (2**31 - 1, "2147483647"), (-(2**31), "-2147483648")])
def test_a_read_outside(reads, bad, index):
    assert refused(LaunchError, lambda: gathered(reads, bad)) == (
        f"kernel `main_B` reads `A[{index}]`, which has 64 elements\n"
        '    for blockIdx_x in thread("blockIdx.x", 4):\n'
        '        for threadIdx_x in thread("threadIdx.x", 32):\n'
        "  indices here are places in memory; target interp has them by dimension"
    )
    a, b = gathered(reads)
    np.testing.assert_array_equal(b, a[indices()])


@pytest.mark.parametrize("name", ["inside", "faults", "A_size"])
def test_an_array_may_have_a_name_of_the_checks(name):
    A, I = te.placeholder((M,), name="A"), te.placeholder((N,), "int32", name=name)
    B = te.compute((N,), lambda i: A[I[i]], name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    a, b = np.arange(M, dtype="float32"), np.zeros(N, "float32")
    build(s, [A, I, B])(a, indices(), b)
    np.testing.assert_array_equal(b, a[indices()])


def test_without_the_checks_such_a_read_is_silent():
    """What the option is for."""
    gathered(tvmlab.build(*gather(), "opencl"), M)


@pytest.mark.parametrize("bad", [-1, M])
def test_a_write_outside(bad):
    made = build(*scatter())
    a, b = np.arange(N, dtype="float32"), np.zeros(M, "float32")
    said = refused(LaunchError, lambda: made(a, indices(bad), b))
    assert said.startswith(f"kernel `main_B` writes `B[{bad}]`, which has 64 elements") and (b == 0).all()
    made(a, indices(), b)
    assert set(b - np.arange(M)) <= {0, M}


def test_the_interpreter_refuses_the_same():
    with pytest.raises(LabError, match="outside"):
        gathered(tvmlab.build(*gather(), "interp"), M)


@pytest.mark.parametrize("dtype", ["float16", "bool", "float64", "int8", "uint64"])
def test_elements_of_every_size(dtype):
    made = build(*gather(dtype))
    a, b = gathered(made, None, dtype)
    np.testing.assert_array_equal(b, a[indices()])
    assert "reads `A[64]`, which has 64 elements" in refused(LaunchError, lambda: gathered(made, M, dtype))


def test_an_array_of_one_element_and_an_index_of_an_index():
    made = build(*gather(m=1))
    assert "reads `A[1]`, which has 1 element\n" in refused(LaunchError, lambda: gathered(made, M, m=1))
    twice = build(*gather(index=lambda A, I, i: A[I[I[i]]]))
    assert "reads `I[500]`, which has 100 elements" in refused(LaunchError, lambda: gathered(twice, 500))


def test_what_is_not_evaluated_is_not_looked_at():
    made = build(*gather(index=lambda A, I, i: te.if_then_else(I[i] < M, A[I[i]], 7.0)))
    _, b = gathered(made, M)
    assert b[77] == 7


def test_vectors_are_looked_at_whole():
    """Four lanes from I[0] on."""
    A, I = te.placeholder((M,), name="A"), te.placeholder((1,), "int32", name="I")
    B = te.compute((8,), lambda i: A[I[0] + i], name="B")
    s = te.create_schedule(B.op)
    o, i = s[B].split(B.op.axis[0], 4)
    s[B].bind(o, te.thread_axis("threadIdx.x"))
    s[B].vectorize(i)
    made = build(s, [A, I, B])
    a, b = np.arange(M, dtype="float32"), np.zeros(8, "float32")
    made(a, np.array([M - 8], "int32"), b)
    np.testing.assert_array_equal(b, a[-8:])
    said = refused(LaunchError, lambda: made(a, np.array([M - 7], "int32"), b))
    assert "reads `A[61:65]`, which has 64 elements" in said and "vload4" in made.source


def test_shared_memory_of_a_kernel_is_an_array_too():
    A, B, S, t = buffer("A", (32,)), buffer("B", (32,)), buffer("S", (32,), scope="shared"), Var("tx")
    body = loop(t, 32, alloc(S, store(S, t + 1, load(A, t)), store(B, t, 1.0)), thread="threadIdx.x")
    program = module([A, B], body, target="opencl").compiled.extra["program"]
    entry = replace(program.entry, attrs=(*program.entry.attrs, CHECKED))
    record = Target("opencl")
    program = Program((entry, *program.functions[1:]))
    made = Module(entry, record, record.kind.compile(program, record))
    said = refused(LaunchError, lambda: made(np.ones(32, "float32"), np.ones(32, "float32")))
    assert "writes `S[32]`, which has 32 elements" in said


RIGHT = {
    "matmul": lambda: tiled(20, 18, 13), "tiles": lambda: kernels.matmul(50, 37, 29),
    "halves": lambda: kernels.matmul(20, 17, 9, dtype="float16"), "two kernels": kernels.two_kernels,
    "vectors": lambda: kernels.elementwise(61, "float32", lambda A, B, i: A[i] + B[i], 2, 4),
    "symbolic": lambda: bound(te.size_var("n"), lambda a, i: a * 2.0),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_stays_right(name):
    s, args = RIGHT[name]()
    shapes = [(61,)] * 2 if name == "symbolic" else None
    given = [kernels.data(x, "float32", k) for k, x in enumerate(shapes)] if shapes else kernels.arrays(args)
    plain, checked = ([x.copy() for x in given] for _ in range(2))
    tvmlab.build(s, args, "opencl")(*plain)
    build(s, args)(*checked)
    for a, b in zip(plain, checked, strict=True):
        np.testing.assert_array_equal(a, b)


def test_times_are_taken_and_pickling_keeps_the_checks(reads):
    a, b = np.arange(M, dtype="float32"), np.zeros(N, "float32")
    again = pickle.loads(pickle.dumps(reads))
    assert again.source == reads.source
    assert again.time_evaluator("main", tvmlab.opencl(0), number=2)(a, indices(), b).mean > 0
    assert "reads `A[-1]`" in refused(LaunchError, lambda: gathered(again, -1))


def test_an_index_that_loops_keep_inside_costs_nothing():
    s, args = kernels.matmul(64, 64, 64)
    assert build(s, args).source.count("inside(") == 0
