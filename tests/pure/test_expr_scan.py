"""te.scan"""

import pytest

from tests.refusal import refused
from tvmlab import te
from tvmlab.core.error import TVMError
from tvmlab.core.node import OPAQUE, ORDERED

n, m = te.var("n"), te.var("m")


def cumsum(dtype="float32", rows=1, state_rows=n, cols=m, update_rows=n, state_cols=m):
    X = te.placeholder((n, m), dtype, name="X")
    state = te.placeholder((state_rows, state_cols), name="s")
    init = te.compute((rows, cols), lambda _, i: X[0, i], name="init")
    update = te.compute((update_rows, m), lambda t, i: state[t - 1, i] + X[t, i].astype("float32"), name="update")
    return init, update, state


def test_the_scan_axis_and_the_opaque_ones():
    init, update, state = cumsum()
    r = te.scan(init, update, state, name="c", tag="t", attrs={"a": 1})
    op = r.op
    assert [(a.name, a.iter_type) for a in op.axis] == [("c.idx", ORDERED), ("c.out0.i1", OPAQUE)]
    assert repr(op.scan_axis.dom) == "range(min=1, ext=n - 1)"
    assert op.spatial_axis_ == op.axis[1:]
    assert (op.init, op.update, op.updates, op.state_placeholder) == ((init,), (update,), (update,), (state,))
    assert op.inputs == (init, update)
    assert (r.shape, r.dtype, op.tag, op.attrs) == (state.shape, "float32", "t", {"a": 1})


def test_several_states():
    a, b = cumsum(), cumsum()
    r = te.scan([a[0], b[0]], [a[1], b[1]], [a[2], b[2]], name="c")
    assert len(r) == 2
    assert [x.name for x in r[0].op.axis] == ["c.idx", "c.out0.i1", "c.out1.i1"]
    assert r[1].value_index == 1


def test_reading_other_tensors():
    init, update, state = cumsum()
    op = te.scan(init, update, state).op
    other = te.compute((n, m), lambda t, i: state[t - 1, i], name="other")
    again = op.with_inputs({update: other})
    assert (again.updates, again.init, again.axis) == ((other,), (init,), op.axis)
    assert op.with_inputs({other: update}) is op


def test_a_schedule_attaches_the_updates():
    init, update, state = cumsum()
    s = te.create_schedule(te.scan(init, update, state).op)
    assert s[update].attach_type == 5
    assert s[update].attach_stage.op.name == "scan"


def one(*parts, **kwargs):
    return lambda: te.scan(*parts, **kwargs)


def where(init, update, state):
    return f"\n    state 0: init {init}, update {update}, state_placeholder {state}"


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (
            one([cumsum()[0]], [], []),
            ValueError,
            "init, update and state_placeholder must have the same length, not 1, 0 and 0",
        ),
        (one(1, *cumsum()[1:]), ValueError, "te.scan takes tensors, not 1"),
        (
            one(cumsum()[0], cumsum()[1], cumsum()[1]),
            TVMError,
            "te.scan scan: state 0 is `update`, which is computed; a state is a te.placeholder\n"
            "  the placeholder stands for the result, whose earlier rows the update reads",
        ),
        (
            one(*cumsum(dtype="int32")),
            TVMError,
            "te.scan scan: state 0 needs one dtype\n    init int32, update float32, state_placeholder float32",
        ),
        (
            one(te.placeholder((1,)), *cumsum()[1:]),
            TVMError,
            "te.scan scan: init, update and state_placeholder of state 0 need "
            "the same number of dimensions, at least one\n"
            "    init 1, update 2, state_placeholder 2",
        ),
        (
            one(*cumsum(state_rows=m), name="c"),
            TVMError,
            "te.scan c: state_placeholder.shape[0] and the scan axis' end, n must be provably equal"
            + where("(1, m)", "(n, m)", "(m, m)"),
        ),
        (
            one(*cumsum(cols=4), name="c"),
            TVMError,
            "te.scan c: init.shape[1] and state_placeholder.shape[1] must be provably equal"
            + where("(1, 4)", "(n, m)", "(n, m)"),
        ),
        (
            one(*cumsum(state_cols=8), name="c"),
            TVMError,
            "te.scan c: init.shape[1] and state_placeholder.shape[1] must be provably equal"
            + where("(1, m)", "(n, m)", "(n, 8)"),
        ),
        (
            lambda: te.scan(*zip(cumsum(), cumsum(rows=2)), name="c"),
            TVMError,
            "te.scan c: init.shape[0] and the scan axis' begin, 1 must be provably equal"
            "\n    state 1: init (2, m), update (n, m), state_placeholder (n, m)",
        ),
        (
            lambda: te.scan(*zip(cumsum(), cumsum(update_rows=n + 1)), name="c"),
            TVMError,
            "te.scan c: update.shape[0] and the scan axis' end, n must be provably equal"
            "\n    state 1: init (1, m), update (n + 1, m), state_placeholder (n, m)",
        ),
    ],
)
def test_refused(call, kind, message):
    assert refused(kind, call) == message


def test_the_update_may_be_the_one_that_differs():
    init, update, state = cumsum()
    wide = te.compute((n, 4), lambda t, i: state[t - 1, i], name="wide")
    assert refused(TVMError, lambda: te.scan(init, wide, state, name="c")) == (
        "te.scan c: update.shape[1] and state_placeholder.shape[1] must be provably equal"
        + where("(1, m)", "(n, 4)", "(n, m)")
    )
