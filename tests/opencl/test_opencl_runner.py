"""Hand-written OpenCL kernels in the child process: right ones, and every way to go wrong. We survive them all."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from tests.loops import alloc, buffer, function, loop
from tests.refusal import refused
from tvmlab.core.build import const
from tvmlab.core.error import BuildError
from tvmlab.core.node import Call, Evaluate, Var
from tvmlab.core.walk import seq
from tvmlab.runtime import array, gpu, measure
from tvmlab.runtime.device import opencl
from tvmlab.runtime.gpu import Launcher, LaunchError, set_timeout
from tvmlab.runtime.gpu.runner import TIMEOUT
from tvmlab.target.gpu import DeviceCode, Kernel
from tvmlab.target.gpu.code import Param

N = 256
A, B = buffer("A", (N,)), buffer("B", (N,))
i, n = Var("i"), Var("n")
SOURCE = """kernel void add(global const float* A, global float* B, int n) {
  B[get_global_id(0)] = A[get_global_id(0)] + n;
}
kernel void more(global float* A, int n) { A[get_global_id(0)] += n; }
kernel void outside(global const float* A, global float* B) { B[get_global_id(0) + 500000000] = A[0]; }
kernel void behind(global const float* A, global float* B) { B[get_global_id(0) + 1] = A[0]; }
kernel void before(global const float* A, global float* B) { B[(int)get_global_id(0) - 3] = A[0]; }
kernel void endless(global const float* A, global float* B) { volatile int go = 1; while (go) {} B[0] = A[0]; }
kernel void diverge(global const float* A, global float* B) {
  local float t[64];
  t[get_local_id(0)] = A[get_local_id(0)];
  if (get_local_id(0) < 7) barrier(CLK_LOCAL_MEM_FENCE);
  B[get_local_id(0)] = t[63 - get_local_id(0)];
  if (get_local_id(0) < 9) barrier(CLK_LOCAL_MEM_FENCE);
}
kernel void types(global float* A, float h, char c, long l, uchar b, double d) {
  A[0] = h; A[1] = c; A[2] = (float)(l >> 33); A[3] = b; A[4] = d;
}
"""
FLOATS = (Param("A", "float32", True), Param("B", "float32", True, True))
KERNELS = {
    "add": (*FLOATS, Param("n", "int32")),
    "more": (Param("A", "float32", True, True), Param("n", "int32")),
    **dict.fromkeys(("outside", "behind", "before", "endless", "diverge"), FLOATS),
}


def launch(name, *args, grid=4, block=64):
    dims = [const(d) if isinstance(d, int) else d for d in (grid, 1, 1, block, 1, 1)]
    return Evaluate(Call(name, (*dims, *args), "int32", "launch"))


def launcher(*body, names=("add",), source=SOURCE, shared=0, params=(A, B)):
    kernels = tuple(Kernel(name, KERNELS[name], shared) for name in names)
    return Launcher(DeviceCode("opencl", source, kernels), function(params, seq(*body)))


def data():
    return np.arange(N, dtype="float32"), np.zeros(N, "float32")


def add(number=3):
    return launch("add", A.data, B.data, const(number))


def works():
    a, b = data()
    launcher(add()).call([a, b], [])
    np.testing.assert_array_equal(b, a + 3)
    np.testing.assert_array_equal(a, data()[0])


def going_wrong(name, **options):
    a, b = data()
    code = launcher(launch(name, A.data, B.data, **options), names=(name,))
    return lambda: code.call([a, b], [])


@pytest.fixture
def soon():
    set_timeout(2, "opencl")
    yield
    set_timeout(TIMEOUT, "opencl")


def test_a_kernel_computes_and_only_written_arrays_come_back():
    works()


def test_memory_between_kernels_and_a_long_loop_of_the_host():
    t = buffer("T", (N,))
    a, b = data()
    rounds = 5000  # more than go over in one job
    body = alloc(t, launch("add", A.data, t.data, const(1)), loop(i, rounds, launch("more", t.data, const(1))),
                 launch("add", t.data, B.data, i * 0 + 7))  # fmt: skip
    body = loop(i, 1, body)
    launcher(body, names=("add", "more")).call([a, b], [])
    np.testing.assert_array_equal(b, a + 1 + rounds + 7)


def test_numbers_arrive_in_the_types_of_the_parameters():
    params = [
        Param("A", "float32", True, True),
        *(Param(t, t) for t in ("float16", "int8", "int64", "bool", "float64")),
    ]
    kernel = Kernel("types", tuple(params))
    numbers = [
        const(0.1, "float16"),
        const(-5, "int8"),
        const(3 << 33, "int64"),
        const(True, "bool"),
        const(0.5, "float64"),
    ]
    host = function([A], launch("types", A.data, *numbers, grid=1, block=1))
    (a, _) = data()
    Launcher(DeviceCode("opencl", SOURCE, (kernel,)), host).call([a], [])
    np.testing.assert_array_equal(a[:5], np.array([np.float16(0.1), -5, 3, 1, 0.5], "float32"))


def test_an_empty_array_and_an_empty_grid():
    a, b = np.zeros(0, "float32"), np.zeros(0, "float32")
    launcher(launch("add", A.data, B.data, const(1), grid=0)).call([a, b], [])
    launcher(launch("outside", A.data, B.data, grid=0), names=("outside",)).call([a, b], [])


def test_out_of_bounds_ends_the_child_and_the_next_call_works():
    said = refused(LaunchError, going_wrong("outside"))
    assert said.startswith("kernel `outside` ended the process that runs OpenCL: it crashed (SIGSEGV")
    works()


def test_a_write_just_behind_an_array_is_found():
    said = refused(LaunchError, going_wrong("behind"))
    assert said.startswith("kernel `behind` wrote outside `B`: 0 bytes behind its end")
    assert "a write further away is not seen here" in said and 'config={"tir.instrument_bound_checkers": True}' in said
    works()


def test_a_write_just_before_an_array_is_found():
    said = refused(LaunchError, going_wrong("before"))
    assert said.startswith("kernel `before` wrote outside `B`: 12 bytes before its start")
    works()


def test_an_endless_kernel_is_ended_at_its_limit(soon):
    said = refused(LaunchError, going_wrong("endless"))
    assert said.startswith("kernel `endless` did not come to its end on OpenCL: it was still running after 2 s")
    works()


def test_a_divergent_barrier_does_not_harm_this_process(soon):
    """It has no meaning: a device may hang, crash, or go on."""
    try:
        going_wrong("diverge")()
    except LaunchError as e:
        assert e.rule in ("kernel-crash", "kernel-timeout") and "`diverge`" in e.message
    works()


def test_too_large_a_block_and_too_much_shared_memory(opencl):
    most = opencl.facts["max_threads_per_block"]
    a, b = data()
    big = launcher(launch("add", A.data, B.data, const(1), block=2 * most))
    assert f"= {2 * most} threads in a block" in refused(LaunchError, lambda: big.call([a, b], []))
    greedy = launcher(add(), shared=opencl.facts["max_shared_memory_per_block"] + 1)
    assert "bytes of shared memory in a block" in refused(LaunchError, lambda: greedy.call([a, b], []))
    works()


def test_more_memory_than_the_device_has(opencl):
    t = buffer("T", (1 << 40,), "float64")
    a, b = data()
    huge = launcher(alloc(t, launch("add", A.data, t.data, const(1))))
    assert refused(LaunchError, lambda: huge.call([a, b], [])).startswith("`T` takes 8.19e+03 GiB")
    works()


def test_a_source_that_does_not_compile_shows_its_line():
    a, b = data()
    broken = launcher(add(), source=SOURCE.replace("+ n;\n}", "+ m;\n}"))
    said = refused(BuildError, lambda: broken.call([a, b], []))
    assert "refuses line 2: use of undeclared identifier 'm'" in said
    assert "->    2    B[get_global_id(0)] = A[get_global_id(0)] + m;" in said
    works()


def test_the_kernel_that_fails_is_named_among_several():
    a, b = data()
    two = launcher(add(), launch("outside", A.data, B.data), names=("add", "outside"))
    assert refused(LaunchError, lambda: two.call([a, b], [])).startswith("kernel `outside` ended the process")


def test_an_interrupt_leaves_no_answer_for_the_next_call(soon, monkeypatch):
    a, b = data()
    waiting = going_wrong("endless")
    from tvmlab.runtime import worker

    def interrupted(self, child, what, *args):
        child.send(what)
        raise KeyboardInterrupt

    monkeypatch.setattr(worker.Worker, "_talk", interrupted)
    with pytest.raises(KeyboardInterrupt):
        waiting()
    monkeypatch.undo()
    works()


def test_calls_from_several_threads_take_turns():
    wrong = []

    def work():
        try:
            for _ in range(5):
                works()
        except BaseException as e:
            wrong.append(e)

    threads = [threading.Thread(target=work) for _ in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


def test_times_are_of_the_kernels_and_results_come_back():
    a, b = data()
    with launcher(add()).timed([a, b], []) as clock:
        found = measure.run_by(clock, measure.Timing(3, 2), (), "time of the kernels, by the device's events")
    assert 0 < found.min < 1 and len(found.results) == 2
    assert repr(found).endswith("(time of the kernels, by the device's events)")
    np.testing.assert_array_equal(b, a + 3)


def test_arrays_on_the_device(opencl_device=opencl):
    assert opencl_device(0).exist and opencl_device(0).max_threads_per_block > 0
    assert array([1.0, 2.0], opencl_device(0)).numpy().tolist() == [1, 2]
    assert "opencl(0)" in gpu.report()


NO_PLATFORM = """
class Error(RuntimeError): pass
def get_platforms(): raise Error("clGetPlatformIDs failed: PLATFORM_NOT_FOUND_KHR")
"""


def test_without_a_platform(tmp_path):
    """As where pyopencl is installed without a driver. (Its wheels bring one, so a stand-in says what it would say.)"""
    (tmp_path / "pyopencl.py").write_text(NO_PLATFORM)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.getcwd()])}
    code = "from tvmlab.runtime import gpu, device; print(gpu.report()); device('opencl').require()"
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.startswith("opencl: there is no platform\na driver for the CPU:  pip install")
    assert "DeviceError: there is no device opencl(0) in this process" in done.stderr
