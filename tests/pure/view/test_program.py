"""Programs of traces: run where nothing else is, they give an equal trace."""

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests import expr_fuzz
from tests.pure.view import sketch
from tests.traces import MORE, random_steps
from tvmlab import te, tir
from tvmlab.schedule.trace import Trace
from tvmlab.view.program import program

ROOT = Path(__file__).parents[3]
SEEDS = range(60)


def holds(trace, form="code", schedule="s"):
    """The law. `form`: code, or saved where the tensors (or the steps) have to be embedded."""
    text = program(trace, schedule)
    scope = {}
    exec(compile(text, "<program>", "exec"), scope)
    assert scope[schedule].trace.same(trace), text
    assert ("saved" if "from_json" in text else "code") == form, text
    return text


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.filterwarnings("ignore")
def test_random_schedules(seed):
    holds(random_steps(random.Random(seed), 12, MORE).schedule.trace)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_expressions(seed):
    holds(expr_fuzz.Case(seed).schedule.trace)


def test_it_runs_in_a_fresh_kernel():
    trace = sketch.twelve().trace
    text = program(trace) + "\nprint(s.trace.to_json())"
    run = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, cwd=ROOT, timeout=60)
    assert run.returncode == 0, run.stderr
    assert Trace.from_json(run.stdout).same(trace)


def test_how_it_reads(golden):
    assert holds(sketch.twelve().trace) + "\n" + holds(sketch.conv().trace) == golden


def test_a_reduction_of_pairs_from_a_start_where_something_holds(golden):
    n = te.size_var("n", "int64")
    V, I = te.placeholder((n, 8), name="V"), te.placeholder((n, 8), "int32", name="I")
    Z = te.placeholder((n,), name="Z")
    k = te.reduce_axis((1, 8), name="k")
    best = te.comm_reducer(
        lambda x, y: (te.if_then_else(x[1] > y[1], x[0], y[0]), te.max(x[1], y[1])),
        lambda t0, t1: (te.const(-1, t0), te.min_value(t1)),
        name="argmax",
    )
    T = te.compute((n,), lambda i: best((I[i, k], V[i, k]), axis=k, where=V[i, k] > 0.5), name="T")
    m = te.var("m")
    r = te.reduce_axis((m, m + 4), name="r")
    S = te.compute((n,), lambda i: te.sum(V[i, r - m] + T[1][i], axis=r, init=Z[i]), name="S")
    s = te.create_schedule([S.op, T[0].op])
    s[S].split(S.op.axis[0], factor=4)
    assert holds(s.trace) == golden


def test_parts_that_are_used_twice_get_a_name():
    A = te.placeholder((8,), name="A")

    def body(i):
        x = A[i] * 2.0 + 1.0
        for _ in range(12):
            x = x * x + 1.0
        return x

    B = te.compute((8,), body, name="B")
    text = holds(te.create_schedule(B.op).trace)
    assert "def B_element(i):" in text
    assert len(text) < 1500


HOSTILE = ["lambda", "te", "tir", "s", "a b", "quo\"te's", "<script>", "日本", "new\nline", "float", "_", "Trace"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(name):
    A = te.placeholder((8,), name=name)
    n = te.var(name)
    k = te.reduce_axis((0, 8), name=name)
    B = te.compute((8,), lambda i: A[i] + n, name=name)
    C = te.compute((8,), lambda *i: te.sum(A[k] * B[i[0]], axis=k), name=name, varargs_names=[name], tag=name)
    s = te.create_schedule(C.op)
    s[C].split(C.op.axis[0], factor=3)
    holds(s.trace)


def test_an_axis_that_is_called_as_its_tensor():
    i = te.placeholder((8,), name="i")
    B = te.compute((8,), lambda x: i[x] + 1.0, name="x")
    C = te.compute((8,), lambda *q: B[q[0]] + i[q[0]], name="C", varargs_names=["i"])
    assert 'varargs_names=["i"]' in holds(te.create_schedule(C.op).trace)


def test_threads_and_predicates():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    tx = te.thread_axis((0, 16), "threadIdx.x")
    _, inner = s[B].split(B.op.axis[0], 16)
    s[B].bind(inner, tx)
    s[B].set_store_predicate(tx.var.equal(0))
    holds(s.trace)


@pytest.mark.parametrize("name, form", [("B", "code"), ("n", "saved")])  # `n` is taken by the tensor in the calls
def test_a_factor_that_is_known_when_called(name, form):
    n = te.size_var("n")
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1.0, name=name)
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], factor=n + 1)
    holds(s.trace, form)


def test_a_call_of_a_function_by_its_name():
    A, n = te.placeholder((8,), "int32", name="A"), te.var("n")
    B = te.extern((8,), [A], lambda i, o: tir.call_packed("tests.twice", i[0], o[0], n + 1, 3, "mode"), name="B")
    two = [(8,), (4, 2)]
    C, D = te.extern(two, [A, B], lambda i, o: tir.call_extern("int32", "f", *i, *o), name="C", dtype=["int32", "int8"])
    E = te.compute((8,), lambda i: C[i] + D[i // 2, i % 2] + 1, name="E")
    text = holds(te.create_schedule(E.op).trace)
    assert 'call_packed("tests.twice", ins[0], outs[0], n + 1, 3, "mode")' in text


def test_statements_of_ones_own_are_embedded():
    A = te.placeholder((8,), name="A")

    def twice(ins, outs):
        ib = tir.ir_builder.create()
        a, b = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 8, "q") as q:
            b[q] = a[q] * 2.0
        return ib.get()

    B = te.extern((8,), [A], twice, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    s[C].vectorize(C.op.axis[0])
    text = holds(s.trace, "saved")
    assert "s[C].vectorize(i)" in text
    assert "A, B, C, = " in text


def test_a_tensor_intrinsic_is_embedded_with_the_steps():
    x, y = te.placeholder((4,), name="x"), te.placeholder((4,), name="y")
    z = te.compute((4,), lambda i: x[i] + y[i], name="z")
    add4 = te.decl_tensor_intrin(z.op, lambda ins, outs: tir.call_packed("add4", ins[0], ins[1], outs[0]), name="add4")
    A, B = te.placeholder((16,), name="A"), te.placeholder((16,), name="B")
    C = te.compute((16,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    _, inner = s[C].split(C.op.axis[0], 4)
    s[C].tensorize(inner, add4)
    holds(s.trace, "saved")


def test_another_name_for_the_schedule():
    assert "sch[C].tile(" in holds(sketch.tiled().trace, schedule="sch")


def test_attributes_and_tags():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B", tag="elemwise", attrs={"k": [1, "two"], "f": 1.5})
    assert "attrs={'k': [1, 'two'], 'f': 1.5}" in holds(te.create_schedule(B.op).trace)


def test_a_scalar_and_a_deep_expression():
    A = te.placeholder((), name="A")
    B = te.compute((), lambda: A() + 1.0, name="B")
    holds(te.create_schedule(B.op).trace)
    X = te.placeholder((8,), name="X")

    def long_sum(i):
        total = X[i]
        for _ in range(2500):
            total = total + X[i]
        return total

    Y = te.compute((8,), long_sum, name="Y")
    holds(te.create_schedule(Y.op).trace)
