"""The text of kernels in the languages of the C family: whole programs as golden files, single rules as lines."""

import pickle

import numpy as np
import pytest

import tvmlab
from tests import kernels
from tests.loops import alloc, buffer, function, load, loop, store
from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core.build import binary, cast, if_then_else
from tvmlab.core.error import BuildError
from tvmlab.core.node import (
    NOP,
    AllReduce,
    Barrier,
    Broadcast,
    Call,
    Combiner,
    Const,
    Evaluate,
    If,
    LetStmt,
    Ramp,
    Var,
    While,
)
from tvmlab.core.program import Program
from tvmlab.lowering import passes, pipeline
from tvmlab.target import Target, get

LANGUAGES = ("opencl", "cuda_c", "metal")


def source(program, target="opencl"):
    return get(target).source(program, Target(target))


def printed(fn, target="opencl"):
    """The statements of a function written by hand."""
    program = Program((fn,))
    for name in (*pipeline.FLAT, "split_host_device"):  # without the verifier, which knows no kernels cut out
        program = passes.get(name)(program)
    return kernels.body(source(program, target))


def in_a_kernel(params, *body, target="opencl", threads=8):
    tx = Var("tx")
    inner = body[0](tx) if callable(body[0]) else body
    return printed(function(params, loop(tx, threads, *inner, thread="threadIdx.x"), name="main"), target)


def expression(dtype, f, target="opencl"):
    """The line that stores f(A[tx], B[tx], tx)."""
    A, B, C = (buffer(n, (8,), dtype) for n in "ABC")

    def body(tx):
        e = f(load(A, tx), load(B, tx), tx)
        out = buffer("C", (8,), e.dtype)
        params[2] = out
        return [store(out, tx, e)]

    params = [A, B, C]
    tx = Var("tx")
    stmts = body(tx)
    return printed(function(params, loop(tx, 8, *stmts, thread="threadIdx.x"), name="main"), target)


# ---------------------------------------------------------------- whole programs


