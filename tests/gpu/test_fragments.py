"""Fragments of tensor cores: CUDA C++ of them, what the lanes of a warp do instead elsewhere, what is refused."""

import numpy as np
import pytest

import tvmlab
from tests.kernels import body, text
from tvmlab import te
from tvmlab.core import fragments
from tvmlab.core.affine import Facts
from tvmlab.core.node import NOP, Barrier, Evaluate, For
from tvmlab.core.walk import rewrite, walk
from tvmlab.expr import wmma
from tvmlab.face.api import for_target
from tvmlab.kernels import matmul_f16
from tvmlab.lowering.blocks import Kernel
from tvmlab.runtime import gpu
from tvmlab.target import Target, interp
from tvmlab.target.gpu import limits

SHAPES = [*matmul_f16.SMALL, {"m": 64, "n": 64, "k": 64, "rows": 32, "columns": 64, "depth": 16}]


def there(target):
    if target in ("cuda", "opencl") and not gpu.listing(target).devices:
        pytest.skip(gpu.listing(target).why)


@pytest.mark.parametrize("target", ["interp", "cuda", "opencl"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "-".join(map(str, s.values())))
def test_the_matmul(target, shape):
    there(target)
    s, args = matmul_f16.gpu(**shape)
    check(s, args, target)


def check(s, args, target, total="float32"):
    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal([int(n) for n in t.shape]).astype(t.dtype) for t in args[:2])
    if "int" in args[0].dtype:
        a, b = (rng.integers(0, 100, x.shape).astype(x.dtype) for x in (a, b))
    c = np.full([int(n) for n in args[2].shape], 7, total)
    tvmlab.build(s, args, target)(a, b, c)
    near = 1e-4 if total != "float16" else 0.05
    np.testing.assert_allclose(c, a.astype(total) @ b.astype(total), rtol=1e-5, atol=near)


def product(
    shape=(16, 16, 16), dtype="float16", total="float32", sizes=(2, 2, 2), skew=8, lanes=32, layout=False,
    scope="shared", double=False, rows="blockIdx.y",
):  # fmt: skip
    """One warp to a tile of C; the sides in shared memory. `sizes`: how many tiles of m, n and k. `double`: two copies
    of the sides."""
    m, n, k = (x * y for x, y in zip(shape, sizes))
    A = te.placeholder((m, k), dtype, name="A")
    B = te.placeholder((n, k) if layout else (k, n), dtype, name="B")
    r = te.reduce_axis((0, k), name="r")
    right = (lambda j, r: B[j, r]) if layout else (lambda j, r: B[r, j])
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r].astype(total) * right(j, r).astype(total), axis=r), name="C")
    s = te.create_schedule(C.op)
    F = s.cache_write(C, "wmma.accumulator")
    SA, SB = (s.cache_read(t, scope, [F]) for t in (A, B))
    FA, FB = s.cache_read(SA, "wmma.matrix_a", [F]), s.cache_read(SB, "wmma.matrix_b", [F])
    load_a = wmma.load("load_a", "matrix_a", shape, dtype, scope)
    load_b = wmma.load("load_b", "matrix_b", shape, dtype, scope, transposed=layout)
    io, jo, ii, ji = s[C].tile(C.op.axis[0], C.op.axis[1], shape[0], shape[1])
    s[C].bind(io, te.thread_axis(rows))
    s[C].bind(jo, te.thread_axis("threadIdx.y"))
    s[C].tensorize(ii, wmma.store("store", shape, total))
    s[F].compute_at(s[C], jo)
    ro, ri = s[F].split(s[F].op.reduce_axis[0], factor=shape[2])
    s[F].reorder(ro, *s[F].op.axis, ri)
    s[F].tensorize(s[F].op.axis[0], wmma.mma("mma", shape, dtype, total, transposed=layout))
    for t, intrin in ((FA, load_a), (FB, load_b)):
        s[t].compute_at(s[F], ro)
        s[t].tensorize(s[t].op.axis[0], intrin)
    for t in (SA, SB):
        s[t].compute_at(s[F], ro)
        _, x = s[t].split(s[t].fuse(*s[t].op.axis), factor=lanes)
        s[t].bind(x, te.thread_axis("threadIdx.x"))
        if skew:
            s[t].storage_align(s[t].op.axis[0], 16, skew)
        if double:
            s[t].double_buffer()
    return s, [A, B, C]


