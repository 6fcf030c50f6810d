"""The history that code and labs share: cursor, branches, edits, parked steps, whose an axis is."""

import gc
import weakref

import pytest

from tests.pure.schedule.programs import chain, matmul, refusal, rows, text
from tvmlab import te
from tvmlab.core.error import LabError, ScheduleError, ScheduleValueError
from tvmlab.face.document import Document


def tiled():
    """split i, split j, reorder, vectorize ji, of a matmul."""
    s, A, B, C, k = matmul(64)
    i, j = C.op.axis
    io, ii = s[C].split(i, 16)
    jo, ji = s[C].split(j, 8)
    s[C].reorder(io, jo, ii, ji)
    s[C].vectorize(ji)
    return s, [A, B, C], (io, ii, jo, ji)


def labels(document):
    return [e.label for e in document.entries]


def parked(document):
    return [e.label for e in document.entries if e.parked]


def test_a_schedule_has_one_document():
    s, args, _ = tiled()
    d = Document.of(s)
    assert Document.of(s) is d is s.history and d.schedule is s
    assert labels(d) == ["split i by 16", "split j by 8", "reorder io, jo, ii, ji", "vectorize ji"] and d.cursor == 4
    assert [e.code for e in d.entries][0] == "io, ii = s[C].split(i, factor=16)"
    assert Document.of(s.fork()) is not d


def test_nobody_asks_nothing_is_kept():
    s, args, _ = tiled()
    assert s.document is None
    gone = weakref.ref(s.history)
    del s
    gc.collect()
    assert gone() is None


def test_lines_of_code_are_steps_and_acts_advance_the_schedule():
    s, args, (io, ii, jo, ji) = tiled()
    d, seen = s.history, []
    stop = d.observe(lambda document: seen.append(document.cursor))
    s[args[2]].unroll(ii)
    assert d.entries[-1].label == "unroll ii" and seen == [5]
    d.apply("parallel", {"stage": s[args[2]].index, "var": io})
    assert "in parallel(4)" in text(s, args) or "parallel" in text(s, args)
    assert len(s.trace) == 6 and d.entries[-1].origin == {"kind": "widget", "label": "widget"}
    stop()
    s.undo()
    assert seen == [5, 6] and d.cursor == 5


def test_undo_moves_the_cursor_and_redo_gives_the_same_axes():
    s, args, (io, ii, jo, ji) = tiled()
    whole = s.trace
    assert s.undo(3) is s and len(s.trace) == 1 and len(s.history.entries) == 4 and s.history.cursor == 1
    assert s.redo() is s and s.history.cursor == 2 and ji in s[args[2]].leaf_iter_vars
    with pytest.warns(UserWarning, match=r"^redo\(5\) took 2 steps again: there were no more$"):
        s.redo(5)
    assert s.trace is whole
    refusal(ValueError, lambda: s.redo(-1))


def test_jump():
    s, args, axes = tiled()
    d = s.history
    for n in (0, 3, 1, 4):
        d.jump(n)
        assert len(s.trace) == n and s.trace is d.trace_at(n)
    for wrong in (-1, 5, "2", None):
        refusal(ScheduleValueError, lambda wrong=wrong: d.jump(wrong))
    assert d.cursor == 4


def test_an_act_after_an_undo_starts_a_branch():
    s, args, (io, ii, jo, ji) = tiled()
    d = s.history
    s.undo(2)
    s[args[2]].unroll(ji)
    assert [b.name for b in d.branches] == ["branch 1", "branch 2"] and d.current.name == "branch 2"
    assert labels(d) == ["split i by 16", "split j by 8", "unroll ji"]
    assert [e.label for e in d.branches[0].entries] == [
        "split i by 16", "split j by 8", "reorder io, jo, ii, ji", "vectorize ji",
    ]  # fmt: skip
    d.switch("b1")
    assert d.cursor == 4 and len(s.trace) == 4
    d.rename("b1", "first try")
    d.jump(1)
    made = d.branch("from split")
    assert made is d.current and labels(d) == ["split i by 16"]
    d.switch("b1")
    assert d.cursor == 4 and d.current.name == "first try"
    d.delete(made.id)
    assert [b.name for b in d.branches] == ["first try", "branch 2"]
    with pytest.raises(ScheduleError, match="first try is in use"):
        d.delete("b1")
    with pytest.raises(ScheduleError, match="no branch 'b9'"):
        d.switch("b9")


