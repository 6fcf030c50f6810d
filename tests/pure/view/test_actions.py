"""The actions list: its order, its signs, and that whatever it offers really applies."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

from tests.payloads import complaints
from tests.pure.view.sketch import matmul, tiled
from tests.traces import MORE, random_steps
from tvmlab import te
from tvmlab.expr import intrin
from tvmlab.face import recipes
from tvmlab.face.handle import Schedule
from tvmlab.schedule.trace import Step, Trace
from tvmlab.view import payload
from tvmlab.view.actions import FIRST, ORDER, act_action, actions, actions_iter, in_order
from tvmlab.view.acts import decode
from tvmlab.view.ids import id_of, ids


@pytest.fixture(autouse=True)
def no_intrinsics(monkeypatch):
    """What other tests have registered is not offered here."""
    intrin.registered()  # those that are there from the start register when they are first asked for
    monkeypatch.setattr(intrin, "_REGISTRY", {})


def listed(s: Any, selected: list[str]) -> str:
    rows = []
    for item in actions(s, selected)["items"]:
        head = f"{item['key'] or ' '} {item['sign']} {item['label']:<34}"
        rows.append(f"{head} {item['word']}: {item['reason']}".rstrip(": "))
        rows += [f"        owes: {o}" for o in item["owes"]]
        rows += [f"        {line}" for line in item["code"].splitlines()]
        for p in item["params"]:
            choices = ", ".join(f"{c.get('sign', '')}{c['label']}" for c in p["choices"])
            rows.append(f"        {p['name']} = {p['value']}  [{choices}]")
        card = item["card"]
        if card is not None:
            rows += [f"        | {card['title']}", *[f"        | {line}" for line in card["text"].splitlines()]]
            rows += [f"        | {card['clash']}"] * bool(card["clash"])
            rows += [f"        | + {m['text']}" for m in card["moves"]]
    return "\n".join(rows)


def apply(trace: Trace, act: Any) -> Trace:
    """The trace with the act taken, by its plain form alone."""
    primitive, args = decode(act, trace.state)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if primitive.startswith(recipes.PREFIX):
            return recipes.traces(trace, primitive, args)[-1]
        made = trace + Step(primitive, args)
        _ = made.state
    return made


SELECTED = {"data": ["C.i"], "sum": ["C.k"], "two": ["C.i", "C.j"], "stage": ["C"], "input": ["A"], "none": []}


@pytest.mark.parametrize("selected", SELECTED.values(), ids=SELECTED)
def test_a_matmul(golden, selected):
    s, A, B, C = matmul()
    golden(listed(s, selected))


def test_a_schedule_on_its_way(golden):
    """A cache stage inside a tiled, vectorized, parallel matmul: places, owed things, marks that are there already."""
    s, A, B, C = matmul()
    CL = s.cache_write(C, "local")
    i, j = s[C].op.axis
    io, jo, ii, ji = s[C].tile(i, j, 16, 16)
    s[CL].compute_at(s[C], jo)
    s[C].parallel(io)
    s[C].vectorize(ji)
    golden(listed(s, ["C.j.inner"]), "vector")
    golden(listed(s, ["C.local"]), "cache")
    golden(listed(s, ["C.local", "C.i.outer"]), "cache_and_place")


def test_the_order_is_the_same_for_every_selection():
    s = tiled()
    state = s.state
    for selected in ([], *([i] for i in ids(state)), list(ids(state)), ["no such thing"]):
        made = actions(s, selected)
        assert [item["name"] for item in made["items"]] == list(ORDER)
        assert made["ids"] == selected and complaints(made, payload.Actions) == []
    assert sorted(FIRST) == sorted(ORDER)


def test_items_come_one_by_one_the_usual_ones_first():
    s = tiled()
    one_by_one = actions_iter(s, ["C.k.inner"])
    first = [next(one_by_one)["name"] for _ in range(3)]
    assert first == ["split", "vectorize", "parallel"]
    assert in_order([*actions_iter(s, ["C.k.inner"])]) == actions(s, ["C.k.inner"])["items"]


def test_every_key_is_one_letter_for_one_action():
    keys = [item["key"] for item in actions(tiled(), [])["items"] if item["key"]]
    assert "".join(keys) == "stfruvpbc"


@pytest.mark.parametrize("seed", range(25))
def test_what_is_offered_applies_and_what_is_refused_does_not(seed):
    """On random schedules and selections: every sign is true, every card's move is legal and applies."""
    rng = random.Random(seed)
    s = random_steps(rng, 6, MORE).schedule
    before = s.trace
    names = list(ids(s.state))
    selected = rng.sample(names, min(len(names), rng.choice((1, 1, 1, 2))))
    made = actions(s, selected)
    assert complaints(made, payload.Actions) == []
    for item in made["items"]:
        if item["act"] is None:
            assert item["sign"] == "x" and item["reason"], item
            continue
        if item["sign"] == "x":
            with pytest.raises(Exception, match=r"\w"):
                _refused(s, item["act"])
        else:
            t = apply(s.trace, item["act"])
            assert len(t) > len(before)
        for move in (item["card"] or {"moves": []})["moves"]:
            assert act_action(s, move["act"])["sign"] == "+", (item["name"], move)
            apply(s.trace, move["act"])
        assert len((item["card"] or {"moves": []})["moves"]) <= 3
    assert s.trace is before