CASES = [
    {},
    {"layout": True},
    {"shape": (32, 8, 16), "sizes": (2, 1, 2), "skew": 0},
    {"shape": (8, 32, 16)},
    {"total": "float16"},
    {"dtype": "uint8", "total": "int32", "sizes": (2, 1, 2), "skew": 0},
    {"dtype": "int8", "total": "int32", "skew": 0, "shape": (8, 32, 16)},
    {"lanes": 64},
    {"shape": (32, 8, 16), "sizes": (1, 2, 2), "layout": True},
    {"scope": "shared.dyn"},
    {"double": True, "sizes": (2, 2, 4)},
]
NAMES = [
    "plain", "transposed", "32x8", "8x32", "half sums", "uint8", "int8", "two warps along x", "32x8 transposed",
    "shared.dyn", "double buffered",
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=NAMES)
@pytest.mark.parametrize("target", ["interp", "opencl"])
def test_shapes_types_and_layouts(target, case):
    there(target)
    s, args = product(**case)
    if case.get("layout"):  # NumPy's product takes B the other way round
        rng = np.random.default_rng(2)
        a, b = (rng.standard_normal([int(n) for n in t.shape]).astype("float16") for t in args[:2])
        c = np.zeros([int(n) for n in args[2].shape], "float32")
        tvmlab.build(s, args, target)(a, b, c)
        np.testing.assert_allclose(c, a.astype("float32") @ b.T.astype("float32"), rtol=1e-5, atol=1e-4)
    else:
        check(s, args, target, case.get("total", "float32"))


@pytest.mark.parametrize("target", ["interp", "opencl", "cuda_c"])
def test_sides_in_shared_memory_that_the_launch_asks_for(target):
    there(target)
    s, args = product(scope="shared.dyn")
    if target == "cuda_c":
        assert "load_matrix_sync" in tvmlab.build(s, args, target).source
    else:
        check(s, args, target)


@pytest.mark.parametrize("target", ["interp", "opencl"])
def test_two_copies_of_rows_that_lie_apart_are_aligned_alike(target):
    there(target)
    s, args = product(sizes=(2, 2, 3), double=True)
    check(s, args, target)


@pytest.mark.parametrize("case", CASES, ids=NAMES)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
def test_nvrtc_takes_it(case, arch):
    pytest.importorskip("cuda.core")
    s, args = product(**case)
    used = tvmlab.resources(s, args, arch)
    assert "main_C" in str(used)


def test_the_text(golden):
    made = text(*product(), target="cuda_c")
    assert "#include <cuda_fp16.h>\n#include <mma.h>\n" in made
    golden(body(made))


def test_shared_memory_begins_where_tiles_may():
    """Of two arrays of 752 bytes, one of which begins behind the other: at a multiple of 32 bytes."""
    target = Target("cuda_c")
    fn = for_target(tvmlab.lower(*product()), target).functions[1]
    assert [at for _, at in limits.shared_layout(fn)] == [0, 768]


def test_the_loops_of_the_emulation(golden):
    golden(body(text(*product(), target="opencl")))


def test_the_emulation_is_named():
    s, args = product()
    for target in ("opencl", "metal", "cuda"):
        assert "o tensor cores here: the lanes of each warp do their work" in tvmlab.build(s, args, target).source
    assert "o tensor cores" not in tvmlab.build(s, args, "cuda_c").source


# ---------------------------------------------------------------- the intrinsics of classic scripts


