"""Tensor intrinsics: declaring, applying in te.compute, refusals."""

import pytest

from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core.error import TVMError
from tvmlab.core.node import DATA, OPAQUE, Evaluate, Load, Seq, Store, Var


def dot(l=16):
    """c = sum over k of a[k] * b[k]"""
    a, b = te.placeholder((l,), name="a"), te.placeholder((l,), name="b")
    k = te.reduce_axis((0, l), "k")
    return te.compute((1,), lambda i: te.sum(a[k] * b[k], axis=k), name="c")


def gemv(ins, outs):
    args = [b.access_ptr(mode) for b, mode in ((ins[0], "r"), (ins[1], "r"), (outs[0], "rw"))]
    return tir.call_extern("int32", "gemv_update", *args)


def three(ins, outs):
    return gemv(ins, outs), outs[0].vstore([0], 0.0), gemv(ins, outs)


def test_one_statement():
    t = te.decl_tensor_intrin(dot().op, gemv, name="dot")
    assert isinstance(t.body, Evaluate)
    assert t.reduce_init is None
    assert t.reduce_update is None
    assert [b.name for b in t.buffers] == ["a", "b", "c"]
    assert (t.in_buffers, t.out_buffers) == (t.buffers[:2], t.buffers[2:])
    assert repr(t) == "TensorIntrin(name=dot)"
    assert repr(t.body) == (
        "extern('gemv_update', access_ptr(a, 0, 16, 1), access_ptr(b, 0, 16, 1), access_ptr(c, 0, 1, 3))"
    )


def test_three_statements():
    t = te.decl_tensor_intrin(dot().op, three)
    assert isinstance(t.reduce_init, Store)
    assert isinstance(t.reduce_update, Evaluate)
    partial = te.decl_tensor_intrin(dot().op, lambda i, o: (None, o[0].vstore([0], 0.0), gemv(i, o)))
    assert partial.body is None


def test_buffers():
    c = dot()
    a, b = c.op.inputs
    mine = tir.decl_buffer((16,), name="mine", strides=[te.var("s")], offset_factor=4, scope="local")
    t = te.decl_tensor_intrin(
        c.op, gemv, binds={a: mine}, default_buffer_params={"offset_factor": 16, "data_alignment": 32}
    )
    assert t.buffers[0] is mine
    assert (mine.factor, mine.scope, mine.offset.name) == (4, "local", "mine_elem_offset")
    assert (t.buffers[1].factor, t.buffers[1].align, t.buffers[1].offset.name) == (16, 32, "b_elem_offset")


def test_scalars():
    scale = te.var("scale", "float32")
    t = te.decl_tensor_intrin(dot().op, lambda i, o, s: o[0].vstore([0], i[0][0] * s[0]), scalar_params=scale)
    A = te.placeholder((4, 16), name="A")
    C = te.compute((4,), lambda i: t(A[i, 0:16], A[i, 0:16], 3.0), name="C")
    assert C.op.scalar_inputs[0].value == 3.0
    assert repr(C.op.with_scalars(t.body)) == "c[0] = a[0] * 3.0"


# ---------------------------------------------------------------- in te.compute


def test_dimensions_that_the_function_does_not_name_are_opaque():
    A = te.placeholder((4, 32), name="A")
    t = te.decl_tensor_intrin(te.compute((8,), lambda i: te.placeholder((8,), name="x")[i] * 2.0, name="y").op, gemv1)
    C = te.compute((4, 8), lambda i: t(A[i, 8:16]), name="C", tag="t", attrs={"k": 1})
    op = C.op
    assert [(a.name, a.iter_type) for a in op.axis] == [("i", DATA), ("ax0", OPAQUE)]
    assert (op.schedulable_ndim, op.tag, op.attrs, op.inputs, op.intrin) == (1, "t", {"k": 1}, (A,), t)
    assert repr(op.input_regions) == "((range(min=i, ext=1), range(min=8, ext=8)),)"
    assert [d.value for d in C.shape] == [4, 8]
    assert C.dtype == "float32"


def gemv1(ins, outs):
    return tir.call_extern("int32", "scale", ins[0].access_ptr("r"), outs[0].access_ptr("w"))


def test_regions():
    A, n = te.placeholder((4, 32), name="A"), te.var("n")
    t = te.decl_tensor_intrin(dot().op, gemv)
    k = te.reduce_axis((0, 2), "k")
    C = te.compute((4,), lambda i: t(A[i], A[i, n : n + 16], reduce_axis=k), name="C")
    assert repr(C.op.input_regions[0]) == "(range(min=i, ext=1), range(min=0, ext=32))"
    assert repr(C.op.input_regions[1][1]) == "range(min=n, ext=n + 16 - n)"
    assert C.op.reduce_axis == (k,)
    D = te.compute((4,), lambda i: t(A, A[i, 3]), name="D")
    assert repr(D.op.input_regions) == (
        "((range(min=0, ext=4), range(min=0, ext=32)), (range(min=i, ext=1), range(min=3, ext=1)))"
    )


