"""A cell that makes a lab is run again: what was done by pointing is not lost."""

import pytest

from tvmlab import te
from tvmlab.lab import screen, workloads
from tvmlab.lab.again import go_on
from tvmlab.lab.app import Lab


def cell(n=16, factor=4, name="C"):
    A = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name=name)
    s = te.create_schedule(C.op)
    lab = Lab(s, [A, C])
    io, ii = s[C].split(C.op.axis[0], factor)
    return lab


@pytest.fixture
def before():
    lab = cell()
    lab.apply("parallel", "C.i.outer")
    lab.apply("unroll", "C.i.inner")
    yield lab
    lab.close()


def labels(lab):
    return [e.label for e in lab.document.entries], lab.step


@pytest.mark.parametrize("n", [16, 32])
def test_steps_beyond_what_the_cell_does_can_be_redone(before, n):
    lab = cell(n)
    go_on(lab, before)
    assert labels(lab) == (["split i by 4", "parallel io", "unroll ii"], 1)
    assert lab.said["text"] == "The cell was run again: 2 steps beyond what the cell does: redo takes them again."
    lab.redo().redo()
    assert lab.step == 3 and lab.schedule.trace.step.primitive == "unroll"
    assert lab.args[0].shape[0] == n and lab.arguments == lab.args
    lab.close()


def test_where_the_cell_goes_another_way_the_old_one_is_a_branch(before):
    lab = cell(factor=8)
    go_on(lab, before)
    assert labels(lab) == (["split i by 8"], 1) and len(lab.document.branches) == 2
    lab.document.switch("branch 1")
    assert labels(lab)[0] == ["split i by 4", "parallel io", "unroll ii"]
    lab.close()


def test_a_lab_of_another_expression_begins_anew(before):
    lab = cell(name="D")
    go_on(lab, before)
    assert labels(lab) == (["split i by 4"], 1) and len(lab.document.branches) == 1 and lab.said["text"] == ""
    lab.close()


def test_a_cell_that_says_nothing_of_what_is_scheduled_goes_on():
    old = Lab()
    shape = workloads.shape("softmax", {})
    old.start(workloads.declare("softmax", shape), "softmax", shape)
    old.apply("parallel", old.frame["tree"][1]["id"])
    new = Lab()
    go_on(new, old)
    assert labels(new) == labels(old) and new.workload == "softmax" and not new.starts
    assert new.head()["title"].startswith("softmax") and new.said["text"].endswith("the lab goes on where it was.")
    old.close(), new.close()


def test_the_lab_of_a_cell_is_asked_unless_it_was_closed(before, monkeypatch):
    monkeypatch.setattr(screen, "cell_id", lambda: "c1")
    before.screen._take_the_place()
    lab = cell()
    lab.screen._take_the_place()
    assert len(lab.document.entries) == 3 and before.screen.widget is None
    lab.close()
    fresh = cell()
    fresh.screen._take_the_place()
    assert len(fresh.document.entries) == 1
    fresh.close()


def test_runs_stay_listed(before):
    before.runs.load({"rows": [{"title": "step 1", "state": "done", "seconds": 0.5}]})
    lab = cell()
    go_on(lab, before)
    assert [r["title"] for r in lab.runs.payload()["rows"]] == ["step 1"]
    lab.close()
