"""Steps as plain JSON: there and back, and calls with names instead of objects."""

from __future__ import annotations

import json
import random
import warnings
from typing import Any

import pytest

from tests.payloads import complaints
from tests.pure.view.sketch import matmul
from tests.traces import MORE, random_steps
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.face import recipes
from tvmlab.face.document import Document
from tvmlab.schedule.trace import Step
from tvmlab.view import payload
from tvmlab.view.acts import decode, decode_some, encode, plain
from tvmlab.view.layouts import layout_of, layout_text
from tvmlab.view.params import params


@pytest.mark.parametrize("seed", range(60))
def test_every_step_comes_back(seed):
    """Step -> act -> JSON -> step on a copy that knows none of the objects: the same trace."""
    s = random_steps(random.Random(seed), 12, MORE).schedule
    made = s.trace.prefix(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n, step in enumerate(s.trace):
            before = s.trace.prefix(n).state
            act = json.loads(json.dumps(encode(step.primitive, step.args, before)))
            assert complaints(act, payload.Act) == []
            primitive, args = decode(act, made.state)
            made = made + Step(primitive, args)
            _ = made.state
    assert made.same(s.trace)


@pytest.mark.parametrize("seed", range(40))
def test_the_values_of_an_editor_are_those_of_the_act(seed):
    s = random_steps(random.Random(seed), 12, MORE).schedule
    for n, step in enumerate(s.trace):
        before = s.trace.prefix(n).state
        act = encode(step.primitive, step.args, before)
        for p in params(step.primitive, step.args, before):
            assert complaints(p, payload.Param) == [] and json.dumps(p)
            if p["name"] in act["args"]:
                assert p["value"] == act["args"][p["name"]], (step, p)
            decode_some(step.primitive, {p["name"]: p["value"]}, before)
            for choice in p["choices"]:
                decode_some(step.primitive, {p["name"]: choice["value"]}, before)


# ---------------------------------------------------------------- what a person writes


def written(s: Any, primitive: str, *args: Any, **kwargs: Any) -> str:
    """The step as code."""
    trace = s.trace + Step(primitive, plain(primitive, args, kwargs, s.state))
    return trace.to_code().splitlines()[-1].partition(" = ")[2] or trace.to_code().splitlines()[-1]


def test_names_instead_of_objects():
    A, B = te.placeholder((16, 16), name="A"), te.placeholder((16, 16), name="B")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((16, 16), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    D = te.compute((16, 16), lambda i, j: C[i, j] + 1.0, name="D")
    s = te.create_schedule(D.op)
    assert written(s, "split", "C.i", factor=4) == "s[C].split(i, factor=4)"
    assert written(s, "split", "C", "C.i", 4) == "s[C].split(i, factor=4)"
    assert written(s, "split", "k", factor=4) == "s[C].split(k, factor=4)"
    assert written(s, "split", parent="C.i", nparts=4) == "s[C].split(i, nparts=4)"
    assert written(s, "split", C.op.axis[0], factor=4) == "s[C].split(i, factor=4)"
    assert written(s, "vectorize", s[C], C.op.axis[1]) == "s[C].vectorize(j)"
    assert written(s, "reorder", "C.k", "C.i") == "s[C].reorder(k, i)"
    assert written(s, "fuse", "C.i", "C.j") == "s[C].fuse(i, j)"
    assert written(s, "tile", "C.i", "C.j", 4, 8) == "s[C].tile(i, j, 4, 8)"
    assert written(s, "compute_at", "C", "D.i") == "s[C].compute_at(s[D], i)"
    assert written(s, "compute_at", "C", "D", "D.i") == "s[C].compute_at(s[D], i)"
    assert written(s, "compute_root", "C") == "s[C].compute_root()"
    assert written(s, "cache_read", "A", "local", ["C"]) == 's.cache_read(A, "local", [C.op])'
    assert written(s, "cache_write", "C", "local") == 's.cache_write(C, "local")'
    assert written(s, "rfactor", "C", "C.k") == "s.rfactor(C, k)"
    assert written(s, "bind", "D.i", "blockIdx.x") == "s[D].bind(i, blockIdx_x)"
    assert written(s, "transform_layout", "C", "i, j -> [j, i]").startswith("s[C].transform_layout(lambda i, j: [j, i]")
    assert written(s, "prefetch", "C", "A", "C.i", 2) == "s[C].prefetch(A, i, 2)"
    assert written(s, "set_scope", "C", "local") == 's[C].set_scope("local")'


def test_a_recipe_by_name():
    s, A, B, C = matmul()
    whole = plain("recipe:partial-sums", ("C",), {"axis": "C.k", "parts": 4}, s.state)
    assert whole == {"stage": s[C].index, "axis": C.op.reduce_axis[0], "parts": 4, "then": "vectorize"}
    for stage in (C, C.op, s[C]):
        assert plain("recipe:tile-for-cache", (stage,), {}, s.state)["stage"] == s[C].index
    with pytest.raises(LabError, match="partial sums has no `part`"):
        plain("recipe:partial-sums", ("C",), {"part": 4}, s.state)


def test_a_name_that_a_person_gave():
    s, A, B, C = matmul()
    xo, xi = s[C].split(C.op.axis[0], 8)
    assert written(s, "vectorize", "xi") == "s[C].vectorize(xi)"
    assert written(s, "vectorize", "C.i.inner") == "s[C].vectorize(xi)"


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (("vectorize", "C.q"), "there is no loop `C.q`"),
        (("compute_inline", "Q"), "there is no stage `Q`"),
        (("compute_at", "C.i", "C.j"), "`C.i` is a loop, not a stage"),
        (("split", "C", "C"), "`C` is a stage, not a loop"),
        (("split", "C.i"), "needs either `factor`"),
        (("split", "C.i", 4, 4, 4), "too many positional arguments"),
        (("bind", "C.i", 7), "no thread axis"),
        (("transform_layout", "C", "i -> [i]"), "names 1 index, C has 2"),
    ],
)
def test_what_does_not_fit_names_what_is_there(call, says):
    s, A, B, C = matmul()
    with pytest.raises(LabError, match=says):
        trace = s.trace + Step(call[0], plain(call[0], call[1:], {}, s.state))
        _ = trace.state
        raise AssertionError(trace.to_code())


