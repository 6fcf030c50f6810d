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
    assert words(lab) == ("split i by 8", f"choice of {title}")
    lab.redo()
    lab.redo()  # the way back is the way it came
    assert look(lab) == after
    lab.undo(), lab.undo(), lab.undo()
    assert lab.step == 0 and look(lab)[0] == before[0] and words(lab)[0] == ""
    lab.undo()
    assert lab.said["text"] == "There is nothing to undo."


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
    lab.apply("split", "C.i", factor=8)
    choose(lab, "matmul", m=48)  # other sizes: the steps are taken again
    assert lab.said["text"].endswith(": 1 step taken again.")
    lab.apply("vectorize", "C.j")
    sizes = [lab.kernel["shape"]["m"]]
    for _ in range(2):
        lab.undo()
        sizes.append((lab.kernel["shape"]["m"], lab.step))
    assert sizes == [48, (48, 1), (32, 1)] and lab.head()["title"].startswith("matmul 32x")
    assert lab.arguments == lab.args and lab.args[0].shape[0] == 32
    lab.redo()
    assert lab.kernel["shape"]["m"] == 48 and lab.args[0].shape[0] == 48
    for _ in range(3):
        lab.undo()
    assert lab.workload == "softmax" and lab.kernel["name"] == "softmax"
    lab.close()


def test_a_chain_of_sizes_goes_back_one_by_one(lab):
    choose(lab, "softmax")
    for m in (16, 32, 48):
        choose(lab, "matmul", m=m)
    seen = []
    for _ in range(4):
        seen.append(lab.head()["title"].split()[1].partition("x")[0])
        lab.undo()
    assert seen == ["48", "32", "16", "1"] and lab.head()["title"].startswith("matmul 17x23x9")


def test_what_undo_left_is_not_forgotten_by_another_choice():
    lab = Lab()
    choose(lab, "matmul", m=16)
    lab.apply("split", "C.i", factor=4)
    choose(lab, "softmax"), lab.apply("parallel", lab.frame["tree"][1]["id"])
    choose(lab, "dense")
    lab.undo()
    choose(lab, "softmax")  # the same sizes again
    lab.redo()
    for _ in range(12):
        lab.undo()
    left = [choice.title for choice, _ in [*lab.choices.past, *lab.choices.future]]
    assert {title.split()[0] for title in [*left, lab.head()["title"]]} >= {"matmul", "softmax", "dense"}
    lab.close()


def test_a_history_whose_steps_are_on_another_branch_is_kept():
    lab = Lab()
    lab.apply("split", "C.i", factor=4)
    lab.jump(0)
    lab.document.branch()
    choose(lab, "softmax")
    lab.undo()
    assert [b.name for b in lab.document.branches] == ["branch 1", "branch 2"]
    lab.close()


def test_two_labs_of_one_schedule_have_the_same_arguments(lab):
    other = Lab(lab.schedule, lab.args)
    lab.workload = other.workload = "matmul"
    choose(lab, "matmul", m=32, n=32, k=32)
    other.later.flush()
    assert [tuple(map(int, a.shape)) for a in other.arguments] == [(32, 32)] * 3
    other.close()


def test_as_many_are_kept_as_can_be_useful(lab):
    for _ in range(30):
        choose(lab, "softmax"), choose(lab, "dense")
    assert len(lab.choices.past) == 50
