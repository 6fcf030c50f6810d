"""A lab without a browser: what a view asks, what code does, and that both are one."""

import json
from contextlib import suppress
from types import SimpleNamespace

import pytest

from tests.payloads import complaints
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.face.trial import fingerprint
from tvmlab.lab import bundled
from tvmlab.lab.app import Lab
from tvmlab.lab.heading import measured, targets
from tvmlab.lab.requests import answer
from tvmlab.lab.saving import from_data
from tvmlab.runtime.worker import Outcome
from tvmlab.view import payload
from tvmlab.view.card import card
from tvmlab.view.runs import ended

SPLIT = {"primitive": "split", "args": {"stage": {"stage": "C"}, "parent": {"axis": "C.i"}, "factor": 4}}
SUM = {"primitive": "vectorize", "args": {"stage": {"stage": "C"}, "var": {"axis": "C.k"}}}


def test_the_state_keeps_the_contract(lab):
    assert complaints(lab.state(), payload.State) == []
    lab.apply("split", "C.i", factor=4)
    lab.apply("vectorize", "C.j")
    assert complaints(lab.state(), payload.State) == []
    assert complaints(lab.saved(), payload.Document) == []
    json.dumps(lab.saved(), allow_nan=False)


def test_an_act_in_the_widget_is_a_step_of_the_schedule_and_the_reverse(lab, ask):
    assert ask("apply", act=SPLIT)["ok"]
    assert "split(i, factor=4)" in lab.code
    lab.schedule[lab.schedule.outputs[0]].reorder(*reversed(lab.schedule[lab.schedule.outputs[0]].leaf_iter_vars[:2]))
    assert [s["label"].split()[0] for s in lab.history()["steps"]] == ["split", "reorder"]
    lab.schedule.undo()
    assert lab.step == 1
    assert ask("redo")["ok"] and len(lab.schedule.trace) == 2


def test_a_refused_act_changes_nothing_and_says_why(lab, ask):
    before = json.dumps(lab.state())
    reply = ask("apply", act=SUM)
    assert not reply["ok"] and "reduction" in reply["card"]["text"]
    assert json.dumps(lab.state()) == before


@pytest.mark.parametrize("factor", [0, -3, "x", None, 1.5])
def test_a_bad_factor_is_refused_in_words(ask, factor):
    act = {"primitive": "split", "args": {**SPLIT["args"], "factor": factor}}
    reply = ask("apply", act=act)
    assert not reply["ok"] and "factor" in reply["card"]["text"] and reply["card"]["code"] != "internal"
    assert ask("verdict", act=act)["data"]["sign"] == "x"
    assert ask("preview", act=act)["data"]["sign"] == "x"


def test_a_huge_factor_is_a_step_like_any_other(lab, ask):
    act = {"primitive": "split", "args": {**SPLIT["args"], "factor": 10**9}}
    assert ask("preview", act=act)["ok"]
    assert ask("apply", act=act)["ok"] and lab.frame["loops"]


