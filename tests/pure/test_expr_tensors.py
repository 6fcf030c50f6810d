"""placeholder, compute, tensors and their elements, tags, axes."""

import warnings

import pytest

from tests.refusal import refused
from tvmlab import te
from tvmlab.core.error import TVMError
from tvmlab.core.node import DATA, REDUCE, THREAD, Load, Reduce, Var
from tvmlab.core.walk import same

A = te.placeholder((4, 8), name="A")
n = te.var("n")


# ---------------------------------------------------------------- placeholders and tensors


def test_placeholder():
    assert (A.shape[0].value, A.shape[1].value, A.dtype, A.ndim, A.name) == (4, 8, "float32", 2, "A")
    assert te.placeholder(n).ndim == 1
    assert te.placeholder((n, 4.0), "int8").shape[1].value == 4
    assert te.placeholder((), name="s").ndim == 0
    assert repr(A) == "Tensor(shape=[4, 8], op.name=A)"
    assert A.op.input_tensors == []


def test_extents_are_numbers_too():
    assert int(A.shape[0]) == 4
    assert list(range(A.shape[0])) == [0, 1, 2, 3]
    assert tuple(A.shape) == (4, 8)


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: te.placeholder((4, -1)), TVMError, "an extent must not be negative: -1"),
        (lambda: te.placeholder((2.5,)), TVMError, "an extent must be an integer, not 2.5 (float32)"),
        (
            lambda: te.placeholder((4,), "float3"),
            TypeError,
            "unknown dtype `float3`; the data types are bool, "
            "int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
            "float16, float32, float64, handle, and vectors such as float32x4",
        ),
        (lambda: A.op.output(1), TVMError, "A has 1 outputs; there is no output 1"),
        (lambda: A(1), ValueError, "tensor A has 2 dimensions, it was read with 1 index"),
        (lambda: A[1, 2, 3], ValueError, "tensor A has 2 dimensions, it was read with 3 indices"),
        (lambda: A[1] + 1.0, ValueError, "tensor A has 2 dimensions, it was read with 1 index"),
        (lambda: A[0.5, 0], TVMError, "an index of A is a float: 0.5\n  cast it to int32"),
        (
            lambda: te.exp(A),
            TVMError,
            "tensor A has 2 dimensions: arithmetic works on its elements\n  legal here:  A[i0, i1]\n"
            "  operators on whole tensors are in tvmlab.topi: once it is imported, A + B - C * D / E works too",
        ),
        (lambda: list(A), TypeError, "tensor A is symbolic: its elements cannot be iterated"),
    ],
)
def test_refused(call, kind, message):
    assert refused(kind, call) == message


def test_elements_and_slices():
    i = Var("i")
    assert same(A[i, 2], A(i, 2))
    assert same(A[i][2], A[i, 2])
    assert same(A[(i, 2)], A((i, 2)))
    k = te.reduce_axis((0, 8), "k")
    assert A[0, k].indices[1] is k.var


def test_tensors_are_equal_to_themselves_only():
    B = te.placeholder((4, 8), name="A")
    assert A == A
    assert A != B
    assert {A: 1}[A] == 1
    s, t = te.placeholder((), name="s"), te.placeholder((), name="t")
    assert refused(ValueError, lambda: s == t).startswith("== of two rank-0 tensors is ambiguous")


def test_rank_zero():
    s = te.placeholder((), name="s")
    C = te.compute((), lambda: s() + s[()] * 2.0, name="C")
    assert C.ndim == 0
    assert C.op.inputs == (s,)
    assert (s + 1.0).dtype == "float32"


# ---------------------------------------------------------------- compute


def names(t):
    return [a.name for a in t.op.axis]


def test_arguments_name_the_axes():
    assert names(te.compute((2, 3), lambda y, x: y + x)) == ["y", "x"]
    assert names(te.compute((2, 3), lambda *i: i[0])) == ["i0", "i1"]
    assert names(te.compute((2, 3), lambda *indices: indices[0])) == ["i0", "i1"]
    assert names(te.compute((2, 3, 4), lambda b, *rest: b)) == ["b", "i0", "i1"]
    assert names(te.compute((2, 3, 4), lambda b, *rest: b, varargs_names=["y", "x"])) == ["b", "y", "x"]
    assert all(a.iter_type == DATA for a in te.compute((2, 3), lambda y, x: 0).op.axis)


def test_several_outputs():
    B, C = te.compute((4,), lambda i: (A[i, 0], A[i, 1].astype("int32")), name="B")
    assert B.op is C.op
    assert (B.dtype, C.dtype, C.value_index, B.name, C.name) == ("float32", "int32", 1, "B.v0", "B.v1")
    assert B.op.num_outputs == 2


