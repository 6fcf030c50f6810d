"""Tensorize: the loops it makes, their results in the interpreter against NumPy, and what it refuses."""

import numpy as np
import pytest

from tests.intrins import blocked, gemv, ran, rows, text, tutorial
from tests.pure.passes.schedules import owed
from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core import packed
from tvmlab.core.error import ScheduleError
from tvmlab.core.node import Buffer
from tvmlab.face.api import create_schedule, lower


def elementwise(n, f, name="mul", dtype="float32", **options):
    """z[i] = f(x[i], y[i])"""
    x, y = te.placeholder((n,), dtype, name="x"), te.placeholder((n,), dtype, name="y")
    z = te.compute((n,), lambda i: f(x[i], y[i]), name="z")

    def fcompute(ins, outs):
        ib = tir.ir_builder.create()
        a, b, c = (ib.buffer_ptr(t) for t in (*ins, *outs))
        with ib.for_range(0, n, "e") as e:
            c[e] = f(a[e], b[e])
        return ib.get()

    return te.decl_tensor_intrin(z.op, fcompute, name=name, **options)


def block_product(n, m):
    """z[i, j] = x[i, j]*y[i, j]"""
    x, y = te.placeholder((n, m), name="x"), te.placeholder((n, m), name="y")
    z = te.compute((n, m), lambda i, j: x[i, j] * y[i, j], name="z")

    def fcompute(ins, outs):
        ib = tir.ir_builder.create()
        a, b, c = (ib.buffer_ptr(t) for t in (*ins, *outs))
        with ib.for_range(0, n, "p") as p, ib.for_range(0, m, "q") as q:
            c[p, q] = a[p, q] * b[p, q]
        return ib.get()

    return te.decl_tensor_intrin(z.op, fcompute, name="block")


def product_of(n=6, m=8, f=lambda x, y: x * y, dtype="float32"):
    A, B = te.placeholder((n, m), dtype, name="A"), te.placeholder((n, m), dtype, name="B")
    return A, B, te.compute((n, m), lambda i, j: f(A[i, j], B[i, j]), name="C")


def product_schedule(C, part=4):
    s = create_schedule(C.op)
    jo, ji = s[C].split(C.op.axis[1], part)
    return s, jo, ji


# ---------------------------------------------------------------- loops and results


@pytest.mark.parametrize("style", ["loops", "packed"])
@pytest.mark.parametrize(("parts", "k_part"), [("b", 8), ("iu", 8), ("biu", 8), ("biu", 4), ("iu", 4), ("bu", 4)])
def test_reduction_inside_and_outside(golden, style, parts, k_part):
    A, B, C = rows()
    s, at = blocked(C, 4, k_part)
    s[C].tensorize(at["ji"], gemv(4, k_part, parts, style))
    golden(text(s, [A, B, C]))
    a, b, c = ran(s, [A, B, C])
    assert (c == a @ b.T).all()


def test_the_initialisation_has_loops_of_its_own(golden):
    A, B, C = rows()
    s, at = blocked(C, 4, 4)
    s[C].reorder(at["ko"], at["jo"], at["i"])
    s[C].tensorize(at["ji"], gemv(4, 4, "iu"))
    golden(text(s, [A, B, C]))
    a, b, c = ran(s, [A, B, C])
    assert (c == a @ b.T).all()


def test_in_a_cache_with_a_cached_input(golden):
    A, B, C = rows()
    s = create_schedule(C.op)
    CC = s.cache_write(C, "global")
    AA = s.cache_read(A, "global", [CC])
    jo, ji = s[C].split(C.op.axis[1], 4)
    s[CC].compute_at(s[C], jo)
    i, j = s[CC].op.axis
    ko, ki = s[CC].split(s[CC].op.reduce_axis[0], 4)
    s[CC].reorder(ko, i, j, ki)
    s[AA].compute_at(s[CC], ko)
    s[CC].tensorize(j, gemv(4, 4, "bu", "packed"))
    golden(text(s, [A, B, C]))
    a, b, c = ran(s, [A, B, C])
    assert (c == a @ b.T).all()


def test_a_guard_outside_the_scope_stays(golden):
    A, B, C = rows(n=7)
    s, at = blocked(C, 4, 8)
    io, ii = s[C].split(at["i"], 3)
    s[C].tensorize(at["ji"], gemv(4, 8, "b"))
    golden(text(s, [A, B, C]))
    a, b, c = ran(s, [A, B, C])
    assert (c == a @ b.T).all()


