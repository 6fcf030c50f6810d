"""Scans, extern statements and functions, from the expression to numbers, through the reference interpreter."""

import numpy as np
import pytest

from tvmlab import te, tir
from tvmlab.core import packed
from tvmlab.face.api import build, lower

rng = np.random.default_rng(0)


def run(outputs, args, *arrays):
    """The arrays after the program ran, on the interpreter."""
    module = build(te.create_schedule([t.op for t in outputs]), args, "interp")
    module(*arrays)
    return arrays


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_a_scan_of_symbolic_length(rows):
    n, m = te.var("n"), te.var("m")
    X, state = te.placeholder((n, m), name="X"), te.placeholder((n, m), name="s")
    init = te.compute((1, m), lambda _, i: X[0, i], name="init")
    update = te.compute((n, m), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    r = te.scan(init, update, state, inputs=[X])
    x = rng.random((rows, 5), np.float32)
    *_, y = run([r], [X, r], x, np.zeros_like(x))
    np.testing.assert_allclose(y, np.cumsum(x, 0), rtol=1e-6)


def fibonacci_like():
    """Two states that read each other."""
    n = te.var("n")
    sa, sb = te.placeholder((n, 3), name="sa"), te.placeholder((n,), name="sb")
    X = te.placeholder((n, 3), name="X")
    inits = [te.compute((1, 3), lambda _, i: X[0, i], name="ia"), te.compute((1,), lambda _: 1.0, name="ib")]
    half = te.compute((n, 3), lambda t, i: sa[t - 1, i] * 0.5 + sb[t - 1], name="half")  # a cell of two stages
    ua = te.compute((n, 3), lambda t, i: half[t, i] + X[t, i], name="ua")
    ub = te.compute((n,), lambda t: sa[t - 1, 0] - sb[t - 1], name="ub")
    return X, te.scan(inits, [ua, ub], [sa, sb], inputs=[X])


def test_two_states_and_a_cell_of_two_stages_with_a_reader():
    X, (a, b) = fibonacci_like()
    Z = te.compute(a.shape, lambda i, j: a[i, j] + b[i], name="Z")
    x = rng.random((6, 3), np.float32)
    ra, rb = np.zeros((6, 3), np.float32), np.zeros(6, np.float32)
    ra[0], rb[0] = x[0], 1
    for t in range(1, 6):
        ra[t], rb[t] = ra[t - 1] * 0.5 + rb[t - 1] + x[t], ra[t - 1, 0] - rb[t - 1]
    *_, z = run([Z], [X, Z], x, np.zeros_like(x))
    np.testing.assert_allclose(z, ra + rb[:, None], rtol=1e-5)


def running_sums(ins, outs):
    ib = tir.ir_builder.create()
    a, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
    total = ib.allocate("float32", (1,), "total", scope="local")
    with ib.for_range(0, 4, "i") as i:
        total[0] = 0
        with ib.for_range(0, 8, "j") as j:
            total[0] += a[i, j]
            with ib.if_scope(te.all(j > 2, a[i, j] > 0.5)):
                c[i * 8 + j] = total[0]
            with ib.else_scope():
                c[i, j] = 0
    return ib.get()


def test_an_extern_statement_between_computes(golden):
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] * 2.0, name="B")
    E = te.extern((4, 8), [B], running_sums, name="E")
    F = te.compute((4, 8), lambda i, j: E[i, j] + 1.0, name="F")
    a = rng.random((4, 8), np.float32)
    *_, f = run([F], [A, F], a, np.zeros_like(a))
    expected = np.where((np.arange(8) > 2) & (2 * a > 0.5), np.cumsum(2 * a, 1), 0) + 1
    np.testing.assert_allclose(f, expected, rtol=1e-5)
    assert str(lower(te.create_schedule(F.op), [A, F], simple_mode=True)) == golden


def test_vectors_and_two_outputs():
    A = te.placeholder((4, 8), name="A")

    def body(ins, outs):
        ib = tir.ir_builder.create()
        count = ib.buffer_ptr(outs[1])
        with ib.for_range(0, 4, "i", kind="parallel") as i:
            ib.emit(outs[0].vstore([i, 0], ins[0].vload([i, 0], "float32x8") * 2.0))
            count[i] = te.popcount(tir.Cast("int32", ins[0][i, 0] * 100.0))
        return ib.get()

    P, Q = te.extern([(4, 8), (4,)], [A], body, dtype=["float32", "int32"], name="P")
    a = rng.random((4, 8), np.float32)
    _, p, q = run([P], [A, P, Q], a, np.zeros_like(a), np.zeros(4, np.int32))
    np.testing.assert_array_equal(p, 2 * a)
    np.testing.assert_array_equal(q, [int(v).bit_count() for v in a[:, 0] * np.float32(100)])


def test_a_packed_function_gets_arrays():
    A = te.placeholder((4, 8), name="A")
    E = te.extern((4, 8), [A], lambda i, o: tir.call_packed("test.triple", i[0], o[0], 3), name="E")
    packed.register("test.triple", lambda x, y, k: np.copyto(np.asarray(y), np.asarray(x) * k))
    try:
        a = rng.random((4, 8), np.float32)
        _, e = run([E], [A, E], a, np.zeros_like(a))
    finally:
        packed.remove("test.triple")
    np.testing.assert_array_equal(e, a * np.float32(3))


@pytest.mark.parametrize(
    "f, reference, dtype",
    [
        (te.exp, np.exp, "float32"),
        (te.sigmoid, lambda x: 1 / (1 + np.exp(-x)), "float32"),
        (te.round, lambda x: np.trunc(x + np.copysign(0.5, x)), "float64"),
        (te.nearbyint, np.rint, "float32"),
        (te.abs, np.abs, "int8"),
        (lambda x: te.power(te.abs(x), 1.5), lambda x: np.abs(x) ** 1.5, "float64"),
        (lambda x: te.fmod(x, 3), lambda x: np.fmod(x, 3), "float32"),
        (lambda x: te.ldexp(x, 3), lambda x: np.ldexp(x, 3), "float32"),
        (lambda x: te.truncdiv(x, 3), lambda x: np.trunc(x / 3).astype(x.dtype), "int32"),
        (lambda x: te.ceildiv(x, 3), lambda x: -(-x // 3), "int32"),
        (
            lambda x: tir.q_multiply_shift(x, te.const(1610612736), 31, 1),
            lambda x: np.floor(x * 1.5 + 0.5).astype("int32"),
            "int32",
        ),
        (te.clz, lambda x: np.array([32 - int(v).bit_length() if v >= 0 else 0 for v in x.ravel()]), "int32"),
    ],
)
def test_functions(f, reference, dtype):
    A = te.placeholder((20,), dtype, name="A")
    C = te.compute((20,), lambda i: f(A[i]), name="C")
    a = (rng.random(20) * 100 - 50).astype(dtype)
    *_, c = run([C], [A, C], a, np.zeros(20, C.dtype))
    np.testing.assert_allclose(c, reference(a), rtol=1e-5)
