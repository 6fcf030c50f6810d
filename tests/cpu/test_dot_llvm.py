"""Dot products of bytes on `llvm`: exact with the instruction and without it, the CPU asked, misuse refused."""

import dataclasses
import re

import numpy as np
import pytest

from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core.error import BuildError
from tvmlab.face.api import build, create_schedule, lower
from tvmlab.kernels import matmul_int8
from tvmlab.target import Target
from tvmlab.target.llvm import jit

X86 = "x86_64-unknown-linux-gnu"
ARM = "aarch64-unknown-linux-gnu"
HERE = jit.host_triple().startswith("x86_64")
EXTREMES = {  # uint8 and int8 values; sums of two products of the first do not fit 16 bits
    "least": (255, -128),
    "largest": (255, 127),
    "random": None,
}


def values(kind, shape, dtype, seed):
    low, high = (0, 256) if dtype == "uint8" else (-128, 128)
    found = EXTREMES[kind]
    if found is None:
        return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)
    return np.full(shape, found[0] if dtype == "uint8" else found[1], dtype)


def rows(m=3, n=32, k=8, lanes=16, part=4, a="uint8", b="int8", intrin=""):
    """C[i, j] = sum(A[i, r]*W[j, r]), whose inner 16 x 4 are the intrinsic's; the schedule and its arguments."""
    A, W = te.placeholder((m, k), a, name="A"), te.placeholder((n, k), b, name="W")
    r = te.reduce_axis((0, k), name="r")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r].astype("int32") * W[j, r].astype("int32"), axis=r), name="C")
    s = create_schedule(C.op)
    i, j = C.op.axis
    jo, ji = s[C].split(j, lanes)
    ro, ri = s[C].split(r, part)
    s[C].reorder(i, jo, ro, ji, ri)
    s[C].tensorize(ji, te.get_intrin(intrin or f"dot_{lanes}x4_u8s8"))
    return s, [A, W, C]


def bare(n, left="uint8", right="int8", shared=False):
    """C = dot4(C0, A, B) of n lanes, as one statement. `shared`: four bytes of A meet every lane."""
    A, B = te.placeholder((4 if shared else 4 * n,), left, name="A"), te.placeholder((4 * n,), right, name="B")
    C0 = te.placeholder((n,), "int32", name="C0")
    of = lambda dtype, count: dtype if count == 1 else f"{dtype}x{count}"

    def body(ins, outs):
        total = ins[2].vload([0], of("int32", n))
        a, b = ins[0].vload([0], of(left, ins[0].shape[0].value)), ins[1].vload([0], of(right, 4 * n))
        return outs[0].vstore([0], te.dot4(total, a, b))

    C = te.extern((n,), [A, B, C0], body, dtype="int32", name="C")
    return create_schedule(C.op), [A, B, C0, C]


def assembly(made, **target):
    s, args = made
    return build(s, args, Target("llvm", **target)).asm


def in_whole_numbers(c0, a, b):
    """The sums, wrapped as int32 wraps."""
    fours = a.astype("int64").reshape(-1, 4) * b.astype("int64").reshape(-1, 4)
    return (c0 + fours.sum(axis=1)).astype("int32")


# ---------------------------------------------------------------- exact


@pytest.mark.parametrize("target", ["llvm", "interp", "numba"])
@pytest.mark.parametrize("kind", EXTREMES)
def test_a_tensorized_product_is_exact(target, kind):
    s, args = rows(3, 32, 24)
    a, w = values(kind, (3, 24), "uint8", 1), values(kind, (32, 24), "int8", 2)
    c = np.full((3, 32), 7, "int32")
    build(s, args, target)(a, w, c)
    assert (c == a.astype("int64") @ w.T.astype("int64")).all()


FALLBACKS = ["x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"]
NATIVE = [None] + [cpu for cpu in FALLBACKS if HERE and not jit.lacking(cpu)]


@pytest.mark.parametrize("signs", [("uint8", "int8"), ("int8", "uint8"), ("int8", "int8"), ("uint8", "uint8")])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 8, 12, 16, 32, 48])
@pytest.mark.parametrize("shared", [False, True])
def test_the_instruction_and_the_widened_code_give_the_same_bits(signs, n, shared):
    """Sums that wrap too: it is int32 arithmetic, without saturation anywhere."""
    a = values("random", 4 if shared else 4 * n, signs[0], 3)
    b = values("random", 4 * n, signs[1], 4)
    a[:2], b[:2] = np.iinfo(signs[0]).max, np.iinfo(signs[1]).min or np.iinfo(signs[1]).max
    c0 = np.random.default_rng(5).integers(-(2**31), 2**31, n).astype("int32")
    c0[0] = -(2**31) if b[0] < 0 else 2**31 - 1
    expected = in_whole_numbers(c0, np.tile(a, n) if shared else a, b)
    s, args = bare(n, *signs, shared)
    for target in ("interp", *(Target("llvm", cpu=cpu or "") for cpu in NATIVE)):
        c = np.zeros(n, "int32")
        build(s, args, target)(a, b, c0, c)
        assert c.tobytes() == expected.tobytes(), target