@pytest.mark.parametrize(
    "request_, words",
    [
        ({"kind": "nonsense"}, "does not know"),
        ({"kind": "select", "ids": ["C.nothing"]}, "C.nothing"),
        ({"kind": "apply", "act": {"primitive": "explode", "args": {}}}, "explode"),
        ({"kind": "jump", "cursor": 99}, "99"),
        ({"kind": "edit", "step": "e77", "values": {}}, "e77"),
        ({"kind": "switch", "what": "b9"}, "b9"),
        ({"kind": "target", "what": "abacus"}, "abacus"),
        ({"kind": "machine", "what": "abacus"}, "abacus"),
        ({"kind": "picture", "what": "selfie"}, "selfie"),
        ({"kind": "options", "values": {"repeats": 0}}, "repeats"),
        ({"kind": "start", "what": "abacus"}, "abacus"),
        ({"kind": "start", "what": "matmul", "values": {"m": "many"}}, "many"),
        ({"kind": "select", "ids": 3}, "ids must be a list of names"),
        ({"kind": "select", "ids": [["C.i"]]}, "ids must be a list of names"),
        ({"kind": "jump", "cursor": True}, "cursor must be a number"),
        ({"kind": "jump"}, "cursor is missing"),
        ({"kind": "explain", "ids": []}, "no loop or stage"),
        ({"kind": "compare", "ids": ["r1"]}, "two runs"),
        ({"kind": "apply", "act": {"primitive": "recipe:tile-for-cache", "args": {"stage": [[]]}}}, "is of a stage"),
        ({"kind": "options", "values": ["x"]}, "values must be a record"),
        ({"kind": "apply", "act": {"primitive": "bind", "args": {"ivar": {"axis": "C.i"}, "thread_ivar": ""}}}, "tag"),
        ({"kind": "start", "text": "C = te.compute((4,), lambda i: D[i])"}, "D"),
    ],
)
def test_what_cannot_be_done_is_a_card(lab, ask, request_, words):
    before = json.dumps(lab.state())
    reply = ask(**request_)
    assert reply["re"] == 7 and not reply["ok"], reply
    card = reply["card"]
    assert complaints(card, payload.Card) == [] and card["code"] != "internal"
    assert words in json.dumps(card)
    assert json.dumps(lab.state()) == before


@pytest.mark.parametrize("request_", [None, [], "undo", {"kind": ["undo"]}, {"kind": {}}, {}])
def test_what_is_no_request_is_answered_all_the_same(lab, request_):
    reply = answer(lab, request_)
    assert complaints(reply, payload.Reply) == [] and reply["card"]["code"] == "no-such-request"


def test_what_an_act_warns_of_is_said_in_the_lab(lab, ask, recwarn):
    lab.apply("unroll", "C.i")
    act = {"primitive": "split", "args": {"stage": {"stage": "C"}, "parent": {"axis": "C.i"}, "factor": 4}}
    assert ask("apply", act=act)["ok"]
    said = "Step 2: split i by 4. Note: i of stage C was marked unrolled; it is split, which drops that."
    assert lab.said["text"] == said and not recwarn.list
    lab.undo()
    with pytest.warns(UserWarning, match="was marked unrolled"):  # a line of code warns as any code does
        lab.apply("split", "C.i", factor=4)


def test_where_all_steps_before_are_parked_there_is_nothing_to_undo(lab, ask):
    lab.apply("split", "C.i", factor=4)
    lab.apply("unroll", "C.i.inner")
    ask("delete", step="e1")
    assert (lab.step, lab.document.entries[0].parked) == (1, True)
    ask("undo")
    assert lab.said["text"] == "The deletion of step 1 is taken back." and lab.step == 2
    ask("redo")
    assert lab.said["text"] == "The deletion of step 1 is made again." and lab.step == 1
    lab.document.edits.done.clear()  # as of a lab that was saved and loaded
    ask("undo")
    assert lab.said["text"] == "There is nothing to undo."
    ask("jump", cursor=0)
    ask("redo")
    assert lab.said["text"] == "There is nothing to redo."


@pytest.mark.parametrize(
    "kind, kept",
    [
        ("source", list[dict]), ("source numba", payload.SourceText), ("source llvm", payload.SourceText),
        ("passes", list[payload.Pass]), ("picture", list[dict]), ("picture graph", payload.Picture),
        ("picture relations", payload.Picture), ("picture metrics", payload.Picture),
        ("picture roofline", payload.Picture),
        ("drawer", payload.Drawer), ("document", payload.Document),
    ],
)  # fmt: skip
def test_what_a_view_looks_at_keeps_the_contract(lab, ask, kind, kept):
    lab.apply("tile", "C.i", "C.j", 4, 8)
    kind, _, what = kind.partition(" ")
    reply = ask(kind, **({"what": what} if what else {}))
    assert reply["ok"], reply
    if kept != list[dict]:
        assert complaints(reply["data"], kept) == []


