"""Choosing another workload can be undone: the steps taken for the one before are not lost by it."""

from tvmlab.lab import workloads
from tvmlab.lab.app import Lab


def choose(lab, name, **shape):
    shape = workloads.shape(name, shape)
    return lab.start(workloads.declare(name, shape), name, shape)


def look(lab):
    return lab.head()["title"], [e.label for e in lab.document.entries], lab.step, lab.args


def words(lab):
    return lab.history()["undo"], lab.history()["redo"]


def test_the_workload_before_comes_back_with_its_steps(lab):
    s = lab.schedule
    lab.apply("split", "C.i", factor=8)
    lab.apply("vectorize", "C.j")
    lab.undo()
    before = look(lab)
    choose(lab, "softmax")
    title = lab.head()["title"]
    assert lab.step == 0 and words(lab) == (f"choice of {title}", "")
    lab.apply("parallel", lab.frame["tree"][1]["id"])
    after = look(lab)
    lab.undo()
    lab.undo()
    assert look(lab) == before and lab.schedule is s and lab.said["text"] == f"{before[0]} again, as it was."
    assert words(lab) == ("split i by 8", "vectorize j")
    lab.redo()  # of the step, which was undone before
    assert lab.step == 2 and words(lab)[1] == ""
    lab.undo()
    lab.undo(), lab.undo()
    assert lab.said["text"] == "There is nothing to undo." and words(lab) == ("", "split i by 8")
    assert after[1]


def test_it_is_chosen_again_by_redo(lab):
    lab.apply("split", "C.i", factor=8)
    choose(lab, "softmax")
    after = look(lab)
    lab.undo()
    assert words(lab) == ("split i by 8", f"choice of {after[0]}")
    lab.redo()
    assert look(lab) == after and lab.workload == "softmax" and words(lab) == (f"choice of {after[0]}", "")
    lab.undo()
    assert [e.label for e in lab.document.entries] == ["split i by 8"]
    lab.apply("vectorize", "C.j")
    assert words(lab)[1] == ""  # something else was done


def test_of_a_lab_that_has_just_begun_nothing_was_chosen_before():
    lab = Lab()
    choose(lab, "softmax")
    assert words(lab) == ("", "")
    choose(lab, "matmul", m=32)
    assert words(lab)[0].startswith("choice of matmul")
    choose(lab, "matmul", m=48)  # other shapes keep history and steps: no other workload
    lab.undo()
    assert lab.workload == "softmax" and lab.kernel["name"] == "softmax"
    lab.close()


def test_as_many_are_kept_as_can_be_useful(lab):
    for _ in range(8):
        choose(lab, "softmax"), choose(lab, "matmul")
    assert len(lab.choices.past) == 10
