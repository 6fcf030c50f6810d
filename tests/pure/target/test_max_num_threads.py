"""`-max_num_threads=` of a GPU target: how many threads a block may have, when it is built and when it is called."""

import dataclasses
import pickle

import numpy as np
import pytest

import tvmlab
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.error import BuildError
from tvmlab.runtime.gpu import LaunchError
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
    assert "opencl has 256" in refused(BuildError, lambda: tvmlab.build(*rows(512), "opencl"))
    assert tvmlab.build(*rows(512), "opencl -max_num_threads=1024").source


@pytest.mark.parametrize("target", ["cuda", "opencl"])
def test_a_call_that_takes_more_is_refused(target):
    if not tvmlab.runtime.gpu.listing(target).devices:
        pytest.skip(f"no device for {target}")
    made = tvmlab.build(*rows(None), f"{target} -max_num_threads=64")
    given = lambda n: (np.ones(n, "float32"), np.zeros(n, "float32"))
    made(*given(64))
    said = refused(LaunchError, lambda: made(*given(65)))
    assert "65 threads in a block; the target, by its -max_num_threads, takes 64" in said and "`i` of stage B" in said
