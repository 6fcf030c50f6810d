"""CUDA C++ through NVRTC, Metal through clang: neither needs a device; without the compiler the reason is said."""

import pytest

from tests import kernels
from tests.refusal import refused
from tvmlab import te
from tvmlab.core.error import BuildError
from tvmlab.target import Target, get
from tvmlab.target.cuda_c import check as cuda
from tvmlab.target.metal import check as metal

nvrtc = pytest.mark.skipif(bool(cuda.missing()), reason=cuda.missing() or "-")
clang = pytest.mark.skipif(bool(metal.missing()), reason=metal.missing() or "-")
SCHEDULES = {
    "matmul": lambda: kernels.matmul(50, 37, 29),
    "two": kernels.two_kernels,
    "symbolic": kernels.symbolic,
    "copy": lambda: kernels.elementwise(64, "float32", lambda A, B, i: A[i], 2, 4),
    "half": lambda: kernels.elementwise(64, "float16", lambda A, B, i: te.exp(A[i]) * B[i] + te.max(A[i], B[i]), 2, 4),
    "bytes": lambda: kernels.elementwise(61, "int8", lambda A, B, i: A[i] // B[i] + A[i] % 3, 2, 16),
    "wide": lambda: kernels.elementwise(64, "int64", lambda A, B, i: te.truncdiv(A[i], B[i]) << B[i], 2, 2),
    "float32": lambda: kernels.elementwise(64, "float32", lambda A, B, i: functions(A[i], B[i]), 2),
}


def functions(a, b):
    """Every function of floats, in one sum."""
    one = (
        "exp exp2 exp10 log log2 log10 log1p sqrt rsqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh erf"
    )
    one += " sigmoid floor ceil trunc round nearbyint abs"
    total = sum([getattr(te, f)(a) for f in one.split()], b)
    for f in "power fmod atan2 hypot copysign nextafter".split():
        total = total + getattr(te, f)(a, b)
    return te.if_then_else(te.any(te.isnan(a), te.isinf(a), te.isfinite(b)), total, te.ldexp(a, 3))


@nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_cuda_compiles(name, arch):
    assert cuda.check(kernels.text(*SCHEDULES[name](), "cuda_c"), arch)


@clang
@pytest.mark.parametrize("name", SCHEDULES)
def test_metal_is_accepted(name):
    metal.check(kernels.text(*SCHEDULES[name](), "metal"))


@nvrtc
def test_what_a_kernel_uses():
    (usage,) = cuda.check(kernels.text(*SCHEDULES["matmul"](), "cuda_c")).values()
    assert usage.shared == 1024 and 16 < usage.registers <= 255 and usage.spill_stores == 0


@nvrtc
def test_what_nvrtc_does_not_take():
    text = kernels.text(*kernels.two_kernels(), "cuda_c").replace("* 2.0f", "* two")
    assert refused(BuildError, lambda: cuda.check(text)).splitlines()[:3] == [
        "NVRTC does not take this text for sm_90",
        '    default_program(5): error: identifier "two" is undefined',
        "        B[blockIdx_x*8 + threadIdx_x] = A[blockIdx_x*8 + threadIdx_x] * two;",
    ]


@clang
@pytest.mark.parametrize("before, after, words", [
    ("* 2.0f", "* two", "undeclared identifier 'two'"),
    ("device float* B", "device float B", "address space"),
    ("B[blockIdx_x*8 + threadIdx_x] = A", "threadgroup float S[2]; device float* q = &S[0]; B[0] = A", "address space"),
])  # fmt: skip
def test_what_clang_does_not_take(before, after, words):
    text = kernels.text(*kernels.two_kernels(), "metal")
    assert before in text
    assert words in refused(BuildError, lambda: metal.check(text.replace(before, after)))


def test_a_log_of_ptxas():
    log = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'main_B' for 'sm_90'
ptxas info    : Function properties for main_B
    16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 1024 bytes smem
ptxas info    : Compiling entry function 'main_C' for 'sm_90'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
"""
    assert cuda.usage(log) == {"main_B": cuda.Usage(32, 1024, 16, 8, 12, 1), "main_C": cuda.Usage(8)}


@pytest.mark.slow
@nvrtc
@clang
def test_random_expressions_compile():
    from tests.opencl.test_expressions import Case

    for seed in range(60):
        program = Case(seed).split()
        cuda.check(get("cuda_c").source(program, Target("cuda_c")), "sm_80")
        try:
            text = get("metal").source(program, Target("metal"))
        except BuildError as e:
            assert e.rule == "no-dtype"  # float64
            continue
        metal.check(text)