def classic_load(scope):
    A = te.placeholder((16, 16), name="A", dtype="float16")
    BA = tvmlab.tir.decl_buffer(A.shape, A.dtype, scope="shared", data_alignment=32, offset_factor=256)
    C = te.compute((16, 16), lambda i, j: A[i, j], name="C")
    BC = tvmlab.tir.decl_buffer(C.shape, C.dtype, scope=scope, data_alignment=32, offset_factor=256)

    def intrin_func(ins, outs):
        ib = tvmlab.tir.ir_builder.create()
        BA, BC = ins[0], outs[0]
        args = BC.data, 16, 16, 16, BC.elem_offset // 256, BA.access_ptr("r"), 16, "row_major"
        ib.emit(tvmlab.tir.call_intrin("handle", "tir.tvm_load_matrix_sync", *args))
        return ib.get()

    return te.decl_tensor_intrin(C.op, intrin_func, binds={A: BA, C: BC})


def classic_gemm():
    A, B = (te.placeholder((16, 16), name=n, dtype="float16") for n in "AB")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((16, 16), lambda i, j: te.sum(A[i, k].astype("float") * B[k, j].astype("float"), axis=k), name="C")
    scopes = {A: "wmma.matrix_a", B: "wmma.matrix_b", C: "wmma.accumulator"}
    binds = {
        t: tvmlab.tir.decl_buffer(t.shape, t.dtype, name=t.name, scope=s, data_alignment=32, offset_factor=256)
        for t, s in scopes.items()
    }

    def intrin_func(ins, outs):
        BA, BB, BC = *ins, *outs

        def init():
            ib = tvmlab.tir.ir_builder.create()
            fill = "tir.tvm_fill_fragment", BC.data, 16, 16, 16, BC.elem_offset // 256, 0.0
            ib.emit(tvmlab.tir.call_intrin("handle", *fill))
            return ib.get()

        def update():
            ib = tvmlab.tir.ir_builder.create()
            tiles = [x for b in (BC, BA, BB, BC) for x in (b.data, b.elem_offset // 256)]
            ib.emit(tvmlab.tir.call_intrin("handle", "tir.tvm_mma_sync", *tiles))
            return ib.get()

        return update(), init(), update()

    return te.decl_tensor_intrin(C.op, intrin_func, binds=binds)


def classic_store():
    A = te.placeholder((16, 16), name="A", dtype="float32")
    BA = tvmlab.tir.decl_buffer(A.shape, A.dtype, scope="wmma.accumulator", data_alignment=32, offset_factor=256)
    C = te.compute((16, 16), lambda i, j: A[i, j], name="C")
    BC = tvmlab.tir.decl_buffer(C.shape, C.dtype, scope="global", data_alignment=32, offset_factor=256)

    def intrin_func(ins, outs):
        ib = tvmlab.tir.ir_builder.create()
        BA, BC = ins[0], outs[0]
        args = BA.data, 16, 16, 16, BA.elem_offset // 256, BC.access_ptr("w"), 16, "row_major"
        ib.emit(tvmlab.tir.call_intrin("handle", "tir.tvm_store_matrix_sync", *args))
        return ib.get()

    return te.decl_tensor_intrin(C.op, intrin_func, binds={A: BA, C: BC})


@pytest.mark.parametrize("target", ["interp", "opencl", "cuda_c"])
def test_a_blocked_product_with_the_intrinsics_of_the_tutorial(target):
    """Operands in tiles [io, jo, 16, 16], as the classic tensor-core convolution keeps them."""
    there(target)
    mo, no, ko = 4, 2, 3
    A = te.placeholder((mo, ko, 16, 16), "float16", name="A")
    B = te.placeholder((ko, no, 16, 16), "float16", name="B")
    k, kk = te.reduce_axis((0, ko), name="k"), te.reduce_axis((0, 16), name="kk")
    wide = lambda x: x.astype("float32")  # noqa: E731
    product_of = lambda i, j, a, b: te.sum(wide(A[i, k, a, kk]) * wide(B[k, j, kk, b]), axis=[k, kk])  # noqa: E731
    C = te.compute((mo, no, 16, 16), product_of, name="C")
    s = te.create_schedule(C.op)
    AS, BS = s.cache_read(A, "shared", [C]), s.cache_read(B, "shared", [C])
    AF, BF = s.cache_read(AS, "wmma.matrix_a", [C]), s.cache_read(BS, "wmma.matrix_b", [C])
    CF = s.cache_write(C, "wmma.accumulator")
    i, j, ii, jj = C.op.axis
    io, i = s[C].split(i, factor=2)
    s[C].reorder(io, j, i, ii, jj)
    s[C].bind(io, te.thread_axis("blockIdx.x"))
    s[C].bind(j, te.thread_axis("threadIdx.y"))
    s[CF].compute_at(s[C], j)
    i, j, ii, jj = CF.op.axis
    k, kk = CF.op.reduce_axis
    s[CF].reorder(k, i, j, ii, jj, kk)
    for F in (AF, BF):
        s[F].compute_at(s[CF], k)
    for S in (AS, BS):
        s[S].compute_at(s[CF], k)
        t, x = s[S].split(s[S].fuse(*s[S].op.axis), factor=32)
        s[S].bind(x, te.thread_axis("threadIdx.x"))
    s[AF].tensorize(AF.op.axis[-2], classic_load("wmma.matrix_a"))
    s[BF].tensorize(BF.op.axis[-2], classic_load("wmma.matrix_b"))
    s[C].tensorize(s[C].op.axis[2], classic_store())
    s[CF].tensorize(ii, classic_gemm())
    module = tvmlab.build(s, [A, B, C], target)
    if target == "cuda_c":
        assert module.source.count("mma_sync(") == 1
        return
    rng = np.random.default_rng(3)
    a, b = (rng.standard_normal([int(n) for n in t.shape]).astype("float16") for t in (A, B))
    c = np.zeros((mo, no, 16, 16), "float32")
    module(a, b, c)
    expected = np.einsum("ikab,kjbc->ijac", a.astype("float32"), b.astype("float32"))
    np.testing.assert_allclose(c, expected, rtol=1e-4, atol=1e-4)


# ---------------------------------------------------------------- barriers


def by_hand(drop=None):
    s, args = product()
    program = tvmlab.lower(s, args)
    barriers = [x for x in walk(program.body) if type(x) is Barrier]
    if drop is None:
        return program, args, barriers
    gone = barriers[drop]
    return program.map_bodies(lambda b: rewrite(b, lambda x: NOP if x is gone else None)), args, barriers


def test_each_barrier_is_needed():
    """Two fetches and what reads them: two barriers, and without either one a race."""
    _, args, barriers = by_hand()
    assert len(barriers) == 2
    arrays = [np.ones([int(n) for n in t.shape], t.dtype) for t in args]
    for k in range(2):
        program, *_ = by_hand(k)
        with pytest.raises(interp.InterpError) as e:
            interp.run(program, [x.copy() for x in arrays])
        assert e.value.rule in ("uninitialised-read", "thread-race"), e.value


@pytest.mark.parametrize("layout, ends", [(True, [7, 15]), (False, [15, 7])])
def test_the_elements_of_a_tile_in_memory(layout, ends):
    """Of the right side, 16 x 8: column-major it is 8 rows of 16."""
    s, args = product((32, 8, 16), sizes=(1, 1, 2), layout=layout, skew=0)
    program = tvmlab.lower(s, args)
    pointers = [x for x in walk(program.body) if fragments.is_call(x) and x.name == "load_matrix_sync"]
    kernel_ = next(x for x in walk(program.body) if type(x) is For)
    place = Kernel(kernel_, {b.data: b for b in program.entry.buffers}).start(Facts())
    (access,) = place.accesses(Evaluate(pointers[-1]), NOP, {pointers[-1].args[5].args[0]})
    r, c = (next(v for v in access.facts.ranges if v.name == n) for n in "rc")
    assert [access.facts.ranges[v][1].const for v in (r, c)] == ends
    assert [set(x.terms) & {r, c} for x in access.forms] == [{r}, {c}]


def test_tiles_of_an_output_need_none():
    """The warp stores tiles one after another, each in a place of its own: nothing waits."""
    s, args = matmul_f16.gpu(64, 64, 16, rows=64, columns=32)
    stores = [line.strip() for line in str(tvmlab.lower(s, args)).splitlines()]
    at = next(k for k, line in enumerate(stores) if line.startswith("store_matrix_sync"))
    assert "barrier" not in "".join(stores[at - 3 : at])
