"""Which devices there are, and what is said when a run does not come to its end. No device is needed."""

import subprocess
import sys

import numpy as np
import pytest

import tvmlab
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.error import BuildError, LabError
from tvmlab.runtime.device import Device, DeviceError, cuda, opencl
from tvmlab.runtime.gpu import LaunchError, devices, listing, report, runner, set_timeout
from tvmlab.runtime.gpu.opencl import refused as refused_by_compiler
from tvmlab.runtime.worker import Outcome
from tvmlab.target.gpu import DeviceCode, Kernel

CODE = DeviceCode(
    "opencl", "\n".join(f"line {k};" for k in range(1, 9)), (Kernel("main_C", ()),), {5: "`i` of stage C"}
)


def test_the_package_is_found_by_its_name():
    code = "import tvmlab; assert callable(tvmlab.runtime.gpu.report) and callable(tvmlab.runtime.gpu.set_timeout)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def fresh():
    devices.refresh()
    yield
    devices.refresh()


def test_two_platforms_of_one_name_are_numbered():
    rows = [{"platform_id": k, "platform": p, "version": "OpenCL 3.0 PoCL 3.1 more", "name": f"cpu{k}", "type": "CPU"}
            for k, p in ((7, "Portable"), (7, "Portable"), (9, "Portable"), (3, "Intel"))]  # fmt: skip
    found, broken = devices.described(rows[:3], [{**rows[3], "why": "unknown processor"}])
    assert [f"{x}" for x in found] == [
        "opencl(0)   cpu7 (CPU), on Portable #1 (PoCL 3.1)",
        "opencl(1)   cpu7 (CPU), on Portable #1 (PoCL 3.1)",
        "opencl(2)   cpu9 (CPU), on Portable #2 (PoCL 3.1)",
    ]
    assert broken == ["opencl: cpu3 on Intel (PoCL 3.1) builds no kernel: unknown processor"]


@pytest.fixture
def lacks(fresh, monkeypatch):
    """A function that takes a package away."""

    def take(package):
        class Missing:
            def find_spec(self, name, path=None, target=None):
                if name == package:
                    raise ModuleNotFoundError(f"No module named {package!r}")

        monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
        monkeypatch.delitem(sys.modules, package, raising=False)

    return take


def call(target):
    """Build a program with a kernel, and run it."""
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    tvmlab.build(s, [A, B], target)(np.zeros(4, "float32"), np.zeros(4, "float32"))


def test_a_call_says_what_to_install(lacks):
    lacks("pyopencl")
    assert refused(DeviceError, lambda: call("opencl")).startswith(
        "there is no device here that these kernels run on: opencl: pyopencl is not installed; it, and a driver for "
        'the CPU:  pip install "pyopencl[pocl]"\n  legal here:  target '
    )


def test_a_call_without_numbas_cuda(lacks, monkeypatch):
    lacks("pyopencl")
    lacks("numba.cuda")
    monkeypatch.setattr(devices.cuda, "available", lambda: False)
    monkeypatch.setattr(devices.cuda.available, "cache_clear", lambda: None, raising=False)
    said = refused(DeviceError, lambda: call("cuda"))
    assert 'this Numba has no CUDA:  pip install "numba-cuda[cu13]" "cuda-core"' in said
    assert said.endswith("legal here:  target interp\n  module.source is the text")


def test_cuda_c_says_what_to_install(lacks, monkeypatch):
    monkeypatch.setattr(devices.cuda, "loads", lambda library: True)
    lacks("cuda.core")
    said = refused(DeviceError, lambda: call("cuda_c"))
    assert 'cuda.core is not installed:  pip install "numba-cuda[cu13]" "cuda-core"' in said


def test_an_installation_is_seen_at_the_next_call(lacks, monkeypatch):
    lacks("pyopencl")
    refused(DeviceError, lambda: call("opencl"))
    there = devices.Listing((devices.Found("opencl", 0, "a device"),))
    monkeypatch.setattr(devices, "_opencl", lambda: there)
    devices.need("opencl")


def test_without_pyopencl(lacks):
    lacks("pyopencl")
    assert not listing("opencl").devices and not opencl(0).exist
    assert report().startswith("opencl: pyopencl is not installed; it, and a driver for the CPU:  pip install ")
    said = refused(DeviceError, opencl(0).require)
    assert said.startswith("there is no device opencl(0) in this process\n  legal here:  cpu(0)")
    assert "pyopencl is not installed" in said


