"""What devices hold: kernels that they cannot start are refused by name, and how full a multiprocessor gets."""

import pytest

from tests.pure.passes import reductions as red
from tests.pure.passes.ir import buffer, ints, loop, store
from tests.refusal import refused
from tvmlab.core.build import to_expr
from tvmlab.core.error import BuildError, MissingName
from tvmlab.core.node import NOP, Alloc
from tvmlab.core.program import Function, Origin, Program
from tvmlab.core.walk import seq
from tvmlab.target import base
from tvmlab.target.gpu.limits import MODELS, check, get, launch, names, occupancy, shared_bytes, shared_layout

A100, H100 = get("sm_80"), get("sm_90")


def kernel(extents, shared=(), stage="C", body=()):
    """A split program: a host that does nothing, and a kernel of these threads and shared buffers."""
    inner, at = seq(*body), {t: to_expr(n) for t, n in extents.items()}
    for b in reversed(shared):
        inner = Alloc(b, inner)
    for t, n in reversed(at.items()):
        (v,) = ints(t.replace(".", "_"))
        inner = loop(v, n, inner, kind="thread", thread=t, origin=Origin(stage))
    made = Function("main_kernel0", (), inner, (), (("launch", at), ("kernel", True)))
    return Program((Function("main", (), NOP), made))


def shared(name, *shape, dtype="float32", **kw):
    return buffer(name, *shape, dtype=dtype, scope="shared", **kw)


def test_models():
    assert names() == ["sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120", "opencl", "apple"]
    with pytest.raises(MissingName, match="there is no device model `sm_1`") as e:
        get("sm_1")
    assert e.value.legal == tuple(names())
    assert "gpu" not in base.names()


