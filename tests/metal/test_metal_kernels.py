"""The gallery's GPU schedules and random bound ones as Metal, run on the CPU: what NumPy has, at odd sizes.

Checked as a subset, not by Apple's compiler: see harness.py.
"""

import numpy as np
import pytest

from tests import kernels
from tests.bound import arrays, random_bound
from tests.cpu.test_kernels_gpu import CASES
from tests.cpu.test_kernels_operators import arrays_for
from tests.metal import harness
from tests.pure.passes import reductions as red
from tests.pure.passes.test_warp_memory import rotated
from tvmlab import kernels as gallery
from tvmlab import te
from tvmlab.core.error import BuildError
from tvmlab.kernels import matmul, matmul_f16
from tvmlab.lowering import passes
from tvmlab.target import Target, get


def outputs(args):
    return [a for a in args if not isinstance(a.op, te.PlaceholderOp)]


def check(schedule, args, expected):
    given = arrays_for(args)
    count = len(args) - len(outputs(args))
    wanted = expected(*[x.copy() for x in given[:count]])
    harness.run(kernels.split(schedule, args, "metal"), given)
    for got, want in zip(given[count:], wanted if isinstance(wanted, (tuple, list)) else [wanted], strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


# Metal has no float64: the cases of it are refused (test_float64_is_refused)
TAKEN = [(name, shape) for name, shape in CASES if shape.get("dtype") != "float64"]


@pytest.mark.parametrize("name, shape", TAKEN, ids=[f"{n}-{i}" for i, (n, _) in enumerate(TAKEN)])
def test_the_gallery(name, shape):
    kernel = gallery.get(name)
    args = kernel.declare(**shape)
    check(kernel.schedule_gpu(outputs(args)), args, lambda *ins: kernel.reference(*ins, **shape))


@pytest.mark.parametrize("seed", range(25))
def test_random_schedules(seed):
    case = random_bound(2000 + seed)
    given = arrays(case)
    harness.run(kernels.split(case.schedule, case.args, "metal"), given)
    for got, want in zip(given[len(case.inputs) :], case.expected, strict=True):
        np.testing.assert_array_equal(got, want)


def test_tensor_cores_by_the_lanes_of_a_warp():
    s, args = matmul_f16.gpu(m=45, n=20, k=50)
    check(s, args, matmul_f16.reference)


def test_a_matmul_of_several_blocks_and_tiles():
    s, args = matmul.gpu(m=50, n=70, k=37, rows=16, columns=32, depth=4, each=2)
    check(s, args, lambda a, b: a @ b)


def test_integers_that_wrap_and_divide():
    s, args = kernels.elementwise(61, "int32", lambda A, B, i: (A[i] * 1000003 * A[i] + B[i]) // (B[i] % 5 - 2))
    given = kernels.arrays(args)
    wanted = kernels.wanted(s, args, given)
    harness.run(kernels.split(s, args, "metal"), given)
    np.testing.assert_array_equal(given[-1], wanted)


def test_sizes_that_the_call_brings():
    s, args = kernels.symbolic()
    given = [kernels.data((5, 39), "float32", k) for k in range(2)]
    harness.run(kernels.split(s, args, "metal"), given, (5, 39))
    np.testing.assert_array_equal(given[1], given[0] * 2 + np.arange(39, dtype="float32"))


# ---------------------------------------------------------------- mistakes are found


def mirrored(n=256):
    """Through shared memory, each thread reads what another one wrote."""
    A = te.placeholder((n,), name="A")
    C = te.compute((n,), lambda i: A[n - 1 - i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    S = s.cache_read(A, "shared", [C])
    t = te.thread_axis("threadIdx.x")
    b, i = s[C].split(C.op.axis[0], n)
    s[C].bind(b, te.thread_axis("blockIdx.x"))
    s[C].bind(i, t)
    s[S].compute_at(s[C], b)
    s[S].bind(s[S].op.axis[0], t)
    program = kernels.split(s, [A, C], "metal")
    return (
        program,
        get("metal").source(program, Target("metal")),
        [np.arange(n, dtype="float32"), np.zeros(n, "float32")],
    )


def test_a_copy_that_others_read():
    program, _, (a, c) = mirrored()
    harness.run(program, [a, c])
    np.testing.assert_array_equal(c, a[::-1] + 1)


@pytest.mark.parametrize("before, after", [
    ("threadgroup_barrier(mem_flags::mem_threadgroup);", ""),
    ("A[threadIdx_x]", "A[255 - threadIdx_x]"),
    ("1.0f", "2.0f"),
])  # fmt: skip
def test_a_mistake_in_the_text_is_found(before, after):
    program, text, (a, c) = mirrored()
    assert before in text
    harness.run(program, [a, c], text=text.replace(before, after))
    assert not np.array_equal(c, a[::-1] + 1)


def test_what_clang_does_not_take():
    program, text, given = mirrored()
    with pytest.raises(RuntimeError, match="undeclared identifier 'two'"):
        harness.run(program, given, text=text.replace("1.0f", "two"))


def test_float64_is_refused():
    with pytest.raises(BuildError, match="float64"):
        kernels.text(*kernels.elementwise(8, "float64", lambda A, B, i: A[i] + B[i]), "metal")


# ---------------------------------------------------------------- warps


@pytest.mark.parametrize("make", [
    lambda: red.rows(x=6, serial=2), lambda: red.rows(x=64, y=2), lambda: red.best(parts=8), lambda: rotated(warps=4),
], ids=["tree", "long", "tuple", "warp_memory"])  # fmt: skip
def test_reductions_over_threads_and_memory_of_warps(make):
    s, args, inputs, expected = make()
    made = [np.full(w.shape, 77, w.dtype) for w in expected]
    harness.run(kernels.split(s, args, "metal"), [*inputs, *made])
    for got, want in zip(made, expected, strict=True):
        np.testing.assert_array_equal(got, want)


# ---------------------------------------------------------------- byte products


@pytest.mark.parametrize("n, left, right, shared, form", [
    (1, "uint8", "int8", False, "plain"), (4, "int8", "int8", True, "let"), (16, "uint8", "uint8", True, "variables"),
    (4, "int8", "uint8", False, "chosen"),
])  # fmt: skip
def test_byte_products(n, left, right, shared, form):
    program = kernels.dots(n, left, right, shared, form)
    given = kernels.dots_arrays(n, left, right, shared)
    expected = kernels.dots_wanted(program, given)
    harness.run(passes.get("split_host_device")(program), given)
    assert given[-1].tobytes() == expected.tobytes()