def test_reading_other_tensors():
    A, B = te.placeholder((4, 16), name="A"), te.placeholder((4, 16), name="B")
    t = te.decl_tensor_intrin(dot().op, gemv)
    op = te.compute((4,), lambda i: t(A[i, 0:16], A[i, 0:16])).op
    again = op.with_inputs({A: B})
    assert again.inputs == (B,)
    assert again.axis is op.axis
    assert op.with_inputs({B: A}) is op


def test_elements_of_inputs_read_directly_become_accesses_of_buffers():
    c = dot()
    a, b = c.op.inputs
    t = te.decl_tensor_intrin(c.op, lambda i, o: o[0].vstore([0], a[0] + b[0]))
    assert [x.buffer for x in (t.body.value.a, t.body.value.b)] == list(t.in_buffers)
    assert isinstance(t.body.value.a, Load)


A = te.placeholder((4, 16), name="A")
good = te.decl_tensor_intrin(dot().op, gemv, name="dot")


def composed():
    c = dot()
    return te.compute((1,), lambda i: c[i] + 1.0, name="d")


@pytest.mark.parametrize(
    "make, kind, message",
    [
        (
            lambda: te.decl_tensor_intrin(dot(), gemv),
            TypeError,
            "decl_tensor_intrin takes an operation (C.op), not Tensor(shape=[1], op.name=c)",
        ),
        (
            lambda: te.decl_tensor_intrin(composed().op, gemv, name="t"),
            ValueError,
            "decl_tensor_intrin t: input c is computed; an intrinsic is one operation on placeholders",
        ),
        (
            lambda: te.decl_tensor_intrin(dot().op, lambda i, o: 3, name="t"),
            ValueError,
            "decl_tensor_intrin t: the function must return a statement, or up to three of them (body, reduce_init, "
            "reduce_update), not 3",
        ),
        (
            lambda: te.decl_tensor_intrin(dot().op, lambda i, o: None, name="t"),
            ValueError,
            "decl_tensor_intrin t: the function must return a statement, or up to three of them (body, reduce_init, "
            "reduce_update), not None",
        ),
        (
            lambda: (c := dot()) and te.decl_tensor_intrin(c.op, gemv, "t", binds={c: tir.decl_buffer((1, 1))}),
            TVMError,
            "decl_tensor_intrin t: the buffer of c must be float32 of 1 dimensions, not float32 of 2",
        ),
        (
            lambda: good(A[0, 0:16]),
            TVMError,
            "tensor intrinsic dot takes 2 tensor arguments, not 1\n  legal here:  a[...], b[...]",
        ),
        (lambda: good(A[0], A[0], 3), TVMError, "tensor intrinsic dot takes 0 scalar arguments, not 1"),
        (
            lambda: good(A[0], A[0], reduce_axis=Var("k")),
            TVMError,
            "tensor intrinsic dot: reduce_axis must be a te.reduce_axis, not k",
        ),
        (
            lambda: good(A[0, 0:16:2], A[0]),
            TVMError,
            "a slice of A has step 2; regions are without steps",
        ),
        (lambda: good(A[0, 0, 0:3], A[0]), ValueError, "tensor A has 2 dimensions, its slice has 3 indices"),
    ],
)
def test_refused(make, kind, message):
    assert refused(kind, make) == message


def test_registry():
    te.register_intrin(good, "test.dot")
    assert te.get_intrin("test.dot") is good
    assert refused(TVMError, lambda: te.get_intrin("test.dott")) == (
        "no tensor intrinsic is registered as `test.dott`\n  legal here:  test.dot\n"
        "  te.register_intrin(intrin, name) registers one"
    )


def test_a_body_of_several_statements():
    ib = tir.ir_builder.create()

    def body(ins, outs):
        a, c = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        c[0] = 0
        c[0] += a[1]
        return ib.get()

    assert isinstance(te.decl_tensor_intrin(dot().op, body).body, Seq)


def test_reading_one_other_tensor():
    B = te.placeholder((4, 16), name="B")
    op = te.compute((4,), lambda i: good(A[i, 0:16], B[i, 0:16])).op
    C = te.placeholder((4, 16), name="C")
    assert op.with_inputs({B: C}).inputs == (A, C)


def test_at_most_three_statements():
    for count in (0, 4):
        make = lambda k=count: te.decl_tensor_intrin(dot().op, lambda i, o: [gemv(i, o)] * k, "t")
        assert refused(ValueError, make).startswith("decl_tensor_intrin t: the function must return a statement")
    refused(ValueError, lambda: te.decl_tensor_intrin(dot().op, lambda i, o: (gemv(i, o), 3)))
