"""The picture of what runs at the same time."""

import re

import numpy as np

from tests.kernels import staged
from tvmlab import kernels, te
from tvmlab.analysis import machine, warps
from tvmlab.kernels import matmul
from tvmlab.target.cuda_c.check import Usage
from tvmlab.target.gpu import limits
from tvmlab.view import frame
from tvmlab.view.pictures import Subject, grain, occupied, picture


def drawn(s, target="", used=None, **looked):
    return picture("parallel", Subject(s.trace, machine.get("teach-1"), target=target, looked=looked, used=used))


def of(name, gpu, **shape):
    kernel = kernels.get(name)
    out = kernel.declare(**shape)[-1]
    return drawn((kernel.schedule_gpu if gpu else kernel.schedule_cpu)(out))


def test_a_matmul_on_blocks(golden):
    made = of("matmul", True, m=256, n=256, k=64)
    golden("\n".join(" | ".join(row) for row in [made["table"]["head"], *made["table"]["rows"]]))
    svg = made["svg"]
    assert "C: 4 x 4 blocks of 16 x 16 threads, 8 warps each" in svg and "2-way bank conflict" in svg
    assert svg.count("?bx=") >= 16 and svg.count("?warp=") >= 7 and svg.count("?lane=") >= 32


def test_a_transpose_without_padding_has_conflicts_and_with_it_none():
    from tvmlab.kernels import transform

    def worst(padded):
        (x, out) = transform.declare("transpose", (64, 64), {})
        s = te.create_schedule(out.op)
        transform.by_tiles(s, out.op)
        copy = next(h for h in s.stages if h.op.name == "x0.shared")
        if not padded:
            copy.storage_align(copy.op.axis[0], 1, 0)
        return max(int(row[6] or 0) for row in drawn(s)["table"]["rows"])

    assert (worst(True), worst(False)) == (1, 32)


