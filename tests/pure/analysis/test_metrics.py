"""Counts of known programs, and what is said where there are none."""

from tvmlab import lower, te, tir
from tvmlab.analysis.metrics import metrics
from tvmlab.kernels import matmul_f16
from tvmlab.lowering.config import Config


def matmul(n=1024, m=None, p=None, dtype="float32"):
    m, p = m or n, p or n
    A, B = te.placeholder((n, p), dtype, name="A"), te.placeholder((p, m), dtype, name="B")
    k = te.reduce_axis((0, p), name="k")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    return te.create_schedule(C.op), [A, B, C]


def readable(s, args):
    return lower(s, args, simple_mode=True)


def level(m, name):
    return next(x for x in m.levels if x.name == name)


def test_a_large_matmul():
    s, args = matmul()
    m = metrics(readable(s, args))
    assert m.exact
    assert m.flops == 2 * 1024**3
    assert (m.read, m.written) == (4 * 3 * 1024**3, 4 * (1024**3 + 1024**2))
    assert m.unique == 3 * 4 * 1024**2
    assert (m.tasks, m.lanes) == (1, 1)
    assert [(x.name, x.depth, x.extent) for x in m.levels] == [("i", 0, 1024), ("j", 1, 1024), ("k", 2, 1024)]
    assert level(m, "k").bytes == 4 * (1024 + 1024 + 1)  # a row of A, a column of B, one element of C
    assert level(m, "j").bytes == 4 * (1024 + 1024**2 + 1024)


def test_tiles_and_marks():
    s, (A, B, C) = matmul()
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 32, 32)
    s[C].reorder(xo, yo, C.op.reduce_axis[0], xi, yi)
    s[C].vectorize(yi)
    s[C].parallel(xo)
    m = metrics(readable(s, [A, B, C]))
    assert m.exact
    assert (m.tasks, m.lanes, m.flops) == (32, 32, 2 * 1024**3)
    assert level(m, "xi").bytes == 4 * (32 + 32 + 32 * 32)
    assert level(m, "k").bytes == 4 * (2 * 32 * 1024 + 32 * 32)
    (region,) = m.regions
    assert (region.name, region.tasks, region.runs, region.share) == ("xo", 32, 1, 1.0)


def test_vectorized_loops_before_they_are_vectors():
    s, (A, B, C) = matmul(64)
    _, ji = s[C].split(C.op.axis[1], 16)
    s[C].reorder(C.op.reduce_axis[0], ji)
    s[C].vectorize(ji)
    p = lower(s, [A, B, C], config=Config(disabled=frozenset({"vectorize"})))
    assert any(x.kind == "vectorized" for x in metrics(p).levels)
    assert metrics(p).lanes == 16


def test_tails_are_counted():
    s, (A, B, C) = matmul(1000)
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 48, 48)
    s[C].reorder(xo, yo, C.op.reduce_axis[0], xi, yi)
    m = metrics(readable(s, [A, B, C]))
    assert m.exact
    assert m.flops == 2 * 1000**3
    assert m.unique == 3 * 4 * 1000**2
    assert m.iterations["xi"] == 21 * 21 * 1000 * 48


