"""Every classic namespace is there, and says what exists when a name is not."""

import json
import pickle

import numpy as np
import pytest

import tvmlab as tvm
from tvmlab import te, tir

# namespace -> some of what scripts take from it
NAMES = {
    "tvm": """placeholder compute scan extern var size_var shape_var const convert reduce_axis thread_axis sum min
        max any all select if_then_else create_schedule lower build decl_buffer decl_tensor_intrin
        build_config call_packed call_extern call_pure_intrin call_pure_extern exp log sqrt tanh power floor
        min_value max_value comm_reducer tag_scope register_func get_global_func nd cpu gpu cuda opencl cl
        metal mtl rocm vulkan context device target transform ir tir te runtime error TVMError IRModule
        Range save_json load_json testing contrib ir_pass schedule arith expr stmt make module tensor
        ndarray container node intrin api ir_builder""",
    "tvm.te": "placeholder compute create_schedule schedule Tensor tag_scope create_prim_func Stage Schedule",
    "tvm.tir": """const IntImm FloatImm StringImm Add Select For ForKind Evaluate ir_builder decl_buffer call_packed
        call_extern if_then_else any all indexmod stmt_functor transform analysis IterVar Range stmt expr""",
    "tvm.tir.transform": "prim_func_pass Simplify LoopPartition VectorizeLoop UnrollLoop RemoveNoOp StorageRewrite",
    "tvm.tir.stmt_functor": "post_order_visit ir_transform substitute",
    "tvm.tir.analysis": "expr_deep_equal verify_ssa undefined_vars",
    "tvm.te.schedule": """InferBound ScheduleOps AutoInlineElemWise AutoInlineBroadcast AutoInlineInjective
        CreateReadGraph PostDFSOrder CreateAttachPath ScanGetBody ScanFixPointAnalysis
        Schedule Stage Split Fuse Singleton
        Rebase Buffer""",
    "tvm.schedule": "InferBound ScheduleOps Fuse create_schedule",
    "tvm.expr": "Call Add IntImm Var Select",
    "tvm.stmt": "For IfThenElse Evaluate",
    "tvm.make": "Select For Evaluate",
    "tvm.nd": "array empty NDArray cpu gpu device context from_dlpack",
    "tvm.runtime": "Module NDArray load_module enabled convert String ndarray module",
    "tvm.module": "load enabled Module system_lib",
    "tvm.target": "Target create current_target",
    "tvm.transform": "PassContext Sequential module_pass PrintIR",
    "tvm.ir": """IRModule Range structural_equal assert_structural_equal save_json load_json Array Map transform
        PassContext""",
    "tvm.container": "Array Map",
    "tvm.ir_pass": """Simplify CanonicalSimplify Substitute Equal VectorizeLoop UnrollLoop LoopPartition
        PostOrderVisit IRTransform""",
    "tvm.arith": "Analyzer ConstIntBound detect_linear_equation DetectLinearEquation",
    "tvm.error": "TVMError InternalError",
    "tvm.testing": """assert_allclose device_enabled enabled_targets parametrize_targets requires_llvm requires_gpu
        uses_gpu utils parameter main""",
    "tvm.contrib": "tedd util utils cc random cblas clang pickle_memoize",
    "tvm.contrib.pickle_memoize": "memoize",
    "tvm.topi": "add multiply sum max argmax transpose reshape concatenate exp tanh nn generic x86 testing utils tag",
    "tvm.topi.nn": "relu conv2d_nchw conv2d_hwcn dense softmax pad",
    "tvm.driver": "lower build build_module",
    "tvm.driver.build_module": "schedule_to_module",
}


def find(path):
    thing = tvm
    for part in path.split(".")[1:]:
        thing = getattr(thing, part)
    return thing


@pytest.mark.parametrize("namespace", NAMES)
def test_namespace(namespace):
    home = find(namespace)
    for name in NAMES[namespace].split():
        assert getattr(home, name) is not None, name
    close = max(NAMES[namespace].split(), key=len)
    with pytest.raises(AttributeError, match=close):
        getattr(home, close + "x")


@pytest.mark.parametrize(
    "path, reason",
    [
        ("tvm.auto_scheduler", "tune.Task.of"),
        ("tvm.relay", "graphs of operators are not there yet"),
        ("tvm.hybrid", "write the loops with te.extern"),
        ("tvm.te.hybrid", "write the loops with te.extern"),
        ("tvm.te.gradient", "write the gradient as te.compute expressions"),
        ("tvm.contrib.nvcc", "the target `cuda_c` prints CUDA C++"),
        ("tvm.contrib.graph_executor", "graphs of operators are not there yet"),
        ("tvm.target.rocm", "target.rocm is not there yet"),
        ("tvm.target.arm_cpu", "name the processor instead"),
        ("tvm.tir.Schedule", "there is no TensorIR here"),
    ],
)
def test_what_is_not_there_says_so(path, reason):
    with pytest.raises(AttributeError, match=reason):
        find(path)