def test_products_match_in_either_order():
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((8, 8), name="B")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((6, 8), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="C")
    s, at = blocked(C, 4, 8)
    s[C].tensorize(at["ji"], gemv(4, 8))
    a, b, c = ran(s, [A, B, C])
    assert (c == a @ b.T).all()


def test_one_tensor_may_be_several_inputs():
    A = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((8, 8), lambda i, j: te.sum(A[j, k] * A[i, k], axis=k), name="C")
    s, at = blocked(C, 4, 8)
    s[C].tensorize(at["ji"], gemv(4, 8))
    a, c = ran(s, [A, C])
    assert (c == a @ a.T).all()


def test_an_inlined_producer_is_part_of_the_computation():
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((6, 8), name="B")
    D = te.compute((6, 8), lambda i, j: A[i, j] + 1.0, name="D")
    C = te.compute((6, 8), lambda i, j: D[i, j] * B[i, j], name="C")
    s, jo, ji = product_schedule(C)
    s[D].compute_inline()
    s[C].tensorize(ji, elementwise(4, lambda x, y: (x + 1.0) * y))
    a, b, c = ran(s, [A, B, C])
    assert (c == (a + 1) * b).all()


def test_extents_of_one_may_stand_anywhere(golden):
    """A unit axis in the middle of the region (16566), and a column instead of a row."""
    A, B = te.placeholder((6, 1, 8), name="A"), te.placeholder((6, 1, 8), name="B")
    C = te.compute((6, 1, 8), lambda i, u, j: A[i, u, j] * B[i, u, j], name="C")
    s = create_schedule(C.op)
    i, u, j = C.op.axis
    io, ii = s[C].split(i, 2)
    s[C].reorder(io, j, ii, u)
    s[C].tensorize(ii, elementwise(2, lambda x, y: x * y))
    golden(text(s, [A, B, C]))
    a, b, c = ran(s, [A, B, C])
    assert (c == a * b).all()