def test_without_a_gpu_cuda_is_the_simulator_and_no_device(fresh, monkeypatch):
    monkeypatch.setattr(devices.cuda, "available", lambda: False)
    monkeypatch.setattr(devices.cuda.available, "cache_clear", lambda: None, raising=False)
    monkeypatch.setattr(devices, "installed", lambda package: True)
    (found,) = listing("cuda").devices
    assert found.emulated and "no GPU: runs on Numba's simulator" in str(found)
    assert not cuda(0).exist and cuda(0).require() == cuda(0) and "simulator" in cuda(0).device_name
    assert cuda(0).warp_size is None and not cuda(1).exist
    assert Device(1).max_threads_per_block is None
    with pytest.raises(AttributeError):
        cuda(0).no_such_number


OUTCOMES = [
    (Outcome("crash", text="it crashed (SIGSEGV: it touched memory that is not its own)"), LaunchError,
     "kernel `main_C` ended the process that runs OpenCL: it crashed (SIGSEGV"),
    (Outcome("timeout", text="it was still running after 2 s and was ended"), LaunchError,
     "kernel `main_C` did not come to its end on OpenCL: it was still running after 2 s"),
    (Outcome("memory", text="it needed more memory than it may have"), LaunchError,
     "kernel `main_C` needs more memory"),
    (Outcome("lost", text="no process"), DeviceError, "OpenCL cannot be reached: no process"),
    (Outcome("error", error=BuildError("opencl-build", "it refuses line 3", where=["->"], hint="so").to_json()),
     BuildError, "it refuses line 3\n    ->\n  so"),
    (Outcome("error", error={"type": "RuntimeError", "rule": "python-error", "message": "RuntimeError: no", "where": [],
                             "legal": [], "hint": ""}), LaunchError, "kernel `main_C` failed: RuntimeError: no"),
]  # fmt: skip


@pytest.mark.parametrize("outcome, kind, words", OUTCOMES, ids=[o.kind for o, *_ in OUTCOMES])
def test_an_outcome_is_told_to_a_person(outcome, kind, words):
    made = runner.failure(outcome, runner._named(CODE, []), "opencl")
    assert type(made) is kind and str(made).startswith(words)


def test_what_is_slow_is_not_endless():
    late = Outcome("timeout", text="it was still running after 60 s and was ended")
    hint = str(runner.failure(late, "kernel `main_C`", "simulator")).splitlines()[1]
    assert hint.startswith("  the simulator is slow, some 500 000 turns of loops in a second, of all threads ")
    assert "or a loop without end, or a barrier" in hint and hint.endswith("set_timeout(seconds)")
    hint = str(runner.failure(late, "kernel `main_C`", "opencl")).splitlines()[1]
    assert hint.startswith("  a loop without end, or a barrier")


def test_who_was_running():
    two = DeviceCode("opencl", "", (Kernel("a", ()), Kernel("b", ())))
    assert runner._named(two, []) == "one of `a`, `b`" and runner._named(two, ["a", "b"]) == "kernel `b`"


@pytest.mark.parametrize(
    "log",
    ["x failed:\n/tmp/a/t.cl:5:9: error: use of undeclared identifier 'm'\n",
     "error: /tmp/t.cl:5:9: use of undeclared identifier 'm'",
     "<source>:5: error: use of undeclared identifier 'm'"],
)  # fmt: skip
def test_a_compilers_complaint_names_the_line_and_the_loop(log):
    said = str(refused_by_compiler(CODE, log, "the device"))
    assert said.splitlines()[0] == (
        "the OpenCL compiler of the device refuses line 5, in `i` of stage C: use of undeclared identifier 'm'"
    )
    assert [x.strip() for x in said.splitlines()[1:6]][2] == "->    5  line 5;"
    assert "no line at all" in str(refused_by_compiler(CODE, "no line at all", "the device"))


@pytest.mark.parametrize("bad", [0, -1, "10", None])
def test_a_time_limit_is_seconds(bad):
    assert "above 0" in refused(LabError, lambda: set_timeout(bad))
    assert "legal here:  opencl, cuda_c, simulator" in refused(LabError, lambda: set_timeout(1, "metal"))
