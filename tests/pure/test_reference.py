"""The NumPy that an expression is checked against: the gallery's own references, and forms that it has not."""

import numpy as np
import pytest

from tvmlab import kernels, te, tir
from tvmlab.face.handle import create_schedule
from tvmlab.face.oracle import flops, operations
from tvmlab.face.reference import Plan, Unsupported

CASES = [(name, shape) for name in kernels.names() for shape in kernels.get(name).SMALL[:3]]
NO_NUMPY = {"scatter", "cumsum", "cumprod", "bitwise_not"}  # externs, and a function of bits


def results(outputs, arrays, wide, sizes=None):
    s = create_schedule([t.op for t in outputs])
    plan = Plan(operations(s.trace), sizes or {}, wide)
    made = plan(arrays)
    for t in outputs:
        assert made[t].dtype == t.dtype
    return [made[t] for t in outputs], plan


@pytest.mark.parametrize("name, shape", CASES, ids=[f"{n}-{i}" for i, (n, _) in enumerate(CASES)])
def test_equals_the_gallery(name, shape):
    kernel = kernels.get(name)
    args = kernel.declare(**shape)
    ins = [a for a in args if isinstance(a.op, te.PlaceholderOp)]
    rng = np.random.default_rng(1)
    arrays = [
        (rng.integers(-9, 10, [int(n.value) for n in a.shape]) / 4).astype(a.dtype) if a.dtype.startswith("float")
        else rng.integers(0, 2 if a.dtype == "bool" else 9, [int(n.value) for n in a.shape]).astype(a.dtype)
        for a in ins
    ]  # fmt: skip
    expected = kernel.reference(*[a.copy() for a in arrays], **shape)
    expected = expected if isinstance(expected, (tuple, list)) else [expected]
    for wide in (True, False):
        try:
            found, _ = results(args[len(ins) :], dict(zip(ins, arrays)), wide)
        except Unsupported:
            assert name in NO_NUMPY or shape.get("op") in NO_NUMPY
            return
        for got, want in zip(found, expected):
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)


def matmul(n=6, m=5, k=7, dtype="float32"):
    a, b = te.placeholder((n, k), dtype, name="A"), te.placeholder((k, m), dtype, name="B")
    r = te.reduce_axis((0, k), name="k")
    return a, b, te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")


def test_a_matmul_is_numpys_matmul():
    a, b, c = matmul()
    x, y = np.random.rand(6, 7).astype("float32"), np.random.rand(7, 5).astype("float32")
    (found,), plan = results([c], {a: x, b: y}, False)
    assert plan.natural and plan.name == "NumPy (matmul)"
    np.testing.assert_allclose(found, x @ y, rtol=1e-6)


def test_whole_numbers_wrap_as_in_programs():
    a, b, c = matmul(dtype="int8")
    x, y = np.full((6, 7), 100, "int8"), np.full((7, 5), 100, "int8")
    (found,), _ = results([c], {a: x, b: y}, True)
    assert (found == np.array(70000).astype("int8")).all()


def test_a_window_that_moves_backwards_and_strides():
    a = te.placeholder((20,), name="A")
    r = te.reduce_axis((0, 3), name="r")
    c = te.compute((6,), lambda i: te.sum(a[18 - 3 * i + r - 1], axis=r), name="C")
    x = np.arange(20, dtype="float32")
    (found,), _ = results([c], {a: x}, True)
    np.testing.assert_array_equal(found, [sum(x[18 - 3 * i + r - 1] for r in range(3)) for i in range(6)])


def test_reductions_with_a_condition_a_start_and_of_ones_own():
    a = te.placeholder((4, 9), name="A")
    x = np.random.default_rng(0).uniform(-1, 1, (4, 9)).astype("float32")
    r = te.reduce_axis((0, 9), name="r")
    some = te.compute((4,), lambda i: te.sum(a[i, r], axis=r, where=r < i + 2), name="some")
    (found,), _ = results([some], {a: x}, True)
    np.testing.assert_allclose(found, [x[i, : i + 2].sum() for i in range(4)], rtol=1e-6)
    q = te.reduce_axis((0, 9), name="q")
    started = te.compute((4,), lambda i: te.max(a[i, q], axis=q, init=0.5), name="started")
    (found,), _ = results([started], {a: x}, True)
    np.testing.assert_array_equal(found, np.maximum(x.max(axis=1), np.float32(0.5)))
    argmax = te.comm_reducer(
        lambda p, v: (tir.Select(p[1] >= v[1], p[0], v[0]), tir.Select(p[1] >= v[1], p[1], v[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)), name="argmax",
    )  # fmt: skip
    k = te.reduce_axis((0, 9), name="k")
    where, value = te.compute((4,), lambda i: argmax((k.var, a[i, k]), axis=k), name="best")
    (at, best), plan = results([where, value], {a: x}, True)
    np.testing.assert_array_equal(at, x.argmax(axis=1))
    np.testing.assert_array_equal(best, x.max(axis=1))
    assert not plan.natural  # nobody writes it so in NumPy: it is no baseline


def test_sizes_that_are_variables():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] + n, name="B")
    (found,), _ = results([b], {a: np.zeros(5, "float32")}, True, {n: 5})
    np.testing.assert_array_equal(found, np.full(5, 5))
    with pytest.raises(Unsupported, match="n"):
        results([b], {a: np.zeros(5, "float32")}, True)


def test_arithmetic_is_counted_from_the_expression():
    _, _, c = matmul()
    assert flops(operations(create_schedule(c.op).trace), {}) == 2 * 6 * 5 * 7
    a = te.placeholder((10,), name="A")
    b = te.compute((10,), lambda i: te.exp(a[i]) * 2 + tir.if_then_else(a[i] < 1, a[i], 0), name="B")
    assert flops(operations(create_schedule(b.op).trace), {}) == 10 * 3


def test_wide_sums_are_made_in_double_precision():
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1, (3, 40_000)).astype("float32")
    exact = np.einsum("ik,jk->ij", x.astype("float64"), x.astype("float64")).astype("float32")
    a = te.placeholder(x.shape, name="A")
    r, q = te.reduce_axis((0, 40_000), name="r"), te.reduce_axis((0, 40_000), name="q")
    product = te.compute((3, 3), lambda i, j: te.sum(a[i, r] * a[j, r], axis=r), name="P")
    total = te.compute((3,), lambda i: te.sum(a[i, q], axis=q), name="T")
    (p, t), _ = results([product, total], {a: x}, True)
    np.testing.assert_array_equal(p, exact)
    np.testing.assert_array_equal(t, x.astype("float64").sum(axis=1).astype("float32"))
