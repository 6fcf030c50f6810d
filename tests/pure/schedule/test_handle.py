"""The handle on a trace: undo, at, fork, steps that were undone, stages of other schedules, names."""

import gc
import pickle

import pytest

from tests.pure.schedule.programs import chain, matmul, numbers, refusal, right, rows, text
from tvmlab import te
from tvmlab.core import hooks
from tvmlab.core.error import LabError, ScheduleError, ScheduleTypeError, ScheduleValueError, TVMError
from tvmlab.face.handle import Schedule
from tvmlab.schedule.state import State


def test_undo_at_and_fork():
    s, A, B, C = chain()
    plain = text(s, [A, C])
    xo, xi = s[C].split(C.op.axis[0], 4)
    split = text(s, [A, C])
    s[C].vectorize(C.op.axis[1])
    assert text(s.at(1), [A, C]) == split and text(s.at(0), [A, C]) == plain and len(s.trace) == 2
    t = s.fork()
    t[C].reorder(xi, xo)
    assert len(t.trace) == 3 and len(s.trace) == 2
    assert s.undo() is s and text(s, [A, C]) == split
    with pytest.warns(UserWarning, match=r"^undo\(5\) took back 1 step: there were no more$"):
        assert text(s.undo(5), [A, C]) == plain and len(s.trace) == 0
    for wrong in (-1, 1.5, C):
        refusal(ValueError, lambda wrong=wrong: s.undo(wrong))
    s[C].split(C.op.axis[0], 4)  # another step than the undone one: axes of its own
    assert xo not in s[C].leaf_iter_vars
    with pytest.raises(ScheduleError, match="the trace has 1 steps; there is no prefix of 7"):
        s.at(7)


def undone_axis():
    s, A, B, C = chain()
    xo, xi = s[C].split(C.op.axis[0], 4)
    s.undo()
    s[C].vectorize(xi)


def undone_axis_after_another_step():
    s, A, B, C = chain()
    xo, xi = s[C].split(C.op.axis[0], 4)
    s.undo()
    s[C].split(C.op.axis[0], 8)
    s[C].reorder(xi, C.op.axis[1])


def undone_tensor():
    s, A, B, k = rows()
    BL = s.cache_write(B, "local")
    s.undo()
    s[BL].compute_at(s[B], B.op.axis[0])


def undone_tensor_as_an_argument():
    s, A, B, C = chain()
    AL = s.cache_read(A, "local", [B])
    s.undo()
    s.cache_read(AL, "shared", [B])


def axis_of_a_fork():
    s, A, B, C = chain()
    t = s.fork()
    xo, xi = t[C].split(C.op.axis[0], 4)
    s[C].vectorize(xi)


def axis_of_a_later_step():
    s, A, B, C = chain()
    xo, xi = s[C].split(C.op.axis[0], 4)
    s.at(0)[C].unroll(xi)


def stage_of_an_undone_step():
    s, A, B, k = rows()
    stage = s[s.cache_write(B, "local")]
    s.undo()
    s.cache_read(A, "local", [B])  # takes the number of the stage that is gone
    stage.compute_inline()


def stage_of_another_schedule():
    s, A, B, C = chain()
    s[B].compute_at(te.create_schedule(C.op)[C], C.op.axis[0])


def axis_of_another_schedule():
    s, A, B, C = chain()
    t = te.create_schedule(C.op)
    xo, xi = t[C].split(C.op.axis[0], 4)
    s[C].vectorize(xi)


def asked_of_an_undone_axis():
    s, A, B, C = chain()
    xo, xi = s[C].split(C.op.axis[0], 4)
    s.undo()
    s.verdict("vectorize", C, xi)


REFUSED = {f.__name__: f for f in (
    undone_axis, undone_axis_after_another_step, undone_tensor, undone_tensor_as_an_argument, axis_of_a_fork,
    axis_of_a_later_step, stage_of_an_undone_step, stage_of_another_schedule, asked_of_an_undone_axis,
)}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(golden, case):
    golden(refusal(ScheduleValueError, REFUSED[case]))


def test_refused_axis_of_another_schedule(golden):
    golden(refusal(ScheduleError, axis_of_another_schedule))


def test_what_create_schedule_refuses():
    s, A, B, C = chain()
    assert (
        refusal(TypeError, lambda: te.create_schedule("C")) == "create_schedule takes operations, not 'C'\n  pass C.op"
    )
    assert refusal(ScheduleError, lambda: te.create_schedule([])) == "create_schedule needs at least one operation"
    assert len(te.create_schedule([C.op, C.op]).outputs) == len(te.create_schedule(C).outputs) == 1


