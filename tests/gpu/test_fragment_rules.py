"""The rules of fragments: what a GPU would do wrong without a word is refused."""

import numpy as np
import pytest

import tvmlab
from tests.gpu.test_fragments import product
from tvmlab.core import fragments
from tvmlab.core.build import const, to_expr
from tvmlab.core.error import LabError
from tvmlab.core.node import Alloc, Buffer, Call, Const, Evaluate, For, If, Load, Store, Var
from tvmlab.core.program import Function, Program
from tvmlab.core.walk import seq
from tvmlab.face.api import for_target
from tvmlab.lowering import effects, passes
from tvmlab.lowering.config import DEFAULT
from tvmlab.target import Target, interp


def fragment(name, role="accumulator", size=256, dtype="float32"):
    return Buffer(name, (const(size),), dtype, scope=f"wmma.{role}")


def call(name, *args):
    given = tuple(a.data if isinstance(a, Buffer) else to_expr(a) for a in args)
    return Evaluate(Call(name, given, "handle", "intrin"))


def kernel(body, *allocs, threads=32, params=()):
    for b in reversed(allocs):
        body = Alloc(b, body)
    x = Var("tx")
    body = For(x, const(0), const(threads), "thread", body(x) if callable(body) else body, "threadIdx.x")
    return Program((Function("main", tuple(params), body),))


C = Buffer("C", (const(1024),), "float32")
PTR = lambda b, at=0: Call("access_ptr", (b.data, to_expr(at), const(256), const(2)), "handle", "intrin")  # noqa: E731
LAYOUT = Const("row_major", "handle")
F = fragment("F")
FILL = call("fill_fragment", F, 16, 16, 16, 0, const(0.0, "float32"))


def stored(at=0, stride=16, tile=0, layout=LAYOUT, f=F, memory=C):
    return call("store_matrix_sync", f, 16, 16, 16, tile, PTR(memory, at), stride, layout)


LAYOUTS = [Const(x, "handle") for x in fragments.LAYOUTS]
A, B = fragment("A", "matrix_a", dtype="float16"), fragment("B", "matrix_b", dtype="float16")
MEMORY = Buffer("X", (const(256),), "float16"), Buffer("Y", (const(256),), "float16")


def loaded(f, memory, shape=(16, 16, 16), layout=LAYOUT):
    return call("load_matrix_sync", f, *shape, 0, PTR(memory), 16, layout)


def under(cond):
    return lambda x: Alloc(F, seq(FILL, If(cond(x), stored())))


def test_effects_are_those_of_the_call():
    op = lambda name, *a: call(name, *a).value  # noqa: E731
    a, b = fragment("A", "matrix_a"), fragment("B", "matrix_b")
    mma = op("mma_sync", F, 0, a, 0, b, 0, F, 0)
    assert effects.written(mma) == [F.data] and effects.read(mma) == [a.data, b.data, F.data]
    assert effects.read(FILL.value) == []
    assert effects.written(stored().value) == [C.data] and effects.read(stored().value) == [F.data]