def test_memoize_keeps_results():
    calls = []

    @tvm.contrib.pickle_memoize.memoize("tests.data")
    def data(n):
        calls.append(n)
        return n + 1

    assert [data(1), data(1), data(2)] == [2, 2, 3] and calls == [1, 2]


# ---------------------------------------------------------------- targets


def test_target_texts_and_blocks():
    t = tvm.target.Target("llvm -mcpu=skylake-avx512 -mattr=+avx2 -num-threads=2 -keys=cpu")
    assert (t.name, t.kind.name, t.mcpu, t.features, t.threads) == ("llvm", "llvm", "skylake-avx512", "+avx2", 2)
    assert str(t) == "llvm -mcpu=skylake-avx512 -mattr=+avx2 -num-threads=2"
    assert tvm.target.Target(str(t)) == t == tvm.target.create(str(t)) == tvm.target.Target(target=t, host="llvm")
    assert tvm.target.Target({"kind": "llvm", "mattr": ["+avx2", "+fma"]}).features == "+avx2,+fma"
    assert tvm.target.Target.current() is None
    with t:
        assert tvm.target.Target.current() is t is tvm.target.current_target()
    with pytest.raises(ValueError, match="no target in force"):
        tvm.target.Target.current(allow_none=False)


def test_the_target_in_force_builds():
    A = te.placeholder((4,), name="A")
    s = te.create_schedule(te.compute((4,), lambda i: A[i] + 1.0, name="B").op)
    with tvm.target.Target("interp"):
        assert tvm.build(s, [A, s.outputs[0].output(0)]).target.name == "interp"
    assert tvm.build(s, [A, s.outputs[0].output(0)]).target.name == "llvm"


def test_devices_of_targets():
    assert tvm.testing.device_enabled("llvm") and not tvm.testing.device_enabled("cuda")
    assert [t for t, _ in tvm.testing.enabled_targets()] == ["llvm"]
    assert tvm.runtime.enabled("stackvm") and not tvm.module.enabled("rocm")
    assert not tvm.gpu(0).exist and tvm.context("cpu", 0).exist


# ---------------------------------------------------------------- values


def test_convert():
    one, two = tvm.convert([1, 2.5])
    assert (one.value, one.dtype, two.dtype) == (1, "int32", "float32")
    assert tvm.convert("text").value == "text"
    x = te.var("x")
    assert tvm.convert({x: 3})[x].value == 3
    assert isinstance(tvm.convert((1,)), tvm.container.Array) and isinstance(tvm.convert({}), tvm.container.Map)


def test_ranges_and_axes():
    r = tvm.Range(2, 10)
    assert (r.min.value, r.extent.value) == (2, 8) and isinstance(r, tvm.ir.Range)
    assert tvm.Range.from_min_extent(2, 10).extent.value == 10
    a = tir.IterVar((0, 4), "i", tir.IterVar.DataPar)
    assert isinstance(a, tvm.IterVar) and a.dom.extent.value == 4 and a.iter_type == 0
    assert te.schedule.IterVar.Vectorized == 6


def test_attributes_answer_to_value():
    with tvm.tag_scope(tag="gemm"):
        C = te.compute((4,), lambda i: i, name="C", attrs={"size": 3, "list": [10, 12], "how": "fast"})
    assert C.op.tag == "gemm"
    again = tvm.load_json(tvm.save_json(C))
    for attrs in (C.op.attrs, again.op.attrs):
        assert attrs["size"].value == 3 and attrs["list"][1].value == 12 and attrs["how"].value == "fast"
        assert json.loads(str(attrs))["list"] == [10, 12]


def scheduled():
    A = te.placeholder((16, 16), name="A")
    k = te.reduce_axis((0, 16), "k")
    B = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    io, ii = s[B].split(B.op.axis[0], 4)
    s[B].unroll(ii)
    s[B].pragma(io, "note", 3)
    return A, B, s, io, ii


@pytest.mark.parametrize("again", [lambda s: pickle.loads(pickle.dumps(s)), lambda s: tvm.load_json(tvm.save_json(s))])
def test_schedules_are_saved(again):
    A, B, s, io, ii = scheduled()
    made = again(s)
    assert isinstance(made, te.schedule.Schedule)
    assert made.to_code() == s.to_code()


