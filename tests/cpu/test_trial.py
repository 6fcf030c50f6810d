"""A trial: right results, wrong ones with the iterations that wrote them, given arrays, two side by side."""

import json

import numpy as np
import pytest

import tests.jobs  # noqa: F401  # registers the packed functions
from tvmlab import kernels, te, tir
from tvmlab.core import packed
from tvmlab.core.error import CallError, LabError
from tvmlab.face.options import OptionError, options
from tvmlab.face.trial import _writers, compare, fingerprint, measure_one, ready, spec

QUICK = {"repeats": 3, "min_ms": 0.0}


def matmul(n=32):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_schedule(c.op), c, k


def tiled(n=32):
    s, c, k = matmul(n)
    io, jo, ii, ji = s[c].tile(*c.op.axis, 8, 8)
    ko, ki = s[c].split(k, 4)
    s[c].reorder(io, jo, ko, ii, ki, ji)
    s[c].vectorize(ji)
    s[c].parallel(io)
    return s


def wrong_gemv():
    """A schedule whose intrinsic leaves out the last product."""
    w, x = te.placeholder((4, 8), name="w"), te.placeholder((8,), name="x")
    q = te.reduce_axis((0, 8), name="q")
    y = te.compute((4,), lambda i: te.sum(w[i, q] * x[q], axis=q), name="y")

    def body(ins, outs):
        ib = tir.ir_builder.create()
        a, b, c = (ib.buffer_ptr(t) for t in (*ins, *outs))
        with ib.for_range(0, 4, "r") as r:
            c[r] = 0.0
            with ib.for_range(0, 7, "p") as p:
                c[r] = c[r] + a[r, p] * b[p]
        return ib.get()

    intrin = te.decl_tensor_intrin(y.op, body, name="short_gemv")
    a, v = te.placeholder((16, 8), name="A"), te.placeholder((8,), name="V")
    k = te.reduce_axis((0, 8), name="k")
    out = te.compute((16,), lambda i: te.sum(a[i, k] * v[k], axis=k), name="Y")
    s = te.create_schedule(out.op)
    _, ii = s[out].split(out.op.axis[0], 4)
    s[out].tensorize(ii, intrin)
    return s


def calls(name, n=12):
    """A program that calls a packed function."""
    a = te.placeholder((n,), name="A")
    b = te.extern((n,), [a], lambda i, o: tir.call_packed(name, i[0], o[0]), name="B", dtype="float32")
    return te.create_schedule(b.op)


def trial(s, given=None, args=None, **values):
    heard = []
    result = measure_one(spec(s.trace, options({**QUICK, **values}), given, args), heard.append)
    json.dumps(result)  # plain
    states = [h["state"] for h in heard]
    assert states == sorted(states, key=["compiling", "checking", "running"].index)
    assert [h["progress"] for h in heard] == sorted(h["progress"] for h in heard)
    return result


@pytest.mark.parametrize("target", ["llvm", "numba", "interp"])
def test_a_right_one(target):
    found = trial(tiled(), target=target, threads=1)
    assert found["check"] == "ok" and found["wrong"] is None and found["reference"] == "NumPy"
    assert len(found["times"]) == 3 and min(found["times"]) > 0
    assert found["seconds"] == np.median(found["times"]) and found["compile"] > 0
    assert found["gflops"] == pytest.approx(2 * 32**3 / found["seconds"] / 1e9)
    assert found["baseline"] > 0 and found["baseline_name"].startswith("NumPy (matmul)") and found["naive"] > 0
    assert found["size"] == "A[32, 32] B[32, 32] C[32, 32]" and found["threads"] == 1
    assert "32 additions in another order" in found["worst"]


def test_a_wrong_one_names_the_iterations_that_wrote_it():
    found = trial(wrong_gemv())
    wrong = found["wrong"]
    assert found["check"] == "wrong" and wrong["tensor"] == "Y" and wrong["index"] == [0]
    assert float(wrong["got"]) != float(wrong["expected"])
    assert 0 < wrong["count"] <= 16 and f"{wrong['count']} of 16" in wrong["note"]
    assert any("p = 0..6" in w for w in wrong["writers"])