def test_attributes_and_names():
    C = te.compute((4,), lambda i: A[i, 0], name="C", tag="injective", attrs={"k": 3, "axis": Var("v")})
    assert (C.op.name, C.op.tag, C.op.attrs) == ("C", "injective", {"k": 3, "axis": "v"})


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (
            lambda: te.compute((4, 8), lambda i: 0),
            TypeError,
            "te.compute compute: the function takes 1 arguments, the shape has 2 dimensions",
        ),
        (
            lambda: te.compute((4,), lambda: 0),
            TypeError,
            "te.compute compute: the function takes 0 arguments, the shape has 1 dimensions",
        ),
        (
            lambda: te.compute((4,), lambda i, j: 0, name="C"),
            TypeError,
            "te.compute C: the function takes 2 arguments, the shape has 1 dimensions",
        ),
        (
            lambda: te.compute((4,), lambda i, *, k: 0),
            AssertionError,
            "the function of te.compute takes plain arguments only; `k` is not one",
        ),
        (
            lambda: te.compute((4,), lambda i=1: 0),
            AssertionError,
            "the function of te.compute takes plain arguments only; `i` is not one",
        ),
        (
            lambda: te.compute((4,), lambda i, **k: 0),
            AssertionError,
            "the function of te.compute takes plain arguments only; `k` is not one",
        ),
        (
            lambda: te.compute((4, 8), lambda *i: 0, varargs_names=["x"]),
            RuntimeError,
            "varargs_names has 1 names for 2 axes",
        ),
        (
            lambda: te.compute((4,), lambda i: None, name="C"),
            TypeError,
            "te.compute C: the function must return an expression, several of them, "
            "or a tensor intrinsic's call, not None",
        ),
    ],
)
def test_refused_computes(call, kind, message):
    assert refused(kind, call) == message


# ---------------------------------------------------------------- tags


def test_tag_scope():
    with te.tag_scope("conv"):
        C = te.compute((4,), lambda i: A[i, 0])
        message = refused(ValueError, lambda: te.compute((4,), lambda i: 0, tag="other"))
        nested = refused(ValueError, te.tag_scope("inner").__enter__)
    assert C.op.tag == "conv"
    assert message == "a tag inside a tag_scope: nested tags are not allowed"
    assert nested == "a tag_scope inside a tag_scope: nested tags are not allowed"
    assert te.compute((4,), lambda i: 0).op.tag == ""


def test_tag_scope_as_a_decorator():
    @te.tag_scope("relu")
    def relu(x):
        return te.compute(x.shape, lambda *i: te.max(x(*i), 0.0))

    assert relu(A).op.tag == "relu"
    assert relu(A).op.tag == "relu"


def test_an_unused_tag_warns():
    with pytest.warns(UserWarning, match=r"tag_scope\('conv'\): no operation was made inside"), te.tag_scope("conv"):
        pass
    with warnings.catch_warnings(), te.tag_scope("conv"):
        warnings.simplefilter("error")
        te.compute((4,), lambda i: 0)


# ---------------------------------------------------------------- reductions


def test_reduction():
    k = te.reduce_axis((0, 8), "k")
    C = te.compute((4,), lambda i: te.sum(A[i, k], axis=k, where=k > 2), name="C")
    (body,) = C.op.body
    assert isinstance(body, Reduce)
    assert C.op.reduce_axis == (k,)
    assert k.iter_type == REDUCE
    assert repr(body) == "sum(A[i, k], axis=[k], where=k > 2)"


def test_reducers_identity():
    for reducer, dtype, identity in [
        (te.sum, "int8", 0),
        (te.min, "int8", 127),
        (te.max, "uint8", 0),
        (te.prod, "float32", 1.0),
        (te.max, "int16", -32768),
    ]:
        X = te.placeholder((4,), dtype)
        k = te.reduce_axis((0, 4))
        assert reducer(X[k], axis=k).combiner.identity[0].value == identity


def test_two_argument_min_and_max():
    assert repr(te.min(A[0, 0], 1)) == "min(A[0, 0], 1.0)"
    assert repr(te.max(n, 1)) == "max(n, 1)"