def _refused(s: Schedule, act: Any) -> None:
    """Refused when it is taken, or by what it makes of the loops."""
    from tvmlab.core.error import ScheduleError
    from tvmlab.face.verdict import ILLEGAL, change

    t = apply(s.trace, act)
    if change(s.trace, t).kind == ILLEGAL:
        raise ScheduleError("found", "the loops are not legal")


# ---------------------------------------------------------------- one act with other values


def test_a_changed_value_is_judged_in_place():
    s, A, B, C = matmul(65)
    split = next(i for i in actions(s, ["C.i"])["items"] if i["name"] == "split")
    for factor, sign in ((5, "+"), (16, "+"), (0, "x"), (-3, "x"), (10**9, "+"), ("12", "x"), (2.5, "x"), (None, "x")):
        act = {"primitive": "split", "args": {**split["act"]["args"], "factor": factor}}
        item = act_action(s, act)
        assert (item["sign"], complaints(item, payload.Action)) == (sign, []), (factor, item)
        assert item["sign"] != "x" or (item["card"] and item["card"]["text"])
        if factor == 10**9:
            assert item["reason"] == "i runs only 65 times: one part has all of it"
    assert "with a tail" in str(split["params"][0]["choices"])
    assert [c["value"] for c in split["params"][0]["choices"]][:2] == [5, 13]


@pytest.mark.parametrize(
    "act",
    [
        {"primitive": "spilt", "args": {}},
        {"primitive": "split", "args": {"parent": {"axis": "C.nothing"}, "factor": 4}},
        {"primitive": "split", "args": {"parent": {"axis": "C"}, "factor": 4}},
        {"primitive": "split", "args": {"factor": 4}},
        {"primitive": "split", "args": {"parent": {"axis": "C.i"}, "factor": 4, "colour": "red"}},
        {"primitive": "split", "args": {"parent": {"eval": "1"}, "factor": 4}},
        {"primitive": "split", "args": {"parent": {"axis": 7}, "factor": 4}},
        {"primitive": "compute_at", "args": {"stage": {"stage": "__proto__"}, "scope": {"axis": "C.i"}}},
        {"primitive": "tensorize", "args": {"var": {"axis": "C.i"}, "tensor_intrin": {"intrin": "gemm"}}},
        {"primitive": "transform_layout", "args": {"stage": {"stage": "C"}, "layout": "i, j -> __import__('os')"}},
        {"primitive": "recipe:no-such", "args": {}},
        {"primitive": "recipe:tile-for-cache", "args": {"stage": {"stage": "C"}, "rows": 0}},
        {"primitive": "recipe:tile-for-cache", "args": {}},
        {"primitive": "split"},
        {},
    ],
)
def test_nonsense_is_answered(act):
    s, A, B, C = matmul()
    item = act_action(s, act)
    assert item["sign"] == "x" and item["reason"]
    assert complaints(item, payload.Action) == []


