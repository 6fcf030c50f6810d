"""Small scripts in the classic spellings, run end to end: release 0.6 (`tvm.placeholder`), 0.8 and later (`te`)."""

import numpy as np
import pytest

import tvmlab as tvm
from tvmlab import te


def matmul_06(n, target="llvm"):
    k = tvm.reduce_axis((0, n), "k")
    A = tvm.placeholder((n, n), name="A")
    B = tvm.placeholder((n, n), name="B")
    C = tvm.compute((n, n), lambda x, y: tvm.sum(A[x, k] * B[k, y], axis=k), name="C")
    s = tvm.create_schedule(C.op)
    xo, yo, xi, yi = s[C].tile(C.op.axis[0], C.op.axis[1], 8, 8)
    (k,) = s[C].op.reduce_axis
    ko, ki = s[C].split(k, factor=4)
    s[C].reorder(xo, yo, ko, ki, xi, yi)
    s[C].vectorize(yi)
    return tvm.build(s, [A, B, C], target=target, name="mmult")


@pytest.mark.parametrize("target", ["llvm", "stackvm", "c", "llvm -mcpu=x86-64"])
def test_release_06(target):
    f = matmul_06(19, target)
    ctx = tvm.context(target, 0)
    a, b = (np.random.default_rng(k).random((19, 19), np.float32) for k in range(2))
    c = tvm.nd.array(np.zeros((19, 19), "float32"), ctx)
    f(tvm.nd.array(a, ctx), tvm.nd.array(b, ctx), c)
    tvm.testing.assert_allclose(c.asnumpy(), a @ b, rtol=1e-5)
    assert c.ctx == ctx == tvm.cpu(0)
    evaluator = f.time_evaluator(f.entry_name, ctx=ctx, number=1)
    assert evaluator(tvm.nd.array(a), tvm.nd.array(b), c).mean > 0


def test_release_08():
    n = te.var("n")
    A = te.placeholder((n,), name="A", dtype="float32")
    B = te.compute(A.shape, lambda i: te.exp(A[i]) + tvm.tir.const(1, "float32"), name="B")
    s = te.create_schedule(B.op)
    xo, xi = s[B].split(B.op.axis[0], factor=32)
    s[B].parallel(xo)
    s[B].vectorize(xi)
    with tvm.transform.PassContext(opt_level=3), tvm.target.Target("llvm"):
        f = tvm.build(s, [A, B], name="expo")
    dev = tvm.device("llvm", 0)
    a = tvm.nd.array(np.arange(70, dtype="float32") / 70, dev)
    b = tvm.nd.empty((70,), "float32", dev)
    f["expo"](a, b)
    tvm.testing.assert_allclose(b.numpy(), np.exp(a.numpy()) + 1, rtol=1e-5)
    assert f.entry_name == "expo"


def test_what_lower_returns_reads_as_a_module_and_as_a_function():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] * 2.0, name="B")
    s = te.create_schedule(B.op)
    mod = tvm.lower(s, [A, B], name="twice")
    assert isinstance(mod, tvm.IRModule)
    assert isinstance(mod["twice"].body, tvm.tir.For) and mod["main"] is mod["twice"]
    assert [name for name, _ in mod.functions.items()] == ["twice"] == mod.get_global_vars()
    assert (mod.name, len(mod.args), mod.body) == ("twice", 2, mod["twice"].body)
    assert mod.astext() == mod.script() == str(mod)
    with pytest.raises(KeyError, match="there is no function `other`; the functions are twice"):
        mod["other"]
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    tvm.build(mod, target="llvm")(a, b)
    assert list(b) == list(2 * a)


def test_prim_func_and_module_of_it():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    mod = tvm.IRModule({"plus": te.create_prim_func([A, B])})
    b = np.zeros(8, "float32")
    tvm.build({"llvm": mod})(np.ones(8, "float32"), b)
    assert mod.get_global_vars() == ["plus"] and list(b) == [2.0] * 8


def test_an_argument_nobody_reads():
    X = te.placeholder((3, 4), name="X")
    B = te.compute((5,), lambda i: te.const(1, "float32"), name="B")
    b = np.zeros(5, "float32")
    tvm.build(te.create_schedule(B.op), [X, B])(np.zeros((3, 4), "float32"), b)
    assert list(b) == [1.0] * 5


def test_packed_functions_and_extern():
    @tvm.register_func("compat.addone", override=True)
    def addone(x, y):
        tvm.nd.array(x.asnumpy() + 1).copyto(y)

    A = tvm.placeholder((6,), name="A")
    B = tvm.extern(A.shape, [A], lambda ins, outs: tvm.call_packed("compat.addone", ins[0], outs[0]), name="B")
    b = np.zeros(6, "float32")
    tvm.build(tvm.create_schedule(B.op), [A, B], "llvm")(np.arange(6, dtype="float32"), b)
    assert list(b) == [1, 2, 3, 4, 5, 6]
    assert tvm.get_global_func("compat.addone") is addone
    assert tvm.get_global_func("compat.none", allow_missing=True) is None


