"""apache-tvm of today: a blocked TensorIR matmul, as its tutorials schedule it; its build is timed too; and what its
meta-schedule finds in a given time."""

from serve import serve  # isort: skip

import os
import tempfile
import time

import tvm
from tvm import s_tir, te

PATIENCE = 120.0  # seconds for each step of a trial: on a busy machine too none is lost


def matmul(m, n, k):
    a, b = te.placeholder((m, k), "float32", name="A"), te.placeholder((k, n), "float32", name="B")
    r = te.reduce_axis((0, k), name="k")
    return [a, b, te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")]


def conv2d(height, width, in_channel, out_channel, kernel, stride, padding):
    """NCHW, one image."""
    x = te.placeholder((1, in_channel, height, width), "float32", name="X")
    w = te.placeholder((out_channel, in_channel, kernel, kernel), "float32", name="W")
    inside = lambda i, size: tvm.tirx.all(i >= padding, i < size + padding)
    padded = te.compute(
        (1, in_channel, height + 2 * padding, width + 2 * padding),
        lambda b, c, i, j: tvm.tirx.if_then_else(
            tvm.tirx.all(inside(i, height), inside(j, width)), x[b, c, i - padding, j - padding], 0.0
        ),
        name="P",
    )
    c, p, q = (te.reduce_axis((0, extent), name=v) for v, extent in zip("cpq", (in_channel, kernel, kernel)))
    rows, columns = ((size + 2 * padding - kernel) // stride + 1 for size in (height, width))
    term = lambda b, o, i, j: padded[b, c, i * stride + p, j * stride + q] * w[o, c, p, q]
    shape = (1, out_channel, rows, columns)
    return [x, w, te.compute(shape, lambda *at: te.sum(term(*at), axis=[c, p, q]), name="Y")]


def build(func, cpu):
    """16 x 32 blocks, four steps of the sum unrolled, 32 columns in vectors."""
    s = s_tir.Schedule(func)
    block = s.get_sblock("C")
    i, j, k = s.get_loops(block)
    io, ii = s.split(i, [None, 16])
    jo, ji = s.split(j, [None, 32])
    ko, ki = s.split(k, [None, 4])
    s.reorder(io, jo, ko, ki, ii, ji)
    s.unroll(ii)
    s.vectorize(ji)
    s.decompose_reduction(block, ko)
    return tvm.compile(s.mod, target={"kind": "llvm", "mcpu": cpu})


def tuned(func, cpu, threads, seconds, seed, batch=16):
    """(the fastest, facts), for kernels of so many threads. The batch in which the time ends is finished."""
    from tvm.s_tir import meta_schedule as ms

    @tvm.ir.utils.derived_object
    class Clock(ms.measure_callback.PyMeasureCallback):
        def apply(self, scheduler, task, candidates, builds, runs):
            facts["trials"] += len(runs)
            facts["valid"] += sum(not run.error_msg for run in runs)
            facts["seconds"] = time.perf_counter() - start
            if facts["seconds"] > seconds:
                scheduler.terminate_task(task)

    os.environ["TVM_NUM_THREADS"] = str(threads)
    target = tvm.target.Target({"kind": "llvm", "mcpu": cpu, "num-cores": threads})
    cores, facts = os.cpu_count(), {"trials": 0, "valid": 0, "seconds": 0.0}
    found, mod = ms.database.MemoryDatabase(), tvm.IRModule({"main": func.with_attr("global_symbol", "main")})
    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        ms.tune_tir(
            mod, target, folder, 1 << 20, num_trials_per_iter=batch, database=found, seed=seed, num_tuning_cores=cores,
            builder=ms.builder.LocalBuilder(max_workers=cores, timeout_sec=PATIENCE),
            runner=ms.runner.LocalRunner(timeout_sec=PATIENCE),
            measure_callbacks=[*ms.MeasureCallback.create("default"), Clock()],
        )  # fmt: skip
    best = ms.tir_integration.compile_tir(found, mod, target)
    if best is None:
        raise RuntimeError(f"nothing was found in {seconds} s")
    return tvm.compile(best.mod, target=target), facts


def prepare(request, arrays):
    args, cpu, facts = globals()[request.get("operator", "matmul")](**request["shape"]), request["cpu"], {}
    func = te.create_prim_func(args)
    if request["what"] == "build":
        return lambda: build(func, cpu), None
    if request["what"] == "tune":
        made, facts = tuned(func, cpu, request["threads"], request["seconds"], request["seed"])
    else:
        made = build(func, cpu)
    run, inputs = made["main"], [tvm.runtime.tensor(x) for x in arrays]
    out = tvm.runtime.empty([int(n) for n in args[-1].shape], "float32")
    return lambda: run(*inputs, out), out.numpy, facts


if __name__ == "__main__":  # it is read again in the processes that it starts
    serve(prepare)
