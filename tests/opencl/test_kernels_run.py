"""Printed OpenCL on a device, in a child process, against the interpreter."""

import numpy as np
import pytest

from tests import kernels
from tests.loops import buffer, function, load, loop, store
from tests.opencl import pocl
from tvmlab import te, tir
from tvmlab.core.node import Const, Ramp, Var
from tvmlab.core.program import Program
from tvmlab.lowering import pipeline
from tvmlab.target.clike import helpers


def check(schedule, args, given=None, numbers=(), close=0.0):
    given = given or kernels.arrays(args)
    expected = kernels.wanted(schedule, args, given)
    found = pocl.results(kernels.split(schedule, args), given, numbers)[-1]
    if close:
        np.testing.assert_allclose(found, expected, rtol=close, atol=close)
    else:
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("sizes", [(64, 64, 64), (50, 37, 29), (17, 16, 1), (1, 1, 1)])
def test_matmul(sizes):
    check(*kernels.matmul(*sizes), close=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_matmul_of_other_types(dtype):
    check(*kernels.matmul(20, 17, 9, dtype=dtype))


def test_two_kernels_and_the_memory_between_them():
    check(*kernels.two_kernels())


def test_symbolic_sizes():
    s, args = kernels.symbolic()
    given = [kernels.data((5, 39), "float32", k) for k in range(2)]
    check(s, args, given, numbers=(5, 39))


FORMS = {
    "native": lambda A, B, i: A[i] * 2 + B[i],
    "reversed": lambda A, B, i: A[63 - i] - B[i],
    "strided": lambda A, B, i: A[i * 2 % 64] * B[i // 3],
    "divided": lambda A, B, i: tir.Select(B[i] > A[i], A[i], B[i]) + A[i // 4],
    "chosen": lambda A, B, i: te.if_then_else(i % 5 == 0, A[i], te.max(A[i], B[i])),
}


def check_all(cases):
    """Schedules in one child; what differs, by the name of the case."""
    given = {name: kernels.arrays(args) for name, (_, args) in cases.items()}
    jobs = [pocl.job(kernels.split(*cases[name]), given[name]) for name in cases]
    wrong = {}
    for name, found in zip(cases, pocl.run(jobs), strict=True):
        expected = kernels.wanted(*cases[name], given[name])
        if isinstance(found, str):
            wrong[name] = found
        elif not np.array_equal(found["C"].reshape(expected.shape), expected):
            wrong[name] = f"{found['C']}, not {expected}"
    assert wrong == {}


DTYPES = ("float32", "float16", "int8", "int64", "bool", "float64")


@pytest.mark.parametrize("k, lanes", [*enumerate([2, 3, 4, 8, 16, 32])])
def test_copies_of_vectors(k, lanes):
    """Each type with each number of lanes; each of both with and without a rest."""
    check_all({
        (dtype, lanes): kernels.elementwise((64, 61)[(k + j) % 2], dtype, lambda A, B, i: A[i], 2, lanes)
        for j, dtype in enumerate(DTYPES)
    })  # fmt: skip


@pytest.mark.parametrize("k, dtype", [*enumerate(["float32", "float16", "int32", "uint8"])])
def test_vector_statements(k, dtype):
    """Each type with each form and with each number of lanes, and each form with each number of lanes."""
    lanes = (2, 3, 4, 16, 32)
    check_all({
        (form, n): kernels.elementwise(64, dtype, f, 2, n)
        for j, (form, f) in enumerate(FORMS.items())
        for n in (lanes[(j + k) % 5], lanes[(j + k + 2) % 5])
    })  # fmt: skip


@pytest.mark.parametrize("lanes", [3, 8, 12])
def test_a_vector_that_reads_what_it_writes(lanes):
    """C[i] and C[i + 1] of one statement: all lanes are read first."""
    A, b, one = buffer("A", (13,)), Var("bx"), Const(1)
    move = store(A, Ramp(one, one, lanes), load(A, Ramp(Const(0), one, lanes), dtype=f"float32x{lanes}"))
    fn = function([A], loop(b, 1, move, thread="blockIdx.x"), name="main")
    given = np.arange(13, dtype="float32")
    program = pipeline.run(Program((fn,)), (*pipeline.FLAT, "split_host_device"))
    (found,) = pocl.results(program, [given])
    np.testing.assert_array_equal(found, [0, *range(lanes), *range(lanes + 1, 13)])


def test_indices_of_64_bits():
    n = te.var("n", "int64")
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[n - 1 - i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    o, i = s[C].split(C.op.axis[0], 8)
    s[C].bind(o, te.thread_axis("blockIdx.x"))
    s[C].bind(i, te.thread_axis("threadIdx.x"))
    given = [kernels.data((21,), "float32"), np.zeros(21, "float32")]
    check(s, [A, C], given, numbers=(21,))


DIVISIONS = {
    "floor": lambda A, B, i: A[i] // (B[i] - 3),
    "rest": lambda A, B, i: A[i] % (B[i] % 5 - 2),
    "by 7": lambda A, B, i: A[i] // 7 + A[i] % 7,
    "wraps": lambda A, B, i: A[i] * A[i] * 1000003 + B[i],
    "shifts": lambda A, B, i: (A[i] << B[i]) + (A[i] >> (B[i] + 40)),
}


@pytest.mark.parametrize("dtype", ["int32", "int8", "int64", "uint32"])
def test_integers(dtype):
    fits = [name for name in DIVISIONS if dtype != "int8" or name != "wraps"]
    check_all({name: kernels.elementwise(64, dtype, DIVISIONS[name]) for name in fits})


@pytest.mark.parametrize("what, dtype, wrong", [
    ("floordiv", "int32", "{F} {T} floordiv_{D}({T} a, {T} b) {{\n    return b == 0 ? 0 : a / b;\n}}"),
    ("floormod", "int32", "{F} {T} floormod_{D}({T} a, {T} b) {{\n    return b == 0 ? 0 : a % b;\n}}"),
    ("shr", "int32", "{F} {T} shr_{D}({T} a, {T} n) {{\n    return a >> n;\n}}"),
])  # fmt: skip
def test_a_mistake_of_the_printer_is_found(monkeypatch, what, dtype, wrong):
    monkeypatch.setitem(helpers.SIGNED, what, wrong)
    with pytest.raises(AssertionError):
        check_all({name: kernels.elementwise(64, dtype, f) for name, f in DIVISIONS.items()})


def test_a_child_that_ends_is_replaced():
    good = pocl.job(kernels.split(*kernels.two_kernels()), [np.ones(30, "float32"), np.zeros(30, "float32")])
    crash = "kernel void k(global int* A) { A[1 << 30] = 1; A[-(1 << 30)] = 1; }"
    endless = "kernel void k(global int* A) { volatile int go = 1; while (go) {} }"
    one = ((1, 1, 1), (1, 1, 1), ["A"])
    jobs = [(source, {"A": np.zeros(1, "int32")}, [("k", *one)]) for source in (crash, endless)]
    assert all("the child ended with -11" in x for x in pocl.run([jobs[0], good]))
    assert pocl.run([jobs[1]], timeout=1) == ["no answer in 1 s"]
    (found,) = pocl.run([good])
    np.testing.assert_array_equal(found["C"], np.full(30, 3, "float32"))


def test_a_bad_kernel_is_an_error_of_its_job_alone():
    good = pocl.job(kernels.split(*kernels.two_kernels()), [np.ones(30, "float32"), np.zeros(30, "float32")])
    bad = ("__kernel void main_B() { no such thing; }", {}, [("main_B", (1, 1, 1), (1, 1, 1), [])])
    first, second = pocl.run([bad, good])
    assert "no such" in first or "undeclared" in first
    np.testing.assert_array_equal(second["C"], np.full(30, 3, "float32"))
