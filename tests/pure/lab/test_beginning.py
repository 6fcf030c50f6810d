"""Where a lab begins: what it points at, what stays pointed at, and what its catalogue shows."""

import pytest

from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.lab import selecting, workloads
from tvmlab.lab.app import Lab
from tvmlab.lab.requests import answer


def test_a_lab_points_at_a_loop_that_runs_more_than_once():
    A = te.placeholder((1, 1, 6), name="A")
    B = te.compute((1, 1, 6), lambda n, c, i: A[n, c, i] + 1, name="B")
    assert selecting.first(te.create_schedule(B.op).trace.state) == ["B.i"]


def test_a_lab_of_loops_that_run_once_points_at_the_outermost():
    A = te.placeholder((1, 1), name="A")
    B = te.compute((1, 1), lambda n, c: A[n, c] + 1, name="B")
    assert selecting.first(te.create_schedule(B.op).trace.state) == ["B.n"]


def test_a_part_of_a_loop_is_followed_back_to_the_loop(lab):
    state = lab.schedule.trace.state
    assert selecting.followed(["C.j.outer.inner"], state) == ["C.j"]
    assert selecting.followed(["C.gone"], state) == ["C"]
    lab.apply("split", "C.i", factor=4)
    lab.select("C.i.inner")
    lab.undo()
    assert lab.selection == ["C.i"]


def test_presets_that_are_numbers_of_layers_say_their_shape():
    names = [p["name"] for p in workloads.workload("conv2d")["presets"]]
    assert "C2: 56x56, 64 to 64 channels, 3x3" in names
    assert workloads.called("square 256", {"m": 256}) == "square 256"
    assert workloads.called("X1", {"m": 2, "n": 3}) == "X1: m 2, n 3"


def test_the_fields_begin_with_the_shape_that_is_looked_at():
    lab = Lab()
    shape = workloads.shape("matmul", {"m": 24, "n": 40, "k": 56})
    lab.start(workloads.declare("matmul", shape), "matmul", shape)
    found = {w["name"]: {f["name"]: f["value"] for f in w["fields"]} for w in workloads.catalogue(lab.kernel)}
    lab.close()
    assert [found["matmul"][k] for k in "mnk"] == [24, 40, 56]
    assert found["conv2d"]["height"] == 224


def test_a_shape_of_a_damaged_file_is_passed_over():
    usual = workloads.catalogue()
    for shape in ([], 3, None, {"m": [1], "x": 2}):
        assert workloads.catalogue({"name": "matmul", "shape": shape}) == usual
    assert workloads.catalogue({"name": [], "shape": {}}) == usual


@pytest.mark.parametrize("name", [w["name"] for w in workloads.catalogue()])
def test_every_operator_begins_as_its_fields_say(name):
    known = workloads.workload(name)
    for values in ({}, {f["name"]: f["value"] for f in known["fields"]}):
        shape = workloads.shape(name, values)
        lab = Lab().start(workloads.declare(name, shape), name, shape)
        title = lab.head()["title"]
        assert all(op.inputs or name == "fill" for op in lab.schedule.trace.outputs), "an input is no output"
        assert not title.startswith(("T_", "x_")) and "_" not in title.split(" ")[0]
        lab.close()


@pytest.mark.parametrize(
    "name, values",
    [
        ("contract", {"subscripts": "", "axes": "None"}), ("conv2d", {"stride": 0}), ("conv2d", {"height": -1}),
        ("conv2d", {"padding": 10**9}), ("softmax", {"shape": "abc"}), ("softmax", {"shape": "(1, 2),"}),
        ("norm", {"op": "0"}), ("depthwise_conv2d", {"multiplier": 0}), ("pooling", {"kernel": 0}),
    ],
)  # fmt: skip
def test_values_that_an_operator_cannot_have_are_refused_in_its_name(name, values):
    lab = Lab()
    reply = answer(lab, {"seq": 1, "kind": "start", "what": name, "values": values})
    lab.close()
    assert reply["ok"] or reply["card"]["code"] != "internal", reply["card"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1.5, 2.0**40])
def test_a_size_is_a_whole_number(value):
    with pytest.raises(LabError, match="must be"):
        workloads.shape("matmul", {"m": value})
