"""Launches of CUDA C++ with a stand-in for the driver (gpu_fake.py); the text is compiled by the real NVRTC."""

import os
from dataclasses import replace

import numpy as np
import pytest

import tvmlab
from tests import kernels
from tests.cuda import gpu_fake
from tests.refusal import refused
from tvmlab import nd, te
from tvmlab.core.error import BuildError
from tvmlab.runtime.device import DeviceError, cuda
from tvmlab.runtime.gpu import LaunchError, devices, runner
from tvmlab.runtime.gpu import cuda_c as module
from tvmlab.target import Target, get
from tvmlab.target.cuda_c import check

pytestmark = pytest.mark.skipif(bool(check.missing()), reason=check.missing() or "it is there")


def doubled(n=100, dtype="float32", scale=False):
    A = te.placeholder((n,), dtype, name="A")
    args = [te.var("x", dtype)] if scale else []
    B = te.compute((n,), lambda i: A[i] * (args[0] if scale else te.const(2, dtype)), name="B")
    s = te.create_schedule(B.op)
    o, i = s[B].split(B.op.axis[0], 32)
    s[B].bind(o, te.thread_axis("blockIdx.x"))
    s[B].bind(i, te.thread_axis("threadIdx.x"))
    return s, [A, *args, B]


def kernel(config, a, b):
    """What `doubled` computes."""
    threads = config.grid[0] * config.block[0]
    n = min(100, threads)
    gpu_fake.typed(b, np.float32, n)[:] = gpu_fake.typed(a, np.float32, n) * 2


class InThisProcess(runner.Runner):
    """The jobs of a child, without one."""

    kind, keeps = "cuda_c", True

    def job(self, name, *args, code=None):
        return getattr(module, name)(*args, report=lambda content: None)


@pytest.fixture
def gpu(monkeypatch):
    made = gpu_fake.Gpu({"main_B": kernel})
    monkeypatch.setattr(module, "_core", lambda: made.core)
    monkeypatch.setattr(module, "_driver", lambda: made.driver)
    compiled = check.machine_code
    monkeypatch.setattr(module.check, "machine_code", lambda *a: gpu_fake.ObjectCode(compiled(*a)))
    monkeypatch.setitem(devices._lacking, "cuda_c", "")
    monkeypatch.setitem(runner._runners, "cuda_c", InThisProcess())
    for cached in (module._gpu, module._machine_code):
        cached.cache_clear()
    yield made
    for cached in (module._gpu, module._machine_code):
        cached.cache_clear()


def arrays(n=100):
    return np.arange(n, dtype="float32"), np.zeros(n, "float32")


def test_the_stand_in_is_declared_as_the_real_thing():
    assert gpu_fake.differences() == []


def test_without_a_gpu_the_text_is_all_there_is(monkeypatch):
    monkeypatch.setattr(devices.cuda, "loads", lambda library: False)
    devices.refresh()
    made = tvmlab.build(*doubled(), "cuda_c")
    assert "main_B" in made.source and not tvmlab.runtime.enabled("cuda_c")
    assert refused(DeviceError, lambda: made(*arrays())) == (
        "there is no CUDA device here (no driver of NVIDIA is installed), and cuda_c runs on nothing else\n"
        "  legal here:  target opencl, target cuda (without a GPU in Numba's simulator), target interp\n"
        "  module.source is the text, module.export writes it to a file"
    )
    assert "no CUDA device" in refused(DeviceError, lambda: made.time_evaluator("main", cuda(0))(*arrays()))


def test_what_the_device_is(gpu):
    (found,) = module.devices(report=None)
    assert (found["name"], found["compute_version"]) == ("Fake", "9.0")
    assert found["max_thread_dimensions"] == [1024, 1024, 64]
    with pytest.raises(RuntimeError, match="the CUDA driver says 100"):
        module.asked((100,))


