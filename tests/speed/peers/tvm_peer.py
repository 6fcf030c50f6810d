"""apache-tvm of today: a blocked TensorIR matmul, as its tutorials schedule it; its build is timed too."""

from serve import serve  # isort: skip

import tvm
from tvm import s_tir, te


def matmul(n):
    a, b = (te.placeholder((n, n), "float32", name=x) for x in "AB")
    k = te.reduce_axis((0, n), name="k")
    return te.create_prim_func([a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")])


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


def prepare(request, arrays):
    func, cpu = matmul(request["size"]), request["cpu"]
    if request["what"] == "build":
        return lambda: build(func, cpu), None
    run = build(func, cpu)["main"]
    a, b = map(tvm.runtime.tensor, arrays)
    c = tvm.runtime.tensor(arrays[0] * 0)
    return lambda: run(a, b, c), c.numpy


serve(prepare)
