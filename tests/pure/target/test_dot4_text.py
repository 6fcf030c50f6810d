"""`dot4` in the languages of the C family: an instruction of CUDA where bytes lie as words, else a helper."""

import pytest

from tests import kernels
from tests.pure.target.test_texts_compile import clang, nvrtc
from tvmlab.lowering import passes
from tvmlab.target import Target, get
from tvmlab.target.cuda_c import check as cuda
from tvmlab.target.metal import check as metal


def text(target, *case):
    program = passes.get("split_host_device")(kernels.dots(*case))
    return get(target).source(program, Target(target))


@pytest.mark.parametrize("target", ["opencl", "cuda_c", "metal"])
@pytest.mark.parametrize("n", [4, 16])
def test_texts(golden, target, n):
    golden(kernels.body(text(target, n, "int8", "int8", True)))


@pytest.mark.parametrize("case, instruction", [
    ((4, "int8", "int8"), True),
    ((16, "uint8", "uint8", True), True),
    ((1, "int8", "int8", False, "let"), True),
    ((1, "uint8", "int8"), False),  # there is none of both signs
    ((1, "int8", "int8", False, "mirrored"), False),  # no word
    ((1, "int8", "int8", False, "variables"), False),  # arrays of bytes, which may begin anywhere
])  # fmt: skip
def test_where_cuda_has_an_instruction(case, instruction):
    found = text("cuda_c", *case)
    assert ("__dp4a(" in found, "dot4_int32" in found) == (instruction, not instruction)


def test_a_row_that_begins_anywhere_is_no_word():
    """Byte 4*tx + 2 is no multiple of four."""
    found = text("cuda_c", 1, "int8", "int8")
    assert "A + tx*4)" in found
    program = kernels.dots(1, "int8", "int8", start=2)
    found = get("cuda_c").source(passes.get("split_host_device")(program), Target("cuda_c"))
    assert "__dp4a" not in found and "A[tx*4 + 2]" in found


@nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("form", kernels.FORMS)
def test_nvrtc_takes_it(form, arch):
    for signs in kernels.SIGNS:
        for n, shared in ((1, False), (4, True), (16, False)):
            assert cuda.check(text("cuda_c", n, *signs, shared, form), arch)


@nvrtc
def test_a_tensorized_product_compiles():
    cuda.check(kernels.text(*kernels.dots_by_schedule(), "cuda_c"))


@clang
@pytest.mark.parametrize("form", kernels.FORMS)
def test_clang_takes_it(form):
    metal.check(text("metal", 4, "uint8", "int8", False, form))
