"""Extern statements: loops of one's own, Python and C functions, inside schedules."""

import numpy as np
import pytest

from tests.intrins import arrays, text
from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core import packed
from tvmlab.core.error import ScheduleError
from tvmlab.core.packed import MissingPacked
from tvmlab.face.api import build, create_schedule, lower
from tvmlab.runtime import register_func

M, N = 4, 8


@register_func("test.extern.add_one", override=True)
def _add_one(x, y):
    return np.add(x, 1, out=np.asarray(y))  # what it returns does not matter


@register_func("test.extern.add", override=True)
def _add(x, z, y):
    np.add(x, z, out=np.asarray(y))


@register_func("test.extern.row_sums", override=True)
def _row_sums(x, y):
    np.copyto(np.asarray(y), np.asarray(x).astype("int32").sum(1))


def inputs(*names, shape=(M, N)):
    return [te.placeholder(shape, name=n) for n in names]


def called(name, *sources, shape=(M, N), dtype=None):
    """An extern operation that calls a registered function with its inputs and its output."""
    return te.extern(shape, list(sources), lambda ins, outs: tir.call_packed(name, *ins, *outs), name="E", dtype=dtype)


def _halves(ins, outs):
    """Two outputs of different shapes."""
    ib = tir.ir_builder.create()
    a, x, y = (ib.buffer_ptr(b) for b in (*ins, *outs))
    with ib.for_range(0, M, "p") as p, ib.for_range(0, N, "q") as q:
        x[p, q] = a[p, q] * 2.0
        y[q, p] = a[p, q] + 1.0
    return ib.get()


def two_outputs():
    (A,) = inputs("A")
    X, Y = te.extern([(M, N), (N, M)], [A], _halves, name="two", dtype=["float32", "float32"])
    return create_schedule([X.op]), [A, X, Y], lambda a: [2 * a, a.T + 1]


def two_outputs_read_inside():
    (A,) = inputs("A")
    X, Y = te.extern([(M, N), (N, M)], [A], _halves, name="two", dtype=["float32", "float32"])
    D = te.compute((M, N), lambda i, j: X[i, j] + Y[j, i], name="D")
    return create_schedule(D.op), [A, D], lambda a: [3 * a + 1]


def python_function():
    (A,) = inputs("A")
    E = called("test.extern.add_one", A)
    return create_schedule(E.op), [A, E], lambda a: [a + 1]


def _chain():
    A, B = inputs("A", "B")
    P = te.compute((M, N), lambda i, j: A[i, j] * 2.0, name="P")
    E = called("test.extern.add", P, B)
    F = te.compute((M, N), lambda i, j: E[i, j] - 1.0, name="F")
    return create_schedule(F.op), [A, B, F], P, E, lambda a, b: [2 * a + b - 1]


def between_computes():
    s, args, P, E, expected = _chain()
    F = args[-1]
    s[F].split(F.op.axis[0], 3)
    s[F].vectorize(F.op.axis[1])
    return s, args, expected


def attached_to_its_reader():
    s, args, P, E, expected = _chain()
    s[E].compute_at(s[args[-1]], args[-1].op.axis[0])
    return s, args, expected


def caches_on_both_sides():
    s, args, P, E, expected = _chain()
    s.cache_read(E, "global", [args[-1]])
    s.cache_read(P, "global", [E])
    return s, args, expected


def inlining_its_producer_changes_nothing():
    """It needs all of P in memory, which a remark says."""
    s, args, P, E, expected = _chain()
    s[P].compute_inline()
    return s, args, expected


def producer_with_a_layout():
    s, args, P, E, expected = _chain()
    s[P].transform_layout(lambda i, j: [j, i])
    return s, args, expected


def producer_with_padded_rows():
    s, args, P, E, expected = _chain()
    s[P].storage_align(P.op.axis[0], 16, 0)
    return s, args, expected


def temporaries_inside():
    """One function used twice: what it allocates and its loops are new each time."""

    def turned(ins, outs):
        ib = tir.ir_builder.create()
        a, x = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, M, "p") as p:
            t = ib.allocate("float32", (N,), name="t", scope="local")
            with ib.for_range(0, N, "q") as q:
                t[q] = a[p, q] * 3.0
            with ib.for_range(0, N, "q") as q:
                x[p, q] = t[N - 1 - q]
        return ib.get()

    (A,) = inputs("A")
    X = te.extern((M, N), [A], turned, name="X")
    Y = te.extern((M, N), [X], turned, name="Y")
    return create_schedule(Y.op), [A, Y], lambda a: [9 * a]