def test_a_failed_act_never_enters():
    s, args, (io, ii, jo, ji) = tiled()
    d = s.history
    before, trace = d.entries, s.trace
    k = args[2].op.reduce_axis[0]
    for act in (
        lambda: s[args[2]].vectorize(k),
        lambda: d.apply("vectorize", {"stage": 2, "var": k}),
        lambda: d.apply("no_such_thing", {}),
        lambda: d.edit("e1", {"factor": 0}),
        lambda: d.edit("e1", {"factor": "many"}),
        lambda: d.edit("e1", {"fctr": 2}),
        lambda: d.edit("e4", {"var": {"axis": "C.nothing"}}),
        lambda: d.edit("e77", {"factor": 2}),
        lambda: d.move("e4", 0),
        lambda: d.move("e4", 9),
    ):
        with pytest.raises(LabError):
            act()
        assert d.entries == before and s.trace is trace


def test_edit_replays_the_later_steps():
    s, args, axes = tiled()
    s.history.edit("e1", {"factor": 32})
    assert labels(s.history)[0] == "split i by 32" and "for io in range(2):" in text(s, args) and not parked(s.history)
    s.history.edit("e1", {"factor": None, "nparts": 8.0})
    assert labels(s.history)[0] == "split i into 8 parts" and "for ii in range(8):" in text(s, args)
    s.history.edit("e3", {"axes": [{"axis": "C.j.outer"}, {"axis": "C.i.outer"}]})
    assert labels(s.history)[2] == "reorder jo, io"
    s.history.edit("e4", {"stage": {"stage": "C"}, "var": {"axis": "C.i.inner"}})
    assert labels(s.history)[3] == "vectorize ii" and "vectorized" in text(s, args)


def test_an_axis_of_a_step_that_was_changed_is_the_one_it_makes_now():
    s, args, (io, ii, jo, ji) = tiled()
    s.history.edit("e1", {"factor": 32})
    assert ii not in s[args[2]].leaf_iter_vars
    s[args[2]].unroll(ii)
    s[args[2]].reorder(*[jo, io])
    assert s.history.entries[-2].label == "unroll ii" and len(s.trace) == 6
    assert s.verdict("parallel", args[2], io).ok


def test_tensors_and_stages_too():
    s, A, B, k = rows()
    s[B].split(B.op.axis[0], 4)
    cache = s.cache_write(B, "local")
    stage = s[cache]
    s.history.edit("e1", {"factor": 2})
    assert s[cache] is not None and s[cache].op is not cache.op and stage.record.op is s[cache].op
    s[cache].unroll(k)
    stage.double_buffer()
    assert labels(s.history)[-2:] == ["unroll k", "double buffer cache"]


def test_steps_that_do_not_apply_are_parked_and_come_back():
    s, args, (io, ii, jo, ji) = tiled()
    d = s.history
    d.delete("e2")
    assert parked(d) == ["reorder io, jo, ii, ji", "vectorize ji"] and d.cursor == 3 and len(s.trace) == 1
    assert d.entry("e4").reason == "`ji` was made by `jo, ji = s[C].split(j, factor=8)`, a step that was deleted"
    with pytest.raises(ScheduleValueError, match="a step that was deleted"):
        s[args[2]].unroll(ji)
    s, args, axes = tiled()
    d = s.history
    d.apply("vectorize", {"stage": 2, "var": axes[1]})
    d.edit("e3", {"axes": [{"axis": "C.i.outer"}]})
    assert not parked(d)
    d.edit("e2", {"parent": {"axis": "C.k"}})
    assert parked(d) == ["vectorize ji"] and "vectorize" in d.entry("e4").error.rule
    d.edit("e2", {"parent": {"axis": "C.j"}})
    assert not parked(d) and len(s.trace) == 5


def test_no_step_points_at_the_wrong_loop_when_one_before_is_gone():
    """Deleting the split gives the cache fewer loops; `i.inner.c` must not become `j.c`, which takes its place."""
    s, A, B, C, k = matmul(64)
    s[C].split(C.op.axis[0], 16)
    cache = s.cache_write(C, "local")
    i_outer, i_inner, j = s[cache].op.axis
    s[cache].unroll(i_inner)
    s[cache].vectorize(j)
    d = s.history
    d.delete("e1")
    assert parked(d) == ["unroll i.inner.c"] and len(s.trace) == 2
    assert [s[cache].record.mark(a).kind for a in s[cache].leaf_iter_vars] == ["", "vectorized", ""]


def test_stages_keep_who_they_are():
    """The number of a stage counts those made before; what later steps name must not."""
    s, A, B, C, k = matmul(16)
    first = s.cache_read(A, "shared", [C])
    second = s.cache_read(B, "local", [C])
    s[second].compute_at(s[C], C.op.axis[0])
    d = s.history
    d.delete("e1")
    assert not parked(d) and s[second].op.name == "B.local" and s[second].attach_ivar is C.op.axis[0]
    with pytest.raises(ScheduleValueError, match=r"`A.shared` was made by `first = .*`, a step that was deleted"):
        s[first]