def test_an_unknown_name_says_what_there_is():
    s, A, B, C = chain()
    with pytest.raises(AttributeError, match="^stage C has no `spilt`; did you mean split"):
        s[C].spilt(C.op.axis[0], 4)
    with pytest.raises(AttributeError, match="^a schedule has no `cache_reads`; did you mean cache_read"):
        s.cache_reads
    assert not hasattr(s[C], "no_such_thing_at_all")


def test_a_foreign_tensor_is_a_value_error():
    s, A, B, C = chain()
    X = te.placeholder((4,), name="X")
    with pytest.raises(ValueError, match="`X` is not part of this schedule"):
        s[X]
    with pytest.raises(ValueError, match="the schedule has another `B`"):
        s[chain()[2]]


def test_stages_that_are_replaced_are_found_by_what_they_were():
    s, A, B, C, k = matmul()
    stage = s[C]
    CL = s.cache_write(C, "local")
    ko, ki = s[CL].split(k, 4)
    CF = s.rfactor(CL, ki)
    assert s[C] == stage == s[C.op] == s[s[C].op] and s[CL].op.input_tensors == [CF]
    assert stage.origin_op is C.op and s[C].op is not C.op
    assert [x.op.name for x in s.stages] == ["A", "B", "C.local.rf", "C.local", "C"]
    right(s, [A, B, C], numbers(8, 8) @ numbers(8, 8), inputs=[numbers(8, 8)] * 2)


def test_names_of_the_line_that_made_them():
    s, A, B, C = chain(16, 9)
    rows_, lanes = s[C].split(C.op.axis[0], 4)
    assert "for rows_ in range(4):" in text(s, [A, C]) and "rows_, lanes = s[C].split(i, factor=4)" in s.to_code()
    (a, b), (c, d) = s[C].split(rows_, 2), s[C].split(C.op.axis[1], 3)  # noqa: F841
    assert "for a in range(2):" in text(s, [A, C]) and "for d in range(3):" in text(s, [A, C])


def test_a_schedule_is_pickled_as_its_trace():
    s, A, B, C = chain()
    s[C].split(C.op.axis[0], 4)
    again = pickle.loads(pickle.dumps(s))
    assert isinstance(again, Schedule) and again.trace.same(s.trace)


def test_forgotten_forks_are_forgotten():
    s, A, B, C = chain()
    for _ in range(50):
        s.fork()
    gc.collect()
    s[C].split(C.op.axis[0], 4)
    s.undo()
    assert len(s._family) <= 3


def test_every_refusal_is_a_tvm_error():
    s, A, B, C = chain()
    for error in (ScheduleError, ScheduleTypeError, ScheduleValueError):
        assert issubclass(error, TVMError) and issubclass(error, RuntimeError)
    with pytest.raises(RuntimeError):
        s[C].split(C.op.axis[0], 0)


def test_a_record_for_a_front_end():
    s, A, B, k = rows()
    with pytest.raises(ScheduleError) as e:
        s[B].vectorize(k)
    record = e.value.to_json()
    assert record["type"] == "ScheduleError" and record["rule"] == "vectorize-reduction"
    assert record["legal"] == ["i (8)"] and record["hint"].endswith("s.rfactor(B, k)") and len(record["where"]) == 2


def test_a_bound_schedule_shows_itself():
    s, A, B, C = chain(te.size_var("n"), 8)
    s[C].bind(C.op.axis[1], te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], C.op.axis[0])
    assert repr(s).splitlines()[1:] == [
        "  A: input",
        "  B: i (1), j (8)  [at C.i]",
        "  C: i (n), j (8) threadIdx.x",
    ]
    assert repr(s[C]) == "stage(C: i (n), j (8) threadIdx.x)"


def test_text_and_errors_show_how_often_loops_run():
    s, A, B, C, k = matmul(64)
    T = s.cache_write(C, "local")
    io, _ = s[C].split(s[C].op.axis[0], 4)
    s[T].compute_at(s[C], io)
    assert repr(s[T]) == "stage(C.local in local: i.c (4), j.c (64), k (64)  [at C.io])"
    with pytest.raises(LabError) as refused:
        s[T].vectorize(s[T].op.reduce_axis[0])
    assert refused.value.where[0] == "for i.c in 4" and refused.value.legal == ("i.c (4)", "j.c (64)")


def test_loops_that_cannot_be_inferred_show_what_is_declared(monkeypatch):
    s, A, B, C = chain(64, 8)
    s[B].compute_at(s[C], C.op.axis[0])
    monkeypatch.setitem(hooks._TABLE, ("ranges", State), lambda state: 1 // 0)
    assert repr(s[B]) == "stage(B: i (64), j (8)  [at C.i])"


def test_the_line_that_wants_a_schedule_of_the_gallery_names_no_loop():
    from tvmlab import lower
    from tvmlab.kernels import matmul

    s, args = matmul.cpu(m=64, n=64, k=64)
    assert "for s in" not in str(lower(s, args)) and "for args in" not in str(lower(s, args))
    assert not s.state.labels
