"""Saved programs: what comes back is the same, shared where it was shared."""

import json
import math

import pytest

from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core import serial
from tvmlab.core.node import Const, Var
from tvmlab.core.program import Function, Program
from tvmlab.core.walk import same

A = te.placeholder((4, 8), name="A")


def again(thing):
    return serial.loads(serial.dumps(thing))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        2**70,
        1.5,
        0.1,
        -0.0,
        math.inf,
        -math.inf,
        "text",
        (1, (2,)),
        [1, [2]],
        {"a": 1, 2: (3,)},
        (),
        [],
        {},
    ],
)
def test_plain_values(value):
    made = again(value)
    assert made == value
    assert type(made) is type(value)


def test_not_a_number():
    assert math.isnan(again(math.nan))


def test_numpy_numbers_become_python_ones():
    np = pytest.importorskip("numpy")
    made = again({"a": np.int64(3), "b": np.float32(1.5)})
    assert made == {"a": 3, "b": 1.5}
    assert type(made["a"]) is int


def test_constants_keep_their_type():
    for c in (Const(True, "bool"), Const(1, "int8"), Const(1.0, "float32"), Const("s", "handle")):
        made = again(c)
        assert (made.value, type(made.value), made.dtype) == (c.value, type(c.value), c.dtype)


def everything():
    """A statement with every kind of node that an expression or a body can have."""
    b, n, x = tir.decl_buffer((8, 8), name="b"), te.size_var("n"), Var("x", "float32")
    ib = tir.ir_builder.create()
    p = ib.buffer_ptr(b)
    t = ib.allocate("float32", (4,), "t", scope="local")
    with ib.for_range(0, n, "i", kind="parallel") as i:
        v = ib.let("v", te.exp(b[i, 0]) + te.const(1.5))
        with ib.if_scope(te.all(i > 2, tir.Not(v < 0))):
            ib.emit(b.vstore([i, 0], b.vload([i, 4], "float32x4") * tir.Broadcast(v, 4)))
        with ib.else_scope():
            p[i, 0] = tir.Select(i > 3, t[0], tir.Let(x, 1.0, x * 2.0))
        with ib.while_loop(t[1] < 3):
            t[1] += tir.Cast("float32", i % 3)
        ib.scope_attr(b, "note", n)
        ib.emit(tir.call_intrin("int32", "tir.tvm_storage_sync", "shared"))
        ib.emit(tir.call_extern("int32", "f", b.access_ptr("r"), "text"))
    return b, n, ib.get()


def test_statements():
    b, n, body = everything()
    made_b, made_n, made = again((b, n, body))
    assert repr(made) == repr(body)
    assert same(body, made)
    names = {b: made_b, ("back", made_b): b, n: made_n, ("back", made_n): n}
    assert same(body, made, names)  # the same buffer and variable inside as outside


def test_programs():
    b, n, body = everything()
    program = Program((Function("main", (b, n), body, (n,), (("k", 1),)),), ("a note",))
    made = again(program)
    assert str(made) == str(program)
    assert (made.notes, made.entry.attrs) == (("a note",), (("k", 1),))
    assert made.entry.params[0] is next(p for p in made.entry.buffers)


def test_buffers():
    b = tir.decl_buffer(
        (4, 8),
        "int8",
        "b",
        strides=[te.var("s"), 1],
        elem_offset=te.var("o"),
        scope="local",
        data_alignment=16,
        offset_factor=4,
        axis_separators=[1],
        buffer_type="auto_broadcast",
    )
    made = again(b)
    for name in ("name", "dtype", "scope", "align", "separators", "kind", "factor"):
        assert getattr(made, name) == getattr(b, name)
    assert (made.strides[0].name, made.offset.name, made.data.name) == ("s", "o", "b")
    view = again((b, b.with_(logical=b, data=b.data)))
    assert view[1].logical is view[0]
    assert view[1].data is view[0].data


# ---------------------------------------------------------------- graphs


def test_graphs_keep_what_is_shared():
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1.0, name="B", tag="t", attrs={"k": [1, (2,)]})
    C = te.compute((4, 8), lambda i, j: B[i, j] * B[j, i], name="C")
    a, c = again((A, C))
    b = c.op.inputs[0]
    assert b.op.inputs == (a,)
    assert (b.op.tag, b.op.attrs, b.name, c.dtype) == ("t", {"k": [1, (2,)]}, "B", "float32")
    assert same(c.op.body, C.op.body)
    assert c.op.body[0].a.buffer is c.op.body[0].b.buffer
    assert c.op.body[0].a.indices[0] is c.op.axis[0].var
    assert c.op.axis[0].iter_type == C.op.axis[0].iter_type


