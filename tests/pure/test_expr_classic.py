"""The classic names: te, tir, views of nodes, and what is said of names that are not there."""

import pytest

import tvmlab
from tests.refusal import refused
from tvmlab import te, tir
from tvmlab.core.node import For, Seq, Var
from tvmlab.core.walk import same

n, m = te.var("n"), te.var("m")
x, y = Var("x", "float32"), Var("y", "float32")
A = te.placeholder((4, 8), name="A")

OPERATORS = {
    tir.Add: n + m,
    tir.Sub: n - m,
    tir.Mul: n * m,
    tir.Div: x / y,
    tir.Mod: te.truncmod(n, m),
    tir.FloorDiv: n // m,
    tir.FloorMod: n % m,
    tir.Min: te.min(n, m),
    tir.Max: te.max(n, m),
    tir.EQ: n == m,
    tir.NE: n != m,
    tir.LT: n < m,
    tir.LE: n <= m,
    tir.GT: n > m,
    tir.GE: n >= m,
    tir.And: te.all(n > 0, m > 0),
    tir.Or: te.any(n > 0, m > 0),
}


@pytest.mark.parametrize("view", OPERATORS, ids=lambda v: v.__name__)
def test_one_class_per_operator(view):
    e = OPERATORS[view]
    assert isinstance(e, view)
    assert [v for v in OPERATORS if isinstance(e, v)] == [view]
    assert same(view(e.a, e.b), e)
    assert not isinstance(n, view)


def test_nodes_are_made_unfolded_but_of_one_type():
    assert repr(tir.Add(1, 2)) == "1 + 2"
    assert tir.Add(n, 1.5).dtype == "float32"
    assert tir.Div(n, m).op == "truncdiv"
    assert isinstance(te.div(n, m), tir.Div)


def test_families():
    assert isinstance(n + 1, tir.BinaryOpExpr)
    assert isinstance(n < 1, tir.CmpExpr)
    assert isinstance(tir.Not(n < 1), tir.LogicalExpr)
    assert isinstance(n, tir.PrimExpr)
    assert isinstance(n, tir.Var)


def test_numbers():
    assert isinstance(A.shape[0], tir.IntImm)
    assert isinstance(te.const(1.5), tir.FloatImm)
    assert not isinstance(te.const(1.5), tir.IntImm)
    assert isinstance(tir.StringImm("a"), tir.StringImm)
    assert (tir.IntImm("int8", 3).value, tir.IntImm("int8", 3).dtype) == (3, "int8")
    assert tir.FloatImm("float16", 2).value == 2.0
    assert isinstance(te.size_var("s"), tir.SizeVar)
    assert isinstance(tir.SizeVar("s", "int64"), tir.Var)
    assert not isinstance(n, tir.SizeVar)


def test_other_expressions():
    s = tir.Select(n > 1, x, y)
    assert isinstance(s, tir.Select)
    assert (repr(s.condition), s.true_value, s.false_value) == ("n > 1", x, y)
    assert isinstance(tir.Cast("int8", x), tir.Cast)
    assert tir.Cast("int8", x).value is x
    assert isinstance(te.exp(x), tir.Call)
    assert te.exp(x).op.name == "tir.exp"
    assert te.exp(x).op == "exp"
    assert same(tir.Call("float32", "tir.exp", [x]), te.exp(x))
    assert isinstance(A[n, 0], tir.ProducerLoad)
    assert isinstance(A[n, 0], tir.Load)
    assert not isinstance(A[n, 0], tir.BufferLoad)
    assert A[n, 0].producer is A
    assert same(tir.ProducerLoad(A, [n, 0]), A[n, 0])
    r = tir.Ramp(n, 1, 4)
    assert isinstance(r, tir.Ramp)
    assert (r.lanes, r.dtype) == (4, "int32x4")
    assert tir.Broadcast(x, 4).lanes == 4
    assert repr(tir.Let(n, 1, n + m)) == "let(n = 1, n + m)"


def test_reductions():
    k = te.reduce_axis((0, 8), "k")
    body = te.compute((4,), lambda i: te.sum(A[i, k], axis=k)).op.body[0]
    assert isinstance(body, tir.Reduce)
    assert body.axis == [k]
    assert repr(body.source) == "[A[i, k]]"
    assert body.value_index == 0
    assert body.condition.value is True
    assert body.combiner.identity_element[0].value == 0.0
    again = tir.Reduce(body.combiner, body.source, body.axis, body.condition, 0)
    assert same(again, body)