def test_groups_keep_who_they_are():
    s, A, B, C = chain()
    D = s.cache_write(C, "local")
    s.create_group(outputs=B, inputs=A)
    group = s.create_group(outputs=D, inputs=B)
    group.compute_at(s[C], C.op.axis[0])
    d = s.history
    d.delete("e2")
    assert not parked(d) and s[D].group is not None and s[D].group.attach_ivar is C.op.axis[0]


def test_a_group_that_a_person_holds_is_still_that_group():
    s, A, B, C = chain()
    D = s.cache_write(C, "local")
    first = s.create_group(outputs=B, inputs=A)
    second = s.create_group(outputs=D, inputs=B)
    assert (first.index, second.index) == (0, 1)
    s.history.delete("e2")
    second.compute_at(s[C], C.op.axis[0])
    assert second.index == 0 and s[D].group == second and s[B].group is None
    with pytest.raises(ScheduleValueError, match="this group is gone"):
        first.compute_at(s[C], C.op.axis[0])
    s.undo(2)
    with pytest.raises(ScheduleValueError, match="this group is gone"):
        second.stages


def test_expressions_over_loops_of_the_schedule_follow_them():
    s, A, B, C, k = matmul(64)
    io, ii = s[C].split(C.op.axis[0], 16)
    s[C].set_store_predicate(io.var.equal(0))
    before = text(s, [A, B, C])
    s.history.edit("e1", {"factor": 32})
    s.history.edit("e1", {"factor": 16})
    assert text(s, [A, B, C]) == before


def test_move():
    s, args, axes = tiled()
    d = s.history
    d.move("e2", 0)
    assert labels(d)[:2] == ["split j by 8", "split i by 16"] and not parked(d)
    with pytest.raises(ScheduleValueError, match="`ji` is made by .*, which comes after this step"):
        d.move("e4", 0)
    d.move("e2", 3)
    assert parked(d) == ["reorder io, jo, ii, ji", "vectorize ji"]
    assert "comes after this step" in d.entry("e4").reason
    d.move("e2", 0)
    assert not parked(d)


def test_a_move_over_the_cursor_leaves_the_other_steps_in_force_or_undone():
    s, args, axes = tiled()
    d = s.history
    d.jump(1)
    d.move("e2", 0)  # it was undone, and joins the first
    assert [e.id for e in d.entries[: d.cursor]] == ["e2", "e1"] and len(s.trace) == 2
    d.move("e2", 3)  # it was in force, and goes behind one that is undone
    assert [e.id for e in d.entries[: d.cursor]] == ["e1"]
    d.move("e1", 0)
    assert [e.id for e in d.entries[: d.cursor]] == ["e1"]


def test_retry_says_what_is_still_wrong():
    s, args, axes = tiled()
    d = s.history
    d.delete("e2")
    with pytest.raises(ScheduleValueError, match="was deleted"):
        d.retry("e4")
    d.retry("e1")


def test_undo_goes_over_parked_steps():
    s, args, axes = tiled()
    d = s.history
    d.delete("e2")
    d.edits.done.clear()  # as of one that was saved and loaded
    s[args[2]].unroll(axes[1])
    assert len(s.trace) == 2 and d.numbers() == [1, 4]
    assert d.undo() and d.cursor == 3 and len(s.trace) == 1
    assert d.undo() and d.cursor == 0 and not d.undo()
    assert d.redo() and d.redo() and d.cursor == 4 and not d.redo()


def test_names_and_notes_show_on_every_branch():
    s, args, axes = tiled()
    d = s.history
    d.rename("e1", "<b>rows</b> 🙂")
    d.note("e1", 'for "L1"')
    s.undo()
    s[args[2]].unroll(axes[3])
    assert d.entry("e1").name == "<b>rows</b> 🙂" and d.branches[0].entries[0].note == 'for "L1"'


def test_a_recipe_is_all_or_nothing_and_undone_together():
    s, args, (io, ii, jo, ji) = tiled()
    d, seen = s.history, []
    d.observe(lambda document: seen.append(document.cursor))
    with d.together("block"):
        s[args[2]].unroll(ii)
        d.apply("parallel", {"stage": 2, "var": io})
    assert seen == [6] and d.entries[4].group == d.entries[5].group != ""
    assert d.undo() and d.cursor == 4 and d.redo() and d.cursor == 6
    s.undo()
    assert d.cursor == 5
    with pytest.raises(LabError), d.together("bad"):
        s[args[2]].unroll(jo)
        s[args[2]].vectorize(args[2].op.reduce_axis[0])
    assert d.cursor == 5 and len(d.branches) == 1 and len(d.entries) == 6 and len(s.trace) == 5


