"""Previews show what would be, apply nothing, and keep the contract; drop places say what they would do."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.payloads import complaints
from tests.pure.view.sketch import matmul, tiled
from tests.traces import MORE, random_steps
from tvmlab import te
from tvmlab.analysis import machine
from tvmlab.core.error import LabError
from tvmlab.view import payload
from tvmlab.view.actions import act_of, actions
from tvmlab.view.acts import decode
from tvmlab.view.drops import moved, targets
from tvmlab.view.frame import frame
from tvmlab.view.ids import ids
from tvmlab.view.preview import after, deltas, preview, share


def by_name(s: Any, selected: list[str]) -> dict[str, Any]:
    return {i["name"]: i for i in actions(s, selected)["items"]}


def test_a_split(golden):
    s, A, B, C = matmul()
    made = preview(s, by_name(s, ["C.i"])["split"]["act"])
    lines = [f"{x['sign']} {'    ' * x['line']['d']}{x['line']['t']}" for x in made["diff"]]
    golden("\n".join([*lines, "", *(f"{'  ' * r['level']}{r['name']} {r['extent']}" for r in made["tree"])]))
    assert len(s.trace) == 0 and made["sign"] == "+" and made["card"] is None


def test_a_refused_one_shows_the_schedule_as_it_is_and_why():
    s, A, B, C = matmul()
    made = preview(s, {"primitive": "vectorize", "args": {"var": {"axis": "C.k"}}})
    assert (made["sign"], made["diff"], made["tree"]) == ("x", [], frame(s.trace)["tree"])
    assert made["card"] is not None
    assert made["card"]["clash"] == "iterations k = 0 and k = 1 both update C[i, j]"
    moves = ["vectorize(j)", "vectorize(i)", "rfactor(k, 8) then vectorize"]
    assert [m["text"] for m in made["card"]["moves"]] == moves
    assert made["card"]["where"] == ["C.k"]


def test_a_recipe_is_previewed_as_a_whole():
    s, A, B, C = matmul()
    made = preview(s, {"primitive": "recipe:tile-for-cache", "args": {"stage": {"stage": "C"}}})
    assert [r["name"] for r in made["tree"][:7]][1:] == [
        "i.outer", "j.outer", "k.outer", "i.inner", "k.inner", "j.inner",
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_any_preview_keeps_the_contract_and_shows_what_comes(seed):
    rng = random.Random(seed)
    s = random_steps(rng, 6, MORE).schedule
    before = s.trace
    for item in actions(s, [rng.choice(list(ids(s.state)))])["items"]:
        if item["act"] is None:
            continue
        made = preview(s, item["act"])
        assert complaints(made, payload.Preview) == []
        assert made["sign"] == item["sign"]
        if item["sign"] != "x":
            there = frame(after(s.trace, *decode(item["act"], s.state)))
            assert made["tree"] == there["tree"]
            assert [x["line"] for x in made["diff"] if x["sign"] != "-"] == there["loops"]
    assert s.trace is before


# ---------------------------------------------------------------- numbers


def numbers(**changes: Any) -> Any:
    made = {
        "flops": 100.0, "read": 800.0, "written": 200.0, "unique": 500.0, "redundancy": 1.0, "tasks": 1, "lanes": 1,
        "levels": [], "exact": True, "why": "",
    }  # fmt: skip
    return {"key": "", "tree": [], "loops": [], "notes": [], "metrics": {**made, **changes}}


def level(id: str, n: float) -> dict[str, Any]:
    return {"id": id, "name": id, "depth": 0, "bytes": n, "moved": n}


def test_deltas_say_what_is_better():
    old = numbers(levels=[level("i", 4096), level("j", 64)])
    levels = [level("i", 1024), level("jo", 3000), level("j", 64)]
    new = numbers(flops=200.0, read=180.0, tasks=32, lanes=8, levels=levels)
    found = {d["name"]: (d["text"], d["better"]) for d in deltas(old, new)}
    assert found == {
        "arithmetic": ("x 2", False),
        "bytes moved": ("-62 %", True),
        "footprint of i": ("4 KiB -> 1 KiB", True),
        "footprint of jo": ("2.93 KiB", None),
        "parallel tasks": ("1 -> 32", True),
        "vector width": ("1 -> 8", True),
    }
    assert all(complaints(d, payload.Delta) == [] for d in deltas(old, new))


def test_no_number_where_there_is_no_model_and_bounds_are_called_so():
    assert deltas(numbers(flops=None, read=None, tasks=None, lanes=None), numbers()) == []
    same = {d["name"]: d["text"] for d in deltas(numbers(), numbers())}
    assert set(same.values()) == {"="}
    bounds = {d["name"]: d["text"] for d in deltas(numbers(), numbers(flops=50.0, exact=False))}
    assert (bounds["arithmetic"], bounds["bytes moved"]) == ("about -50 %", "=")


def test_traffic_is_of_a_machine():
    s, A, B, C = matmul(1024, 1024, 1024)
    act = {"primitive": "recipe:tile-for-cache", "args": {"stage": {"stage": "C"}}}
    assert not any("traffic" in d["name"] for d in preview(s, act)["deltas"])
    found = {d["name"]: d for d in preview(s, act, machine.get("laptop-x86"))["deltas"]}
    out_of_l2 = found["traffic from L2"]
    assert out_of_l2["better"] and out_of_l2["text"].startswith("-") and out_of_l2["after"] < out_of_l2["before"] / 4
    assert "traffic from memory" in found


def test_shares():
    assert [share(100, x) for x in (100, 62, 99.9, 150, 300, 0)] == ["=", "-38 %", "-0.1 %", "+50 %", "x 3", "-100 %"]
    assert share(0, 5) == "0 -> 5"


# ---------------------------------------------------------------- drop places


def test_a_dragged_loop_takes_the_place_of_another():
    s, A, B, C = matmul()
    state, stage = s.state, s[C].record
    i, j, k = stage.leaves
    assert act_of(moved(state, stage, i, k), state)["args"]["axes"] == [{"axis": f"C.{n}"} for n in "jki"]
    assert act_of(moved(state, stage, k, i), state)["args"]["axes"] == [{"axis": f"C.{n}"} for n in "kij"]
    drops = targets(s, "C.i")
    assert [(d["id"], d["sign"]) for d in drops] == [("C.j", "+"), ("C.k", "+")]
    assert all(complaints(d, payload.Drop) == [] for d in drops)


def test_a_dragged_stage_may_go_into_the_loops_of_what_reads_it():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1.0, name="B")
    C = te.compute((8, 8), lambda i, j: B[i, j] + 1.0, name="C")
    D = te.compute((8, 8), lambda i, j: A[i, j] + C[i, j], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[C], C.op.axis[0])
    found = {d["id"]: (d["sign"], d["reason"]) for d in targets(s, "B")}
    assert found["C.j"][0] == "+" and found["C.i"][0] == "="
    assert found["B.i"] == ("x", "it is a loop of B itself")
    assert found["D.i"][0] == "+" and "not inside that loop" in found["D.i"][1]
    refused = {d["id"]: d["reason"] for d in targets(s, "D")}
    assert refused["C.i"] == "D is an output, it is computed whole"
    assert targets(s, "C.i")[0]["reason"] == "i is a loop of C, not of B"


def test_drops_of_a_tiled_schedule_are_true():
    s = tiled()
    for dragged in ids(s.state):
        for d in targets(s, dragged):
            assert complaints(d, payload.Drop) == []
            assert (d["act"] is None) == (d["sign"] == "x") and (d["reason"] or d["sign"] == "+")
            if d["act"] is not None:
                assert preview(s, d["act"])["sign"] == d["sign"]


def test_dragging_what_is_not_there():
    with pytest.raises(LabError, match="there is no loop or stage `Q`"):
        targets(tiled(), "Q")