def vectors_of_buffers():
    def quarters(ins, outs):
        ib = tir.ir_builder.create()
        with ib.for_range(0, N // 4, "q") as q:
            ib.emit(outs[0].vstore([q * 4], ins[0].vload([q * 4], "float32x4") + te.const(1, "float32x4")))
        return ib.get()

    (A,) = inputs("A", shape=(N,))
    V = te.extern((N,), [A], quarters, name="V")
    return create_schedule(V.op), [A, V], lambda a: [a + 1]


def other_dtypes():
    A = te.placeholder((M, N), "int8", name="A")
    E = called("test.extern.row_sums", A, shape=(M,), dtype="int32")
    return create_schedule(E.op), [A, E], lambda a: [a.astype("int32").sum(1)]


def no_inputs():
    E = te.extern(
        (M,), [], lambda ins, outs: tir.call_packed("test.extern.fill", outs[0], 2.5), name="E", dtype="float32"
    )
    packed.register("test.extern.fill", lambda y, v: np.asarray(y).fill(v), override=True)
    return create_schedule(E.op), [E], lambda: [np.full(M, 2.5, "float32")]


CASES = [
    two_outputs, two_outputs_read_inside, python_function, between_computes, attached_to_its_reader,
    caches_on_both_sides,
    inlining_its_producer_changes_nothing, producer_with_a_layout, producer_with_padded_rows, temporaries_inside,
    vectors_of_buffers, other_dtypes, no_inputs,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda f: f.__name__)
def test_extern(golden, case):
    s, args, expected = case()
    golden(text(s, args))
    for target in ("interp", "llvm"):
        known = [a for a in args if a.op.kind == "placeholder"]
        given = arrays(args, len(args) - len(known))
        wanted = expected(*given[: len(known)])
        build(s, args, target)(*given)
        for have, want in zip(given[len(known) :], wanted, strict=True):
            assert (have == want).all()


@pytest.mark.parametrize("target", ["interp", "llvm"])
def test_symbolic_sizes(golden, target):
    m, n = te.var("m"), te.var("n")

    def doubled(ins, outs):
        ib = tir.ir_builder.create()
        a, x = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, m, "p", kind="parallel") as p, ib.for_range(0, n, "q") as q:
            with ib.if_scope(q < 2):
                x[p, q] = a[p, q] * 2.0
            with ib.else_scope():
                x[p, q] = a[p, q]
        return ib.get()

    A = te.placeholder((m, n), name="A")
    X = te.extern((m, n), [A], doubled, name="X")
    E = called("test.extern.add_one", X, shape=(m, n))
    D = te.compute((m, n), lambda i, j: E[i, j] * 2.0, name="D")
    s = create_schedule(D.op)
    golden(text(s, [A, D]))
    f = build(s, [A, D], target)
    for shape in ((3, 5), (1, 1)):
        a = np.arange(shape[0] * shape[1], dtype="float32").reshape(shape)
        d = np.zeros(shape, "float32")
        f(a, d)
        assert (d == 2 * (np.where(np.arange(shape[1]) < 2, 2 * a, a) + 1)).all()


def test_a_c_function():
    (A,) = inputs("A")
    size = te.const(4 * M * N, "int64")
    E = te.extern(
        (M, N),
        [A],
        lambda ins, outs: tir.call_extern("handle", "memcpy", outs[0].access_ptr("w"), ins[0].access_ptr("r"), size),
        name="E",
    )
    a, e = arrays([A, E])
    build(create_schedule(E.op), [A, E], "llvm")(a, e)
    assert (e == a).all()


def test_a_matrix_product_with_a_schedule_around_it():
    """The classic extern tutorial: bias added by scheduled loops, the product by a library."""
    A, B = te.placeholder((16, 8), name="A"), te.placeholder((8, 12), name="B")
    bias = te.var("bias", "float32")
    C = te.extern(
        (16, 12),
        [A, B],
        lambda ins, outs: tir.call_packed("tvm.contrib.cblas.matmul", ins[0], ins[1], outs[0], False, False),
        name="C",
    )
    from tvmlab.contrib import cblas  # noqa: F401  registers the function

    D = te.compute(C.shape, lambda i, j: C[i, j] + bias, name="D")
    s = create_schedule(D.op)
    s[D].parallel(D.op.axis[0])
    a, b, d = arrays([A, B, D])
    build(s, [A, B, D, bias], "llvm")(a, b, d, 10.0)
    assert (d == a @ b + 10).all()


@pytest.mark.parametrize("target", ["interp", "llvm"])
def test_an_exception_of_a_python_function_comes_through(target):
    def broken(x, y):
        raise ZeroDivisionError("from inside")

    packed.register("test.extern.broken", broken, override=True)
    (A,) = inputs("A")
    E = called("test.extern.broken", A)
    f = build(create_schedule(E.op), [A, E], target)
    with pytest.raises(ZeroDivisionError, match="from inside"):
        f(*arrays([A, E]))


@pytest.mark.parametrize("target", ["interp", "llvm"])
def test_a_function_that_is_not_registered(target):
    (A,) = inputs("A")
    E = called("test.extern.nowhere", A)
    f = build(create_schedule(E.op), [A, E], target)
    assert refused(MissingPacked, lambda: f(*arrays([A, E]))).startswith(
        "cannot find global function `test.extern.nowhere`\n  legal here:  "
    )


def test_buffers_of_ones_own():
    """in_buffers and out_buffers with a scope that the real memory does not have."""
    (A,) = inputs("A")
    local = tir.decl_buffer((M, N), name="local", scope="local")
    E = te.extern(
        (M, N), [A], lambda ins, outs: tir.call_packed("test.extern.add_one", *ins, *outs), name="E", in_buffers=[local]
    )
    assert refused(ScheduleError, lambda: lower(create_schedule(E.op), [A, E])) == (
        'cannot compute E: buffer local is declared in scope "local", A is in "global"\n'
        '  s[A].set_scope("local"), or declare the buffer with scope="global"'
    )