def test_a_byte_product_in_a_vectorized_loop():
    """Only the sums are of the loop: the four bytes of either side meet all of them."""
    A, B, X = (te.placeholder((n,), d, name=x) for n, d, x in ((4, "uint8", "A"), (4, "int8", "B"), (8, "int32", "X")))

    def body(ins, outs):
        a, b = tir.Var("a", "uint8x4"), tir.Var("b", "int8x4")
        ib = tir.ir_builder.create()
        with ib.for_range(0, 8, "i", kind="vectorize") as i:
            ib.emit(outs[0].vstore([i], te.dot4(ins[2].vload([i]), a, b)))
        inner = tir.LetStmt(b, ins[1].vload([0], "int8x4"), ib.get())
        return tir.LetStmt(a, ins[0].vload([0], "uint8x4"), inner)

    Y = te.extern((8,), [A, B, X], body, dtype="int32", name="Y")
    a, b, x = values("random", 4, "uint8", 1), values("random", 4, "int8", 2), np.arange(8, dtype="int32")
    s, args = create_schedule(Y.op), [A, B, X, Y]
    assert "dot4(X[0:8], a, b)" in str(lower(s, args))
    for target in ("llvm", "interp", "numba"):
        y = np.zeros(8, "int32")
        build(s, args, target)(a, b, x, y)
        assert (y == x + in_whole_numbers(0, a, b)).all(), target


# ---------------------------------------------------------------- the CPU is asked


@pytest.mark.parametrize(
    "lanes, target, register",
    [
        (16, {"cpu": "cascadelake"}, "zmm"),
        (16, {"cpu": "x86-64-v4", "features": "+avx512vnni"}, "zmm"),
        (8, {"cpu": "cascadelake"}, "ymm"),
        (8, {"cpu": "x86-64-v3", "features": "+avxvnni"}, "ymm"),
        (16, {"cpu": "alderlake"}, "ymm"),
    ],
)
def test_the_instruction_is_there_where_the_cpu_has_it(lanes, target, register):
    text = assembly(rows(lanes=lanes), triple=X86, **target)
    found = re.findall(r"vpdpbusd\s.*%(\wmm)\d+$", text, re.MULTILINE)
    assert found and set(found) == {register}
    assert "vpmadd" not in text


@pytest.mark.parametrize("cpu", [*FALLBACKS, "skylake-avx512"])
def test_nothing_of_it_where_the_cpu_has_not(cpu):
    text = assembly(rows(), triple=X86, cpu=cpu)
    assert "vpdp" not in text and "pmaddwd" in text
    assert "pmaddubsw" not in text  # it saturates


def test_the_host_is_asked():
    has = jit.host_features()
    text = assembly(rows())
    assert ("vpdpbusd" in text) == bool(HERE and (has.get("avx512vnni") or has.get("avxvnni")))


@pytest.mark.skipif(not HERE, reason="the instruction of x86-64")
@pytest.mark.parametrize("n", [8, 16, 32])
def test_older_versions_of_llvm_take_the_bytes_as_words(monkeypatch, n):
    older = dataclasses.replace(jit.machine(jit.settings(Target("llvm"))), major=21)
    monkeypatch.setattr(jit, "machine", lambda made: older)
    s, args = bare(n)
    a, b = values("random", 4 * n, "uint8", 1), values("random", 4 * n, "int8", 2)
    c0, c = np.arange(n, dtype="int32"), np.zeros(n, "int32")
    module = build(s, args, "llvm")
    module(a, b, c0, c)
    assert (c == in_whole_numbers(c0, a, b)).all()
    if older.dots():
        assert re.search(
            r"call <\d+ x i32> @llvm.x86.avx512.vpdpbusd.\d+\(<\d+ x i32> %\w+, <\d+ x i32>", module.source
        )


