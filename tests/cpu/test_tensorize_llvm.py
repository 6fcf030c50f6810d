"""Tensorized programs compiled: loops, Python functions, C functions, LLVM IR brought along."""

import os
import stat

import numpy as np
import pytest

from tests.intrins import arrays, blocked, gemv, ran, rows, tutorial
from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core.error import BuildError
from tvmlab.face.api import build, create_schedule

GEMV_IR = """
define i32 @gemv_update(ptr %c, ptr %a, ptr %b, i32 %m, i32 %l, i32 %ld) {
entry:
  br label %row
row:
  %i = phi i32 [0, %entry], [%i1, %done]
  %pc = getelementptr float, ptr %c, i32 %i
  %off = mul i32 %i, %ld
  br label %col
col:
  %k = phi i32 [0, %row], [%k1, %col]
  %pa = getelementptr float, ptr %a, i32 %k
  %kk = add i32 %off, %k
  %pb = getelementptr float, ptr %b, i32 %kk
  %x = load float, ptr %pa
  %y = load float, ptr %pb
  %z = load float, ptr %pc
  %p = fmul float %x, %y
  %q = fadd float %z, %p
  store float %q, ptr %pc
  %k1 = add i32 %k, 1
  %more = icmp slt i32 %k1, %l
  br i1 %more, label %col, label %done
done:
  %i1 = add i32 %i, 1
  %again = icmp slt i32 %i1, %m
  br i1 %again, label %row, label %out
out:
  ret i32 0
}
define i32 @gemv_reset(ptr %c, i32 %m) {
  %n = mul i32 %m, 4
  %w = sext i32 %n to i64
  call void @llvm.memset.p0.i64(ptr %c, i8 0, i64 %w, i1 false)
  ret i32 0
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def test_the_tutorial_with_llvm_ir():
    s, args, x = tutorial()
    s[args[-1]].pragma(x, "import_llvm", GEMV_IR)
    a, b, c = ran(s, args, "llvm")
    assert (c == a @ b.T).all()


def test_a_missing_c_function_is_named_with_its_call():
    s, args, _ = tutorial()
    assert refused(BuildError, lambda: build(s, args, "llvm")) == (
        "`main` calls the C function `gemv_reset`, which no library of this process defines\n"
        "    extern('gemv_reset', access_ptr(C, i*48 + yo*16, 16, 2), 16)\n"
        "  load the library that has it first:  llvmlite.binding.load_library_permanently(path)\n"
        '  or bring its code along:  s[stage].pragma(axis, "import_llvm", text)'
    )


def test_llvm_ir_that_is_none():
    s, args, x = tutorial()
    s[args[-1]].pragma(x, "import_llvm", "define nonsense\n")
    text = refused(BuildError, lambda: build(s, args, "llvm"))
    assert text.startswith("LLVM ") and "refused the imported LLVM IR\n    LLVM IR parsing error" in text


def test_an_import_without_a_text():
    s, args, x = tutorial()
    s[args[-1]].pragma(x, "import_llvm", 3)
    assert refused(BuildError, lambda: build(s, args, "llvm")) == "import_llvm takes LLVM IR as a text, not 3"


def test_c_needs_clang(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    s, args, x = tutorial()
    s[args[-1]].pragma(x, "import_c", "int gemv_reset(float *c, int m);")
    assert refused(BuildError, lambda: build(s, args, "llvm")) == (
        "the pragma import_c needs clang to make LLVM IR of the C code, and there is no clang on this machine\n"
        "  legal here:  pragma import_llvm with LLVM IR, a body built with tir.ir_builder, "
        "call_packed of a Python function"
    )


@pytest.mark.skipif(os.name != "posix", reason="the stand-in for clang is a shell script")
def test_c_goes_through_clang(monkeypatch, tmp_path):
    """A stand-in that knows one C text."""
    clang, ir = tmp_path / "clang", tmp_path / "gemv.ll"
    ir.write_text(GEMV_IR)
    clang.write_text(f'#!/bin/sh\nif /bin/grep -q broken; then echo "no C" >&2; exit 1; fi\n/bin/cat {ir}\n')
    clang.chmod(clang.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", str(tmp_path))
    s, args, x = tutorial()
    s[args[-1]].pragma(x, "import_c", "int gemv_reset(float *c, int m);")
    a, b, c = ran(s, args, "llvm")
    assert (c == a @ b.T).all()
    s, args, x = tutorial()
    s[args[-1]].pragma(x, "import_c", "broken")
    assert refused(BuildError, lambda: build(s, args, "llvm")) == (
        "clang refused the C code of the pragma import_c\n    no C"
    )


@pytest.mark.parametrize(("parts", "k_part"), [("b", 8), ("biu", 4), ("bu", 4)])
def test_loops_on_numba(parts, k_part):
    A, B, C = rows()
    s, at = blocked(C, 4, k_part)
    s[C].tensorize(at["ji"], gemv(4, k_part, parts))
    a, b, c = ran(s, [A, B, C], "numba")
    assert (c == a @ b.T).all()


def test_clang_of_contrib(monkeypatch, tmp_path):
    from tvmlab.contrib import clang

    monkeypatch.setenv("PATH", str(tmp_path))
    assert clang.find_clang(required=False) == []
    assert refused(BuildError, lambda: clang.create_llvm("int f() { return 0; }\n")) == (
        "cannot find clang, which makes LLVM IR of C code\n"
        "  legal here:  LLVM IR written by hand, a body built with tir.ir_builder, call_packed of a Python function"
    )
    stand_in = tmp_path / "clang"
    stand_in.write_text('#!/bin/sh\nwhile [ "$1" != "-o" ]; do shift; done\necho "; $4" > "$2"\n')
    stand_in.chmod(stand_in.stat().st_mode | stat.S_IXUSR)
    assert clang.create_llvm("a.c", options=["-march=native"]) == "; a.c\n"


@pytest.mark.parametrize("style", ["loops", "packed"])
@pytest.mark.parametrize(("parts", "k_part"), [("b", 8), ("biu", 4), ("bu", 4)])
def test_reductions(style, parts, k_part):
    A, B, C = rows()
    s, at = blocked(C, 4, k_part)
    s[C].tensorize(at["ji"], gemv(4, k_part, parts, style))
    a, b, c = ran(s, [A, B, C], "llvm")
    assert (c == a @ b.T).all()


def test_in_a_cache_with_vectors_around():
    A, B, C = rows(16, 32, 64)
    D = te.compute((16, 32), lambda i, j: C[i, j] * 2.0, name="D")
    s = create_schedule(D.op)
    jo, ji = s[D].split(D.op.axis[1], 8)
    s[D].vectorize(ji)
    s[D].parallel(D.op.axis[0])
    s[C].compute_at(s[D], jo)
    i, j = C.op.axis
    ko, ki = s[C].split(C.op.reduce_axis[0], 16)
    s[C].reorder(i, ko, j, ki)
    s[C].tensorize(j, gemv(8, 16, "iu"))
    a, b, d = ran(s, [A, B, D], "llvm")
    assert (d == 2 * a @ b.T).all()


def test_addresses_for_c():
    """memcpy sees nothing but addresses: rows of tiles of a cache with padded rows."""
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i], name="y")

    def fcompute(ins, outs):
        size = te.const(16, "int64")
        return tir.call_extern("handle", "memcpy", outs[0].access_ptr("w"), ins[0].access_ptr("r"), size)

    row = te.decl_tensor_intrin(y.op, fcompute, name="row")
    A = te.placeholder((6, 8), name="A")
    C = te.compute((5, 8), lambda i, j: A[i + 1, j], name="C")
    s = create_schedule(C.op)
    AA = s.cache_read(A, "global", [C])
    s[AA].compute_at(s[C], C.op.axis[0])
    s[AA].storage_align(s[AA].op.axis[0], 16, 3)
    jo, ji = s[C].split(C.op.axis[1], 4)
    s[C].tensorize(ji, row)
    a, c = ran(s, [A, C], "llvm")
    assert (c == a[1:]).all()


def test_the_handle_alone_is_the_first_element():
    """`ins[0].data` as C would write it: where the region starts."""
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: x[i], name="y")
    row = te.decl_tensor_intrin(
        y.op,
        lambda ins, outs: tir.call_extern("handle", "memcpy", outs[0].data, ins[0].data, te.const(16, "int64")),
        name="row",
    )
    A = te.placeholder((6, 8), name="A")
    C = te.compute((6, 8), lambda i, j: A[i, j], name="C")
    s = create_schedule(C.op)
    jo, ji = s[C].split(C.op.axis[1], 4)
    s[C].tensorize(ji, row)
    a, c = ran(s, [A, C], "llvm")
    assert (c == a).all()


def test_calls_in_te_compute():
    A, X = te.placeholder((24, 32), name="A"), te.placeholder((32,), name="X")
    g, k = gemv(4, 8), te.reduce_axis((0, 4), name="k")
    C = te.compute(
        (6, 4), lambda i: g(A[i * 4 : i * 4 + 4, k * 8 : k * 8 + 8], X[k * 8 : k * 8 + 8], reduce_axis=k), name="C"
    )
    s = create_schedule(C.op)
    s[C].parallel(C.op.axis[0])
    a, x, c = ran(s, [A, X, C], "llvm")
    assert (c == (a @ x).reshape(6, 4)).all()


def test_symbolic_shapes():
    n = te.var("n")
    A, B = te.placeholder((n, 8), name="A"), te.placeholder((8, 8), name="B")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((n, 8), lambda i, j: te.sum(B[j, k] * A[i, k], axis=k), name="C")
    s, at = blocked(C, 4, 4)
    s[C].tensorize(at["ji"], gemv(4, 4, style="packed"))
    f = build(s, [A, B, C], "llvm")
    for rows_ in (1, 5):
        a, b = np.arange(rows_ * 8, dtype="float32").reshape(rows_, 8), np.eye(8, dtype="float32") * 2
        c = np.full((rows_, 8), 77, "float32")
        f(a, b, c)
        assert (c == a @ b.T).all()


def test_both_targets_agree_on_bytes():
    A, B, C = rows()
    s, at = blocked(C, 4, 8)
    s[C].tensorize(at["ji"], gemv(4, 8))
    first, second = arrays([A, B, C]), arrays([A, B, C])
    build(s, [A, B, C], "llvm")(*first)
    build(s, [A, B, C], "interp")(*second)
    assert first[-1].tobytes() == second[-1].tobytes()