def test_a_part_of_the_front_end_is_sent_when_asked_for(ask, monkeypatch, tmp_path):
    monkeypatch.setattr(bundled, "STATIC", tmp_path)
    assert ask("module", what="tune")["card"]["code"] == "not-built"
    (tmp_path / "tune.js").write_text("export {}", encoding="utf-8")
    assert ask("module", what="tune")["data"] == {"js": "export {}", "css": ""}
    (tmp_path / "tune.css").write_text("b {}", encoding="utf-8")
    reply = ask("module", what="tune")
    assert reply["data"]["css"] == "b {}" and complaints(reply["data"], payload.Module) == []
    assert ask("module", what="../lab")["card"]["code"] == "no-such-module"


def test_selection_follows_a_loop_through_the_steps(lab, ask):
    lab.select("C.i")
    ask("apply", act=SPLIT)
    assert lab.selection == ["C.i.outer"]
    ask("undo")
    assert lab.selection[0].startswith("C")


def test_observers_hear_of_every_change_until_they_leave(lab):
    heard = []
    stop = lab.observe(lambda x: heard.append(x.step))
    lab.apply("split", "C.i", factor=4)
    lab.undo()
    stop()
    lab.redo()
    assert heard == [1, 0]


def test_a_recipe_is_one_act_and_undone_as_one(lab, ask):
    item = next(i for i in lab.actions()["items"] if i["group"] == "recipe" and i["sign"] == "+")
    assert ask("apply", act=item["act"])["ok"]
    steps = lab.history()["steps"]
    assert len(steps) > 1 and len({s["group"] for s in steps}) == 1
    lab.undo()
    assert lab.step == 0 and len(lab.schedule.trace) == 0


def test_other_shapes_of_the_same_operator_keep_the_steps(ask, lab):
    assert ask("start", what="matmul", values={"m": 64, "n": 64, "k": 64})["ok"]
    ask("apply", act=SPLIT)
    assert ask("start", what="matmul", values={"m": 32, "n": 64, "k": 64})["ok"]
    assert [s["label"] for s in lab.history()["steps"]] == ["split i by 4"]
    assert lab.head()["title"].startswith("matmul 32x64x64")


def test_saved_and_loaded_it_is_the_same_lab(lab, tmp_path):
    lab.apply("split", "C.i", factor=4)
    lab.apply("vectorize", "C.j")
    lab.undo()
    again = Lab.load(lab.save(tmp_path / "my.tvlab.json"))
    assert (again.step, len(again.document.entries)) == (1, 2)
    assert again.frame["loops"] == lab.frame["loops"]
    assert again.redo().schedule.trace.same(lab.redo().schedule.trace)
    again.close()


def test_a_lab_whose_expression_makes_no_sense_is_refused_when_it_is_opened(lab, tmp_path):
    path = lab.save(tmp_path / "my.tvlab.json")
    saved = json.loads(path.read_text())
    objects = saved["save"]["document"]["table"]["objects"]
    for n in range(0, len(objects), 4):
        for k in range(1, len(objects[n])):
            before, objects[n][k] = objects[n][k], "<i>"
            path.write_text(json.dumps(saved))
            with suppress(LabError):  # a name may be any text
                loaded = Lab.load(path)
                loaded.state(), loaded.close()
            objects[n][k] = before


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"save": {}}', '{"save": {"document": 3}}', "\x00", "[" * 5000])
def test_a_file_that_is_no_lab_is_refused_by_name(tmp_path, text):
    path = tmp_path / "broken.json"
    path.write_text(text)
    with pytest.raises(LabError):
        Lab.load(path)


def test_a_lab_of_nothing_has_something_to_begin_with():
    made = Lab()
    assert made.head()["start"] and made.frame["loops"]
    made.close()


@pytest.mark.parametrize("bad", [3, "C", [1]])
def test_what_is_no_schedule_is_refused(bad):
    with pytest.raises((LabError, TypeError)):
        Lab(bad)


def test_hostile_names_stay_text():
    name = 'A"<script>alert(1)</script>\'🙂 __proto__'
    A = te.placeholder((4, 4), name=name)
    B = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="constructor")
    made = Lab(te.create_schedule(B.op), [A, B])
    made.apply("split", "constructor.i", factor=2)
    page = made.html()
    assert "<script>alert" not in page
    assert "<script>alert" not in made.bundle()["text/html"]
    made.close()