@pytest.mark.parametrize("signs, word", [("us", "usdot"), ("ss", "sdot"), ("uu", "udot")])
def test_on_another_machine(signs, word):
    a, b = ({"u": "uint8", "s": "int8"}[s] for s in signs)
    pattern = re.compile(rf"\t{word}\tv\d+\.4s")
    for features, found in (("", 0), ("+dotprod", 4 * (signs != "us")), ("+dotprod,+i8mm", 4)):
        text = assembly(bare(16, a, b), triple=ARM, features=features)
        assert len(pattern.findall(text)) == found, features


# ---------------------------------------------------------------- refused


def test_signed_times_signed_is_not_what_it_declares():
    s, args = rows(a="int8")
    assert refused(BuildError, lambda: build(s, args, "llvm")) == (
        "this schedule is not complete\n"
        "    cannot tensorize `ji` in stage C with dot_16x4_u8s8: input x is declared as uint8, A is int8"
    )


def test_a_loop_of_three():
    s, args = rows(k=6, part=3)
    assert refused(BuildError, lambda: build(s, args, "llvm")) == (
        "this schedule is not complete\n"
        "    cannot tensorize `ji` in stage C with dot_16x4_u8s8: the reduction loops inside do not have the extents "
        "that it declares\n"
        "        declared  k (4)\n"
        "        found     r (3)\n"
        "        differs   r has extent 3, k is declared with 4\n"
        "      split so that the parts inside have these extents, and reorder them into this order"
    )


def test_columns_that_sixteen_does_not_divide():
    s, args = rows(n=20)
    assert refused(BuildError, lambda: build(s, args, "llvm")) == (
        "this schedule is not complete\n"
        "    cannot tensorize `ji` in stage C with dot_16x4_u8s8: not every iteration inside is one of the stage's, "
        "and an intrinsic does all of them\n"
        "        guard     jo*16 + ji < 20\n"
        "        uses      `ji`, which is inside\n"
        "      split by a factor that divides the extent, or pad the computation"
    )


def test_tiles_of_amx_are_refused_by_name():
    A = te.placeholder((16, 64), "int8", name="A")
    B = te.compute((16, 64), lambda i, j: A[i, j], name="B")
    C = te.compute((16, 64), lambda i, j: B[i, j] + B[i, j], name="C")
    s = create_schedule(C.op)
    s[B].set_scope("amx.tmm")
    for target in ("llvm", Target("llvm", triple=X86, cpu="sapphirerapids")):
        assert refused(BuildError, lambda t=target: build(s, [A, C], t)) == (
            "`B` is in the scope amx.tmm: the target llvm has no code for the tiles of AMX\n"
            "  legal here:  global, local\n"
            '  byte products on vectors: s[stage].tensorize(axis, te.get_intrin("dot_16x4_u8s8"))'
        )


# ---------------------------------------------------------------- the gallery's product


SHAPES = [*matmul_int8.SMALL, {"m": 12, "n": 64, "k": 64}, {"m": 23, "n": 150, "k": 70}, {"m": 7, "n": 16, "k": 1}]


@pytest.mark.parametrize("target", ["llvm", "interp"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(map(str, s.values())))
@pytest.mark.parametrize("kind", ["least", "random"])
def test_the_product(target, shape, kind):
    a = values(kind, (shape["m"], shape["k"]), "uint8", 1)
    b = values(kind, (shape["k"], shape["n"]), "int8", 2)
    s, args = matmul_int8.cpu(**shape)
    c = np.full((shape["m"], shape["n"]), 7, "int32")
    build(s, args, target)(a, b, c)
    assert (c == a.astype("int64") @ b.astype("int64")).all()


@pytest.mark.parametrize("cpu", NATIVE)
def test_the_product_of_eight_lanes(cpu):
    a, b = values("random", (13, 21), "uint8", 1), values("random", (21, 45), "int8", 2)
    s, args = matmul_int8.cpu(13, 45, 21, vectors=2, lanes=8)
    c = np.full((13, 45), 7, "int32")
    build(s, args, Target("llvm", cpu=cpu or ""))(a, b, c)
    assert (c == a.astype("int64") @ b.astype("int64")).all()


@pytest.mark.parametrize("cpu, tile, count", [("cascadelake", {}, 24), ("alderlake", {"vectors": 2, "lanes": 8}, 12)])
def test_the_tile_of_the_product_stays_in_registers(cpu, tile, count):
    """Between its instructions nothing is written to memory."""
    text = assembly(matmul_int8.cpu(12, 128, 64, **tile), triple=X86, cpu=cpu)
    lines = text.splitlines()
    where = [i for i, line in enumerate(lines) if "vpdpbusd" in line]
    assert len(where) == count
    assert not [line for line in lines[where[0] : where[-1]] if re.search(r"vmov\w+\s+%\wmm\d+, .*\(", line)]