def test_argmax():
    argmax = te.comm_reducer(
        lambda a, b: (te.if_then_else(a[1] >= b[1], a[0], b[0]), te.max(a[1], b[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    k = te.reduce_axis((0, 8), "k")
    index, value = te.compute((4,), lambda i: argmax((k.var, A[i, k]), axis=k), name="best")
    assert (index.dtype, value.dtype) == ("int32", "float32")
    assert repr(index.op.body[1]) == "argmax(k, A[i, k], axis=[k])[1]"
    assert index.op.reduce_axis == (k,)


k = te.reduce_axis((0, 8), "k")
i = te.compute((4,), lambda i: A[i, 0]).op.axis[0]


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: te.reduce_axis((0, 4, 2)), TypeError, "a domain is (begin, end) or an extent, not (0, 4, 2)"),
        (lambda: te.reduce_axis(None), TypeError, "a domain is (begin, end) or an extent, not None"),
        (lambda: te.reduce_axis((8, 0)), TVMError, "a domain's end must not lie before its begin: (8, 0)"),
        (
            lambda: te.sum(A[0, k], axis=i),
            TVMError,
            "sum: `i` is not a reduce axis\n  make it with te.reduce_axis((0, n), name='i')",
        ),
        (lambda: te.sum(A[0, k], axis=k, init=[0.0, 1.0]), TVMError, "sum: 2 init values for 1 sources"),
        (lambda: te.sum(A[0, k], axis=k, init=n + 1), TVMError, "sum: init must be a tensor's element or a constant"),
        (
            lambda: te.compute((4,), lambda i: te.sum(A[i, k], axis=k) + 1.0, name="C"),
            TVMError,
            "C: a reduction must stand alone, it cannot be part of a larger expression\n"
            "    sum(A[i, k], axis=[k]) + 1.0\n"
            "  give the reduction a te.compute of its own and read that here",
        ),
        (
            lambda: te.compute((4,), lambda i: (te.sum(A[i, k], axis=k), A[i, 0]), name="C"),
            TVMError,
            "C: either all outputs are reductions or none is",
        ),
        (
            lambda: te.compute((4,), lambda i: (te.sum(A[i, k], axis=k), te.max(A[i, k], axis=k)), name="C"),
            TVMError,
            "C: its outputs must share one reduction",
        ),
    ],
)
def test_refused_reductions(call, kind, message):
    assert refused(kind, call) == message


# ---------------------------------------------------------------- variables and thread axes


def test_variables():
    assert (te.var().name, te.var().dtype, te.var("m", "int64").dtype) == ("tindex", "int32", "int64")
    assert te.size_var("m").nonneg
    assert not te.var("m").nonneg
    assert te.const(3).dtype == "int32"
    assert te.const(3, "float16").value == 3.0


def test_thread_axis():
    t = te.thread_axis("threadIdx.x")
    assert (t.name, t.thread_tag, t.iter_type, t.dom) == ("threadIdx.x", "threadIdx.x", THREAD, None)
    t = te.thread_axis((0, 32), "threadIdx.x", name="tx")
    assert (t.name, t.dom.extent.value) == ("tx", 32)
    assert te.thread_axis(8, "blockIdx.z").dom.extent.value == 8
    for tag in ("vthread", "vthread.x", "cthread", "pipeline", "blockIdx.y"):
        assert te.thread_axis(tag).thread_tag == tag


def test_refused_thread_axes():
    tags = "blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z, vthread, cthread, pipeline"
    assert refused(ValueError, lambda: te.thread_axis((0, 4))) == f"a thread axis needs a tag: {tags}"
    assert refused(TVMError, lambda: te.thread_axis("threadIdx.w")) == (
        f"there are no threads called `threadIdx.w`\n  legal here:  {tags}"
    )


def test_operations_read_other_tensors():
    B = te.compute((4, 8), lambda i, j: A[i, j] + A[j, i], name="B")
    A2 = te.placeholder((4, 8), name="A2")
    assert B.op.inputs == (A,)
    assert B.op.with_inputs({A: A2}).inputs == (A2,)
    assert B.op.with_inputs({A2: A}) is B.op
    assert isinstance(B.op.body[0].a, Load)


def test_operators_on_whole_tensors_are_a_table_that_a_higher_layer_fills(monkeypatch):
    from tvmlab.expr import tensor

    A, B, i, x = (
        te.placeholder((4, 8), name="A"),
        te.placeholder((8,), name="B"),
        te.var("i"),
        te.placeholder((), name="x"),
    )
    names = ("+", "-", "*", "/", "//", "%", "astype")
    monkeypatch.setattr(tensor, "ARITHMETIC", {})
    assert refused(TVMError, lambda: A + B).startswith("tensor A has 2 dimensions")
    monkeypatch.setattr(tensor, "ARITHMETIC", {op: lambda a, b, op=op: (op, a, b) for op in names})
    assert A + B == ("+", A, B) and A - 1 == ("-", A, 1) and 1 - A == ("-", 1, A)
    assert i * A == ("*", i, A) and A / i == ("/", A, i)
    assert (x + A) == ("+", x, A) and (A % x) == ("%", A, x) and -A == ("*", A, -1.0)
    assert A.astype("int32") == ("astype", A, "int32")
    assert (x + x).dtype == "float32" and x.astype("int32").dtype == "int32" and (-x).dtype == "float32"
