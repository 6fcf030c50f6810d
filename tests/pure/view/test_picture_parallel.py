"""The picture of what runs at the same time."""

from tvmlab import kernels, te
from tvmlab.analysis import machine
from tvmlab.view.pictures import Subject, picture


def drawn(s):
    return picture("parallel", Subject(s.trace, machine.get("teach-1")))


def of(name, gpu, **shape):
    kernel = kernels.get(name)
    out = kernel.declare(**shape)[-1]
    return drawn((kernel.schedule_gpu if gpu else kernel.schedule_cpu)(out))


def test_a_matmul_on_blocks(golden):
    made = of("matmul", True, m=256, n=256, k=64)
    golden("\n".join(" | ".join(row) for row in [made["table"]["head"], *made["table"]["rows"]]))
    svg = made["svg"]
    assert "C: 4 x 4 blocks of 16 x 16 threads, 8 warps each" in svg and "2-way bank conflict" in svg
    assert svg.count("<rect") > 256 + 16


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


def test_several_kernels_stand_below_each_other():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((64,), lambda i: B[63 - i] * 2.0, name="C")
    s = te.create_schedule(C.op)
    for t in (B, C):
        s[t].bind(s[t].op.axis[0], te.thread_axis("threadIdx.x"))
    rows = drawn(s)["table"]["rows"]
    assert [r[0] for r in rows if not r[1]] == [f"{n}: 1 block of 64 threads, 2 warps each" for n in "BC"]


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
