"""`-max_num_threads=` and `-max_shared_memory_per_block=` of a GPU target: what a block may have, when it is built and
when it is called."""

import dataclasses
import pickle

import numpy as np
import pytest

import tvmlab
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.error import BuildError
from tvmlab.runtime.gpu import LaunchError, devices
from tvmlab.target import Target
from tvmlab.target.gpu import limits

SPELLINGS = [
    "cuda_c -max_num_threads=64", "cuda_c --max-num-threads=64", "cuda_c -max_threads_per_block=64",
    {"kind": "cuda_c", "max_num_threads": 64},
]  # fmt: skip


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_spellings(spelled):
    made = Target(spelled)
    assert made == Target("cuda_c", max_num_threads=64) and str(made) == "cuda_c -max_num_threads=64"
    assert Target(str(made)) == Target(**dataclasses.asdict(made)) == pickle.loads(pickle.dumps(made)) == made
    assert Target("llvm -max_num_threads=64") == Target("llvm")


@pytest.mark.parametrize("text, threads", [
    ("cuda -max_num_threads=64", 64), ("cuda_c -arch=sm_90 -max_num_threads=9999", 1024),
    ("metal -max_num_threads=32", 32), ("opencl -max_num_threads=1024", 1024), ("opencl", 256),
])  # fmt: skip
def test_it_lowers_a_limit_and_says_what_is_not_known(text, threads):
    model = limits.of(Target(text))
    assert model.threads == threads and max(model.block) >= min(threads, 1024)


@pytest.mark.parametrize("text", [
    "cuda -max_num_threads=x", "opencl -max_num_threads=-3", "metal -max_num_threads=0", "llvm -num-threads=many",
])  # fmt: skip
def test_a_number_is_wanted(text):
    assert "is a number above 0, not '" in refused(BuildError, lambda: Target(text))


def rows(m):
    n = te.size_var("n") if m is None else m
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    return s, [A, B]


@pytest.mark.parametrize("target", ["cuda", "cuda_c", "opencl", "metal"])
def test_a_build_that_takes_more_is_refused(target):
    model = Target(target).device_model
    assert refused(BuildError, lambda: tvmlab.build(*rows(65), f"{target} -max_num_threads=64")).startswith(
        f"threadIdx.x = 65 threads per block; {model} with -max_num_threads=64 has 64"
    )
    assert tvmlab.build(*rows(64), f"{target} -max_num_threads=64").source


def test_an_opencl_device_may_have_more_than_the_least():
    assert tvmlab.build(*rows(512), "opencl -max_num_threads=1024").source


@pytest.fixture
def known(monkeypatch):
    """A function: this device is there, or none was looked for."""

    def there(**facts):
        found = devices.Listing((devices.Found("opencl", 0, "a device", facts=facts),))
        monkeypatch.setattr(devices, "_known", {"opencl": found} if facts else {})

    return there


def test_the_least_is_no_limit_of_the_device(known):
    known()
    assert refused(BuildError, lambda: tvmlab.build(*rows(512), "opencl")).splitlines() == [
        "threadIdx.x = 512 threads per block; OpenCL promises 256",
        "    kernel main_B",
        "    threadIdx.x (512): `i` of stage B",
        "  where the device has more, the target says so: opencl -max_num_threads=512; else split by smaller factors, "
        "and bind the inner loops",
    ]
    known(max_threads_per_block=4096, max_shared_memory_per_block=1 << 20)
    said = refused(BuildError, lambda: tvmlab.build(*rows(512), "opencl"))
    assert "  opencl(0) has 4096, so this builds: opencl -max_num_threads=512; for other devices split by" in said
    known(max_threads_per_block=300, max_shared_memory_per_block=1 << 20)
    assert "  opencl(0) has 300: split by" in refused(BuildError, lambda: tvmlab.build(*rows(512), "opencl"))
    assert "40960 bytes of shared memory; OpenCL promises 32768 per block" in (
        said := refused(BuildError, lambda: tvmlab.build(*fetched(10240), "opencl"))
    )
    assert "  opencl(0) has 1048576, so this builds: opencl -max_shared_memory_per_block=40960; for other dev" in said
    assert tvmlab.build(*fetched(10240), "opencl -max_shared_memory_per_block=40960").source


def fetched(n):
    """B, whose elements come by way of shared memory, n of them at once."""
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    AA = s.cache_read(A, "shared", [B])
    o, i = s[B].split(B.op.axis[0], nparts=1)
    s[B].bind(o, te.thread_axis("blockIdx.x"))
    s[AA].compute_at(s[B], o)
    x, t = s[B].split(i, 32)
    f, u = s[AA].split(AA.op.axis[0], 32)
    for stage, axis in ((B, t), (AA, u)):
        s[stage].bind(axis, te.thread_axis("threadIdx.x"))
    return s, [A, B]


@pytest.mark.parametrize("target", ["cuda", "cuda_c", "opencl", "metal"])
def test_shared_memory(target):
    model = Target(target).device_model
    made = Target(f"{target} -max_shared_memory_per_block=1024")
    assert made == Target(target, max_shared_memory_per_block=1024) == Target(str(made))
    assert made == Target(**dataclasses.asdict(made)) == pickle.loads(pickle.dumps(made))
    assert refused(BuildError, lambda: tvmlab.build(*fetched(512), made)).startswith(
        f"A_shared takes 2048 bytes of shared memory; {model} with -max_shared_memory_per_block=1024 has 1024 per block"
    )
    assert tvmlab.build(*fetched(256), made).source
    both = limits.of(Target(f"{target} -max_shared_memory_per_block=1024 -max_num_threads=64"))
    assert (both.shared, both.threads) == (1024, 64)
    assert both.name == f"{model} with -max_num_threads=64 -max_shared_memory_per_block=1024"
    assert target == "opencl" or limits.of(Target(f"{target} -max_shared_memory_per_block=9999999")).name == model


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_a_call_that_takes_more_is_refused(target):
    if not tvmlab.runtime.gpu.listing(target).devices:
        pytest.skip(f"no device for {target}")
    made = tvmlab.build(*rows(None), f"{target} -max_num_threads=64")
    given = lambda n: (np.ones(n, "float32"), np.zeros(n, "float32"))
    made(*given(64))
    said = refused(LaunchError, lambda: made(*given(65)))
    assert "65 threads in a block; the target, by its -max_num_threads, takes 64" in said and "`i` of stage B" in said
