"""Which devices there are, and what is said when a run does not come to its end. No device is needed."""

import subprocess
import sys

import pytest

from tests.refusal import refused
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


def test_without_pyopencl(fresh, monkeypatch):
    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name == "pyopencl":
                raise ModuleNotFoundError("No module named 'pyopencl'")

    monkeypatch.setattr(sys, "meta_path", [Missing(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "pyopencl", raising=False)
    assert not listing("opencl").devices and not opencl(0).exist
    assert report().startswith("opencl: pyopencl is not installed:  pip install pyopencl")
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