@pytest.mark.parametrize("ending", ["so", "tar"])
def test_export_and_load(tmp_path, ending):
    A = tvm.placeholder((6,), name="A")
    B = tvm.compute((6,), lambda i: A[i] * A[i], name="B")
    f = tvm.build(tvm.create_schedule(B.op), [A, B], "llvm", name="square")
    path = str(tmp_path / f"square.{ending}")
    f.export_library(path)
    b = np.zeros(6, "float32")
    tvm.module.load(path)(np.arange(6, dtype="float32"), b)
    assert list(b) == [0, 1, 4, 9, 16, 25]


def test_object_file_through_contrib_cc():
    temp = tvm.contrib.util.tempdir()
    A = tvm.placeholder((6,), name="A")
    B = tvm.compute((6,), lambda i: A[i] * 3.0, name="B")
    tvm.build(tvm.create_schedule(B.op), [A, B], "llvm", name="triple").save(temp.relpath("triple.o"))
    tvm.contrib.cc.create_shared(temp.relpath("triple.so"), [temp.relpath("triple.o")])
    assert {"triple.o", "triple.so"} <= set(temp.listdir())
    b = np.zeros(6, "float32")
    tvm.runtime.load_module(temp.relpath("triple.so"))(np.ones(6, "float32"), b)
    assert list(b) == [3.0] * 6


def test_random_tensors():
    from tvmlab.contrib import random

    R = random.randint(-5, 5, size=(8, 8), dtype="int32")
    U = random.uniform(2, 3, size=(100,))
    r, u = np.zeros((8, 8), "int32"), np.zeros(100, "float32")
    tvm.build(te.create_schedule([R.op, U.op]), [R, U], "llvm")(r, u)
    assert r.min() >= -5 and r.max() < 5 and len(set(r.flat)) > 1
    assert u.min() >= 2 and u.max() <= 3 and u.std() > 0


def test_errors_keep_their_classic_types():
    A = tvm.placeholder((6,), name="A")
    B = tvm.compute((6,), lambda i: A[i] + 1.0, name="B")
    s = tvm.create_schedule(B.op)
    f = tvm.build(s, [A, B], "llvm")
    with pytest.raises(tvm.TVMError):
        f(np.zeros(5, "float32"), np.zeros(6, "float32"))
    with pytest.raises(
        tvm.error.TVMError, match="rocm is not there yet: bound loops lower and print, and run on `interp`"
    ):
        tvm.build(s, [A, B], "rocm")
    with pytest.raises(ValueError):
        tvm.build(s)
    with pytest.raises(TypeError, match="build takes a schedule or a lowered program"):
        tvm.build(3)


def test_release_06_from_lowered_function_to_module():
    A = tvm.placeholder((9,), name="A")
    B = tvm.compute((9,), lambda i: A[i] - 1.0, name="B")
    lowered = tvm.lower(tvm.create_schedule(B.op), [A, B], name="minus")
    (host,) = tvm.ir_pass.SplitHostDevice(lowered)
    f = tvm.codegen.build_module(tvm.ir_pass.LowerTVMBuiltin(host), "c")
    b = np.zeros(9, "float32")
    f["minus"](np.ones(9, "float32"), b)
    assert list(b) == [0.0] * 9


def test_a_parallel_loop_over_a_fused_symbolic_shape():
    rows, cols, n = tvm.var("rows"), tvm.var("cols"), tvm.var("n")
    data = tvm.placeholder((n,), name="data")
    k = tvm.reduce_axis((0, n), name="k")
    out = tvm.compute((rows, cols), lambda i, j: tvm.sum(data[k] * (i + j), axis=k), name="out")
    s = tvm.create_schedule(out.op)
    s[out].parallel(s[out].fuse(*out.op.axis))
    c = np.zeros((4, 3), "float32")
    tvm.build(s, [data, out])(np.ones(2, "float32"), c)
    np.testing.assert_allclose(c, 2 * np.add.outer(np.arange(4), np.arange(3)))


def test_of_two_imported_functions_of_one_name_the_inner_pragma_wins():
    def gives(n):
        return f"define float @give_me(float %x) {{\n  ret float {n}.0\n}}\n"

    A = tvm.placeholder((4, 4), name="A")
    B = tvm.compute((4, 4), lambda i, j: tvm.call_pure_extern("float32", "give_me", A[i, j]), name="B")
    s = tvm.create_schedule(B.op)
    i, j = B.op.axis
    s[B].pragma(i, "import_llvm", gives(1))
    s[B].pragma(j, "import_llvm", gives(2))
    b = np.zeros((4, 4), "float32")
    tvm.build(s, [A, B], "llvm")(b.copy(), b)
    assert (b == 2).all()
