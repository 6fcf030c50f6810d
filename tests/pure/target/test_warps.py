"""Warps in the languages of the C family: shuffles where a language has them, memory of a warp as shared memory."""

import pytest

from tests import kernels
from tests.loops import buffer, function, load, loop, store
from tests.pure.passes import reductions as red
from tests.pure.passes.test_warp_memory import by_hand as by_hand_turned
from tests.pure.passes.test_warp_memory import rotated
from tests.pure.target.test_texts_compile import clang, nvrtc
from tests.refusal import refused
from tvmlab.core.build import const
from tvmlab.core.error import BuildError
from tvmlab.core.node import Call, Var
from tvmlab.core.program import Program
from tvmlab.face.api import for_target
from tvmlab.lowering import passes, pipeline
from tvmlab.target import Target, get
from tvmlab.target.cuda_c import check as cuda
from tvmlab.target.metal import check as metal

REDUCTIONS = {
    "group": lambda: red.rows(x=4, y=2, n=4),
    "warps": lambda: red.rows(x=96, serial=2),
    "int64": lambda: red.rows("max", x=32, dtype="int64"),
    "float64": lambda: red.rows(x=8, dtype="float64"),
    "tuple": lambda: red.best(parts=64),
    "softmax": lambda: red.softmax("local", k=128, parts=64),
    "halves": lambda: red.rows(x=8, dtype="float16"),  # the tree
}


@pytest.mark.parametrize("name", ["group", "warps", "tuple"])
def test_texts(golden, name):
    assert kernels.text(*REDUCTIONS[name]()[:2], "cuda_c") == golden


@nvrtc
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_nvrtc_takes_shuffles(name, arch):
    text = kernels.text(*REDUCTIONS[name]()[:2], "cuda_c")
    assert ("__shfl_xor_sync" in text) == (name != "halves")
    assert cuda.check(text, arch)


@pytest.mark.parametrize("target", ["opencl", "metal", "cuda"])
def test_where_reductions_keep_the_tree(target):
    s, args, _, _ = REDUCTIONS["group"]()
    text = kernels.text(s, args, target)
    assert "shuffle" not in text and "shfl" not in text and "red" in text


# ---------------------------------------------------------------- shuffles by hand


def by_hand(value, target="cuda_c", dtype="float32"):
    A, C, tx = buffer("A", (32,), dtype), buffer("C", (32,), dtype), Var("tx")
    shuffle = Call("shuffle_xor", (load(A, tx), const(1), const(32)), dtype, "intrin")
    fn = function([A, C], loop(tx, 32, store(C, tx, value(shuffle)), thread="threadIdx.x"), name="main")
    program = Program((fn,))
    for name in (*pipeline.FLAT, "split_host_device"):
        program = passes.get(name)(program)
    return kernels.body(get(target).source(program, Target(target)))


def test_a_shuffle():
    assert by_hand(lambda x: x + 1.0) == "C[tx] = __shfl_xor_sync(0xffffffff, A[tx], 1, 32) + 1.0f;"


@pytest.mark.parametrize("words, options", [
    ("the target `opencl` exchanges no values among the lanes of a warp", {"target": "opencl"}),
    ("the target `metal` exchanges no values among the lanes of a warp", {"target": "metal"}),
    ("shuffles values of 32 and 64 bits, not int16", {"dtype": "int16"}),
])  # fmt: skip
def test_refused(words, options):
    assert words in refused(BuildError, lambda: by_hand(lambda x: x, **options))


# ---------------------------------------------------------------- memory of a warp


@pytest.mark.parametrize("target, barrier", [
    ("opencl", "barrier(CLK_LOCAL_MEM_FENCE);"), ("metal", "threadgroup_barrier(mem_flags::mem_threadgroup);"),
    ("cuda_c", "__syncwarp();"), ("cuda", "cuda.syncwarp()"),
])  # fmt: skip
def test_warp_memory(target, barrier):
    s, args, _, _ = rotated()
    lines = [x.strip() for x in kernels.text(s, args, target).splitlines()]
    mark = "#" if target == "cuda" else "//"
    assert lines.count(f"{barrier}  {mark} A_warp") == 1  # with the memory that needs it
    assert any("A_warp" in x and "64" in x for x in lines)  # 32 for each of two warps


@pytest.mark.parametrize("target, barrier", [
    ("opencl", "barrier(CLK_LOCAL_MEM_FENCE);"), ("metal", "threadgroup_barrier(mem_flags::mem_threadgroup);"),
    ("cuda_c", "__syncwarp();"), ("cuda", "cuda.syncwarp()"),
])  # fmt: skip
def test_barriers_of_a_scope_that_a_person_named(target, barrier):
    made = for_target(by_hand_turned(scope="warp.mine"), Target(target))
    assert [x.strip() for x in get(target).source(made, Target(target)).splitlines()].count(barrier) == 1


@nvrtc
@clang
def test_compilers_take_it():
    s, args, _, _ = rotated()
    cuda.check(kernels.text(s, args, "cuda_c"))
    metal.check(kernels.text(s, args, "metal"))