@pytest.mark.parametrize("make, helper, places", [
    (kernels.two_kernels, "", {"B": "`i.inner` of stage B", "C": "`i.inner` of stage C"}),
    (
        lambda: kernels.elementwise(61, "int32", lambda A, B, i: A[i] // B[i]),
        "floordiv", {"C": "`i.outer.inner` of stage C"},
    ),
])  # fmt: skip
def test_the_loop_of_each_line(make, helper, places):
    """Lines of kernels, also behind helpers and other kernels; heads, helpers and the host are of no loop."""
    code = get("opencl").compile(kernels.split(*make()), Target("opencl")).extra["device"]
    lines = code.source.splitlines()
    assert helper in code.source
    found = {lines[n - 1].split("[")[0].strip(): loop for n, loop in code.places.items() if " = " in lines[n - 1]}
    assert found == places
    assert all(lines[n - 1].startswith("    ") for n in code.places)


@pytest.mark.parametrize("target", LANGUAGES)
def test_a_matmul(golden, target):
    assert kernels.text(*kernels.matmul(50, 37, 29), target) == golden


@pytest.mark.parametrize("target", LANGUAGES)
def test_two_kernels(golden, target):
    assert kernels.text(*kernels.two_kernels(), target) == golden


@pytest.mark.parametrize("target", LANGUAGES)
def test_symbolic_sizes(golden, target):
    assert kernels.text(*kernels.symbolic(), target) == golden


@pytest.mark.parametrize("target", LANGUAGES)
def test_vectors(golden, target):
    cases = [
        ("float32", 4, lambda A, B, i: A[i]),
        ("float32", 4, lambda A, B, i: A[i] * 2.0 + B[i]),
        ("float32", 4, lambda A, B, i: te.exp(A[i]) + B[i // 4]),
        ("float16", 8, lambda A, B, i: A[i]),
        ("float16", 4, lambda A, B, i: A[i] * B[i] + A[i]),
        ("int32", 3, lambda A, B, i: A[i] + B[63 - i]),
        ("uint8", 32, lambda A, B, i: A[i]),
        ("float64" if target != "metal" else "int64", 4, lambda A, B, i: A[i]),
    ]
    texts = [kernels.body(kernels.text(*kernels.elementwise(64, t, f, 2, lanes), target)) for t, lanes, f in cases]
    assert "\n\n".join(texts) == golden


# ---------------------------------------------------------------- arithmetic


@pytest.mark.parametrize("dtype, f, line", [
    ("int32", lambda a, b, i: a * b + a, "C[tx] = (int)((uint)A[tx]*B[tx] + A[tx]);"),
    ("int32", lambda a, b, i: a - b * 3, "C[tx] = (int)((uint)A[tx] - (uint)B[tx]*3);"),
    ("int8", lambda a, b, i: a * b + a, "C[tx] = (char)(A[tx]*B[tx] + A[tx]);"),
    ("uint16", lambda a, b, i: a * b, "C[tx] = (ushort)((uint)A[tx]*B[tx]);"),
    ("uint32", lambda a, b, i: a * b + a, "C[tx] = A[tx]*B[tx] + A[tx];"),
    ("uint32", lambda a, b, i: a // 5 % 3, "C[tx] = A[tx]/5u%3u;"),
    ("int32", lambda a, b, i: a // 4, "C[tx] = floordiv_int32(A[tx], 4);"),
    ("int32", lambda a, b, i: (a & 255) % 7, "C[tx] = (A[tx] & 255)%7;"),
    ("int32", lambda a, b, i: (a & 255) % 7 * 300000000, "C[tx] = (A[tx] & 255)%7*300000000;"),
    ("bool", lambda a, b, i: a.equal(b.equal(a)), "C[tx] = (A[tx] != 0) == ((B[tx] != 0) == (A[tx] != 0));"),
    ("bool", lambda a, b, i: a.equal(b).equal(a), "C[tx] = ((A[tx] != 0) == (B[tx] != 0)) == (A[tx] != 0);"),
    ("int32", lambda a, b, i: te.truncmod(a, 7), "C[tx] = A[tx]%7;"),
    ("int8", lambda a, b, i: a // b, "C[tx] = (char)floordiv_int32(A[tx], B[tx]);"),
    ("int32", lambda a, b, i: a << 3, "C[tx] = (int)((uint)A[tx] << 3);"),
    ("int64", lambda a, b, i: a >> b, "C[tx] = shr_int64(A[tx], B[tx]);"),
    ("int32", lambda a, b, i: te.min(a, 3), "C[tx] = min(A[tx], 3);"),
    ("int16", lambda a, b, i: te.max(a, b), "C[tx] = max((int)(A[tx]), (int)(B[tx]));"),
    ("float32", lambda a, b, i: te.max(a, b), "C[tx] = max_float32(A[tx], B[tx]);"),
    ("float32", lambda a, b, i: a - (b - a), "C[tx] = A[tx] - (B[tx] - A[tx]);"),
    ("float32", lambda a, b, i: a * 0.1, "C[tx] = A[tx] * 0.1f;"),
    ("float32", lambda a, b, i: a.astype("int8"), "C[tx] = (char)(int)A[tx];"),
    ("float16", lambda a, b, i: a * b, "vstore_half(vload_half(tx, A) * vload_half(tx, B), tx, C);"),
    ("bool", lambda a, b, i: binary("and", a, binary("or", b, a)), "C[tx] = A[tx] != 0 && (B[tx] != 0 || A[tx] != 0);"),
    ("int32", lambda a, b, i: i * 1000, "C[tx] = tx*1000;"),
    ("int32", lambda a, b, i: cast(i, "int32") * 2**30, "C[tx] = (int)((uint)tx*1073741824);"),
    ("int32", lambda a, b, i: if_then_else(a > b, a, b), "C[tx] = A[tx] > B[tx] ? A[tx] : B[tx];"),
    ("int32", lambda a, b, i: Const(-(2**31)) & a, "C[tx] = (-2147483647 - 1) & A[tx];"),
    ("uint8", lambda a, b, i: te.popcount(a), "C[tx] = (uchar)popcount((uint)(uchar)A[tx]);"),
    ("int16", lambda a, b, i: te.clz(a), "C[tx] = (int)clz((uint)(ushort)A[tx]) - 16;"),
    ("float32", lambda a, b, i: tir.reinterpret("int32", a), "C[tx] = as_int(A[tx]);"),
])  # fmt: skip
def test_an_expression(dtype, f, line):
    assert expression(dtype, f) == line


@pytest.mark.parametrize("f, line", [
    (lambda a, b, i: te.exp(a), "C[tx] = expf(A[tx]);"),
    (lambda a, b, i: te.sigmoid(a), "C[tx] = 1.0f / (1.0f + expf(A[tx] * -1.0f));"),
    (lambda a, b, i: a + float("inf"), "C[tx] = A[tx] + __int_as_float(0x7f800000);"),
    (lambda a, b, i: tir.call_extern("float32", "__expf", a), "C[tx] = __expf(A[tx]);"),
    (lambda a, b, i: tir.call_extern("float32", "__fdividef", a, b), "C[tx] = __fdividef(A[tx], B[tx]);"),
])  # fmt: skip
def test_functions_of_cuda(f, line):
    assert expression("float32", f, "cuda_c") == line


def test_metal_makes_the_functions_that_it_lacks():
    text = kernels.text(*kernels.elementwise(8, "float32", lambda A, B, i: te.erf(A[i])), "metal")
    assert "erf_float32(A[" in text and "static inline float erf_float32(float a) {" in text
    text = kernels.text(*kernels.elementwise(8, "float32", lambda A, B, i: A[i] + 1.0), "metal")
    assert "static inline" not in text


def test_names_are_those_of_the_language_and_of_ascii():
    A, out, n = buffer("kernel", (8,)), buffer("größe", (8,)), Var("float4")
    text = in_a_kernel([A, out, n], lambda tx: [store(out, tx, load(A, tx) * cast(n, "float32"))])
    assert text == "gr_u00f6_u00dfe[tx] = kernel_1[tx] * (float)float4_1;"


# ---------------------------------------------------------------- statements


def test_sums_in_place_are_updates():
    A = buffer("A", (8,))
    assert in_a_kernel([A], lambda tx: [store(A, tx, load(A, tx) * 2.0)]) == "A[tx] *= 2.0f;"
    I = buffer("I", (8,), "int32")
    assert in_a_kernel([I], lambda tx: [store(I, tx, load(I, tx) + 1)]) == "I[tx] = (int)((uint)I[tx] + 1);"


def test_marks_of_loops_and_an_end_in_memory():
    A, N, i, j = buffer("A", (8,)), buffer("N", (1,), "int32"), Var("i"), Var("j")
    text = in_a_kernel([A, N], loop(i, 4, store(A, i, 0.0), kind="unrolled"), loop(j, load(N, 0), store(A, j, 1.0)))
    assert text == (
        "#pragma unroll\nfor (int i = 0; i < 4; ++i) {\n    A[i] = 0.0f;\n}\n"
        "const int j_end = N[0];\nfor (int j = 0; j < j_end; ++j) {\n    A[j] = 1.0f;\n}"
    )


def test_while_and_else():
    A, S = buffer("A", (8,)), buffer("S", (1,), "int32")
    text = in_a_kernel([A, S], lambda tx: [
        While(load(S, 0) < 3, store(S, 0, load(S, 0) | 3)), If(load(A, tx) < 0.0, store(A, tx, 0.0), store(A, tx, 1.0)),
    ])  # fmt: skip
    assert text == (
        "while (S[0] < 3) {\n    S[0] = S[0] | 3;\n}\n"
        "if (A[tx] < 0.0f) {\n    A[tx] = 0.0f;\n} else {\n    A[tx] = 1.0f;\n}"
    )


def siblings(*body, first=8, second=5, tag="threadIdx.x"):
    """Two loops over the threads of one block, one after the other."""
    A, a, b = buffer("A", (8,)), Var("a"), Var("b")
    block = loop(Var("bx"), 1, loop(a, first, store(A, a, 0.0), thread=tag), loop(b, second, *body, thread=tag),
                 thread="blockIdx.y")  # fmt: skip
    return printed(function([A], block, name="main"))


def test_threads_beyond_a_smaller_loop_stay_out():
    assert siblings(NOP).splitlines() == ["A[a] = 0.0f;", "if (a < 5) {", "}"]
    assert siblings(NOP, second=8) == "A[a] = 0.0f;"


def test_a_loop_over_threads_that_begins_elsewhere():
    A, tx = buffer("A", (12,)), Var("tx")
    fn = function([A], loop(tx, 8, store(A, tx, 0.0), lo=4, thread="threadIdx.x"), name="main")
    assert printed(fn) == "{\n    const int tx = 4 + threadIdx_x;\n    A[tx] = 0.0f;\n}"


def test_shared_memory_stands_at_the_top_and_a_barrier_may_order_global_memory():
    A, S, T = buffer("A", (8,)), buffer("S", (8,), scope="shared"), buffer("T", (2,), "float16", scope="local")
    body = [alloc(S, alloc(T, store(S, 0, load(A, 1)), store(T, 0, cast(1.0, "float16")), Barrier("shared"),
                           store(A, 0, load(S, 0))))]  # fmt: skip
    assert in_a_kernel([A], *body).splitlines() == [
        "__local float S[8];", "float T[2];", "S[0] = A[1];", "T[0] = 1.0f;",
        "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);", "A[0] = S[0];",
    ]  # fmt: skip
    assert in_a_kernel([A], *body, target="cuda_c").splitlines()[:3] == [
        "__shared__ float S[8];", "half T[2];", "S[0] = A[1];",
    ]  # fmt: skip


def test_arrays_that_vectors_are_read_from_are_aligned_in_cuda():
    A, S = buffer("A", (32,)), buffer("S", (32,), scope="shared")
    at = Ramp(Const(4), Const(1), 4)
    text = in_a_kernel([A], alloc(S, store(A, at, load(S, at, dtype="float32x4"))), target="cuda_c")
    assert text.splitlines() == [
        "__shared__ __align__(16) float S[32];",
        "*reinterpret_cast<uint4*>(A + 4) = *reinterpret_cast<const uint4*>(S + 4);",
    ]


def test_a_vector_that_is_not_aligned_goes_lane_by_lane():
    A, B = buffer("A", (32,)), buffer("B", (32,))
    at, off = Ramp(Const(4), Const(1), 2), Ramp(Const(1), Const(1), 2)
    stmt = store(A, at, load(B, off, dtype="float32x2"))
    assert in_a_kernel([A, B], stmt, target="cuda_c") == "A[4] = B[1];\nA[5] = B[2];"
    assert in_a_kernel([A, B], stmt) == "vstore2(vload2(0, B + 1), 0, A + 4);"
    assert (
        in_a_kernel([A, B], stmt, target="metal") == "*(device float2*)(A + 4) = *(device const packed_float2*)(B + 1);"
    )


def test_comparisons_wrap_where_their_numbers_come_from_memory():
    A, B, x = buffer("A", (8,), "int32"), buffer("B", (8,), "bool"), Var("x")
    text = in_a_kernel([A, B], lambda tx: [
        LetStmt(x, load(A, tx), store(B, tx, x + 1 > x)), store(B, 0, load(A, 0) + 1 > tx + 1),
    ])  # fmt: skip
    assert text.splitlines() == [
        "const int x = A[tx];", "B[tx] = (int)((uint)x + 1) > x;", "B[0] = (int)((uint)A[0] + 1) > tx + 1;",
    ]  # fmt: skip


def test_divisions_of_indices_round_down():
    A, n = buffer("A", (8,)), Var("n")
    text = in_a_kernel([A, n], lambda tx: [store(A, tx // 2, load(A, (tx - n) // 2)), store(A, tx % 4, 0.0)])
    assert text == "A[tx/2] = A[floordiv_int32(tx - n, 2)];\nA[tx%4] = 0.0f;"


def test_a_vector_that_reads_what_it_writes_waits():
    A = buffer("A", (32,))
    move = store(A, Ramp(Const(1), Const(1), 3), load(A, Ramp(Const(0), Const(1), 3), dtype="float32x3"))
    lines = in_a_kernel([A], move).splitlines()
    assert lines[:3] == ["{", "    float value[3];", "    value[0] = A[0];"]
    assert lines[-3:] == ["    A[at[1]] = value[1];", "    A[at[2]] = value[2];", "}"]


def test_masks_and_vectors_that_have_a_name():
    A, B, v = buffer("A", (32,)), buffer("B", (32,)), Var("v", "float32x2")
    at, on = Ramp(Const(0), Const(3), 2), Ramp(Const(0), Const(1), 2) < Broadcast(Const(1), 2)
    stmt = LetStmt(v, load(B, at, dtype="float32x2", mask=on), store(A, at, v, mask=on))
    assert in_a_kernel([A, B], stmt).splitlines() == [
        "float v[2];", "v[0] = 0 < 1 ? B[0] : 0.0f;", "v[1] = 1 < 1 ? B[3] : 0.0f;",
        "if (0 < 1) {", "    A[0] = v[0];", "}", "if (1 < 1) {", "    A[3] = v[1];", "}",
    ]  # fmt: skip


def test_strict_arithmetic_says_so():
    s, args = kernels.elementwise(8, "float32", lambda A, B, i: A[i] * B[i] + A[i])
    from dataclasses import replace

    program = kernels.split(s, args)
    strict = replace(program, functions=(replace(program.entry, attrs=(("fp", "strict"),)), *program.functions[1:]))
    assert source(strict).startswith("#pragma OPENCL FP_CONTRACT OFF\n")
    assert not source(program).startswith("#pragma")


# ---------------------------------------------------------------- what is refused


def test_memory_of_a_size_that_is_no_number():
    A, n = buffer("A", (8,)), Var("n")
    L = buffer("L", (n, Const(2)), scope="local")
    message = refused(BuildError, lambda: in_a_kernel([A, n], alloc(L, store(L, (0, 0), 1.0))))
    assert message == (
        "the target `opencl` needs a number for the size of `L` in local memory; it is (n, 2)\n"
        '    for tx in thread("threadIdx.x", 8):\n'
        "  attach stage L to an axis that was split by a number: then the part of L that is needed inside has a "
        "constant size"
    )


def test_what_a_pass_must_lower_first():
    A, W, L = buffer("A", (8,)), buffer("W", (8,), scope="warp"), buffer("L", (1,), scope="local")
    warp = refused(BuildError, lambda: in_a_kernel([A], alloc(W, store(W, 0, 1.0))))
    assert warp.startswith("the target `opencl` has no memory of scope `warp`, where `W` is")

    x, y = Var("x", "float32"), Var("y", "float32")
    total = Combiner("sum", (x,), (y,), (x + y,), (Const(0.0, "float32"),))

    def reduced(tx):
        return [alloc(L, AllReduce(total, (load(A, tx),), Const(True, "bool"), (L,), (tx,)))]

    assert "prints no cross-thread reduction: lower it first" in refused(BuildError, lambda: in_a_kernel([A], reduced))
    virtual = loop(Var("v"), 2, store(A, 0, 1.0), kind="vthread")
    assert "runs no virtual threads" in refused(BuildError, lambda: in_a_kernel([A], virtual))


def test_what_a_language_has_not():
    double = kernels.elementwise(8, "float64", lambda A, B, i: A[i])
    assert refused(BuildError, lambda: kernels.text(*double, "metal")).startswith("the target `metal` has no float64")
    barrier = refused(BuildError, lambda: in_a_kernel([], Barrier("warp")))
    assert barrier.startswith("the target `opencl` has no barrier of scope `warp`")
    assert in_a_kernel([], Barrier("warp"), target="cuda_c") == "__syncwarp();"
    packed = Evaluate(Call("my.function", (), "int32", "packed"))
    assert "cannot call the Python function `my.function`" in refused(BuildError, lambda: in_a_kernel([], packed))


def test_programs_that_are_no_kernels():
    A = te.placeholder((8,), name="A")
    C = te.compute((8,), lambda i: A[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    assert "no loop of it is bound" in refused(BuildError, lambda: kernels.text(s, [A, C]))
    fn = function([buffer("A", (8,))], NOP)
    assert "this program has none" in refused(BuildError, lambda: source(Program((fn,))))


def test_text_is_read_not_called():
    import tvmlab

    module = tvmlab.build(*kernels.two_kernels(), target="metal")
    assert module.source == kernels.text(*kernels.two_kernels(), "metal")
    data = np.zeros(30, "float32")
    assert refused(BuildError, lambda: module(data, data.copy())).startswith("metal is text: ")
    assert not tvmlab.runtime.enabled("metal")


@pytest.mark.parametrize("target", ["cuda_c", "metal"])
def test_a_module_of_text_can_be_pickled(target):
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    module = tvmlab.build(te.create_schedule(B.op).default(target), [A, B], target)
    assert pickle.loads(pickle.dumps(module)).source == module.source


@pytest.mark.parametrize("target", LANGUAGES)
@pytest.mark.parametrize("name", ["M_PI", "FLT_MAX", "INT_MAX", "INT64_MAX", "CLK_GLOBAL_MEM_FENCE", "__import__",
                                  "_Bool", "image2d_t", "read_only", "pipe", "unix", "half_sqrt"])  # fmt: skip
def test_names_that_are_macros_or_types_end_in_an_underscore(name, target):
    A = te.placeholder((8,), name=name)
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    text = tvmlab.build(te.create_schedule(B.op).default(target), [A, B], target).source
    assert f"{name}_[" in text and f"{name}[" not in text


@pytest.mark.parametrize("target", ["cuda_c", "opencl"])
def test_the_launch_of_a_checked_kernel_is_whole(target):
    A, I = te.placeholder((64,), name="A"), te.placeholder((100,), "int32", name="I")
    B = te.compute((100,), lambda i: A[I[i]], name="B")
    s = te.create_schedule(B.op)
    s[B].bind(B.op.axis[0], te.thread_axis("threadIdx.x"))
    with tvmlab.transform.PassContext(config={"tir.instrument_bound_checkers": True}):
        text = tvmlab.build(s, [A, I, B], target).source
    assert "main_B[(1, 1, 1), (100, 1, 1)](A, I, B, faults, A_size, I_size, B_size)" in text
    assert "// The last are for the checks: five ints" in text
    assert "for the checks" not in tvmlab.build(s, [A, I, B], target).source