def test_extents_of_one_and_marks_that_are_there_have_no_effect():
    A = te.placeholder((1, 8), name="A")
    B = te.compute((1, 8), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    s[B].vectorize(B.op.axis[1])
    by_name = {i["name"]: i for i in actions(s, ["B.i"])["items"]}
    assert (by_name["parallel"]["sign"], by_name["parallel"]["reason"]) == ("=", "i runs only once")
    by_name = {i["name"]: i for i in actions(s, ["B.j"])["items"]}
    assert (by_name["vectorize"]["sign"], by_name["vectorize"]["reason"]) == ("=", "j is vectorized already")
    assert by_name["split"]["reason"] == "`j` of stage B was marked vectorized; it is split, which drops that"


def test_a_symbolic_fuse_is_unknown():
    n = te.size_var("n")
    A = te.placeholder((n, n), name="A")
    B = te.compute((n, n), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    fuse = next(i for i in actions(s, ["B.i"])["items"] if i["name"] == "fuse")
    assert (fuse["sign"], fuse["word"]) == ("?", "unknown")
    assert fuse["reason"].startswith("could not decide: ") and fuse["act"] is not None
    assert fuse["card"] is not None and "example (n = 5; 25 iterations)" in fuse["card"]["text"]


def test_hostile_names():
    name = """x"'<b>&\N{SNOWMAN}"""
    A = te.placeholder((4, 4), name="constructor")
    B = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name=name)
    C = te.compute((4, 4), lambda i, j: B[i, j] + 1.0, name="__proto__")
    D = te.compute((4, 4), lambda i, j: C[i, j] + B[i, j], name=name)
    s = te.create_schedule(D.op)
    for selected in ids(s.state):
        made = actions(s, [selected])
        assert complaints(made, payload.Actions) == []
        for item in made["items"]:
            if item["act"] is not None and item["sign"] != "x":
                apply(s.trace, item["act"])


def test_registered_intrinsics_are_offered_with_their_verdicts():
    from tests.intrins import gemv

    te.register_intrin(gemv(16, 16), "gemv_16x16")
    te.register_intrin(gemv(8, 8), "gemv_8x8")
    A, x = te.placeholder((64, 64), name="A"), te.placeholder((64,), name="x")
    k = te.reduce_axis((0, 64), name="k")
    y = te.compute((64,), lambda i: te.sum(A[i, k] * x[k], axis=k), name="y")
    s = te.create_schedule(y.op)
    io, ii = s[y].split(y.op.axis[0], 16)
    ko, ki = s[y].split(k, 16)
    s[y].reorder(io, ko, ii, ki)
    item = next(i for i in actions(s, [id_of(s.state, s[y].index, ii)])["items"] if i["name"] == "tensorize")
    assert item["sign"] == "+" and item["owes"] == []
    assert item["params"][0]["value"] == {"intrin": "gemv_16x16"}
    assert [c["label"] for c in item["params"][0]["choices"]] == ["gemv_16x16", "gemv_8x8"]
    assert apply(s.trace, item["act"]).steps[-1].primitive == "tensorize"


def test_sixty_stages():
    def more(t: Any, name: str) -> Any:
        return te.compute((8, 8), lambda i, j: t[i, j] + 1.0, name=name)

    t = te.placeholder((8, 8), name="x0")
    for n in range(60):
        t = more(t, f"x{n + 1}")
    s = te.create_schedule(t.op)
    made = actions(s, ["x30"])
    assert complaints(made, payload.Actions) == []
    assert next(i for i in made["items"] if i["name"] == "compute_at")["sign"] == "+"


def test_an_intrinsic_that_computes_something_else_is_not_offered_as_legal():
    from tests.intrins import gemv

    te.register_intrin(gemv(8, 8), "gemv_8x8")
    s, *_ = matmul(8, 8, 8)
    item = next(i for i in actions(s, ["C.i"])["items"] if i["name"] == "tensorize")
    assert (item["sign"], item["owes"]) == ("x", []) and item["reason"]
    assert item["act"] and act_action(s, item["act"])["sign"] == "x"  # as a preview and a changed value say