def test_a_name_of_two_loops_is_answered_with_both():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i] + 1.0, name="B")
    C = te.compute((8,), lambda i: B[i] + 1.0, name="C")
    s = te.create_schedule(C.op)
    with pytest.raises(LabError, match="there are 2 loops called `i`") as caught:
        plain("unroll", ("i",), {}, s.state)
    assert "B.i, C.i" in str(caught.value)


def test_acts_are_taken_in_the_history_and_recipes_whole():
    s, A, B, C = matmul()
    d = Document.of(s)
    name, args = decode({"primitive": "recipe:tile-for-cache", "args": {"stage": {"stage": "C"}}}, s.state)
    with d.together(name):
        recipes.follow(name, args, s.state, lambda p, a: (d.apply(p, a), s.state))
    assert len(s.trace) == 4 and len({e.group for e in d.entries}) == 1
    with pytest.raises(LabError):
        d.apply(*decode({"primitive": "vectorize", "args": {"var": {"axis": "C.k.inner"}}}, s.state))
    d.apply(*decode({"primitive": "parallel", "args": {"var": {"axis": "C.i.outer"}}}, s.state))
    assert d.entries[-1].primitive == "parallel" and len(s.trace) == 5
    d.undo()
    d.undo()
    assert len(s.trace) == 0


# ---------------------------------------------------------------- layouts


@pytest.mark.parametrize(
    "text",
    ["i, j -> [j, i]", "i, j -> [i//8, j, i%8]", "i -> [i//4, i%4]", "i, j -> [i*16 + j]",
     "a, b -> [a, AXIS_SEPARATOR, b]"],
)  # fmt: skip
def test_a_layout_comes_back(text):
    assert layout_text(layout_of(text)) == text
    assert layout_text(layout_of("lambda " + text.replace(" ->", ":"))) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "i", "i -> ", "i -> [j]", "i, i -> [i]", "i -> [i.real]", "i -> [f(i)]", "i -> [i/2]", "i -> [i//0]",
        "i -> [2**i]", "i -> ['x']", "i -> [i for i in (1,)]", "i -> [True]", "i -> " + "(" * 500, "lambda: 0",
    ],
)  # fmt: skip
def test_what_is_no_layout_is_refused(text):
    with pytest.raises(LabError):
        layout_of(text)