def test_one_element_that_is_wrong_is_found():
    found = trial(calls("test.jobs.double_badly"), kernel=None)
    assert found["check"] == "ok"  # the expression itself calls it: the reference is the same function
    s, c, k = matmul(8)
    result = np.full((8, 8), 2.0, "float32")
    from tvmlab.face.check import difference, tolerance

    got = result.copy()
    got[3, 5] = 2.5
    found = difference("C", got, result, tolerance("float32", 8, 1, 0, 0, 2.0))
    assert (found.index, found.count, found.got, found.expected) == ((3, 5), 1, "2.5", "2.0")
    assert difference("C", got, result, tolerance("float32", 8, 1, 0.5, 0, 2.0)).count == 0
    assert "C[3, 5]" in found.worst


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_number_is_wrong_and_equal_to_itself(bad):
    from tvmlab.face.check import difference, tolerance

    want, got = np.ones(4, "float32"), np.ones(4, "float32")
    got[2] = bad
    allowed = tolerance("float32", 1, 1, 0, 0, 1.0)
    assert difference("C", got, want, allowed).index == (2,)
    assert difference("C", got, got.copy(), allowed).count == 0


def test_unwritten_elements_show():
    a = te.placeholder((8,), name="A")

    def half(ins, outs):
        ib = tir.ir_builder.create()
        x, y = ib.buffer_ptr(ins[0]), ib.buffer_ptr(outs[0])
        with ib.for_range(0, 4, "q") as q:
            y[q] = x[q]
        return ib.get()

    b = te.extern((8,), [a], half, name="B", dtype="float32")
    found = trial(te.create_schedule(b.op))
    assert found["check"] == "ok"  # equal to the unscheduled program, NaNs where nothing is written
    assert "interpreter" in found["reference"]


def test_a_large_one_without_numpy_is_checked_by_the_other_target():
    kernel = kernels.get("sort")
    shape = {"op": "cumsum", "shape": (600, 700), "how": {"axis": 1}}
    *_, out = kernel.declare(**shape)
    found = trial(te.create_schedule(out.op))
    assert found["check"] == "ok" and found["reference"] == "the unscheduled program by numba"
    found = trial(te.create_schedule(out.op), kernel={"name": "sort", "shape": shape}, seed=1)
    assert found["check"] == "ok" and found["reference"] == "NumPy of kernels/sort"


@pytest.mark.parametrize("kernel", [{}, {"name": "no such"}, {"name": "nobody"}, {"name": "sort", "shape": {"x": 1}}])
def test_a_gallery_that_does_not_know_the_expression_is_passed_over(kernel):
    assert trial(tiled(), kernel=kernel)["check"] == "ok"
    *_, out = kernels.get("sort").declare(op="cumsum", shape=(5, 7), how={"axis": 1})
    assert "interpreter" in trial(te.create_schedule(out.op), kernel=kernel)["reference"]