def test_outputs_of_one_operation_stay_together():
    argmax = te.comm_reducer(
        lambda a, b: (te.if_then_else(a[1] >= b[1], a[0], b[0]), te.max(a[1], b[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    k = te.reduce_axis((0, 8), "k")
    best = te.compute((4,), lambda i: argmax((k.var, A[i, k]), axis=k, where=k > 2), name="best")
    made = again(best)
    assert made[0].op is made[1].op
    assert same(made[0].op.body, best[0].op.body)
    assert made[0].op.reduce_axis[0].name == "k"
    assert made[0].op.body[0].combiner is made[0].op.body[1].combiner


def test_scans():
    n = te.var("n")
    state = te.placeholder((n, 8), name="s")
    init = te.compute((1, 8), lambda _, i: A[0, i], name="init")
    update = te.compute((n, 8), lambda t, i: state[t - 1, i] + 1.0, name="update")
    r = te.scan(init, update, state, inputs=[A], name="c")
    op = again(r).op
    assert op.updates[0].op.inputs[0] is op.state_placeholder[0]
    assert [(a.name, a.iter_type) for a in op.axis] == [(a.name, a.iter_type) for a in r.op.axis]
    assert op.outputs[0].shape[0].name == "n"
    assert op.outputs[0].shape[0] is op.state_placeholder[0].shape[0]


def test_externs():
    E = te.extern((4,), [A], lambda i, o: tir.call_packed("f", i[0], o[0]), name="E", attrs={"a": 1})
    op = again(E).op
    assert repr(op.body) == repr(E.op.body)
    assert op.body.value.args[1] is op.out_buffers[0].data
    assert (op.inputs[0].name, op.attrs) == ("A", {"a": 1})


def intrin(name="t"):
    x = te.placeholder((8,), name="x")
    y = te.compute((8,), lambda i: x[i] * 2.0, name="y")
    return te.decl_tensor_intrin(
        y.op, lambda i, o: tir.call_extern("int32", "f", i[0].access_ptr("r"), o[0].access_ptr("w")), name
    )


def test_tensor_intrinsics():
    t = intrin()
    made = again(t)
    assert repr(made.body) == repr(t.body)
    assert made.buffers[0].data is made.body.value.args[0].args[0]
    C = te.compute((4, 8), lambda i: t(A[i, 0:8]), name="C")
    op = again(C).op
    assert repr(op.input_regions) == repr(C.op.input_regions)
    assert (op.schedulable_ndim, op.intrin.name) == (1, "t")


def test_a_registered_intrinsic_is_saved_by_name():
    t = te.register_intrin(intrin(), "test.serial")
    assert serial.to_data(t)["objects"] == [["TensorIntrin", "test.serial"]]
    assert again(t) is t


def test_long_chains():
    t = A
    for k in range(500):
        t = add_one(t, k)
    made = again(t)
    assert made.name == "t499"
    assert same(made.op.body, t.op.body)


def add_one(t, k):
    return te.compute((4, 8), lambda i, j: t[i, j] + 1.0, name=f"t{k}")


# ---------------------------------------------------------------- refusals


def named(x):
    return x


GOOD = json.loads(serial.dumps(A[0, 0] + 1.0))


def changed(**changes):
    return json.dumps({**GOOD, **changes})


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: serial.dumps({"f": named}),
            "cannot save `named`: a Python function has no text form\n"
            "  call it by name instead: register it with register_func and use tir.call_packed",
        ),
        (
            lambda: serial.loads("{"),
            "this is not the text of a saved program: "
            "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        (lambda: serial.loads("[]"), "this is not the text of a saved program: no `tvmlab` version in it"),
        (lambda: serial.loads("{}"), "this is not the text of a saved program: no `tvmlab` version in it"),
        (lambda: serial.loads(changed(tvmlab=99)), "saved as version 99, this tvmlab reads version 1"),
        (
            lambda: serial.loads(changed(objects=[])),
            "this text of a saved program is damaged: IndexError: list index out of range",
        ),
        (
            lambda: serial.loads(changed(root={"ref": 99})),
            "this text of a saved program is damaged: IndexError: list index out of range",
        ),
    ],
)
def test_refused(call, message):
    assert refused(ValueError, call) == message
    assert refused(RuntimeError, call) == message


def test_unknown_things_are_named():
    class Mine:
        __slots__ = ()

        def __repr__(self):
            return "<mine>"

    assert refused(ValueError, lambda: serial.dumps(Mine())).startswith("cannot save <mine>: a Mine has no text form\n")
    text = changed(objects=[["Nonsense", 1]])
    assert refused(ValueError, lambda: serial.loads(text)).startswith(
        "this text holds a `Nonsense`, which is not known here\n  legal here:  AllReduce, Alloc, "
    )


def test_truncated_texts_never_load():
    text = serial.dumps(te.compute((4,), lambda i: A[i, 0]))
    for k in range(0, len(text), 7):
        refused(ValueError, lambda k=k: serial.loads(text[:k]))