@pytest.mark.parametrize("how", ["all", "fused inside", "fused outside", "fused and split", "own layout"])
def test_ways_to_a_block(golden, how):
    A, B, C = product_of(8, 8)
    D = te.compute((8, 8), lambda i, j: C[i, j] + 1.0, name="D")
    s = create_schedule(D.op)
    i, j = C.op.axis
    if how == "all":
        s[C].tensorize(i, block_product(8, 8))
    elif how == "fused and split":
        fo, fi = s[C].split(s[C].fuse(i, j), 4)
        s[C].tensorize(fi, block_product(1, 4))
    elif how == "own layout":
        jo, i, ji = s[C].transform_layout(lambda i, j: [j // 4, i, j % 4])
        io, ii = s[C].split(i, 2)
        s[C].tensorize(ii, block_product(2, 4))
    else:
        io, jo, ii, ji = s[C].tile(i, j, 2, 4)
        f = s[C].fuse(ii, ji) if how == "fused inside" else s[C].fuse(io, jo)
        s[C].tensorize(f if how == "fused inside" else ii, block_product(2, 4))
    golden(text(s, [A, B, D]))
    a, b, d = ran(s, [A, B, D])
    assert (d == a * b + 1).all()


def test_a_reduction_from_elsewhere_than_zero():
    A, X, k = te.placeholder((8, 16), name="A"), te.placeholder((16,), name="X"), te.reduce_axis((4, 12), name="k")
    C = te.compute((8,), lambda i: te.sum(A[i, k] * X[k], axis=k), name="C")
    s = create_schedule(C.op)
    io, ii = s[C].split(C.op.axis[0], 4)
    ko, ki = s[C].split(k, 4)
    s[C].reorder(io, ko, ii, ki)
    s[C].tensorize(ii, gemv(4, 4, "bu"))
    a, x, c = ran(s, [A, X, C])
    assert (c == a[:, 4:12] @ x[4:12]).all()


def test_two_stages_with_one_intrinsic_have_variables_of_their_own(golden):
    A, B, C = product_of()
    D = te.compute((6, 8), lambda i, j: C[i, j] * B[i, j], name="D")
    s = create_schedule(D.op)
    mul = elementwise(4, lambda x, y: x * y)
    for t in (C, D):
        jo, ji = s[t].split(t.op.axis[1], 4)
        s[t].tensorize(ji, mul)
    golden(text(s, [A, B, D]))
    a, b, d = ran(s, [A, B, D])
    assert (d == a * b * b).all()


def test_a_producer_outside_the_scope_covers_the_region(golden):
    A, B, C = product_of()
    D = te.compute((6, 8), lambda i, j: C[i, j] * B[i, j], name="D")
    s, jo, ji = product_schedule(D)
    s[C].compute_at(s[D], jo)
    s[D].tensorize(ji, elementwise(4, lambda x, y: x * y))
    golden(text(s, [A, B, D]))
    a, b, d = ran(s, [A, B, D])
    assert (d == a * b * b).all()


def test_several_outputs():
    x = te.placeholder((4,), "int32", name="x")
    y = te.compute((4,), lambda i: (x[i] + 1, x[i] * 2), name="y")

    def fcompute(ins, outs):
        ib = tir.ir_builder.create()
        a, b, c = (ib.buffer_ptr(t) for t in (*ins, *outs))
        with ib.for_range(0, 4, "e") as e:
            b[e], c[e] = a[e] + 1, a[e] * 2
        return ib.get()

    both = te.decl_tensor_intrin(y[0].op, fcompute, name="both")
    A = te.placeholder((6, 8), "int32", name="A")
    C = te.compute((6, 8), lambda i, j: (A[i, j] + 1, A[i, j] * 2), name="C")
    s = create_schedule(C[0].op)
    jo, ji = s[C[0]].split(C[0].op.axis[1], 4)
    s[C[0]].tensorize(ji, both)
    a, c0, c1 = ran(s, [A, *C], outputs=2)
    assert (c0 == a + 1).all() and (c1 == a * 2).all()


def test_symbolic_rows():
    n = te.var("n")
    A, B = te.placeholder((n, 8), name="A"), te.placeholder((n, 8), name="B")
    C = te.compute((n, 8), lambda i, j: A[i, j] * B[i, j], name="C")
    s, jo, ji = product_schedule(C)
    s[C].tensorize(ji, elementwise(4, lambda x, y: x * y))
    from tvmlab.face.api import build

    a, b, c = (np.arange(24, dtype="float32").reshape(3, 8) for _ in range(3))
    build(s, [A, B, C], "interp")(a, b, c)
    assert (c == a * b).all()


def test_a_dot_of_bytes():
    """Four int8 products into an int32, as dot-product instructions do it."""
    x, w = te.placeholder((4,), "int8", name="x"), te.placeholder((8, 4), "int8", name="w")
    k = te.reduce_axis((0, 4), name="k")
    y = te.compute((8,), lambda i: te.sum(x[k].astype("int32") * w[i, k].astype("int32"), axis=k), name="y")

    def fcompute(ins, outs):
        def part(start):
            ib = tir.ir_builder.create()
            a, b, c = (ib.buffer_ptr(t) for t in (*ins, *outs))
            with ib.for_range(0, 8, "r") as r:
                total = c[r] if not start else te.const(0, "int32")
                for q in range(4):
                    total = total + a[q].astype("int32") * b[r, q].astype("int32")
                c[r] = total
            return ib.get()

        ib = tir.ir_builder.create()
        c = ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8, "r") as r:
            c[r] = 0
        return part(True), ib.get(), part(False)

    dot = te.decl_tensor_intrin(y.op, fcompute, name="dot_8x4")
    A, W = te.placeholder((3, 16), "int8", name="A"), te.placeholder((24, 16), "int8", name="W")
    r = te.reduce_axis((0, 16), name="r")
    C = te.compute((3, 24), lambda i, j: te.sum(A[i, r].astype("int32") * W[j, r].astype("int32"), axis=r), name="C")
    s, at = blocked(C, 8, 4)
    s[C].tensorize(at["ji"], dot)
    a, w, c = ran(s, [A, W, C])
    assert (c == a.astype("int32") @ w.T.astype("int32")).all()


@pytest.mark.parametrize("part", [2, 4])
def test_a_transformed_layout_is_followed(part):
    """With parts of 2 the region is in two pieces: elements are found all the same."""
    A, B, C = product_of(8, 8)
    s = create_schedule(C.op)
    AA = s.cache_read(A, "global", [C])
    s[AA].transform_layout(lambda i, j: [j // part, i, j % part])
    jo, ji = s[C].split(C.op.axis[1], 4)
    s[C].tensorize(ji, elementwise(4, lambda x, y: x * y))
    a, b, c = ran(s, [A, B, C])
    assert (c == a * b).all()


def test_double_buffering_goes_through_addresses(golden):
    """Release after release skipped it where an intrinsic takes the address (2581)."""
    A, B, C = rows()
    s = create_schedule(C.op)
    AA = s.cache_read(A, "global", [C])
    i, j = C.op.axis
    jo, ji = s[C].split(j, 4)
    ko, ki = s[C].split(C.op.reduce_axis[0], 4)
    s[C].reorder(i, jo, ko, ji, ki)
    s[C].tensorize(ji, gemv(4, 4, "iu", "packed"))
    s[AA].compute_at(s[C], ko)
    s[AA].double_buffer()
    golden(text(s, [A, B, C]))
    a, b, c = ran(s, [A, B, C])
    assert (c == a @ b.T).all()


def test_the_classic_tutorial(golden):
    """As the loops read it: a reset, then updates, which read what they add to."""
    s, args, _ = tutorial()
    golden(text(s, args))


# ---------------------------------------------------------------- addresses


def copy_rows(out, src, n, m, src_stride, out_stride):
    """What a C function would do with two addresses."""
    out, src = np.asarray(out), np.asarray(src)
    for i in range(n):
        out[i * out_stride : i * out_stride + m] = src[i * src_stride : i * src_stride + m]


packed.register("test.copy_rows", copy_rows, override=True)


def copying(n, m, strides=True, factor=1, **options):
    """out[i, j] = src[i, j], through addresses. `strides`: the buffers are declared with strides."""
    x = te.placeholder((n, m), name="x")
    y = te.compute((n, m), lambda i, j: x[i, j], name="y")
    binds = {
        t: tir.decl_buffer(
            (n, m), name=name, offset_factor=factor, strides=[te.var(f"{name}_ld"), 1] if strides else None, **options
        )
        for t, name in ((x, "src"), (y, "out"))
    }

    def fcompute(ins, outs):
        lds = [b.strides[0] if strides else m for b in (*ins, *outs)]
        return tir.call_packed("test.copy_rows", outs[0].access_ptr("w"), ins[0].access_ptr("r"), n, m, *lds)

    return te.decl_tensor_intrin(y.op, fcompute, name="copy", binds=binds)


def tile_copy(intrin, shape=(6, 12), part=(2, 4)):
    A = te.placeholder(shape, name="A")
    C = te.compute(shape, lambda i, j: A[i, j], name="C")
    s = create_schedule(C.op)
    io, jo, ii, ji = s[C].tile(*C.op.axis, *part)
    s[C].tensorize(ii, intrin)
    return A, C, s, (io, jo, ii, ji)


def test_addresses_and_strides_of_tiles(golden):
    A, C, s, _ = tile_copy(copying(2, 4))
    golden(text(s, [A, C]))
    a, c = ran(s, [A, C])
    assert (c == a).all()


def test_addresses_inside_a_padded_and_a_shifted_cache(golden):
    """storage_align makes rows of 9; the cache starts at another row each time."""
    A = te.placeholder((6, 8), name="A")
    C = te.compute((4, 8), lambda i, j: A[i + 2, j], name="C")
    s = create_schedule(C.op)
    AA = s.cache_read(A, "global", [C])
    io, ii = s[C].split(C.op.axis[0], 2)
    s[AA].compute_at(s[C], io)
    s[AA].storage_align(s[AA].op.axis[0], 9, 0)
    jo, ji = s[C].split(C.op.axis[1], 4)
    s[C].reorder(io, jo, ii, ji)
    s[C].tensorize(ii, copying(2, 4))
    golden(text(s, [A, C]))
    a, c = ran(s, [A, C])
    assert (c == a[2:]).all()


def test_compact_buffers_take_rows_that_are_next_to_each_other():
    A, C, s, _ = tile_copy(copying(2, 12, strides=False), part=(2, 12))
    a, c = ran(s, [A, C])
    assert (c == a).all()


def test_a_buffer_without_an_offset_may_still_be_anywhere():
    """No offset is declared: the pointer is moved."""
    A, C, s, _ = tile_copy(copying(2, 12, strides=False, factor=0), part=(2, 12))
    a, c = ran(s, [A, C])
    assert (c == a).all()


def test_buffers_given_to_lower_are_followed():
    """binds= with an offset and strides of one's own."""
    A, C, s, _ = tile_copy(copying(2, 4))
    wide = Buffer("A", A.shape, strides=(te.const(16), te.const(1)), offset=te.const(3))
    program = lower(s, [A, C], binds={A: wide}, simple_mode=True)
    assert "access_ptr(A, io*32 + jo*4 + 3, 20, 1), 2, 4, 16, 12)" in str(program)


def test_views_of_packed_functions_have_shape_and_strides():
    seen = []

    def look(y, w, x):
        seen.append((np.asarray(w).shape, np.asarray(x).shape, np.asarray(w).strides))
        y[...] = 0

    packed.register("test.gemv", look, override=True)
    try:
        A, B, C = rows(n=1, m=4)
        s, at = blocked(C, 4, 8)
        s[C].tensorize(at["ji"], gemv(4, 8, "b", "packed"))
        ran(s, [A, B, C])
    finally:
        from tests.intrins import _gemv

        packed.register("test.gemv", _gemv, override=True)
    assert seen == [((4, 8), (8,), (32, 4))]


# ---------------------------------------------------------------- intrinsics called in te.compute


def test_calls_over_rows(golden):
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((6, 8), name="B")
    mul = elementwise(8, lambda x, y: x * y)
    C = te.compute((6, 8), lambda i: mul(A[i, 0:8], B[i, 0:8]), name="C")
    s = create_schedule(C.op)
    s[C].split(C.op.axis[0], 4)
    golden(text(s, [A, B, C]))
    a, b, c = ran(s, [A, B, C])
    assert (c == a * b).all()


@pytest.mark.parametrize("parts", ["biu", "bu"])
def test_calls_with_a_reduction(golden, parts):
    A, X = te.placeholder((24, 32), name="A"), te.placeholder((32,), name="X")
    g, k = gemv(4, 8, parts), te.reduce_axis((0, 4), name="k")
    D = te.compute((24, 32), lambda i, j: A[i, j] * 2.0, name="D")
    C = te.compute(
        (6, 4), lambda i: g(D[i * 4 : i * 4 + 4, k * 8 : k * 8 + 8], X[k * 8 : k * 8 + 8], reduce_axis=k), name="C"
    )
    s = create_schedule(C.op)
    io, ii = s[C].split(C.op.axis[0], 4)
    ko, ki = s[C].split(C.op.reduce_axis[0], 2)
    s[C].reorder(io, ko, ii, ki)
    s[D].compute_at(s[C], ii)
    golden(text(s, [A, X, C]))
    a, x, c = ran(s, [A, X, C])
    assert (c == (2 * a @ x).reshape(6, 4)).all()


def test_a_call_in_a_cache_and_inside_its_reader(golden):
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((6, 8), name="B")
    mul = elementwise(8, lambda x, y: x * y)
    C = te.compute((6, 8), lambda i: mul(A[i, 0:8], B[i, 0:8]), name="C")
    D = te.compute((6, 4), lambda i, j: C[i, j * 2] + 1.0, name="D")
    s = create_schedule(D.op)
    CC = s.cache_write(C, "global")
    s[C].compute_at(s[D], D.op.axis[0])
    s[CC].compute_at(s[D], D.op.axis[0])
    golden(text(s, [A, B, D]))
    a, b, d = ran(s, [A, B, D])
    assert (d == (a * b)[:, ::2] + 1).all()


def test_scalars_of_a_call():
    x, f = te.placeholder((8,), name="x"), te.var("f", "float32")
    z = te.compute((8,), lambda i: x[i] * f, name="z")

    def fcompute(ins, outs, scalars):
        ib = tir.ir_builder.create()
        a, c = (ib.buffer_ptr(t) for t in (*ins, *outs))
        with ib.for_range(0, 8, "e") as e:
            c[e] = a[e] * scalars[0]
        return ib.get()

    scale = te.decl_tensor_intrin(z.op, fcompute, name="scale", scalar_params=[f])
    A = te.placeholder((6, 8), name="A")
    C = te.compute((6, 8), lambda i: scale(A[i, 0:8], i.astype("float32") + 0.5), name="C")
    a, c = ran(create_schedule(C.op), [A, C])
    assert (c == a * (np.arange(6, dtype="float32") + 0.5)[:, None]).all()


# ---------------------------------------------------------------- refusals


def _mismatch(f, intrin=None):
    """A computation over B[8, 8] and A[6, 8], tensorized by a gemv of 4 rows."""
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((8, 8), name="B")
    k = te.reduce_axis((0, 8), name="k")
    E = te.compute((6, 8), lambda i, j: f(A, B, i, j, k), name="E")
    s = create_schedule(E.op)
    jo, ji = s[E].split(E.op.axis[1], 4)
    s[E].tensorize(ji, intrin or gemv(4, 8))
    return s, [A, B, E]


def _half(dtype="float16"):
    A, B = te.placeholder((6, 8), dtype, name="A"), te.placeholder((8, 8), dtype, name="B")
    k = te.reduce_axis((0, 8), name="k")
    C = te.compute((6, 8), lambda i, j: te.sum(B[j, k] * A[i, k], axis=k), name="C")
    s, at = blocked(C, 4, 8)
    s[C].tensorize(at["ji"], gemv(4, 8))
    return s, [A, B, C]


def _rows(loop="ji", j=4, k=8, m=8, intrin=None, then=None):
    A, B, C = rows(m=m)
    s, at = blocked(C, j, k)
    if then is not None:
        then(s, C, at)
    s[C].tensorize(at[loop], intrin or gemv(4, 8))
    return s, [A, B, C]


def _attached():
    A, B, C = rows()
    s = create_schedule(C.op)
    AA = s.cache_read(A, "global", [C])
    jo, ji = s[C].split(C.op.axis[1], 4)
    s[AA].compute_at(s[C], ji)
    s[C].tensorize(ji, gemv(4, 8))
    return s, [A, B, C]


def _tiles(intrin, **options):
    A, C, s, _ = tile_copy(intrin, **options)
    return s, [A, C]


def _scoped():
    A, B, C = product_of()
    s = create_schedule(C.op)
    CC = s.cache_write(C, "local")
    jo, ji = s[CC].split(s[CC].op.axis[1], 4)
    s[CC].tensorize(ji, elementwise(4, lambda x, y: x * y))
    return s, [A, B, C]


def _layout():
    A, C, s, (_, _, ii, _) = tile_copy(copying(2, 4))
    s = create_schedule(C.op)
    AA = s.cache_read(A, "global", [C])
    s[AA].transform_layout(lambda i, j: [j // 2, i, j % 2])
    io, jo, ii, ji = s[C].tile(*C.op.axis, 2, 4)
    s[C].tensorize(ii, copying(2, 4))
    return s, [A, C]


def _shared_stride():
    x = te.placeholder((2, 4), name="x")
    y = te.compute((2, 4), lambda i, j: x[i, j], name="y")
    ld = te.var("ld")
    binds = {t: tir.decl_buffer((2, 4), name=n, strides=[ld, 1]) for t, n in ((x, "src"), (y, "out"))}
    same = te.decl_tensor_intrin(
        y.op, lambda ins, outs: tir.call_packed("f", ins[0].access_ptr("r"), outs[0].access_ptr("w")), binds=binds
    )
    A = te.placeholder((6, 12), name="A")
    C = te.compute((6, 8), lambda i, j: A[i, j], name="C")
    s = create_schedule(C.op)
    io, jo, ii, ji = s[C].tile(*C.op.axis, 2, 4)
    s[C].tensorize(ii, same)
    return s, [A, C]


def _init_reads_an_input():
    w, x = te.placeholder((4, 4), name="w"), te.placeholder((4,), name="x")
    k = te.reduce_axis((0, 4), name="k")
    y = te.compute((4,), lambda i: te.sum(w[i, k] * x[k], axis=k), name="y")

    def fcompute(ins, outs):
        call = tir.call_packed("f", ins[0].access_ptr("r"), outs[0].access_ptr("w"))
        return call, call, call

    return _rows(k=4, intrin=te.decl_tensor_intrin(y.op, fcompute, name="odd"))


def _twice():
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((6, 8), name="B")
    mul = elementwise(8, lambda x, y: x * y)
    C = te.compute((6, 8), lambda i: mul(A[i, 0:8], B[i, 0:8]), name="C")
    s = create_schedule(C.op)
    s[C].tensorize(C.op.axis[0], mul)
    return s, [A, B, C]


def _square():
    """The intrinsic reads one input twice, the computation two tensors."""
    x = te.placeholder((4,), name="x")
    z = te.compute((4,), lambda i: x[i] * x[i], name="z")
    square = te.decl_tensor_intrin(
        z.op, lambda ins, outs: tir.call_packed("f", ins[0].access_ptr("r"), outs[0].access_ptr("w")), name="square"
    )
    A, B, C = product_of()
    s, jo, ji = product_schedule(C)
    s[C].tensorize(ji, square)
    return s, [A, B, C]


def _gather():
    A, B = te.placeholder((6, 8), name="A"), te.placeholder((6, 8), "int32", name="B")
    C = te.compute((6, 8), lambda i, j: A[i, B[i, j]] * A[i, j], name="C")
    s, jo, ji = product_schedule(C)
    s[C].tensorize(ji, elementwise(4, lambda x, y: x * y))
    return s, [A, B, C]


def _vthread(s, C, at):
    s[C].bind(at["ki"], te.thread_axis("threadIdx.x"))


def _cross(s, C, at):
    s[C].bind(at["ko"], te.thread_axis("threadIdx.x"))


REFUSED = {
    "wrong_data_axes": lambda: _rows(intrin=gemv(8, 8)),
    "wrong_reduction_axes": lambda: _rows(intrin=gemv(4, 4)),
    "more_axes_than_declared": lambda: _rows(loop="i", intrin=gemv(8, 8)),
    "guard_inside": lambda: _rows(m=10),
    "outer_part_inside": lambda: _rows(
        loop="jo", intrin=gemv(2, 8), then=lambda s, C, at: s[C].reorder(at["ji"], at["jo"])
    ),
    "other_operator": lambda: _mismatch(lambda A, B, i, j, k: te.sum(B[j, k] + A[i, k], axis=k)),
    "other_combiner": lambda: _mismatch(lambda A, B, i, j, k: te.max(B[j, k] * A[i, k], axis=k)),
    "other_index": lambda: _mismatch(lambda A, B, i, j, k: te.sum(B[j, k] * A[i, 7 - k], axis=k)),
    "transposed": lambda: _mismatch(lambda A, B, i, j, k: te.sum(B[k, j] * A[i, k], axis=k)),
    "more_reads": lambda: _mismatch(lambda A, B, i, j, k: te.sum(B[j, k] * A[i, k] * A[i, 0], axis=k)),
    "condition": lambda: _mismatch(lambda A, B, i, j, k: te.sum(B[j, k] * A[i, k], axis=k, where=k < 3)),
    "no_reduction": lambda: _mismatch(lambda A, B, i, j, k: B[j, j] * A[i, j]),
    "gather": _gather,
    "one_input_for_two": _square,
    "dtype_of_the_output": _half,
    "no_update": lambda: _rows(k=4, intrin=gemv(4, 4, "b")),
    "no_start": lambda: _rows(k=4, intrin=gemv(4, 4, "u")),
    "no_body": lambda: _rows(intrin=gemv(4, 8, "u")),
    "init_reads_an_input": _init_reads_an_input,
    "thread_inside": lambda: _rows(then=_vthread),
    "cross_thread_outside": lambda: _rows(k=4, intrin=gemv(4, 4), then=_cross),
    "tensorized_twice": lambda: _rows(then=lambda s, C, at: s[C].tensorize(at["ki"], gemv(4, 8))),
    "tensorized_call": _twice,
    "attached_inside": _attached,
    "compact_but_strided": lambda: _tiles(copying(2, 4, strides=False)),
    "offset_factor": lambda: _tiles(copying(2, 4, factor=8)),
    "alignment": lambda: _tiles(copying(2, 4, data_alignment=256)),
    "stride_of_two_sizes": _shared_stride,
    "scope": _scoped,
    "no_strides_in_the_layout": _layout,
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    s, args = REFUSED[case]()
    golden(refused(ScheduleError, lambda: owed(s, args)))


def test_an_integer_input_of_another_type_is_named():
    A, B, C = product_of(dtype="int32")
    D = te.compute((6, 8), lambda i, j: A[i, j].astype("float32") * B[i, j].astype("float32"), name="D")
    s, jo, ji = product_schedule(D)
    s[D].tensorize(ji, elementwise(4, lambda x, y: x * y))
    assert refused(ScheduleError, lambda: owed(s, [A, B, D])) == (
        "cannot tensorize `ji` in stage D with mul: input x is declared as float32, A is int32"
    )
