"""Schedules on OpenCL, as a person builds and calls them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

import tvmlab
from tests import kernels
from tests.cuda.samples import bound, tiled
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.error import BuildError, CallError
from tvmlab.runtime import array
from tvmlab.runtime.device import DeviceError, cpu, opencl
from tvmlab.runtime.gpu import Launcher
from tvmlab.target import Target, get

rng = np.random.default_rng(0)


@pytest.fixture(scope="module")
def matmul():
    s, args = tiled()
    return tvmlab.build(s, args, "opencl")


@pytest.mark.parametrize("shape", [(20, 18, 13), (16, 16, 16), (9, 17, 8), (33, 10, 40)])
def test_a_tiled_matmul_with_guards(shape):
    """The threads that a guard lets through write, also where it cuts a block (see close_barrier_loops)."""
    n, m, k = shape
    made = tvmlab.build(*tiled(n, m, k), "opencl")
    a, b, c = rng.random((n, k), "float32"), rng.random((k, m), "float32"), np.full((n, m), 7, "float32")
    made(a, b, c)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_sizes_and_arrays_of_many_kinds(matmul):
    s, args = bound(te.size_var("n"), lambda a, i: a * 2.0)
    made = tvmlab.build(s, args, "opencl")
    for n in (0, 1, 31, 100):
        a, b = rng.random(n, "float32"), np.zeros(n, "float32")
        made(a, b)
        np.testing.assert_array_equal(b, a * 2)
    a, b, c = np.ones((20, 13), "float32"), np.ones((13, 18), "float32"), np.zeros((20, 36), "float32")
    matmul(np.asfortranarray(a), array(b, opencl(0)), c[:, ::2])
    assert (c[:, ::2] == 13).all() and (c[:, 1::2] == 0).all()
    with pytest.raises(CallError, match=r"argument 1 \(B\) is on cpu\(0\), the module runs on opencl"):
        matmul(a, array(b, cpu(0)), c[:, ::2].copy())


def test_time_of_the_kernels(matmul):
    a, b, c = np.ones((20, 13), "float32"), np.ones((13, 18), "float32"), np.zeros((20, 18), "float32")
    found = matmul.time_evaluator("main", opencl(0), number=3, repeat=2)(a, b, c)
    assert 0 < found.min < 1 and "by the device's events" in repr(found) and (c == 13).all()
    with matmul.clocked(a, b, c) as clock:
        assert 0 < clock(2) < 1
    assert "runs on opencl, not on cpu(0)" in refused(DeviceError, lambda: matmul.time_evaluator("main", cpu(0)))


def test_it_is_the_same_after_pickling(matmul):
    again = pickle.loads(pickle.dumps(matmul))
    a, b, c = np.ones((20, 13), "float32"), np.ones((13, 18), "float32"), np.zeros((20, 18), "float32")
    again(a, b, c)
    assert again.source == matmul.source and (c == 13).all()


def test_a_text_that_does_not_compile_names_the_loop():
    """The line in the middle of the kernel: the reduction's own update."""
    made = get("opencl").compile(kernels.split(*kernels.matmul(20, 17, 9)), Target("opencl"))
    code = made.extra["device"]
    line = next(x for x in code.source.splitlines() if "C_local[" in x and "+=" in x)
    broken = replace(code, source=code.source.replace(line, line.replace("+=", "= half_of +")))
    given = [np.zeros(s, "float32") for s in ((20, 9), (9, 17), (20, 17))]
    said = refused(BuildError, lambda: Launcher(broken, made.extra["host"]).call(given, []))
    number = code.source.splitlines().index(line) + 1
    assert f"refuses line {number}, in `j.c` of stage C.local: use of undeclared identifier 'half_of'" in said