def test_an_observer_that_fails_is_said_and_stops_nothing(lab):
    heard = []
    lab.observe(lambda x: 1 / 0)
    lab.observe(lambda x: heard.append(x.step))
    with pytest.warns(UserWarning, match="ZeroDivisionError"):
        lab.apply("split", "C.i", factor=4)
    assert heard == [1]


def test_a_lab_lives_as_long_as_somebody_holds_it():
    import gc

    from tvmlab.lab.app import LABS

    A = te.placeholder((4, 4), name="A")
    B = te.compute((4, 4), lambda i, j: A[i, j] + 1.0, name="B")
    s = te.create_schedule(B.op)
    made = Lab(s)
    name = made.id
    assert name in LABS
    made.runs._own = SimpleNamespace(run=lambda *args, **more: Outcome("lost"), cancel=lambda stop: False)
    made.run()
    thread = made.runs._thread
    del made
    gc.collect()
    assert name not in LABS
    thread.join(10)
    assert not thread.is_alive()
    s[B].split(s[B].op.axis[0], 2)  # nobody listens any more


def test_the_end_of_a_run_is_said():
    row = {"title": "step 3", "step": "e3", "state": "done", "check": "ok", "seconds": 2e-3, "naive": 9e-3}
    assert ended(row) == ("Run of step 3: right, 2 ms, 4.5× as fast as without steps.", "good")
    assert "1,170× as fast as" in ended({**row, "naive": 2.345})[0]
    assert ended({**row, "naive": 5e-4})[0] == "Run of step 3: right, 2 ms, 4× slower than without steps."
    assert ended({**row, "title": "start", "step": ""}) == ("Run of start: right, 2 ms.", "good")
    assert ended({**row, "check": "skipped", "naive": None}) == ("Run of step 3: 2 ms.", "good")
    assert ended({**row, "check": "wrong", "seconds": None})[1] == "bad"
    failed = {**row, "state": "failed", "error": card(LabError("much", "B takes 9 GiB", where=["for i"], hint="less"))}
    assert ended(failed) == ("Run of step 3 failed: B takes 9 GiB.", "bad")
    untimed = {**row, "seconds": None, "naive": None, "untimed": "simulator"}
    assert ended(untimed) == ("Run of step 3: right, not timed (simulator).", "good")
    assert ended({**untimed, "check": "skipped"}) == ("Run of step 3: not timed (simulator).", "good")
    assert ended({**untimed, "check": "wrong"})[1] == "bad"
    assert ended({**row, "state": "cancelled"}) == ("Run of step 3: cancelled.", "info")


@pytest.mark.slow
def test_a_chain_of_many_stages_is_judged_like_a_short_one():
    """Deeper than Python's stack: each stage is an allocation inside the one before."""
    y = te.placeholder((64, 64), name="A")

    def plus_one(x):
        return te.compute((64, 64), lambda i, j: x[i, j] + 1.0, name="B")

    for _ in range(330):
        y = plus_one(y)
    s = te.create_schedule(y.op)
    assert s.verdict("parallel", y, s[y].op.axis[0]).kind == "legal"


def test_a_step_taken_by_code_has_the_names_and_the_place_of_its_line(lab, ask):
    io, ii = lab.apply("split", "C.i", factor=4)
    assert "io, ii = s[C].split(i, factor=4)" in lab.code
    assert [r["name"] for r in lab.frame["tree"] if r["id"].startswith("C.i.")] == ["io", "ii"]
    assert lab.history()["steps"][0]["origin"]["label"].startswith("test_lab.py line ")
    lab.apply("unroll", "C.i.inner")
    lab.undo()
    assert ask("apply", act={"primitive": "vectorize", "args": {"stage": {"stage": "C"}, "var": {"axis": "C.j"}}})["ok"]
    assert lab.history()["steps"][-1]["origin"]["kind"] == "widget"


