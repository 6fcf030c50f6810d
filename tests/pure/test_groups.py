"""create_group: stages that move together."""

import pytest

from tests.pure.passes.schedules import numbers, run, without
from tvmlab import te
from tvmlab.core.error import ScheduleError, ScheduleValueError
from tvmlab.face.api import create_schedule


def pipeline(n=6, m=5):
    A = te.placeholder((n, m), name="A")
    B = te.compute((n, m), lambda i, j: A[i, j] + 1.0, name="B")
    D = te.compute((n, m), lambda i, j: B[i, j] * 2.0, name="D")
    E = te.compute((n, m), lambda i, j: D[i, j] - B[i, j], name="E")
    C = te.compute((n, m), lambda i, j: E[i, j] * 3.0, name="C")
    return create_schedule(C.op), A, B, D, E, C


def right(s, A, C):
    a = numbers(6, 5)
    assert (run(s, [A, C], [a, a]) == (a + 1) * 3).all()


def test_the_members_move_together(golden):
    s, A, B, D, E, C = pipeline()
    g = s.create_group(outputs=E, inputs=A)
    assert [x.op.name for x in g.stages] == ["B", "D", "E"] and s[D].group == g and s[C].group is None
    golden(without(s, [A, C]), "before")
    g.compute_at(s[C], C.op.axis[0])
    golden(without(s, [A, C]), "after")
    right(s, A, C)
    assert g.attach_type == 4 and g.attach_ivar is C.op.axis[0] and g.attach_stage == s[C]
    assert repr(g) == "group(B, D, E)  [at C.i]" and s.groups == [g]
    g.compute_root()
    assert g.attach_type == 1 and g.attach_stage is None
    right(s, A, C)


def test_a_member_keeps_its_own_place(golden):
    s, A, B, D, E, C = pipeline()
    g = s.create_group([E], [A])
    s[D].compute_at(s[E], E.op.axis[1])
    s[B].compute_inline()
    g.compute_at(s[C], C.op.axis[0])
    golden(without(s, [A, C]))
    right(s, A, C)


def test_a_place_outside_is_given_up():
    s, A, B, D, E, C = pipeline()
    s[D].compute_at(s[C], C.op.axis[1])
    with pytest.warns(UserWarning, match="D gives up its place in C"):
        s.create_group(E, A)
    assert s[D].attach_type == 1


def test_inputs_belong_to_it_when_asked():
    s, A, B, D, E, C = pipeline()
    assert [x.op.name for x in s.create_group(E, B, include_inputs=True).stages] == ["B", "D", "E"]
    s, A, B, D, E, C = pipeline()
    assert [x.op.name for x in s.create_group(E, B).stages] == ["D", "E"]


def test_new_stages_join_their_neighbour():
    s, A, B, D, E, C = pipeline()
    g = s.create_group(E, A)
    s.cache_write(D, "global")
    s.cache_read(B, "global", [E])
    assert [x.op.name for x in g.stages] == ["B", "B.global", "D.global", "D", "E"]
    g.compute_at(s[C], C.op.axis[0])
    right(s, A, C)


def test_groups_nest():
    s, A, B, D, E, C = pipeline()
    inner = s.create_group(D, B)
    outer = s.create_group(E, A)
    assert inner.group == outer and [x.op.name for x in outer.stages] == ["B", "D", "E"]
    inner.compute_at(s[E], E.op.axis[1])
    outer.compute_at(s[C], C.op.axis[0])
    assert "at C.i" in repr(outer)
    right(s, A, C)
    with pytest.raises(ScheduleError, match="it belongs to a group that C is not in"):
        inner.compute_at(s[C], C.op.axis[0])


def test_a_group_cannot_cut_through_another():
    s, A, B, D, E, C = pipeline()
    s.create_group(D, A)
    with pytest.raises(ScheduleError, match="cannot contain part of another: group 0 also has B"):
        s.create_group(E, B)


def test_refusals():
    s, A, B, D, E, C = pipeline()
    with pytest.raises(ScheduleError, match="no stage between these inputs and B"):
        s.create_group(B, E)
    g = s.create_group(E, A)
    with pytest.raises(ScheduleError, match="D belongs to a group that C is not in"):
        s[D].compute_at(s[C], C.op.axis[0])
    with pytest.raises(ScheduleError, match="E is itself in the group"):
        g.compute_at(s[E], E.op.axis[0])
    with pytest.raises(ScheduleError, match="is an output"):
        s.create_group(C, E).compute_at(s[E], E.op.axis[0])
    with pytest.raises(ScheduleValueError, match="there is no group 7") as e:
        s.attach_group(7, s[C], C.op.axis[0])
    assert e.value.legal[0] == "0: B, D, E"


def test_a_cycle_through_a_group():
    s, A, B, D, E, C = pipeline()
    s.create_group(D, B).compute_at(s[E], E.op.axis[0])
    with pytest.raises(ScheduleError, match="D is itself computed inside E"):
        s[E].compute_at(s[D], D.op.axis[0])


def test_traces_with_groups_are_values():
    s, A, B, D, E, C = pipeline()
    s.create_group(E, A).compute_at(s[C], C.op.axis[0])
    scope = {"te": te, "A": A, "B": B, "D": D, "E": E, "C": C}
    exec(s.to_code(), scope)
    assert str(scope["s"].trace.steps) == str(s.trace.steps)
    assert str(s.at(1).groups) == "[group(B, D, E)]"


def test_normalize_is_a_copy():
    s, A, B, D, E, C = pipeline()
    t = s.normalize()
    t[B].compute_inline()
    assert len(s.trace) == 0 and len(t.trace) == 1
