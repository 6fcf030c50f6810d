"""A space over the parameters of a schedule's steps, without a template."""

import json
import pickle
import re
import threading

import numpy as np
import pytest

from tvmlab import build, te, tune
from tvmlab.core.error import LabError
from tvmlab.face.document import Document
from tvmlab.face.history_whole import give
from tvmlab.face.trial import fingerprint
from tvmlab.tune.candidate import Candidate, candidate
from tvmlab.tune.opened import OpenedTask
from tvmlab.tune.parameters import MOST, openable
from tvmlab.tune.task import InstantiationError, Task


def product(m=16, n=32, k=8, name="C"):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name=name)
    return te.create_schedule(c.op), [a, b, c]


def tiled():
    s, (a, b, c) = product()
    io, ii = s[c].split(c.op.axis[0], 4)
    jo, ji = s[c].split(c.op.axis[1], 8)
    s[c].reorder(io, jo, c.op.reduce_axis[0], ii, ji)
    s[c].vectorize(ji)
    s[c].parallel(io)
    return s, [a, b, c]


def staged():
    """A stage that is computed inside another."""
    a = te.placeholder((16, 32), name="A")
    b = te.compute((16, 32), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((16, 32), lambda i, j: b[i, j] * 2.0, name="C")
    s = te.create_schedule(c.op)
    io, ii = s[c].split(c.op.axis[0], 4)
    s[b].compute_at(s[c], io)
    return s, [a, c]


def point(task, **values):
    """The configuration with these values, by the beginning of their names; the first of all others."""
    names = task.space.names
    places = []
    for name in names:
        given = next((v for k, v in values.items() if k in name), None)
        listed = task.space.space_map[name].values
        places.append(0 if given is None else list(listed).index(given))
    return task.space.get(task.space.knob2point(places))


# ---------------------------------------------------------------- what can be opened


def test_the_parameters_of_steps_with_their_candidates():
    s, _ = tiled()
    found = {p.id: p for p in tune.openable(s)}
    assert {p.id: p.name for p in found.values()} == {
        "e1.factor": "split i: factor", "e2.factor": "split j: factor", "e3.axes": "reorder C: order",
        "e4.taken": "vectorize ji", "e5.taken": "parallel io",
    }  # fmt: skip
    assert found["e1.factor"].values == [1, 2, 4, 8, 16] and found["e1.factor"].now == 2
    assert found["e4.taken"].values == [True, False] and found["e4.taken"].now == 0
    assert len(found["e3.axes"].values) == 17 and found["e3.axes"].values[found["e3.axes"].now] == "io, jo, k, ii, ji"
    text = repr(tune.openable(s)).splitlines()
    assert text[0].split() == "e1.factor split i: factor 4 of 1, 2, 4, 8, 16".split() and len(text) == 5


def test_divisors_and_powers_of_two_are_offered_and_not_too_many():
    s, (_, _, c) = product(12, 720720)
    s[c].split(c.op.axis[0], 5)
    s[c].split(c.op.axis[1], nparts=7)
    few, many = openable(s)
    assert few.values == [1, 2, 3, 4, 5, 6, 8, 12]  # 5: as it is now
    assert many.param == "nparts" and len(many.values) <= MOST + 1 and {7, 1024, 524288} <= set(many.values)
    assert sum(720720 % v == 0 for v in many.values) > 20


def test_every_order_of_a_few_loops():
    s, (a, b, c) = product()
    (i, j), (k,) = c.op.axis, c.op.reduce_axis
    s[c].reorder(k, i, j)
    (p,) = openable(s)
    assert len(p.values) == 6 and p.values == sorted(p.values)
    for index in range(6):
        task = Task.opened(s, [a, b, c], {p.id: None})
        s2, _ = OpenedTask(s, [c], {p.id: None}).instantiate(task.space.get(index))
        assert f"reorder({p.values[index]})" in s2.to_code()


def test_places_of_a_stage_and_whether_it_is_there():
    s, args = staged()
    found = {p.id: p for p in openable(s)}
    assert found["e2.scope"].name == "place of B" and found["e2.scope"].values == ["C.io", "C.ii", "C.j"]
    task = Task.opened(s, args, {"e2.scope": None, "e2.taken": None})
    codes = {tuple(n.val for n in task.space.get(i).entities.values()): task.instantiate(task.space.get(i))[0].to_code()
             for i in range(len(task.space))}  # fmt: skip
    assert "compute_at(s[C], ii)" in codes["C.ii", True] and "compute_at" not in codes["C.ii", False]


def test_numbers_and_words_of_other_steps():
    s, (a, b, c) = product()
    local = s.cache_write(c, "local")
    s[local].pragma(local.op.axis[0], "auto_unroll_max_step", 16)
    s[local].storage_align(local.op.axis[0], 8, 1)
    found = {p.id: p for p in openable(s)}
    assert found["e1.scope"].values == ["global", "local"] and 16 in found["e2.pragma_value"].values
    assert {"e2.taken", "e3.factor", "e3.offset", "e3.taken"} <= set(found)
    for id, p in found.items():
        task = Task.opened(s, [a, b, c], {id: None})
        codes = {task.instantiate(task.space.get(n))[0].to_code() for n in range(len(task.space))}
        assert len(codes) == len(task.space) == len(p.values)


def test_what_has_one_value_only_or_none_that_is_a_number_is_not_opened():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    s = te.create_schedule(b.op)
    s[b].split(b.op.axis[0], factor=n)
    (p,) = openable(s)
    assert "expression" in p.why
    with pytest.raises(LabError) as e:
        Task.opened(s, [a, b], {p.id: None})
    assert e.value.rule == "not-openable"


def test_two_steps_of_the_same_words_have_different_names():
    s, (_, _, c) = product()
    _, ii = s[c].split(c.op.axis[0], 8)
    s[c].unroll(ii)
    s[c].unroll(ii)
    names = [p.name for p in openable(s)]
    assert len(set(names)) == 3 and any(n.endswith("(step 3)") for n in names)


# ---------------------------------------------------------------- which are opened


@pytest.mark.parametrize("key", ["e1.factor", "1.factor", (1, "factor"), ("e1", "factor"), 1, "e1", "split i: factor"])
def test_a_parameter_is_named_in_the_ways_that_a_person_has(key):
    task = Task.opened(*tiled(), {key: [2, 3]})
    assert [(p.id, p.values) for p in task.parameters] == [("e1.factor", [2, 3])]


@pytest.mark.parametrize(
    "opened, rule",
    [
        ({}, "nothing-opened"), ({"e9.factor": None}, "no-such-parameter"), ({"e1.nparts": None}, "no-such-parameter"),
        ({"e1.factor": []}, "no-candidates"), ({"e1.factor": [0]}, "no-candidate"),
        ({"e1.factor": ["4"]}, "no-candidate"), ({"e4.taken": ["maybe"]}, "no-candidate"),
        ({"e4.taken": [1]}, "no-candidate"), ({"e3.axes": ["io"]}, "no-candidate"),
    ],
)  # fmt: skip
def test_what_cannot_be_opened_is_refused_with_what_can(opened, rule):
    with pytest.raises(LabError) as e:
        Task.opened(*tiled(), opened)
    assert e.value.rule == rule and e.value.legal


def test_a_step_with_several_parameters_needs_its_name():
    s, (_, _, c) = product()
    s[c].tile(*c.op.axis, 4, 4)
    with pytest.raises(LabError, match="several"):
        Task.opened(s, [c], {1: None})


# ---------------------------------------------------------------- its points


def test_a_loop_is_the_same_loop_whatever_the_factor_of_its_split():
    s, args = tiled()
    task = Task.opened(s, args, {p.id: None for p in openable(s)})
    s2, tensors = task.instantiate(point(task, **{"split i": 8, "split j": 16, "order": "io, jo, k, ii, ji"}))
    assert tensors == args and "split(i, factor=8)" in s2.to_code() and "split(j, factor=16)" in s2.to_code()
    as_it_is = task.instantiate(point(task, **{"split i": 4, "split j": 8, "order": "io, jo, k, ii, ji"}))[0]
    assert fingerprint(as_it_is.trace) == fingerprint(s.trace)
    bare = task.instantiate(point(task, vectorize=False, parallel=False))[0].to_code()
    assert "vectorize" not in bare and "parallel" not in bare
    assert s.to_code() == tiled()[0].to_code()  # the schedule itself stays


def test_points_are_legal_and_right():
    s, args = tiled()
    task = Task.opened(s, args, {"e1.factor": None, "e2.factor": [3, 8], "e4.taken": None})
    found = [candidate(task, i) for i in range(len(task.space))]
    assert all(isinstance(c, Candidate) for c in found) and len({c.key for c in found}) == len(found) == 20
    a, b = np.random.rand(16, 8).astype("float32"), np.random.rand(8, 32).astype("float32")
    for c in found[::7]:
        out = np.zeros((16, 32), "float32")
        s2, tensors = task.instantiate(c.config)
        build(s2, tensors, "interp")(a, b, out)
        np.testing.assert_allclose(out, a @ b, rtol=1e-5)


def test_a_step_that_can_no_longer_be_taken_is_named_with_the_reason():
    s, args = product()
    (i, j), (k,) = args[2].op.axis, args[2].op.reduce_axis
    s[args[2]].reorder(i, j, k)
    s[args[2]].fuse(i, j)  # only of loops that are nested so
    task = Task.opened(s, args, {"e1.axes": None})
    with pytest.raises(InstantiationError, match=r"step 2, fuse, cannot be taken: ") as e:
        task.instantiate(point(task, order="i, k, j"))
    assert e.value.rule and e.value.__cause__ is not None
    assert candidate(task, point(task, order="i, k, j").index).text.startswith("step 2, fuse")


def test_a_factor_beyond_the_loop_is_no_point():
    s, (a, b, c) = product()
    _, ii = s[c].split(c.op.axis[0], 8)
    s[c].split(ii, 4)
    task = Task.opened(s, [a, b, c], {"e1.factor": None, "e2.factor": None})
    with pytest.raises(InstantiationError, match="step 2: ii runs fewer times than its factor"):
        task.instantiate(point(task, **{"split i: ": 2, "split ii": 4}))
    task.instantiate(point(task, **{"split i: ": 4, "split ii": 4}))


def test_steps_that_do_not_apply_or_are_undone_are_not_in_it():
    s, args = tiled()
    d = Document.of(s)
    d.delete("e2")  # what it made is gone: two steps wait
    assert [p.id for p in openable(s)] == ["e1.factor", "e5.taken"]
    task = Task.opened(s, args, {"e1.factor": [2]})
    assert "split(i, factor=2)" in task.instantiate(task.space.get(0))[0].to_code() and len(task.steps) == 2
    d.jump(1)
    assert [p.id for p in openable(s)] == ["e1.factor"]


def test_two_threads_may_ask_at_once():
    s, args = tiled()
    task = Task.opened(s, args, {p.id: None for p in openable(s)})
    wrong = []

    def ask(seed):
        for index in range(seed, len(task.space), len(task.space) // 40):
            config = task.space.get(index)
            code = task.instantiate(config)[0].to_code()
            if f"split(i, factor={config['split i: factor'].val})" not in code:
                wrong.append(index)

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong


# ---------------------------------------------------------------- which space it is

ALL = {"e1.factor": None, "e2.factor": None, "e4.taken": None}


def said(task):
    return task.args, task.space.hash


def test_the_same_steps_with_the_same_opened_are_the_same_space_whatever_the_values_are_now():
    s, args = tiled()
    first = said(Task.opened(s, args, ALL))
    d = Document.of(s)
    d.edit("e1", {"factor": 8})
    d.delete("e5"), d.undo()
    assert said(Task.opened(s, args, ALL)) == first
    assert said(Task.opened(*tiled(), ALL)) == first
    loaded = Document.from_json(json.loads(json.dumps(d.to_json())))
    assert said(OpenedTask(loaded, args, ALL)) == first
    again = pickle.loads(pickle.dumps(Task.opened(s, args, ALL)))
    assert said(again) == first and again.space.get(3).to_json() == Task.opened(s, args, ALL).space.get(3).to_json()
    assert len(again.instantiate(again.space.get(3))[1]) == 3


def test_ids_of_steps_do_not_matter():
    s, (a, b, c) = product()
    s[c].unroll(c.op.axis[1])
    s.undo()
    io, ii = s[c].split(c.op.axis[0], 4)
    jo, ji = s[c].split(c.op.axis[1], 8)
    s[c].reorder(io, jo, c.op.reduce_axis[0], ii, ji)
    s[c].vectorize(ji)
    s[c].parallel(io)
    ids = [p.id for p in openable(s)]
    assert "e1.factor" not in ids
    task = Task.opened(s, [a, b, c], {"split i: factor": None, "split j: factor": None, "vectorize ji": None})
    assert said(task) == said(Task.opened(*tiled(), ALL))


@pytest.mark.parametrize("change", ["step", "opened", "values", "shape", "fixed"])
def test_other_steps_other_values_or_another_expression_are_another_space(change):
    s, args = tiled()
    first = said(Task.opened(s, args, ALL))
    opened = dict(ALL)
    if change == "step":
        s[args[2]].unroll(args[2].op.reduce_axis[0])
    elif change == "opened":
        opened["e5.taken"] = None
    elif change == "values":
        opened["e1.factor"] = [2, 4]
    elif change == "shape":
        s, args = product(n=64)
        s[args[2]].split(args[2].op.axis[0], 4)
        first, opened = said(Task.opened(*tiled(), {"e1.factor": [2]})), {"e1.factor": [2]}
    else:
        opened.pop("e2.factor")
        first = said(Task.opened(s, args, opened))
        Document.of(s).edit("e2", {"factor": 16})
    assert said(Task.opened(s, args, opened)) != first


def test_nothing_is_pickled_but_text():
    s, args = tiled()
    data = pickle.dumps(Task.opened(s, args, ALL))
    assert not re.search(rb"tvmlab\.(expr|schedule|core|face)", data)


def test_the_values_of_now_are_a_point_where_all_of_them_may_be_chosen():
    s, args = tiled()
    task = Task.opened(s, args, {"e1.factor": [8, 4, 2], "e4.taken": None})
    found = dict(zip(task.space.names, task.space.point2knob(task.first[0]), strict=True))
    assert found == {"split i: factor": 1, "vectorize ji": 0}
    assert candidate(task, task.first[0], "llvm").key == fingerprint(s.trace)
    assert Task.opened(s, args, {"e1.factor": [8, 2]}).first == []


def test_orders_that_were_opened_stay_so_when_one_of_them_is_taken():
    s, args = tiled()
    document = Document.of(s)
    task = Task.opened(s, args, {"e3.axes": None})
    values = task.parameters[0].values
    (order,) = [c for c in task.parameters[0].candidates if c.value.startswith("ji, io")]
    give(document, "e3", order.args, False)
    assert set(values) - {v for p in openable(document) if p.id == "e3.axes" for v in p.values}
    again = OpenedTask(document, args, {"e3.axes": values})
    assert again.space.hash == task.space.hash and again.first == [values.index(order.value)]
    with pytest.raises(LabError, match="is no value for"):
        OpenedTask(document, args, {"e3.axes": ["ji, io"]})
