"""Changes of steps can be taken back and made again: nothing that a person did is lost by one click."""

import pytest

from tests.pure.test_document import labels, matmul, parked, text, tiled

CHANGES = {
    "change of step 1": lambda d: d.edit("e1", {"factor": 32}),
    "deletion of step 1": lambda d: d.delete("e1"),
    "move of step 2": lambda d: d.move("e2", 0),
    "name of step 3": lambda d: d.rename("e3", "order"),
    "note of step 4": lambda d: d.note("e4", "why not"),
}


def seen(d, args):
    said = [(e.id, e.name, e.note) for e in d.entries]
    return labels(d), said, parked(d), d.cursor, d.trace_at(1)


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("cursor", [4, 2, 0])
def test_a_change_is_taken_back_and_made_again(name, cursor):
    s, args, axes = tiled()
    d = s.history
    d.jump(cursor)
    before, trace = seen(d, args), s.trace
    CHANGES[name](d)
    after, changed = seen(d, args), s.trace
    assert after != before and d.edits.to_undo(d) == name
    assert d.undo() and seen(d, args) == before and s.trace is trace and d.edits.to_redo(d) == name
    assert d.redo() and seen(d, args) == after and s.trace is changed
    assert d.undo() and seen(d, args) == before


def test_several_changes_are_taken_back_one_by_one_then_the_cursor_moves():
    s, args, axes = tiled()
    d = s.history
    looks = [seen(d, args)]
    for change in CHANGES.values():
        if len(d.entries) == 4:
            change(d)
            looks.append(seen(d, args))
    d.delete(d.entries[0].id)
    for look in looks[::-1]:
        assert d.undo() and seen(d, args) == look
    assert d.undo() and d.cursor == 3 and d.redo() and seen(d, args) == looks[0]


def test_after_another_act_undo_is_about_that_act():
    s, args, (io, ii, jo, ji) = tiled()
    d = s.history
    d.delete("e4")
    s[args[2]].unroll(ji)
    assert d.undo() and d.cursor == 3 and len(d.entries) == 4  # the unroll
    d.delete("e5")
    d.jump(1)
    assert d.undo() and len(d.entries) == 4 and d.cursor == 3  # looking elsewhere is no act


def test_changes_with_looking_around_between_them():
    s, args, axes = tiled()
    d = s.history
    first = seen(d, args)[0]
    d.edit("e1", {"factor": 32})
    d.jump(3), d.jump(2)
    d.delete("e2")
    assert d.undo() and labels(d)[:2] == ["split i by 32", "split j by 8"]
    assert d.undo() and labels(d) == first and d.cursor == 4
    assert d.undo() and d.cursor == 3  # there is nothing else to take back
    assert d.redo() and d.cursor == 4  # the step that was undone last
    assert d.redo() and labels(d)[0] == "split i by 32"
    d.jump(2)
    assert d.redo() and len(d.entries) == 3


def test_what_a_person_holds_is_valid_again():
    s, args, (io, ii, jo, ji) = tiled()
    program = text(s, args)
    s.history.delete("e1")
    s.history.undo()
    assert text(s, args) == program and ii in s[args[2]].leaf_iter_vars
    s[args[2]].unroll(io)
    assert labels(s.history)[-1] == "unroll io"


def test_a_deleted_branch_comes_back():
    s, args, (io, ii, jo, ji) = tiled()
    d = s.history
    d.jump(3)
    s[args[2]].unroll(ji)
    d.delete("b1")
    assert [b.name for b in d.branches] == ["branch 2"]
    d.undo()
    assert [b.name for b in d.branches] == ["branch 1", "branch 2"] and d.current.name == "branch 2"
    d.switch("branch 1")
    assert labels(d)[-1] == "vectorize ji"


def test_another_expression_ends_it():
    s, args, axes = tiled()
    d = s.history
    d.delete("e1")
    d.rebase([matmul(32)[3]])
    assert d.edits.to_undo(d) == "" and len(d.entries) == 3


def test_a_deletion_comes_back_after_the_steps_since_are_undone():
    s, args, (io, ii, jo, ji) = tiled()
    d = s.history
    d.delete("e4")
    after = labels(d)
    s[args[2]].unroll(ji)
    s[args[2]].parallel(io)
    assert d.undo() and d.undo() and labels(d)[-1] == "parallel io"  # they are dimmed
    assert d.undo() and labels(d) == [*after, "vectorize ji"] and d.cursor == 4
    assert d.redo() and labels(d) == [*after, "unroll ji", "parallel io"] and d.cursor == 3
    assert d.redo() and d.redo() and d.cursor == 5 and not d.redo()


def test_an_edit_too():
    s, args, (io, ii, jo, ji) = tiled()
    d = s.history
    d.edit("e1", {"factor": 32})
    s[args[2]].parallel(io)
    for _ in range(2):
        assert d.undo()
    assert labels(d)[0] == "split i by 16" and d.cursor == 4