def test_an_empty_grid_has_no_block_to_look_at():
    A = te.placeholder((0, 5), name="A")
    C = te.compute((0, 5), lambda i, j: A[i, j] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[C].bind(C.op.axis[0], te.thread_axis("blockIdx.x"))
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    made = drawn(s, bx=2)
    assert [row[0] for row in made["table"]["rows"]] == ["C: nothing runs: blockIdx.x has no iteration"]
    assert not made["note"] and [p["name"] for p in made["params"]] == ["device"]


def test_several_kernels_stand_below_each_other():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((64,), lambda i: B[63 - i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    for t in (B, C):
        s[t].bind(s[t].op.axis[0], te.thread_axis("threadIdx.x"))
    table = drawn(s)["table"]
    launches = [r[0] for r, id in zip(table["rows"], table["ids"], strict=True) if id.startswith("?kernel")]
    assert launches == [f"{n}: 1 block of 64 threads, 2 warps each" for n in "BC"]


def test_sizes_that_only_a_call_knows():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    o, i = s[B].split(s[B].op.axis[0], factor=64)
    s[B].bind(o, te.thread_axis("blockIdx.x"))
    s[B].bind(i, te.thread_axis("threadIdx.x"))
    (row,) = drawn(s)["table"]["rows"]
    assert row[0] == "B: how many threads there are depends on `n`, which a call decides"


def test_tasks_of_a_cpu():
    made = of("matmul", False, m=512, n=512, k=64)
    (row,) = made["table"]["rows"]
    cores = machine.get("teach-1").cores
    assert row == ["i.outer of stage C", "128", str(cores), str(-(-128 // cores)), str(-128 % cores)]


def test_one_thread():
    A = te.placeholder((4,), name="A")
    made = drawn(te.create_schedule(te.compute((4,), lambda i: A[i] + 1.0, name="B").op))
    assert "One thread computes everything" in made["svg"] and made["table"]["rows"] == []


def lines(made):
    return [row[0] for row in made["table"]["rows"]]


def values(made):
    return {p["name"]: p["value"] for p in made["params"]}


def test_a_warp_of_ones_own():
    """Its 32 addresses are those that the indices of the access say, by hand."""
    s, _ = matmul.gpu(m=256, n=256, k=64)
    made = drawn(s, bx=1, by=2, warp=3, lane=5, access="reads A")
    assert values(made) == {"bx": 1, "by": 2, "warp": 3, "lane": 5, "access": "reads A", "device": ""}
    found = [re.search(r"lane (\d+): A\[(\d+), (\d+)\], byte (\d+)", x) for x in lines(made)]
    got = [tuple(map(int, m.groups())) for m in found if m]
    lane = np.arange(32)
    x, y = lane % 16, 3 * 2 + lane // 16
    rows, columns = 2 * 64 + y * 4 + x // 4, x % 4 * 4
    assert got == list(zip(lane, rows, columns, (rows * 64 + columns) * 4, strict=True))
    assert "block 1, 2 computes C[128:192, 64:128], 4096 elements" in lines(made)
    assert "its warp 3 computes C[152:160, 64:128], 512 elements" in lines(made)
    assert "its lane 5 computes C[152:156, 84:88], 16 elements" in lines(made)
    assert made["note"] == ""


def test_what_is_not_there_is_said_and_the_nearest_is_shown():
    s, _ = matmul.gpu(m=256, n=256, k=64)
    made = drawn(s, bx=7, warp=-1, access="reads Z", device="sm_12", kernel=4)
    assert values(made) == {"bx": 3, "by": 0, "warp": 0, "lane": 0, "access": "reads A_shared", "device": ""}
    assert made["note"] == (
        "kernel 4 is not there: 1 C is shown; device sm_12 is not there: sm_80, the target's is shown; "
        "block x 7 is not there (0 to 3 are): 3 is shown; warp -1 is not there (0 to 7 are): 0 is shown; "
        "access reads Z is not there: reads A_shared: 2-way bank conflict is shown"
    )
    assert made["note"] in made["table"]["title"]


def test_the_other_kernel():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((64,), lambda i: B[63 - i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    for t in (B, C):
        s[t].bind(s[t].op.axis[0], te.thread_axis("threadIdx.x"))
    made = drawn(s, kernel=1, warp=1)
    assert "its warp 1 computes C[32:64], 32 elements" in lines(made) and "?kernel=0" in made["svg"]


def test_occupancy_before_and_after_the_compiler():
    s, _ = matmul.gpu(m=256, n=256, k=64)
    asked = []

    def used(text, arch):
        asked.append(arch)
        return {"main_C": Usage(registers=63, shared=8192, spill_stores=8, spill_loads=12)}

    found = lines(drawn(s, "cuda_c -arch=sm_80", used, device="sm_90"))
    model = limits.get("sm_90")
    before, after = (limits.occupancy(256, r, 8192, model) for r in (0, 63))
    assert (before.limit, after.limit) == ("warps", "registers") and asked == ["sm_90"]
    assert found[1] == (
        f"predicted, sm_90: {before.blocks} blocks, {before.warps} of 64 warps (100 %), limited by warps; "
        "256 threads and 8 KiB of shared memory a block; so it stays up to 32 registers a thread"
    )
    assert found[2] == (
        f"ptxas, sm_90: {after.blocks} blocks, {after.warps} of 64 warps (50 %), limited by registers; "
        "63 registers a thread, 8 KiB of shared memory, 20 B spilled"
    )
    assert limits.occupancy(256, 32, 8192, model).blocks == before.blocks
    assert limits.occupancy(256, 33, 8192, model).blocks < before.blocks


def test_shared_memory_that_the_launch_asks_for_counts_after_the_compiler_too():
    s, _ = staged(20 << 10, 128)
    found = lines(drawn(s, "cuda_c -arch=sm_90", lambda *_: {"main_C": Usage(registers=16, shared=0)}))
    assert [x.split(": ")[1].split(", limited by ")[1] for x in found[1:3]] == [
        "shared memory; 128 threads and 80 KiB of shared memory a block; so it stays up to 255 registers a thread",
        "shared memory; 16 registers a thread, 80 KiB of shared memory, no spills",
    ]


def test_a_reason_instead_of_registers():
    s, _ = matmul.gpu(m=64, n=64, k=64)
    assert "ptxas, sm_80: not known; it compiles the kernels now" in lines(
        drawn(s, "cuda", lambda *_: "it compiles the kernels now")
    )
    for target, name in (("opencl", "opencl"), ("metal", "apple")):
        found = lines(drawn(s, target))
        assert found[1].startswith(f"{name}: 256 threads and 8 KiB of shared memory a block; ")
        assert found[2] == (
            "registers: not known; the driver of the device compiles the kernel, and does not say; choose sm_90, and "
            "NVIDIA's does"
        )


def test_a_schedule_for_another_maker_has_nvidias_numbers_where_they_are_chosen():
    s, _ = matmul.gpu(m=64, n=64, k=64)
    assert [c["label"] for c in occupied.devices("opencl")] == ["opencl, the target's", *limits.family("sm_80")]
    assert str(occupied.device("metal", "sm_90")) == "cuda_c -arch=sm_90" and str(occupied.device("metal")) == "metal"


def test_a_schedule_that_cannot_be_compiled():
    """Too much shared memory: the picture is there, and says so."""
    A = te.placeholder((64, 1024), name="A")
    B = te.compute((64, 1024), lambda i, j: A[i, j] * 2.0, name="B")
    s = te.create_schedule(B.op)
    copy = s.cache_read(A, "shared", [B])
    i, j = s[B].op.axis
    s[B].bind(i, te.thread_axis("threadIdx.x"))
    asked = []
    made = drawn(s, "cuda_c", lambda *at: asked.append(at))
    assert copy.name == "A.shared" and not asked
    assert lines(made)[1].startswith("predicted: not known; ") and "its lane 0 computes B[0, 0:1024]" in lines(made)[4]


def test_what_of_a_row_and_of_many_dimensions():
    A = te.placeholder((1000,), name="A")
    B = te.compute((1000,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    o, i = s[B].split(s[B].op.axis[0], factor=256)
    s[B].bind(o, te.thread_axis("blockIdx.x"))
    s[B].bind(i, te.thread_axis("threadIdx.x"))
    found = lines(drawn(s, bx=3, warp=7))
    assert "block 3 computes B[768:1000], 232 elements" in found
    assert "its warp 7 computes B[992:1000], 8 elements" in found
    A = te.placeholder((2, 3, 4, 8), name="A")
    B = te.compute((2, 3, 4, 8), lambda n, c, y, x: A[n, c, y, x], name="B")
    s = te.create_schedule(B.op)
    n, c, y, x = s[B].op.axis
    s[B].bind(n, te.thread_axis("blockIdx.x"))
    s[B].bind(x, te.thread_axis("threadIdx.x"))
    found = lines(drawn(s, bx=1))
    assert "block 1 computes B[1, 0:3, 0:4, 0:8], 96 elements" in found
    assert "above: what lies at dimension 0 = 1, dimension 1 = 0" in found


def test_pictures_stay_small():
    """Of a large grid of large blocks: a still copy holds it."""
    s, _ = matmul.gpu(m=4096, n=4096, k=64, rows=64, columns=64)
    made = drawn(s, bx=40, by=50)
    assert len(made["svg"]) < 120_000 and "grid: x 32 to 47 of 64, y 42 to 57 of 64" in made["svg"]
    assert "too many to look at each" in made["svg"] and "block 40, 50 computes" in "".join(lines(made))
    (body,) = warps.kernels(frame.program(s.trace).body)
    assert warps.launch(body)["blockIdx.x"] == 64


def test_what_tensor_cores_store_is_said_not_to_be_known():
    from tvmlab.kernels import matmul_f16

    s, _ = matmul_f16.gpu(64, 64, 64)
    made = drawn(s, "cuda_c")
    words = "which elements of C block 0, 0 computes is not known: an intrinsic writes there"
    assert words in [row[0] for row in made["table"]["rows"]] and words[:60] in made["svg"]


def test_a_cell_of_several_elements_shows_who_has_its_first():
    rows, columns = np.indices((2, 4)).reshape(2, -1)
    made = grain.coarse(rows, columns, np.arange(5, 13), (2, 4), (1, 2))
    assert made.cells.tolist() == [[5, 7]] and (made.tall, made.wide) == (2, 2)
