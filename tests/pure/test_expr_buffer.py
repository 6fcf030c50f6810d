"""Buffers and the statement builder."""

import pytest

from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core.error import TVMError
from tvmlab.core.node import Alloc, Attr, For, If, Seq, Var, While
from tvmlab.core.walk import walk

n, i = te.var("n"), Var("i")
A = tir.decl_buffer((4, 8), name="A")


# ---------------------------------------------------------------- declaring


def test_defaults():
    b = tir.decl_buffer((n, 4.0))
    assert (b.name, b.dtype, b.scope, b.strides, b.offset, b.kind, b.factor) == (
        "buffer",
        "float32",
        "global",
        None,
        None,
        "",
        1,
    )
    assert b.shape[1].value == 4
    assert b.data.dtype == "handle"
    assert (b.elem_offset.value, b.data_alignment, b.axis_separators, b.offset_factor) == (0, 64, (), 1)
    assert tir.decl_buffer(n).ndim == 1


def test_options():
    data = Var("p", "handle")
    b = tir.decl_buffer(
        (4, 8),
        "int8",
        "b",
        data,
        strides=[te.var("s"), 1],
        elem_offset=n,
        scope="local",
        data_alignment=16,
        offset_factor=4,
        axis_separators=[1],
    )
    assert (b.data, b.offset, b.scope, b.align, b.factor, b.separators) == (data, n, "local", 16, 4, (1,))
    assert [s.dtype for s in b.strides] == ["int32", "int32"]


def test_an_offset_factor_makes_an_offset():
    b = tir.decl_buffer((4,), name="b", offset_factor=8)
    assert (b.offset.name, b.factor) == ("b_elem_offset", 8)
    assert tir.decl_buffer((4,), elem_offset=0, offset_factor=8).offset is None


def test_auto_broadcast_makes_strides():
    b = tir.decl_buffer((n, 4), name="b", buffer_type="auto_broadcast")
    assert b.kind == "auto_broadcast"
    assert [s.name for s in b.strides] == ["b_stride0", "b_stride1"]


@pytest.mark.parametrize(
    "make, kind, message",
    [
        (lambda: tir.decl_buffer((4,), strides=[1, 1], name="b"), TVMError, "buffer b has 1 dimensions but 2 strides"),
        (
            lambda: tir.decl_buffer((4,), buffer_type="x"),
            TVMError,
            'there is no buffer_type "x"\n  legal here:  "" (or "default"), "auto_broadcast"',
        ),
        (lambda: tir.decl_buffer((4,), data=Var("p")), TypeError, "data= of a buffer is a handle variable, not p"),
        (lambda: A.access_ptr("rx"), ValueError, 'the access mask is made of "r" and "w", not "rx"'),
        (
            lambda: A.access_ptr("r", content_lanes=4, offset=6),
            TVMError,
            "the offset of a pointer to vectors of 4 must be a multiple of 4, not 6",
        ),
        (lambda: A.vload([0]), TVMError, "buffer A has 2 dimensions, it was indexed with 1"),
        (lambda: A[0], TVMError, "buffer A has 2 dimensions, it was indexed with 1"),
        (
            lambda: A[0, 0:4],
            TypeError,
            "buffer A gives single elements; for several:  A.vload([...], dtype)",
        ),
        (lambda: A.vload([0, 0], "int32x4"), TVMError, "buffer A holds float32, it cannot be accessed as int32x4"),
        (
            lambda: A.vstore([0, 0], te.const(1, "int32x4")),
            TVMError,
            "buffer A holds float32, it cannot be accessed as int32x4",
        ),
        (
            lambda: tir.decl_buffer((), name="s").vload([], "float32x4"),
            TVMError,
            "buffer s is a single element, there is no vector in it",
        ),
        (lambda: list(A), TypeError, "'Buffer' object is not iterable"),
    ],
)
def test_refused(make, kind, message):
    assert refused(kind, make) == message


# ---------------------------------------------------------------- using