def test_a_call(gpu):
    a, b = arrays()
    made = tvmlab.build(*doubled(), "cuda_c")
    made(a, b)
    np.testing.assert_array_equal(b, a * 2)
    assert gpu.launches == [("main_B", (4, 1, 1), (32, 1, 1))] and tvmlab.runtime.enabled("cuda_c")
    made(a, b)
    assert len(gpu.launches) == 2


def test_memory_of_arrays_on_the_device_stays_there(gpu, monkeypatch):
    a, b = (nd.array(x, cuda(0)) for x in arrays())
    made, copied = tvmlab.build(*doubled(), "cuda_c"), []
    driver = gpu.driver
    real = driver.cuMemcpyHtoDAsync
    driver.cuMemcpyHtoDAsync = lambda *args: copied.append(args) or real(*args)
    monkeypatch.setattr(module, "_driver", lambda: driver)
    made(a, b)
    made(b, a)
    assert len(copied) == 2
    np.testing.assert_array_equal(a.numpy(), np.arange(100) * 4)


def test_times_are_those_of_the_events(gpu):
    a, b = arrays()
    found = tvmlab.build(*doubled(), "cuda_c").time_evaluator("main", cuda(0), number=3, repeat=2)(a, b)
    assert found.mean == pytest.approx(2e-3) and "by the device's events" in repr(found)
    np.testing.assert_array_equal(b, a * 2)


@pytest.mark.parametrize("n, asked", [(12 << 10, 0), (20 << 10, 80 << 10)])
def test_shared_memory_beyond_what_can_be_declared_is_asked_for(gpu, n, asked):
    """48 KiB can be; 80 are set on the kernel, and said at each launch."""
    s, args = kernels.staged(n, 128)
    gpu.kernels = {"main_C": lambda config, *given: None}
    made = tvmlab.build(s, args, "cuda_c")
    made(*kernels.arrays(args))
    attribute = "CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES"
    assert gpu.asked == ([(attribute, asked, "handle of main_C", 0)] if asked else [])
    assert gpu.shared == [asked]
    assert ("extern __shared__" in made.source) == ("MaxDynamicSharedMemorySize, 81920" in made.source) == bool(asked)


def test_memory_between_kernels_is_given_back(gpu):
    s, args = kernels.two_kernels()
    done = []
    gpu.kernels = {name: lambda config, *given, name=name: done.append((name, given)) for name in ("main_B", "main_C")}
    tvmlab.build(s, args, "cuda_c")(*kernels.arrays(args))
    (first, given), (second, taken) = done
    assert (first, second) == ("main_B", "main_C") and len({*given} & {*taken}) == 1 and gpu.closed == 1


@pytest.mark.parametrize("dtype, value, kind", [
    ("float16", 0.1, np.float16), ("float32", 0.1, np.float32), ("int32", -3, np.int32), ("uint8", 200, np.uint8),
    ("bool", True, np.uint8), ("int64", 1 << 40, np.int64),
])  # fmt: skip
def test_numbers_are_of_the_parameters_types(dtype, value, kind):
    """A Python int would be taken for an address."""
    made = module.number(value, dtype)
    assert type(made) is kind and made == kind(value)


@pytest.mark.parametrize("at, words", [(-1, "4 bytes before its start"), (100, "0 bytes behind its end")])
def test_a_write_just_outside_is_found(gpu, at, words):
    def wrong(config, a, b):
        gpu_fake.typed(b - 256, np.float32, 300)[64 + at] = 1

    gpu.kernels["main_B"] = wrong
    made = tvmlab.build(*doubled(), "cuda_c")
    assert f"kernel `main_B` wrote outside `B`: {words}" in refused(LaunchError, lambda: made(*arrays()))


def test_who_wrote_outside_is_said_once(gpu):
    """Memory that stays has its guards again: the next call is not blamed."""
    a, b = (nd.array(x, cuda(0)) for x in arrays())
    made = tvmlab.build(*doubled(), "cuda_c")

    def wrong(config, a, b):
        gpu_fake.typed(b - 256, np.float32, 300)[[63, 164]] = 1

    made(a, b)
    gpu.kernels["main_B"] = wrong
    assert "wrote outside `B`" in refused(LaunchError, lambda: made(a, b))
    gpu.kernels["main_B"] = kernel
    made(a, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(100) * 2)


