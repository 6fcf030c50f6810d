"""Which GPU's limits hold: `Target("cuda_c", arch="sm_90")`, as text, saved, and refused where nothing is known."""

import dataclasses
import pickle

import pytest

import tvmlab
from tests import kernels
from tests.refusal import refused
from tvmlab.core.error import BuildError
from tvmlab.face.options import Options
from tvmlab.target import Target, get
from tvmlab.target.gpu import limits

SPELLINGS = [
    lambda: Target("cuda_c", arch="sm_90"), lambda: Target("cuda_c -arch=sm_90"), lambda: Target("cuda_c --arch=sm_90"),
    lambda: Target({"kind": "cuda_c", "arch": "sm_90"}), lambda: Target(Target("cuda_c", arch="sm_90")),
    lambda: Target("cuda_c -arch=sm_80", arch="sm_90"), lambda: Target("cuda_c -keys=gpu -arch=sm_90"),
]  # fmt: skip


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_spellings(spelled):
    made = spelled()
    assert (made.name, made.arch, made.device_model) == ("cuda_c", "sm_90", "sm_90")
    assert str(made) == "cuda_c -arch=sm_90"


@pytest.mark.parametrize("text", ["cuda_c -arch=sm_90", "cuda -arch=sm_80", "metal -arch=apple", "opencl -arch=opencl"])
def test_it_survives(text):
    made = Target(text)
    assert Target(str(made)) == pickle.loads(pickle.dumps(made)) == Target(**dataclasses.asdict(made)) == made
    assert made != Target(made.name)


def test_what_holds_if_nothing_is_said():
    assert {name: Target(name).device_model for name in ("cuda", "cuda_c", "opencl", "metal", "llvm", "interp")} == {
        "cuda": "sm_80", "cuda_c": "sm_80", "opencl": "opencl", "metal": "apple", "llvm": "", "interp": "",
    }  # fmt: skip
    assert str(Target("cuda")) == "cuda" and Target("llvm -arch=x") == Target("llvm")


@pytest.mark.parametrize("make, words", [
    (lambda: Target("cuda -arch=sm_12"), ["no model of the architecture `sm_12` for the target `cuda`", "sm_80, sm"]),
    (lambda: Target("metal", arch="sm_90"), ["for the target `metal`", "legal here:  apple"]),
    (lambda: Target("cuda_c", arch=90), ["no model of the architecture `90`"]),
    (lambda: Target("llvm", arch="sm_90"), ["the target `llvm` has no architectures to choose from", "cpu="]),
    (lambda: Target("cuda -arc=sm_90"), ["the target `cuda` has no option -arc", "legal here:  -arch="]),
    (lambda: Target("cuda arch=sm_90"), ["`arch=sm_90` in the target `cuda ...` is no option", "legal here:  -arch="]),
    (lambda: Options(target="cuda -arch=sm_12"), ["no model of the architecture `sm_12`"]),
])  # fmt: skip
def test_refused(make, words):
    message = refused(BuildError, make)
    assert all(w in message for w in words), message


def test_its_limits_hold_and_are_named(monkeypatch):
    """Numba has 48 KiB of static shared memory; CUDA C++ asks for what the device has."""
    s, args = kernels.matmul(256, 256, 256, block=128, tile=8, step=256)
    for target, arch, most in (
        ("cuda", "sm_80", 48 << 10), ("cuda", "sm_90", 48 << 10), ("cuda_c", "sm_80", 163 << 10),
        ("cuda_c", "sm_90", 227 << 10),
    ):  # fmt: skip
        message = refused(BuildError, lambda t=target, arch=arch: tvmlab.build(s, args, Target(t, arch=arch)))
        assert f"take 262144 bytes of shared memory; {arch} has {most} per block" in message
    small = dataclasses.replace(limits.get("sm_90"), name="sm_0", shared_most=1024)
    monkeypatch.setattr(limits, "MODELS", (*limits.MODELS, small))
    s, args = kernels.matmul(64, 64, 64, block=32, tile=4)
    assert "main_C" in tvmlab.build(s, args, "cuda_c -arch=sm_90").source
    assert "sm_0 has 1024" in refused(BuildError, lambda: tvmlab.build(s, args, "cuda_c -arch=sm_0"))
    limits.get.cache_clear()


def test_a_family():
    assert all(name.startswith("sm_") for name in limits.family("sm_80"))
    assert {"sm_80", "sm_90"} < set(limits.family("sm_80")) and limits.family("") == []
    assert all(get(name).model in limits.family(get(name).model) for name in ("cuda", "cuda_c", "opencl", "metal"))