def test_elements_and_vectors():
    assert repr(A[i, 2]) == "A[i, 2]"
    assert repr(A.vload([i, 0], "float32x4")) == "A[i, 0:4]"
    assert repr(A.vstore([i, 4], A.vload([i, 0], "float32x4"))) == "A[i, 4:8] = A[i, 0:4]"
    assert repr(A.vstore((0, 0), 1)) == "A[0, 0] = 1.0"
    assert repr(tir.decl_buffer((), name="s")[()]) == "s[()]"


def test_pointers():
    assert repr(A.access_ptr("rw")) == "access_ptr(A, 0, 32, 3)"
    assert repr(A.access_ptr(2, offset=8)) == "access_ptr(A, 8, 24, 2)"
    assert repr(A.access_ptr("r", offset=8, extent=4)) == "access_ptr(A, 8, 4, 1)"
    strided = tir.decl_buffer((4, 8), name="B", strides=[n, 1], elem_offset=i)
    assert repr(strided.access_ptr("w", offset=2)) == "access_ptr(B, i + 2, 1 + 3*n + 7 - 2, 2)"
    assert repr(tir.decl_buffer((), name="s").access_ptr("r")) == "access_ptr(s, 0, 1, 1)"
    assert A.access_ptr("r").dtype == "handle"


# ---------------------------------------------------------------- the statement builder


def build(f):
    ib = tir.ir_builder.create()
    f(ib)
    return ib.get()


def test_loops_and_branches():
    def body(ib):
        a, b = ib.buffer_ptr(A), ib.buffer_ptr(tir.decl_buffer((n,), "int32", "B"))
        with ib.for_range(0, n, "i", kind="parallel") as i:
            with ib.if_scope(ib.likely(i < 3)):
                b[i] = 1
            with ib.else_scope():
                b[i] += te.floor(a[i, 0]).astype("int32")
            with ib.while_loop(b[i] < 10):
                b[i] = b[i] * 2

    assert repr(build(body)) == (
        "for i in parallel(n):\n"
        "    if i < 3:\n"
        "        B[i] = 1\n"
        "    else:\n"
        "        B[i] += int32(floor(A[i, 0]))\n"
        "    while B[i] < 10:\n"
        "        B[i] *= 2"
    )


def test_a_likely_condition_marks_the_branch():
    def body(ib):
        with ib.if_scope(tir.likely(i < 3)):
            ib.emit(tir.call_extern("int32", "f"))

    made = build(body)
    assert isinstance(made, If)
    assert made.likely
    assert repr(made.cond) == "i < 3"


def test_kinds_and_bounds():
    def body(ib):
        outer = ib.for_range(n, n + 4, name="k", dtype="int64", kind="vectorize")
        with outer, ib.for_range(0, 4, for_type="unroll"):
            ib.emit(tir.call_extern("int32", "f"))

    made = build(body)
    assert [(s.kind, s.var.name, s.var.dtype) for s in walk(made) if isinstance(s, For)] == [
        ("vectorized", "k", "int64"),
        ("unrolled", "i", "int32"),
    ]
    assert made.lo.dtype == made.extent.dtype == "int64"


def test_names_and_memory_last_for_the_rest_of_the_block():
    def body(ib):
        t = ib.allocate("int8", (4,), "t", scope="local")
        with ib.new_scope():
            v = ib.let("v", n + 1)
            t[0] = v.astype("int8")
        t[1] = 0

    made = build(body)
    assert repr(made) == 't = alloc((4,), "int8", scope="local")\nv = n + 1\nt[0] = int8(v)\nt[1] = 0'
    assert isinstance(made, Alloc)
    assert isinstance(made.body, Seq)
    assert type(made.body.stmts[0]).__name__ == "LetStmt"
    assert len(made.body.stmts) == 2


def test_attributes_and_threads():
    tx = te.thread_axis("threadIdx.x", name="tx")

    def body(ib):
        ib.scope_attr(tx, "thread_extent", 32)
        ib.scope_attr(tx, "pragma_unroll", "yes")
        ib.emit(tir.call_intrin("int32", "tir.tvm_storage_sync", "shared"))

    made = build(body)
    assert (made.kind, made.thread, made.var) == ("thread", "threadIdx.x", tx.var)
    assert isinstance(made.body, Attr)
    assert repr(made.body.body) == 'barrier("shared")'