def test_a_lost_device_is_said_with_the_kernel(gpu):
    gpu.lost = "CUDA_ERROR_ILLEGAL_ADDRESS"
    made = tvmlab.build(*doubled(), "cuda_c")
    with pytest.raises(LaunchError, match="`main_B` failed on the device: CUDA_ERROR_ILLEGAL_ADDRESS") as caught:
        made(*arrays())
    assert caught.value.rule == "device-lost"


def test_a_process_that_lost_its_device_is_not_used_again(monkeypatch):
    """The next job has a new one."""
    child = runner.Child("cuda_c")
    first = child.worker.run("tests.cuda.test_cuda_c_runner:pid")
    assert first.ok and child.worker.run("tests.cuda.test_cuda_c_runner:pid").value == first.value
    monkeypatch.setattr(runner, "PACKAGE", "tests.cuda")
    child.kind = "test_cuda_c_runner"
    monkeypatch.setitem(runner._limits, child.kind, 30)
    assert "gone" in refused(LaunchError, lambda: child.job("losing"))
    assert child.worker.run("tests.cuda.test_cuda_c_runner:pid").value != first.value
    child.worker.close()


def pid(report):
    return os.getpid()


def losing(report):
    raise module.lost("kernel `k`", RuntimeError("gone"))


def test_a_text_that_nvrtc_refuses_shows_its_line(gpu):
    made = tvmlab.build(*doubled(), "cuda_c")
    code = made.compiled.extra["device"]
    broken = runner.Launcher(replace(code, source=code.source.replace("* 2.0f", "* two")), made.compiled.extra["host"])
    said = refused(BuildError, lambda: broken.call(list(arrays()), []))
    assert "NVRTC does not take this text for sm_90" in said and '"two" is undefined' in said


def test_a_block_that_a_call_makes_too_large(gpu):
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    made = tvmlab.build(s, [A, B], "cuda_c")
    said = refused(LaunchError, lambda: made(*arrays(2000)))
    assert "2000 threads in a block; Fake takes 1024" in said and "`i` of stage B" in said and not gpu.launches


def test_checked_kernels_get_memory_for_faults_and_the_elements_of_arrays(gpu):
    A, I = te.placeholder((64,), name="A"), te.placeholder((100,), "int32", name="I")
    B = te.compute((100,), lambda i: A[I[i]], name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    with tvmlab.transform.PassContext(config={"tir.instrument_bound_checkers": True}):
        made = tvmlab.build(s, [A, I, B], "cuda_c")
    bad = [0]

    def gathers(config, a, i, b, faults, *sizes):
        assert [(type(n), n) for n in sizes] == [(np.int64, 64), (np.int64, 100), (np.int64, 100)][: len(sizes)]
        gpu_fake.typed(faults, np.int32, 5)[:] = [bad[0], -1, -1, 64, 0]

    gpu.kernels["main_B"] = gathers
    given = [np.zeros(64, "float32"), np.zeros(100, "int32"), np.zeros(100, "float32")]
    made(*given)
    sites = made.compiled.extra["device"].sites
    bad[0] = 1 + [x.array for x in sites].index("A")
    assert "kernel `main_B` reads `A[-1]`, which has 64 elements" in refused(LaunchError, lambda: made(*given))


def test_strict_arithmetic_is_an_option_of_the_compiler():
    program = kernels.split(*doubled(), "cuda_c")
    strict = replace(program.entry, attrs=(*program.entry.attrs, ("fp", "strict")))
    made = get("cuda_c").compile(replace(program, functions=(strict, *program.functions[1:])), Target("cuda_c"))
    assert made.extra["device"].options == (module.STRICT,)
    assert get("cuda_c").compile(program, Target("cuda_c")).extra["device"].options == ()