def test_statements():
    b = tir.decl_buffer((8,), name="b")
    store = tir.BufferStore(b, 1.0, [n])
    assert isinstance(store, tir.BufferStore)
    assert repr(store) == "b[n] = 1.0"
    assert isinstance(tir.BufferLoad(b, [n]), tir.BufferLoad)
    loop = tir.For(n, 0, 8, tir.ir_builder.KINDS["parallel"], store)
    assert isinstance(loop, tir.For)
    assert isinstance(loop, For)
    assert (loop.loop_var, loop.min.value, loop.kind) == (n, 0, "parallel")
    branch = tir.IfThenElse(n > 1, store, None)
    assert (repr(branch.condition), branch.then_case, branch.else_case) == ("n > 1", store, None)
    both = tir.SeqStmt([store, loop])
    assert isinstance(both, Seq)
    assert both.seq == [store, loop]
    note = tir.AttrStmt(b, "key", 1, store)
    assert (note.attr_key, note.node, note.body) == ("key", b, store)
    assert isinstance(tir.Evaluate(0), tir.Evaluate)


def test_simple_functions():
    assert [repr(f(n, m)) for f in (te.add, te.subtract, te.multiply)] == ["n + m", "n - m", "n*m"]


# ---------------------------------------------------------------- names


def test_the_package_has_them():
    assert tvmlab.te is te
    assert tvmlab.tir is tir
    assert te.create_schedule.__name__ == "create_schedule"
    assert "create_schedule" in dir(te)
    assert "ir_builder" in dir(tir)


def test_stars_import_names_only():
    public: dict = {}
    exec("from tvmlab.te import *", public)
    assert "compute" in public
    assert not [k for k in public if k.startswith("_") and k != "__builtins__"]
    assert "annotations" not in public


@pytest.mark.parametrize(
    "module, name, message",
    [
        (
            te,
            "hybrid",
            "te.hybrid does not exist in tvmlab\n"
            "  write the loops with te.extern and tir.ir_builder, or the computation with te.compute",
        ),
        (te, "gradient", "te.gradient does not exist in tvmlab\n  write the gradient as te.compute expressions"),
        (
            te,
            "extern_primfunc",
            "te.extern_primfunc does not exist in tvmlab\n"
            "  there is no TensorIR here: te.extern takes a statement built with tir.ir_builder",
        ),
        (te, "plaecholder", "there is no te.plaecholder\n  legal here:  te.placeholder, te.PlaceholderOp"),
        (
            tir,
            "PrimFunc",
            "tir.PrimFunc does not exist in tvmlab\n"
            "  there is no TensorIR here: a program is scheduled through te.create_schedule",
        ),
        (tir, "xyzzy", "there is no tir.xyzzy\n  dir(tir) lists what exists"),
    ],
)
def test_missing_names(module, name, message):
    assert refused(AttributeError, lambda: getattr(module, name)) == message
    assert not hasattr(module, name)


def samples():
    """One node for each view that is not an operator's."""
    b = tir.decl_buffer((8,), name="b")
    store = b.vstore([0], 1.0)
    k = te.reduce_axis((0, 8), "k")
    return {
        "Not": tir.Not(n < 1),
        "Select": tir.Select(n > 1, x, y),
        "Cast": x.astype("int8"),
        "Call": te.exp(x),
        "Let": tir.Let(n, 1, n + m),
        "Ramp": tir.Ramp(n, 1, 4),
        "Broadcast": tir.Broadcast(x, 4),
        "IntImm": te.const(1),
        "FloatImm": te.const(1.0),
        "StringImm": tir.StringImm("s"),
        "SizeVar": te.size_var("s"),
        "ProducerLoad": A[n, 0],
        "BufferLoad": b[0],
        "Reduce": te.compute((4,), lambda i: te.sum(A[i, k], axis=k)).op.body[0],
        "BufferStore": store,
        "For": tir.For(n, 0, 8, 0, store),
        "IfThenElse": tir.IfThenElse(n > 1, store),
        "SeqStmt": tir.SeqStmt([store, store]),
        "AttrStmt": tir.AttrStmt(b, "key", 1, store),
        "Allocate": tir.Allocate(b, store),
        "Evaluate": tir.Evaluate(0),
    }


@pytest.mark.parametrize("name", samples())
def test_views_know_their_own_nodes_only(name):
    assert {k for k, node in samples().items() if isinstance(node, getattr(tir, name))} == {name}


def test_families_hold_their_members_only():
    both = te.all(n < m, n > 1)
    kinds = {tir.BinaryOpExpr: n + 1, tir.CmpExpr: n < m, tir.LogicalExpr: both, tir.ConstExpr: te.const(1)}
    for view, node in kinds.items():
        assert [v for v in kinds if isinstance(node, v)] == [view]
        assert not isinstance(te.exp(x), view)
    assert isinstance(tir.Not(n < 1), tir.LogicalExpr)


def test_a_reduction_keeps_its_init():
    k = te.reduce_axis((0, 8), "k")
    body = te.compute((4,), lambda i: te.sum(A[i, k], axis=k, init=A[i, 0])).op.body[0]
    again = tir.Reduce(body.combiner, body.source, body.axis, body.condition, 0, body.init)
    assert same(again, body)
    assert len(again.init) == 1