def test_one_index_counts_in_row_major_order():
    def body(ib):
        a, v = ib.buffer_ptr(A), ib.buffer_ptr(A, shape=(2, 16))
        a[11] = a[i] + v[1, 3]

    assert repr(build(body)) == "A[1, 3] = A[i//8, i%8] + A[2, 3]"


def test_vectors():
    def body(ib):
        a = ib.buffer_ptr(A)
        a[0, tir.Ramp(0, 1, 4)] = a[1, tir.Ramp(0, 1, 4)] * 2.0
        a[1, tir.Ramp(0, 1, 4)] = 1

    assert repr(build(body)) == "A[0, 0:4] = A[1, 0:4] * 2.0\nA[1, 0:4] = 1.0"


def test_pointers_to_memory_from_elsewhere():
    def body(ib):
        p = ib.pointer("float32", "p")
        p[i] = p[i + 1]
        ib.emit(tir.call_extern("int32", "f", p))

    assert repr(build(body)) == "p[i] = p[i + 1]\nextern('f', p)"


def test_get_starts_anew():
    ib = tir.ir_builder.create()
    ib.emit(tir.call_extern("int32", "f"))
    assert repr(ib.get()) == "extern('f')"
    assert ib.get().stmts == ()
    assert not isinstance(ib.get(), While)


def open_scope():
    ib = tir.ir_builder.create()
    with ib.for_range(0, 4):
        ib.get()


def lonely_else():
    ib = tir.ir_builder.create()
    ib.emit(tir.call_extern("int32", "f"))
    ib.else_scope()


def wrong_value():
    ib = tir.ir_builder.create()
    ib.buffer_ptr(A)[0, 0] = n


@pytest.mark.parametrize(
    "make, kind, message",
    [
        (open_scope, RuntimeError, "ir_builder: get() inside an open scope; call it after the `with` blocks"),
        (lonely_else, RuntimeError, "ir_builder: else_scope can only follow an if_scope"),
        (wrong_value, ValueError, "A holds float32, it cannot take a int32: n"),
        (
            lambda: tir.ir_builder.create().for_range(0, 4, kind="fast"),
            TVMError,
            'for_range: there is no kind "fast"\n'
            '  legal here:  serial, parallel, vectorize, vectorized, unroll, unrolled',
        ),
        (lambda: tir.ir_builder.create().emit(3), TypeError, "emit takes a statement or a call, not 3"),
        (
            lambda: tir.ir_builder.create().buffer_ptr(3),
            TypeError,
            "buffer_ptr takes a buffer (one of ins or outs), not 3",
        ),
        (
            lambda: tir.ir_builder.create().buffer_ptr(A)[1, 2, 3],
            TVMError,
            "buffer A has 2 dimensions, it was indexed with 3\n  legal here:  2 indices, 1 (row-major)",
        ),
    ],
)
def test_refused_statements(make, kind, message):
    assert refused(kind, make) == message


def test_conditions_that_are_calls():
    def body(ib):
        with ib.if_scope(te.isnan(A[0, 0])):
            ib.emit(tir.call_extern("int32", "f"))

    made = build(body)
    assert repr(made.cond) == "isnan(A[0, 0])"
    assert not made.likely


def test_notes_may_be_texts():
    def body(ib):
        ib.scope_attr(A, "storage", "local")
        ib.emit(tir.call_extern("int32", "f"))

    assert (build(body).value.value, build(body).value.dtype) == ("local", "handle")


def test_a_number_in_memory():
    def body(ib):
        s = ib.buffer_ptr(tir.decl_buffer((), name="s"))
        s[0] = 1

    assert repr(build(body)) == "s[()] = 1.0"


def test_a_shape_that_shares_a_dimension():
    def body(ib):
        v = ib.buffer_ptr(A, shape=(8, 4))
        w = ib.buffer_ptr(tir.decl_buffer((2, 8), name="w"), shape=(4, 4))
        v[3, 1] = w[3, 1]

    assert repr(build(body)) == "A[1, 5] = w[1, 5]"
    b = tir.decl_buffer((4, 6), name="b")
    assert repr(tir.ir_builder.create().buffer_ptr(b, shape=(4, 3))[2, 1]) == "b[1, 1]"