def test_the_time_in_the_head():
    row = {"step": "e3", "state": "done", "stale": False, "seconds": 2e-3, "spread": 1e-4, "naive": 9e-3,
           "target": "llvm", "check": "ok"}  # fmt: skip

    def said(**changes):
        return measured([{**row, **changes}], "llvm")

    assert said() == ("2 ms", "±2.5 %", "4.5× naive")
    assert said(naive=1e-3)[2] == "2× slower than naive"
    assert said(seconds=2e-6, spread=0.0) == ("2 µs", "±0 %", "4,500× naive")
    assert said(spread=5e-3)[1] == "unsteady,"  # "±125 %" of a time says nothing
    assert said(step="")[2] == ""  # the start is not beside itself
    assert said(stale=True) == said(check="wrong") == ("not run", "", "")
    assert said(seconds=None, untimed="simulator") == ("not timed", "", "")


def test_a_time_is_of_the_target_that_it_stands_beside():
    row = {"step": "", "state": "done", "stale": False, "seconds": 2e-3, "spread": 0.0, "check": "ok", "target": "llvm"}
    other = {**row, "target": "numba", "seconds": 3e-3}
    assert measured([row], "cuda") == ("not run", "", "")
    assert [measured([other, row], t)[0] for t in ("llvm", "numba")] == ["2 ms", "3 ms"]


def test_the_history_has_times_of_the_target_too(lab):
    ended_row = {"title": "start", "state": "done", "check": "ok", "seconds": 2e-3, "target": "llvm"}
    lab.runs.load({"rows": [{**ended_row, "trace": fingerprint(lab.schedule.trace)}]})
    assert lab.history()["start_seconds"] == 2e-3 and lab.head()["time"] == "2 ms"
    lab.target = "numba"
    assert lab.history()["start_seconds"] is None and lab.head()["time"] == "not run"
    assert len(lab.state()["runs"]["rows"]) == 1


def test_the_box_of_targets_in_the_runs_says_what_runs(lab, ask):
    def shown():
        state = lab.state()
        return state["head"]["target"], state["runs"]["options"]["target"]

    assert shown() == ("llvm", "llvm")
    assert ask("target", what="interp")["ok"] and shown() == ("interp", "interp")
    assert ask("options", values={"target": "numba"})["ok"] and shown() == ("numba", "numba") == (lab.target,) * 2
    assert not ask("target", what="no such")["ok"] and shown() == ("numba", "numba")
    lab.target = "llvm -mcpu=x86-64"
    assert shown() == ("llvm -mcpu=x86-64",) * 2
    assert lab.head()["targets"][-1] == {**lab.head()["targets"][-1], "name": lab.target, "available": True}
    saved = lab.saved()
    saved["save"]["runs"]["options"]["target"] = "numba"  # as earlier versions wrote it
    again = from_data(Lab, saved, "x")
    assert again.target == again.runs.options.target == "llvm -mcpu=x86-64"
    again.close()


def test_the_head_says_what_the_target_refuses(lab):
    assert lab.head()["badge"]["sign"] == "+"
    lab.apply("fuse", "C.i", "C.j")
    lab.apply("split", "C.i.j.fused", nparts=1)
    lab.apply("bind", "C.i.j.fused.outer", "blockIdx.x")
    lab.apply("bind", "C.i.j.fused.inner", "threadIdx.x")
    assert lab.head()["badge"] == {
        "sign": "x", "text": "not for llvm: this schedule is bound to threads of a GPU, and llvm has none",
        "items": ["this schedule is bound to threads of a GPU, and llvm has none",
                  "Instead: target cuda, target cuda_c, target interp, target opencl."],
    }  # fmt: skip
    lab.target = "opencl"
    assert lab.head()["badge"]["text"] == "not for opencl: threadIdx.x = 391 threads per block; OpenCL promises 256"
    assert lab.head()["badge"]["items"][2] == "threadIdx.x (391): i.j.fused.inner of stage C"
    for target in ("cuda", "interp", "opencl -max_num_threads=512"):
        lab.target = target
        assert lab.head()["badge"] == {"sign": "+", "text": "legal", "items": []}


def test_what_is_only_text_is_no_target_to_run_on():
    found = {t["name"]: (t["available"], t["why"]) for t in targets()}
    assert found["llvm"] == (True, "")
    assert found["metal"] == (False, "metal is text: see the source")
