"""Byte products: the function, the intrinsics that are there under names, declared vectors over several rows."""

import pickle

import numpy as np
import pytest

from tests.intrins import text
from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core.error import ExpressionError
from tvmlab.core.intrin import FunctionTypeError
from tvmlab.core.node import Var
from tvmlab.core.walk import same
from tvmlab.face.api import build, create_schedule, lower
from tvmlab.kernels import matmul_int8
from tvmlab.lowering import pipeline


def var(dtype):
    return Var("v", dtype)


def test_the_function():
    made = te.dot4(var("int32x16"), var("uint8x4"), var("int8x64"))
    assert made.dtype == "int32x16" and made.kind == "pure"
    c, a, b = var("int32"), var("uint8x4"), var("int8x4")
    assert same(tir.call_intrin("int32", "tir.dot4", c, a, b), te.dot4(c, a, b))


@pytest.mark.parametrize(
    "dtypes, legal",
    [
        (("int32", "uint8x4", "int8x8"), "int32, uint8x4, int8x4"),
        (("int32x16", "uint8x8", "int8x64"), "int32x16, uint8x4, int8x64"),
        (("int32x16", "uint8x4", "int16x64"), "int32x16, uint8x4, int8x64"),
        (("int16x16", "uint8x4", "int8x64"), "int32x16, uint8x4, int8x64"),
    ],
)
def test_types_that_it_does_not_work_on(dtypes, legal):
    assert refused(FunctionTypeError, lambda: te.dot4(*map(var, dtypes))) == (
        "dot4(c, a, b) adds products of bytes, four for each lane, to int32: it does not work on "
        f"{', '.join(dtypes)}\n  legal here:  {legal}"
    )


def test_intrinsics_that_are_there():
    for name in ("dot_16x4_u8s8", "dot_8x4_u8s8", "interleave_4x16", "interleave_4x8"):
        assert te.get_intrin(name).name == name
    assert (
        refused(ExpressionError, lambda: te.get_intrin("dot_16x4"))
        .splitlines()[1]
        .startswith("  legal here:  dot_16x4_u8s8")
    )


def test_they_are_offered_for_sums_of_their_type():
    s, args = product(tensorized=False)
    C = args[-1]
    offered = [m.text for m, verdict in s.moves(C, s[C].leaf_iter_vars[3]) if m.primitive == "tensorize" and verdict]
    assert offered == ['s[C].tensorize(ji, te.get_intrin("dot_16x4_u8s8"))']


def test_code_and_saved_schedules_name_them():
    s, args = product()
    line = s.to_code().splitlines()[-1]
    assert line == 's[C].tensorize(ji, te.get_intrin("dot_16x4_u8s8"))'
    again = pickle.loads(pickle.dumps(s))
    (mark,) = [m.intrin for stage in again.state.in_order for m in stage.marks.values() if m.kind == "tensorized"]
    assert mark is te.get_intrin("dot_16x4_u8s8")


# ---------------------------------------------------------------- declared vectors over several rows


def product(layout=None, n=32, k=8, tensorized=True):
    """C[i, j] = sum(A[i, r]*W[j, r]); W through a cache with that layout."""
    A, W = te.placeholder((3, k), "uint8", name="A"), te.placeholder((n, k), "int8", name="W")
    r = te.reduce_axis((0, k), name="r")
    C = te.compute((3, n), lambda i, j: te.sum(A[i, r].astype("int32") * W[j, r].astype("int32"), axis=r), name="C")
    s = create_schedule(C.op)
    if layout is not None:
        WW = s.cache_read(W, "global", [C])
        s[WW].transform_layout(layout)
    i, j = C.op.axis
    jo, ji = s[C].split(j, 16)
    ro, ri = s[C].split(r, 4)
    s[C].reorder(i, jo, ro, ji, ri)
    if tensorized:
        s[C].tensorize(ji, te.get_intrin("dot_16x4_u8s8"))
    return s, [A, W, C]


LAYOUTS = {
    "rows as they lie": None,
    "packed": lambda j, r: [j // 16, r // 4, j % 16, r % 4],
    "packed in one dimension": lambda j, r: [j // 16, r // 4, j % 16 * 4 + r % 4],
    "transposed": lambda j, r: [r, j],
}


@pytest.mark.parametrize("how", LAYOUTS)
def test_a_vector_over_all_rows_of_a_region(golden, how):
    s, args = product(LAYOUTS[how])
    golden(text(s, args))
    if how.startswith("packed"):
        flat = str(pipeline.run(lower(s, args), pipeline.FLAT))
        assert "WW[jo*128 + ro*64:jo*128 + ro*64 + 64]".replace("WW", "W_global") in flat
    rng = np.random.default_rng(1)
    a, w = rng.integers(0, 256, (3, 8)).astype("uint8"), rng.integers(-128, 128, (32, 8)).astype("int8")
    c = np.full((3, 32), 7, "int32")
    build(s, args, "interp")(a, w, c)
    assert (c == a.astype("int64") @ w.T.astype("int64")).all()


def test_a_vector_over_all_of_three_dimensions():
    """Lane t is element [t//6, t//2%3, t%2]."""
    x = te.placeholder((2, 3, 2), "int32", name="x")
    y = te.compute((2, 3, 2), lambda a, b, c: x[a, b, c] + 1, name="y")
    more = te.decl_tensor_intrin(
        y.op, lambda ins, outs: outs[0].vstore([0, 0, 0], ins[0].vload([0, 0, 0], "int32x12") + te.const(1, "int32x12"))
    )
    X = te.placeholder((4, 6, 4), "int32", name="X")
    Y = te.compute((4, 6, 4), lambda a, b, c: X[a, b, c] + 1, name="Y")
    s = create_schedule(Y.op)
    (ao, ai), (bo, bi), (co, ci) = (s[Y].split(axis, n) for axis, n in zip(Y.op.axis, (2, 3, 2)))
    s[Y].reorder(ao, bo, co, ai, bi, ci)
    s[Y].tensorize(ai, more)
    x = np.arange(96, dtype="int32").reshape(4, 6, 4)
    y = np.zeros_like(x)
    build(s, [X, Y], "interp")(x, y)
    assert (y == x + 1).all()


def test_a_store_over_several_rows():
    """interleave_4x16 writes 16 rows of 4 at once."""
    X = te.placeholder((8, 32), "int8", name="X")
    Y = te.compute((2, 2, 16, 4), lambda jo, ko, j, k: X[ko * 4 + k, jo * 16 + j], name="Y")
    s = create_schedule(Y.op)
    s[Y].tensorize(Y.op.axis[2], te.get_intrin("interleave_4x16"))
    x = np.arange(-128, 128, dtype="int8").reshape(8, 32)
    y = np.zeros((2, 2, 16, 4), "int8")
    build(s, [X, Y], "interp")(x, y)
    assert (y == x.reshape(2, 4, 2, 16).transpose(2, 0, 3, 1)).all()


def test_the_loops_of_the_gallery_s_product(golden):
    s, args = matmul_int8.cpu(m=12, n=128, k=8)
    golden(str(lower(s, args, simple_mode=True)))