def test_fused_loops_split_again():
    s, (A, B, C) = matmul(1000)
    f = s[C].fuse(*C.op.axis)
    s[C].parallel(s[C].split(f, 48)[0])
    m = metrics(readable(s, [A, B, C]))
    assert m.exact
    assert (m.flops, m.unique, m.tasks) == (2 * 1000**3, 3 * 4 * 1000**2, -(-(1000**2) // 48))


def test_a_triangle_is_counted_in_closed_form():
    n = 3000
    A = te.placeholder((n, n), name="A")
    B = te.compute((n, n), lambda i, j: te.if_then_else(j <= i, A[i, j] * 2.0, 0.0), name="B")
    m = metrics(readable(te.create_schedule(B.op), [A, B]))
    assert m.exact
    assert m.flops == m.loads["A"] == n * (n + 1) // 2
    assert m.buffers["A"] == 4 * n * (n + 1) // 2


def test_the_middle_of_a_padded_convolution():
    A = te.placeholder((64, 64), name="A")
    P = te.compute(
        (66, 66),
        lambda y, x: te.if_then_else(te.all(y >= 1, y < 65, x >= 1, x < 65), A[y - 1, x - 1], 0.0),
        name="P",
    )
    r, q = te.reduce_axis((0, 3), name="r"), te.reduce_axis((0, 3), name="q")
    Y = te.compute((64, 64), lambda y, x: te.sum(P[y + r, x + q], axis=[r, q]), name="Y")
    s = te.create_schedule(Y.op)
    yo, yi = s[Y].split(Y.op.axis[0], 4)
    s[P].compute_at(s[Y], yo)
    m = metrics(readable(s, [A, Y]))
    assert m.exact
    assert m.loads["A"] == 16 * 6 * 64 - 2 * 64  # the first and the last tile lack a row
    assert level(m, "y").bytes == 4 * (6 * 64 + 6 * 66)


def test_what_is_computed_twice():
    A = te.placeholder((130,), name="A")
    X = te.compute((130,), lambda i: A[i] * 2.0, name="X")
    Y = te.compute((128,), lambda i: X[i] + X[i + 2], name="Y")
    s = te.create_schedule(Y.op)
    base = metrics(readable(s, [A, Y]))
    o, _ = s[Y].split(Y.op.axis[0], 8)
    s[X].compute_at(s[Y], o)
    m = metrics(readable(s, [A, Y]))
    assert m.stages["X"].stores == 16 * 10
    assert m.recomputed(base) == {"X": 160 / 130}
    assert m.redundancy(base) == (160 + 128) / (130 + 128)
    s = te.create_schedule(Y.op)
    s[X].compute_inline()
    assert metrics(readable(s, [A, Y])).redundancy(base) == 3 * 128 / (130 + 128)


def test_threads_run_the_whole_kernel():
    A = te.placeholder((100,), name="A")
    B = te.compute((100,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    o, i = s[B].split(B.op.axis[0], 32)
    s[B].bind(o, te.thread_axis("blockIdx.x"))
    s[B].bind(i, te.thread_axis("threadIdx.x"))
    m = metrics(readable(s, [A, B]))
    assert m.exact
    assert (m.tasks, m.flops, m.unique) == (128, 100, 800)


def test_sizes_that_are_known_only_at_the_call():
    n = te.size_var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1.0, name="B")
    p = readable(te.create_schedule(B.op), [A, B])
    m = metrics(p)
    assert (m.flops, m.read, m.unique, m.exact) == (None, None, None, False)
    assert m.why == "`n` is known only when the program is called"
    assert m.levels[0].bytes is None
    m = metrics(p, {"n": 1000})
    assert (m.flops, m.read, m.unique, m.exact, m.why) == (1000, 4000, 8000, True, "")


def test_a_gather_touches_at_most_everything():
    A, I = te.placeholder((50, 4), name="A"), te.placeholder((7,), "int32", name="I")
    B = te.compute((7, 4), lambda i, j: A[I[i], j] + 1.0, name="B")
    m = metrics(readable(te.create_schedule(B.op), [A, I, B]))
    assert (m.counted, m.exact, m.flops) == (True, False, 28)
    assert m.why == "`I[i]` depends on data"
    assert m.buffers["A"] == 50 * 4 * 4


def test_guards_on_data_are_bounds():
    A = te.placeholder((10,), name="A")
    B = te.compute((10,), lambda i: te.if_then_else(A[i] > 0.0, A[i] * 2.0, 0.0), name="B")
    m = metrics(readable(te.create_schedule(B.op), [A, B]))
    assert (m.counted, m.exact, m.flops) == (False, False, 10)
    assert "depends on data" in m.why


def test_conditions_that_are_no_conjunction():
    A = te.placeholder((10, 10), name="A")

    def one(cond):
        B = te.compute((10, 10), lambda i, j: te.if_then_else(cond(i, j), A[i, j] * 2.0, 0.0), name="B")
        m = metrics(readable(te.create_schedule(B.op), [A, B]))
        assert m.exact
        assert m.buffers.get("A", 0) == 4 * m.loads.get("A", 0)
        return m.flops

    assert one(lambda i, j: i != j) == 90
    assert one(lambda i, j: i.equal(j)) == 10
    assert one(lambda i, j: te.any(i < 2, j < 3)) == 20 + 24
    assert one(lambda i, j: tir.Not(te.any(i < 2, j < 3))) == 56
    assert one(lambda i, j: te.any(te.all(i > 2, j > 2), te.all(i < 5, j < 5))) == 49 + 25 - 4
    assert one(lambda i, j: te.any(i % 3 > 0, i // 3 > 1)) == 80
    assert one(lambda i, j: (i + j) % 2 != 0) == 50


def test_an_empty_program():
    A = te.placeholder((0, 4), name="A")
    B = te.compute((0, 4), lambda i, j: A[i, j] + 1.0, name="B")
    m = metrics(readable(te.create_schedule(B.op), [A, B]))
    assert (m.flops, m.read, m.written, m.unique, m.exact) == (0, 0, 0, 0, True)


def test_names_of_any_kind():
    A = te.placeholder((4,), name="__proto__")
    B = te.compute((4,), lambda i: A[i] + 1.0, name="constructor")
    m = metrics(readable(te.create_schedule(B.op), [A, B]))
    assert m.stages["constructor"].stores == 4


def test_tensor_cores_are_counted_by_what_they_multiply():
    """Every lane of a warp comes to a product and does its part; what they copy is said not to be counted."""
    s, args = matmul_f16.gpu(128, 128, 64)
    m = metrics(readable(s, args))
    assert m.flops == 2 * 128 * 128 * 64
    assert not m.exact and "tensor cores" in m.why