def test_what_is_said_of_axes():
    A, B, s, io, ii = scheduled()
    attrs = s[B].iter_var_attrs
    assert attrs[ii].iter_type == te.schedule.IterVar.Unrolled
    assert attrs[io].pragma_keys[0].value == "note"
    assert s[B].same_as(s[B]) and not s[A].same_as(s[B])


def test_statements_answer_to_their_classic_names():
    k = te.reduce_axis((0, 16), "k")
    A = te.placeholder((16, 16), name="A")
    B = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].parallel(B.op.axis[0])
    outer = tvm.lower(s, [A, B], simple_mode=True)["main"].body
    assert isinstance(outer, tir.For) and (outer.loop_var.name, outer.min.value, outer.for_type) == ("i", 0, 1)
    both = outer.body
    assert outer.kind == tir.ForKind.PARALLEL and isinstance(both, tir.SeqStmt) and bool(tir.SeqStmt([]))
    assert len(both) == both.size == 2 and isinstance(both[0], tir.BufferStore) and both.seq[1] is both[1]


def test_structural_equality():
    A, B, s, *_ = scheduled()
    a, b = tvm.lower(s, [A, B]), tvm.lower(s, [A, B])
    assert tvm.ir.structural_equal(a, b) and tvm.ir.structural_hash(a) == tvm.ir.structural_hash(b)
    x, y = te.var("x"), te.var("y")
    assert not tvm.ir.structural_equal(x + 1, y + 1) and tvm.ir.structural_equal(x + 1, y + 1, map_free_vars=True)
    hashes = [tvm.ir.structural_hash(e) for e in (x + 1, y + 1, x + 2)]
    assert hashes[0] == hashes[1] != hashes[2]
    with pytest.raises(ValueError, match="not structurally equal"):
        tvm.ir.assert_structural_equal(x + 1, x + 2)


# ---------------------------------------------------------------- te.schedule


def chain():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    T = te.compute((8, 8), lambda i, j: B[j, i], name="T")
    D = te.compute((8, 8), lambda i, j: T[i, j] * T[0, j], name="D")
    return A, B, T, D


@pytest.mark.parametrize(
    "inline, gone", [("AutoInlineElemWise", "B"), ("AutoInlineBroadcast", "B"), ("AutoInlineInjective", "BT")]
)
def test_inlining_by_kind(inline, gone):
    A, B, T, D = chain()
    s = te.create_schedule(D.op)
    getattr(te.schedule, inline)(s)
    assert "".join(st.op.name for st in s.stages if st.attach_type == 2) == gone
    a, d = np.random.default_rng(0).random((8, 8), np.float32), np.zeros((8, 8), "float32")
    tvm.build(s, [A, D])(a, d)
    t = (a + 1).T
    np.testing.assert_allclose(d, t * t[0])


def test_graphs():
    A, B, T, D = chain()
    graph = te.schedule.CreateReadGraph([D.op])
    assert graph[T.op] == [B] and graph[A.op] == []
    assert te.schedule.PostDFSOrder([D.op], graph) == [A.op, B.op, T.op, D.op]
    assert te.schedule.GetSubGraph([D], [B], False) == [T.op, D.op]
    assert te.schedule.GetSubGraph([D], [B], True) == [B.op, T.op, D.op]


def test_bounds_are_in_the_variables_of_the_axes():
    A, B, T, D = chain()
    s = te.create_schedule(D.op)
    io, ii = s[D].split(D.op.axis[0], 4)
    s[T].compute_at(s[D], io)
    bounds = te.schedule.InferBound(s.normalize())
    assert (bounds[io].extent.value, bounds[ii].extent.value) == (2, 4)
    moved = tvm.ir_pass.Substitute(bounds[T.op.axis[1]].min, {io.var: 1})
    assert tvm.ir_pass.Simplify(moved).value == 0


def test_rfactor_keeps_what_it_does_not_touch():
    A = te.placeholder((8, 9, 10), name="A")
    k1, k2 = te.reduce_axis((0, 9), "k1"), te.reduce_axis((0, 10), "k2")
    B = te.compute((8,), lambda i: te.sum(A[i, k1, k2], axis=[k1, k2]), name="B")
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(k1, factor=4)
    F = s.rfactor(B, ki)
    assert list(F.op.body[0].axis[:1]) == [k2] and F.op.body[0].axis[1].var is ko.var
    s[F].unroll(k2)
    a, b = np.random.default_rng(0).random((8, 9, 10), np.float32), np.zeros(8, "float32")
    tvm.build(s, [A, B])(a, b)
    np.testing.assert_allclose(b, a.sum((1, 2)), rtol=1e-5)


def test_target_cuda():
    from tvmlab import target

    assert str(target.cuda()) == "cuda" and target.cuda(options=["-arch=sm_90"]) == target.cuda(arch="sm_90")