def test_variables_as_sizes_and_layouts():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2 + n, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], 16)
    assert trial(s)["size"] == "n = 256"
    assert trial(s, sizes={"n": 33})["size"] == "n = 33"
    found = trial(s, inputs="given", given={"A": np.ones(5, "float32")})
    assert (found["size"], found["check"]) == ("n = 5", "ok")
    with pytest.raises(CallError, match="size n"):
        trial(s, sizes={"n": 0})
    s, c, k = matmul(20)
    s[c].transform_layout(lambda i, j: [i // 8, j, i % 8])
    assert trial(s)["check"] == "ok"


def test_indices_are_drawn_inside_what_they_index():
    table, rows = te.placeholder((3, 4), name="T"), te.placeholder((50,), "int32", name="R")
    out = te.compute((50, 4), lambda i, j: table[rows[i], j], name="out")
    assert trial(te.create_schedule(out.op))["check"] == "ok"


def test_a_persons_order_of_arguments():
    s = tiled()
    a, b = (t for t in s[s.outputs[0]].op.inputs)
    assert trial(s, args=[s.outputs[0].output(0), b, a])["check"] == "ok"


GIVEN = {"A": np.ones((32, 32), "float32"), "B": np.ones((32, 32), "float32")}


@pytest.mark.parametrize(
    "change, words",
    [({"B": None}, "B"), ({"B": GIVEN["B"][:, :31]}, "B.shape"), ({"B": GIVEN["B"].astype("float64")}, "float64"),
     ({"B": [1, 2]}, "list"), ({"Z": GIVEN["B"]}, "no input `Z`"), ({"B": GIVEN["B"][0]}, "shape")],
)  # fmt: skip
def test_given_arrays_are_checked_before_anything_starts(change, words):
    arrays = {k: v for k, v in {**GIVEN, **change}.items() if v is not None}
    with pytest.raises(CallError, match=words):
        spec(tiled().trace, options({"inputs": "given"}), arrays)


def test_given_arrays_are_used():
    found = trial(tiled(), inputs="given", given=GIVEN)
    assert found["check"] == "ok"
    with pytest.raises(CallError, match="no arrays"):
        spec(tiled().trace, options({"inputs": "given"}))


BAD = [
    {"repeats": 0}, {"repeats": 2.5}, {"rtol": float("nan")}, {"rtol": -1}, {"limit": 0}, {"threads": 10**6},
    {"threads": True}, {"seed": -1}, {"inputs": "mine"}, {"target": None}, {"rounds": 2}, {"speed": 11},
    {"kernel": 3}, {"sizes": 3},
]  # fmt: skip


@pytest.mark.parametrize("bad", BAD, ids=str)
def test_bad_options_are_refused_with_what_is_legal(bad):
    with pytest.raises(OptionError) as e:
        options(bad)
    assert e.value.legal and next(iter(bad)) in e.value.message


@pytest.mark.parametrize("target", ["rocm", "lvm", "llvm -mcpo=x"])
def test_targets_that_are_not_there(target):
    with pytest.raises(LabError) as e:
        options({"target": target})
    assert e.value.legal


def test_two_side_by_side():
    fast, slow = tiled(), matmul()[0]
    asked = [spec(x.trace, options({**QUICK, "rounds": 7})) for x in (slow, fast)]
    found = compare(*asked, lambda content: None)
    json.dumps(found)
    assert found["rounds"] == len(found["a"]) == len(found["b"]) == 7
    assert found["low"] <= found["ratio"] <= found["high"]
    assert found["verdict"] in ("faster", "slower", "same within noise")
    assert [c["check"] for c in found["checks"]] == ["ok", "ok"]


@pytest.mark.parametrize("ends, verdict", [((1.5, 2.0), "faster"), ((0.5, 0.7), "slower"), ((0.9, 1.2), "same")])
def test_the_verdict_is_of_the_second(ends, verdict):
    from tvmlab.face.trial import of_second
    from tvmlab.runtime.measure import BenchmarkResult, Comparison

    some = BenchmarkResult((1.0,))
    assert of_second(Comparison(some, some, sum(ends) / 2, *ends)).startswith(verdict)


def test_fingerprints_know_steps_not_names():
    a, b = tiled(), tiled()
    assert fingerprint(a.trace) == fingerprint(b.trace) != fingerprint(a.trace.prefix(2))
    s, c, k = matmul()
    first, _ = s[c].split(k, 4)
    t, d, q = matmul()
    other, _ = t[d].split(q, 4)
    assert first is not other and fingerprint(s.trace) == fingerprint(t.trace)


def test_a_function_of_the_notebook_only_is_refused():
    f = lambda x, y: None  # noqa: E731
    f.__module__ = "__main__"
    packed.register("test.trial.mine", f, override=True)
    with pytest.raises(LabError, match="test.trial.mine"):
        spec(calls("test.trial.mine").trace, options())


def test_layouts_of_inputs_and_outputs_are_followed():
    s, c, k = matmul(20)
    s[c].transform_layout(lambda i, j: [i // 8, j, i % 8])
    s[s.stages[0]].transform_layout(lambda i, j: [j, i])
    asked = spec(s.trace, options({**QUICK, "seed": 3}))
    assert measure_one(asked, lambda content: None)["check"] == "ok"
    it = ready(asked, lambda content: None)
    found, note = _writers(it, it.args.outputs[0], (9, 3))
    assert found[-1] == "C: axis0 = 1, j = 3, axis2 = 1, k = 0..19" and note == ""


def test_tensors_without_dimensions_without_elements_and_with_strange_names():
    a = te.placeholder((), name="A")
    b = te.compute((), lambda: a() * 2, name="B")
    assert trial(te.create_schedule(b.op))["size"] == "A[] B[]"
    a = te.placeholder((0, 3), name="A")
    b = te.compute((0, 3), lambda i, j: a[i, j] * 2, name="B")
    assert "no elements" in trial(te.create_schedule(b.op))["worst"]
    a = te.placeholder((4,), name='a "q" <b>😀')
    b = te.compute((4,), lambda i: a[i] * 2, name="constructor")
    assert trial(te.create_schedule(b.op))["size"] == 'a "q" <b>😀[4] constructor[4]'


def test_two_inputs_of_one_name():
    a, b = te.placeholder((4,), name="A"), te.placeholder((4,), name="A")
    c = te.compute((4,), lambda i: a[i] * 2 + b[i], name="A")
    s = te.create_schedule(c.op)
    assert trial(s)["check"] == "ok"
    with pytest.raises(CallError, match="called A"):
        trial(s, inputs="given", given={"A": np.ones(4, "float32")})