@pytest.mark.parametrize("model", MODELS, ids=lambda m: m.name)
def test_what_fits(model):
    check(kernel({"blockIdx.x": 1000, "threadIdx.y": 16, "threadIdx.x": 16}, [shared("S", model.shared // 4)]), model)


def test_threads_of_a_block():
    p = kernel({"blockIdx.x": 8, "threadIdx.y": 32, "threadIdx.x": 64, "threadIdx.z": 1})
    assert refused(BuildError, lambda: check(p, A100)) == (
        "threadIdx.y * threadIdx.x = 2048 threads per block; sm_80 has 1024\n"
        "    kernel main_kernel0\n"
        "    threadIdx.y (32): `threadIdx_y` of stage C\n"
        "    threadIdx.x (64): `threadIdx_x` of stage C\n"
        "    threadIdx.z (1): `threadIdx_z` of stage C\n"
        "  split by smaller factors, and bind the inner loops"
    )
    check(kernel({"threadIdx.x": 1024}), H100)
    assert "threadIdx.x = 1025 threads per block; sm_90 has 1024" in refused(
        BuildError, lambda: check(kernel({"threadIdx.x": 1025}), H100)
    )
    assert "OpenCL promises 256" in refused(BuildError, lambda: check(kernel({"threadIdx.x": 512}), get("opencl")))


def test_threads_of_a_dimension():
    assert refused(BuildError, lambda: check(kernel({"threadIdx.z": 128}), A100)) == (
        "threadIdx.z = 128 threads; sm_80 has 64 in that dimension\n"
        "    kernel main_kernel0\n"
        "    threadIdx.z (128): `threadIdx_z` of stage C\n"
        "  bind to threadIdx.x, which has 1024"
    )
    check(kernel({"threadIdx.z": 128}), get("apple"))


def test_blocks_of_a_grid():
    check(kernel({"blockIdx.x": 2**31 - 1}), A100)
    assert "blockIdx.y = 65536 blocks; sm_80 has 65535 in that dimension" in refused(
        BuildError, lambda: check(kernel({"blockIdx.y": 65536}), A100)
    )


def test_what_is_known_only_at_a_call_is_not_looked_at():
    (n,) = ints("n")
    p = kernel({"blockIdx.x": n, "threadIdx.y": n, "threadIdx.x": 32})
    check(p, A100)
    with pytest.raises(BuildError, match="threadIdx.x = 2000"):
        check(kernel({"threadIdx.y": n, "threadIdx.x": 2000}), A100)


def test_shared_memory():
    tiles = [shared("A_shared", 250, 200), shared("B_shared", 50000)]
    assert refused(BuildError, lambda: check(kernel({"threadIdx.x": 32}, tiles), A100)) == (
        "A_shared and B_shared take 400000 bytes of shared memory; sm_80 has 49152 per block\n"
        "    kernel main_kernel0\n"
        "    A_shared: 250 x 200 float32, 195 KiB\n"
        "    B_shared: 50000 float32, 195 KiB\n"
        "  attach these stages deeper, or split their loops by smaller factors"
    )
    check(kernel({"threadIdx.x": 32}, [shared("S", 48 * 256)]), A100)
    one = kernel({"threadIdx.x": 32}, [shared("S", 48 * 256 + 1)])
    assert refused(BuildError, lambda: check(one, H100)).startswith(
        "S takes 49156 bytes of shared memory; sm_90 has 49152 per block"
    )


def test_bytes_of_shared_memory():
    local, flag = buffer("L", 1000, scope="local"), shared("F", 3, dtype="bool")
    p = kernel({"threadIdx.x": 32}, [shared("A", 5, dtype="float16"), local, flag, shared("B", 2, 3, dtype="float64")])
    assert [(b.name, at) for b, at in shared_layout(p.functions[1])] == [("A", 0), ("F", 10), ("B", 16)]
    assert shared_bytes(p.functions[1]) == 16 + 48
    assert shared_bytes(kernel({}).functions[1]) == 0
    (n,) = ints("n")
    p = kernel({"threadIdx.x": 32}, [shared("S", n, 4)])
    assert refused(BuildError, lambda: check(p, A100)) == (
        "S in shared memory of kernel main_kernel0 has n * 4 elements: a kernel needs a number\n"
        "  attach its stage deeper, so that a block needs a part of constant size"
    )


def test_memory_of_a_reduction_counts():
    program = red.flat(*red.rows(x=48)[:2], "allreduce_tree")
    assert shared_bytes(program.entry) == 48 * 4
    assert launch(program.entry) is None


def test_a_store_is_no_loop():
    c = shared("S", 4)
    check(kernel({"threadIdx.x": 4}, [c], body=[store(c, 0, 1.0)]), A100)


# ---------------------------------------------------------------- occupancy

# By hand, for sm_80: 64 warps, 32 blocks, 65536 registers (256 warps' worth of 256), 167936 bytes of shared memory.
OCCUPANCY = [
    # 8 warps: 64 // 8 = 8 blocks; 32 registers: 1024 a warp, 16 warps a part, 64 in all
    ("sm_80", (256, 32, 0), (8, 64, 1.0, "warps and registers")),
    # 40 * 32 = 1280 a warp: 16384 // 1280 = 12 warps a part, 48 in all, 6 blocks
    ("sm_80", (256, 40, 8192), (6, 48, 0.75, "registers")),
    # 33 * 32 = 1056 becomes 1280: the same 48 warps
    ("sm_80", (256, 33, 0), (6, 48, 0.75, "registers")),
    # 1 warp: the number of blocks
    ("sm_80", (32, 16, 0), (32, 32, 0.5, "blocks")),
    ("sm_80", (20, 16, 0), (32, 32, 0.5, "blocks")),
    # 2 warps: 64 // 2 = 32 blocks
    ("sm_80", (64, 32, 0), (32, 64, 1.0, "warps and blocks and registers")),
    # 48 KiB + 1 KiB = 50176: 167936 // 50176 = 3
    ("sm_80", (128, 32, 49152), (3, 12, 0.1875, "shared memory")),
    # 228 KiB = 233472: 233472 // 50176 = 4
    ("sm_90", (128, 32, 49152), (4, 16, 0.25, "shared memory")),
    # 19968 + 1024 = 20992 = 164 * 128: 8 blocks; one byte more is a unit more: 7
    ("sm_80", (256, 32, 19968), (8, 64, 1.0, "warps and shared memory and registers")),
    ("sm_80", (256, 32, 19969), (7, 56, 0.875, "shared memory")),
    # the largest block: 255 * 32 = 8160 becomes 8192 a warp, 2 warps a part: 8 warps in all, of 32 asked
    ("sm_80", (1024, 255, 0), (0, 0, 0.0, "registers")),
    ("sm_80", (1024, 64, 0), (1, 32, 0.5, "registers")),
    ("sm_80", (256, 255, 0), (1, 8, 0.125, "registers")),
    ("sm_80", (32, 256, 0), (0, 0, 0.0, "registers")),
    # 168 registers: 5376 a warp, 3 warps a part, 12 in all, 9 of which are one block; 169: 5632, 2 warps a part
    ("sm_80", (288, 168, 0), (1, 9, 0.140625, "registers")),
    ("sm_80", (288, 169, 0), (0, 0, 0.0, "registers")),
    ("sm_80", (1056, 16, 0), (0, 0, 0.0, "warps")),
    ("sm_80", (128, 32, 166912), (1, 4, 0.0625, "shared memory")),
    ("sm_80", (128, 32, 166913), (0, 0, 0.0, "shared memory")),
    ("sm_90", (128, 32, 232448), (1, 4, 0.0625, "shared memory")),
    # without a number of registers they do not count
    ("sm_80", (1024, 0, 0), (2, 64, 1.0, "warps")),
]  # fmt: skip


@pytest.mark.parametrize("model, given, expected", OCCUPANCY)
def test_occupancy(model, given, expected):
    assert tuple(occupancy(*given, get(model))) == expected


def test_occupancy_where_it_is_not_known():
    assert refused(BuildError, lambda: occupancy(64, 32, 0, get("apple"))) == (
        "the model apple does not say what a multiprocessor holds\n"
        "  legal here:  sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120"
    )
    with pytest.raises(BuildError, match="a block has at least one thread"):
        occupancy(0, 32, 0, A100)


def test_vectors_count_with_all_their_lanes():
    (fn,) = kernel({"threadIdx.x": 8}, [shared("S", 100, dtype="float32x4")]).functions[1:]
    assert shared_bytes(fn) == 1600