REFUSED = {
    "fragment-warp": lambda: kernel(seq(FILL, stored()), F, threads=31, params=(C,)),
    "fragment-divergent": lambda: kernel(under(lambda x: x < 16), params=(C,)),
    "fragment-index": lambda: kernel(seq(FILL, stored(tile=1)), F, params=(C,)),
    "fragment-bounds": lambda: kernel(seq(FILL, stored(at=784)), F, params=(C,)),
    "fragment-bounds ": lambda: kernel(seq(FILL, stored(stride=8)), F, params=(C,)),
    "fragment-divergent ": lambda: kernel(
        lambda x: Alloc(F, seq(FILL, For(Var("y"), const(0), const(16), "thread", stored(), "threadIdx.x"))),
        params=(C,),
    ),
    "fragment-bounds  ": lambda: kernel(seq(FILL, stored(at=-16)), F, params=(C,)),
    "fragment-alignment": lambda: kernel(seq(FILL, stored(at=4)), F, params=(C,)),
    "fragment-alignment ": lambda: kernel(seq(FILL, stored(stride=18)), F, params=(C,)),
    "fragment-shape": lambda: kernel(call("fill_fragment", F, 8, 8, 8, 0, const(0.0, "float32")), F, params=(C,)),
    "fragment-layout": lambda: kernel(seq(FILL, stored(layout=Const("diagonal", "handle"))), F, params=(C,)),
    "fragment-scope": lambda: kernel(seq(FILL, stored(f=fragment("G"))), F, params=(C,)),
    "fragment-size": lambda: kernel(
        call("fill_fragment", s := fragment("S", size=100), 16, 16, 16, 0, const(0.0, "float32")), s, params=(C,)
    ),
    "fragment-element": lambda: kernel(
        seq(FILL, Store(C, (const(0),), Load(F, (const(3),), "float32"))), F, params=(C,)
    ),
    "fragment-arguments": lambda: kernel(call("fill_fragment", F, 16, 16, 16, 0), F, params=(C,)),
    "fragment-pointer": lambda: kernel(
        seq(FILL, call("store_matrix_sync", F, 16, 16, 16, 0, C, 16, LAYOUT)), F, params=(C,)
    ),
    "fragment-twice": lambda: kernel(
        seq(FILL, call("fill_fragment", F, 32, 8, 16, 0, const(0.0, "float32"))), F, params=(C,)
    ),
    "fragment-twice ": lambda: kernel(
        seq(*[loaded(A, MEMORY[0], layout=x) for x in LAYOUTS]), A, params=(MEMORY[0],)
    ),
    "fragment-twice  ": lambda: kernel(
        seq(FILL, loaded(A, MEMORY[0]), loaded(B, MEMORY[1], (32, 8, 16)), call("mma_sync", F, 0, A, 0, B, 0, F, 0)),
        F, A, B, params=MEMORY,
    ),
    "fragment-role": lambda: kernel(
        seq(
            call("load_matrix_sync", a := fragment("A", "matrix_a"), 16, 16, 16, 0, PTR(C), 16, LAYOUT), stored(f=a)
        ), a, params=(C,),
    ),  # fmt: skip
    "fragment-dtype ": lambda: kernel(
        call("fill_fragment", d := fragment("D", dtype="float64"), 16, 16, 16, 0, const(0.0, "float64")), d, params=(C,)
    ),
    "fragment-dtype  ": lambda: kernel(
        call("load_matrix_sync", a := fragment("A", "matrix_a"), 16, 16, 16, 0, PTR(C), 16, LAYOUT), a, params=(C,)
    ),
    "fragment-dtype": lambda: products(fragment("A", "matrix_a"), fragment("B", "matrix_b")),
}


def products(a, b):
    loads = [call("load_matrix_sync", x, 16, 16, 16, 0, PTR(C), 16, LAYOUT) for x in (a, b)]
    return kernel(seq(FILL, *loads, call("mma_sync", F, 0, a, 0, b, 0, F, 0)), F, a, b, params=(C,))


@pytest.mark.parametrize("rule", REFUSED)
@pytest.mark.parametrize("name", ["infer_fragment", "emulate_fragments"])
def test_what_a_gpu_would_do_wrong_is_refused(rule, name):
    program = passes.get("flatten_storage")(REFUSED[rule](), DEFAULT)
    with pytest.raises(LabError) as e:
        passes.get(name)(program, DEFAULT)
    assert e.value.rule == rule.strip()


