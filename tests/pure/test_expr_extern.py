"""te.extern"""

import pytest

from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core.error import TVMError
from tvmlab.core.node import Buffer, Evaluate, Store, Var

A = te.placeholder((4, 8), name="A")
I = te.placeholder((4,), "int32", name="I")
n = te.var("n")


def call(ins, outs):
    return tir.call_packed("f", *ins, *outs)


def test_a_call_is_the_body():
    C = te.extern((4, 8), [A], call, name="C", tag="t", attrs={"k": 1})
    assert repr(C.op.body) == "packed('f', A, C)"
    assert isinstance(C.op.body, Evaluate)
    assert (C.dtype, C.name, C.op.tag, C.op.attrs, C.op.axis) == ("float32", "C", "t", {"k": 1}, ())
    assert C.op.inputs == (A,)
    assert repr(C.op.out_buffers[0]) == "buffer(C, float32[4, 8], global)"


def test_several_outputs():
    C, D = te.extern([(4,), (n, 2)], [A, I], call, name="C", dtype=["float32", "int8"])
    assert C.op is D.op
    assert (C.name, D.name, D.dtype, D.shape[0]) == ("C.v0", "C.v1", "int8", n)
    E, F = te.extern([(4,), (4,)], A, call, dtype="int8")
    assert E.dtype == F.dtype == "int8"


def test_one_extent_makes_a_vector():
    assert te.extern(n, [A], call).ndim == 1
    assert te.extern((), [A], call).ndim == 0


def test_buffers_of_ones_own():
    a = tir.decl_buffer((4, 8), name="mine", data_alignment=32)
    c = tir.decl_buffer((4,), "int8", name="out")
    C = te.extern((4,), [A], call, in_buffers=a, out_buffers=[c])
    assert C.op.in_buffers == (a,)
    assert C.dtype == "int8"
    assert repr(C.op.body) == "packed('f', mine, out)"


def test_elements_of_inputs_read_directly_become_accesses_of_buffers():
    def body(ins, outs):
        return outs[0].vstore([0], A[1, 2] + 1.0)

    C = te.extern((4,), [A], body, name="C")
    assert isinstance(C.op.body, Store)
    assert C.op.body.value.a.buffer is C.op.in_buffers[0]


def test_reading_other_tensors():
    op = te.extern((4,), [A, A], call).op
    B = te.placeholder((4, 8), name="B")
    again = op.with_inputs({A: B})
    assert (again.sources, again.inputs, again.body, again.in_buffers) == ((B, B), (B,), op.body, op.in_buffers)
    assert op.with_inputs({B: A}) is op


@pytest.mark.parametrize(
    "make, kind, message",
    [
        (lambda: te.extern((4,), [1], call), ValueError, "te.extern extern: an input must be a tensor, not 1"),
        (
            lambda: te.extern((4,), [A], lambda i, o: None),
            ValueError,
            "te.extern extern: the function must return an expression or a statement",
        ),
        (
            lambda: te.extern((4,), [A, I], call),
            ValueError,
            "te.extern extern: cannot infer the output's dtype, the inputs have float32 and int32; give dtype=",
        ),
        (
            lambda: te.extern((4,), [], call),
            ValueError,
            "te.extern extern: cannot infer the output's dtype, there are no inputs; give dtype=",
        ),
        (
            lambda: te.extern([(4,), (4,)], [A], call, dtype=["int8"]),
            RuntimeError,
            "te.extern extern: 2 outputs, but 1 dtypes",
        ),
        (
            lambda: te.extern((4,), [A], call, in_buffers=[]),
            RuntimeError,
            "te.extern extern: 1 inputs, but 0 input buffers",
        ),
        (
            lambda: te.extern((4,), [A], call, out_buffers=[1, 2]),
            RuntimeError,
            "te.extern extern: 1 outputs, but 2 output buffers",
        ),
        (
            lambda: te.extern((4,), [A], call, in_buffers=tir.decl_buffer((4, 4))),
            TVMError,
            "te.extern extern: the buffer of input A must be float32[4, 8], not float32[4, 4]",
        ),
        (
            lambda: te.extern((4,), [A], call, out_buffers=tir.decl_buffer((4,)), dtype="int8"),
            TVMError,
            "te.extern extern: the buffer of output must be int8[4], not float32[4]",
        ),
        (
            lambda: te.extern((4,), [A], call, in_buffers=tir.decl_buffer((4, 8), strides=[Var("s"), 1])),
            TVMError,
            "te.extern extern: the buffer of input A has strides; an input buffer must be compact",
        ),
        (
            lambda: te.extern((4,), [I], lambda i, o: o[0].vstore([0], A[0, 0].astype("int32")), name="C"),
            TVMError,
            "C: the body reads tensor A, which is not among the inputs\n  legal here:  I",
        ),
    ],
)
def test_refused(make, kind, message):
    assert refused(kind, make) == message


def test_no_inputs_at_all():
    C = te.extern((4,), [], call, dtype="float32")
    assert C.op.inputs == ()
    assert isinstance(C.op.out_buffers[0], Buffer)


def test_reading_one_other_tensor():
    op = te.extern((4,), [A, I], call, dtype="int8").op
    J = te.placeholder((4,), "int32", name="J")
    assert op.with_inputs({I: J}).sources == (A, J)