def test_rebase_replays_on_another_shape_and_on_another_expression():
    s, args, axes = tiled()
    d = s.history
    A, B = te.placeholder((100, 9), name="A"), te.placeholder((9, 100), name="B")
    k = te.reduce_axis((0, 9), name="k")
    C = te.compute((100, 100), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    d.rebase(C)
    assert not parked(d) and "for io in range(7):" in text(s, [A, B, C])
    s[C].unroll(axes[1])  # an axis of a step taken on the old shape
    assert s[args[2]] == s[C]
    X = te.placeholder((8,), name="X")
    Y = te.compute((8,), lambda i: X[i] + 1.0, name="Y")
    d.rebase(Y.op)
    assert len(s.trace) == 0 and parked(d) == labels(d)
    d.rebase(C.op)
    assert not parked(d) and len(s.trace) == 5


def test_what_is_not_there_is_refused_by_name(golden):
    s, args, (io, ii, jo, ji) = tiled()
    C = args[2]
    s.undo(2)
    two = s[C].split(jo, 2)
    s.undo()
    golden(refusal(ScheduleValueError, lambda: s[C].unroll(two[1])), "undone")
    s[C].unroll(ji)
    golden(refusal(ScheduleValueError, lambda: s[C].unroll(two[1])), "branch")


def test_a_schedule_that_went_another_way_is_followed():
    s, args, axes = tiled()
    d = s.history
    s.trace = s.trace.prefix(1)
    d.follow()
    assert d.cursor == 1 and len(d.entries) == 4
    other, A, B, C = chain()
    other[C].parallel(C.op.axis[0])
    s.trace = other.trace
    d.follow()
    assert labels(d) == ["parallel i"] and s.trace is other.trace
    d.switch("b1")  # its steps, on what the schedule is of now
    assert len(d.entries) == 4 and not parked(d) and text(s, [A, C]) != text(other, [A, C])


def test_a_view_that_fails_does_not_fail_the_step():
    s, args, axes = tiled()
    seen = []
    s.history.observe(lambda d: 1 // 0)
    s.history.observe(lambda d: seen.append(1))
    with pytest.warns(UserWarning, match="could not follow it: ZeroDivisionError"):
        s[args[2]].unroll(axes[1])
    assert len(s.trace) == 5 and seen == [1]


# ---------------------------------------------------------------- a cell that is run again


def cell(factor=16, unroll=False, thread=False):
    """What a cell does: a schedule made anew, of tensors made anew."""
    s, A, B, C, k = matmul(64)
    io, ii = s[C].split(C.op.axis[0], factor)
    if thread:
        s[C].bind(io, te.thread_axis("threadIdx.x"))
    if unroll:
        s[C].unroll(ii)
    return s, C, ii


def test_a_cell_that_does_the_same_keeps_what_the_lab_did_beyond():
    s, C, ii = cell(thread=True)
    d = s.history
    d.rename("e1", "rows")
    d.apply("unroll", {"stage": 2, "var": ii})
    t, C2, ii2 = cell(thread=True)
    assert d.rerun(t) == "1 step beyond what the cell does: redo takes them again"
    assert t.history is d and d.schedule is t and s.document is None and d.cursor == 2
    assert d.entries[0].name == "rows" and not parked(d) and len(d.branches) == 1
    t[C2].parallel(t[C2].op.axis[1])  # the cell's own tensors
    assert labels(d)[-1] == "parallel j"


def test_a_cell_that_does_more_goes_on():
    s, C, ii = cell()
    d = s.history
    t, C2, ii2 = cell(unroll=True)
    assert d.rerun(t) == "" and labels(d) == ["split i by 16", "unroll ii"] and len(d.branches) == 1
    assert t.trace is d.trace_at(2) and ii2 in t[C2].leaf_iter_vars and ii not in t[C2].leaf_iter_vars
    t[C2].vectorize(t[C2].op.axis[1])
    s[C].unroll(ii)
    assert len(d.entries) == 3 and len(s.trace) == 2  # the old schedule goes its own way


def test_a_cell_that_goes_another_way_leaves_the_old_one_as_a_branch():
    s, C, ii = cell()
    d = s.history
    d.apply("unroll", {"stage": 2, "var": ii})
    t, C2, ii2 = cell(32)
    assert d.rerun(t) == "2 steps of before are in branch 1"
    assert labels(d) == ["split i by 32"] and d.current.name == "branch 2"
    d.switch("branch 1")
    assert labels(d) == ["split i by 16", "unroll ii"] and not parked(d) and d.schedule is t
    assert d.rerun(t) == ""


def test_a_branch_before_any_step_has_an_id_of_its_own():
    s, A, B, C, k = matmul(64)
    d = s.history
    d.branch("first")
    s[C].unroll(k)
    d.branch("second")
    assert len({b.id for b in d.branches}) == 3
    again = Document.from_json(d.to_json())
    assert [b.name for b in again.branches] == ["branch 1", "first", "second"]
    again.switch("first")
    assert labels(again) == ["unroll k"]