def test_lanes_may_differ_in_whole_warps():
    """Two warps along x, each with a tile of its own: `tx // 32` is one number in a warp, `tx // 16` is two."""
    for by, refused in ((32, False), (16, True)):
        body = lambda x, by=by: Alloc(F, seq(FILL, stored(at=x // by * 256)))  # noqa: E731
        program = passes.get("flatten_storage")(kernel(body, threads=64, params=(C,)), DEFAULT)
        if refused:
            with pytest.raises(LabError, match="may differ between the lanes"):
                passes.get("infer_fragment")(program, DEFAULT)
        else:
            assert passes.get("infer_fragment")(program, DEFAULT) is not program


def test_a_condition_of_a_whole_warp_is_fine():
    program = passes.get("flatten_storage")(kernel(under(lambda x: x // 32 < 1), threads=64, params=(C,)), DEFAULT)
    passes.get("infer_fragment")(program, DEFAULT)


def test_a_product_into_another_accumulator():
    """d = a x b + c, where d is not c, and c is what memory holds, by rows or by columns."""
    d, z = fragment("D"), Buffer("Z", (const(256),), "float32")
    rng = np.random.default_rng(4)
    x, y = (rng.standard_normal((16, 16)).astype("float16") for _ in "xy")
    start = rng.standard_normal((16, 16)).astype("float32")
    for layout, c in zip(LAYOUTS, (start, start.T)):
        loads = loaded(A, MEMORY[0]), loaded(B, MEMORY[1]), loaded(F, z, layout=layout)
        made = kernel(
            seq(*loads, call("mma_sync", d, 0, A, 0, B, 0, F, 0), stored(f=d)), F, d, A, B, params=(*MEMORY, z, C)
        )
        out = np.zeros(1024, "float32")
        interp.run(made, [x.reshape(-1), y.reshape(-1), start.reshape(-1), out])
        expected = x.astype("float32") @ y.astype("float32") + c
        np.testing.assert_allclose(out[:256].reshape(16, 16), expected, rtol=1e-5, atol=1e-5)
        target = Target("cuda_c")
        source = target.kind.source(for_target(made, target), target)
        assert f"load_matrix_sync(F[0], Z, 16, nvcuda::wmma::mem_{layout.value});" in source


MASK, OWN = Buffer("M", (const(64),), "int32"), Buffer("L", (const(1),), "int32", scope="local")


@pytest.mark.parametrize("cond, refused", [
    (lambda x: Load(MASK, (const(3),), "int32") > 0, False),
    (lambda x: Load(MASK, (x // 32,), "int32") > 0, False),
    (lambda x: Load(MASK, (x,), "int32") > 0, True),
    (lambda x: Load(OWN, (const(0),), "int32") > 0, True),
    (lambda x: Call("mine", (const(1),), "int32", "extern") > 0, True),
])  # fmt: skip
def test_a_condition_that_memory_decides(cond, refused):
    """One place of memory is the same for all lanes, as where blocks of a side are left out; a thread's own is not."""
    made = kernel(lambda x: Alloc(OWN, under(cond)(x)), threads=64, params=(MASK, C))
    program = passes.get("flatten_storage")(made, DEFAULT)
    for name in ("infer_fragment", "emulate_fragments"):
        if refused:
            with pytest.raises(LabError, match="not all lanes of a warp reach this call"):
                passes.get(name)(program, DEFAULT)
        else:
            passes.get(name)(program, DEFAULT)


def test_a_call_outside_of_the_kernels_is_refused():
    """Also where there are kernels with fragments beside it."""
    other = fragment("G")
    beside = kernel(seq(FILL, stored()), F, params=(C,))
    outside = call("fill_fragment", other, 16, 16, 16, 0, const(0.0, "float32"))
    program = passes.get("flatten_storage")(beside.map_bodies(lambda b: Alloc(other, seq(b, outside))), DEFAULT)
    for name in ("infer_fragment", "emulate_fragments"):
        with pytest.raises(LabError, match=r"fill_fragment\(G, .*stands outside of every thread loop"):
            passes.get(name)(program, DEFAULT)


def test_virtual_threads_have_no_copies_of_a_fragment():
    with pytest.raises(LabError) as e:
        tvmlab.build(*product(rows="vthread"), "cuda_c")
    said = str(e.value)
    assert "needs copies of C_wmma_accumulator, a fragment of tensor cores" in said
    assert "bind that axis to blockIdx or threadIdx" in said and "access_ptr" not in said


def test_the_cpu_says_so():
    s, args = product()
    with pytest.raises(LabError):
        tvmlab.build(s, args, "llvm")
