"""What a person has set holds for labs that are not told otherwise, whether it comes from JupyterLab or from Python."""

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

import tvmlab
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.lab import panel, saving, settings
from tvmlab.lab.app import Lab
from tvmlab.lab.settings import NAMES, Budget, Settings
from tvmlab.runtime.gpu import devices
from tvmlab.view import acts

SCHEMA = json.loads(Path("extension/schema/plugin.json").read_text())["properties"]
GIVEN = {
    "defaultTarget": "numba", "machineModel": "teach-1", "runBudget": {"seconds": 7, "rounds": 11},
    "staticCompanion": "never", "allowUnknown": "never",
}  # fmt: skip


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """A kernel that was told nothing; its labs are closed at the end."""
    monkeypatch.setattr(settings, "_heard", {})
    monkeypatch.setattr(settings, "_said", {})
    monkeypatch.setattr(settings, "_came", False)


@pytest.fixture
def made():
    """Makes labs."""
    labs = []
    yield lambda *args, **more: labs.append(Lab(*args, **more)) or labs[-1]
    for lab in labs:
        lab.close()


def sent(values):
    """The extension tells its settings."""
    return panel.answer({"seq": 3, "kind": "settings", "values": values})


def has(lab):
    return lab.target, lab.machine.name, lab.runs.options.limit, lab.runs.options.rounds


def test_labs_begin_as_jupyterlab_says(made):
    usual = has(made())
    assert sent(GIVEN) == {"re": 3}
    assert has(made()) == ("numba", "teach-1", 7, 11)
    sent({})
    assert has(made()) == usual == ("llvm", usual[1], 60, 30)


def test_what_is_asked_for_wins(made):
    sent(GIVEN)
    lab = made(target="llvm", machine="laptop-x86")
    lab.runs.set(limit=60)
    assert has(lab) == ("llvm", "laptop-x86", 60, 11)
    again = saving.from_data(made, lab.saved(), "x")
    assert has(again) == ("llvm", "laptop-x86", 60, 11)


def test_a_saved_lab_keeps_the_options_of_its_target(made):
    for text in ("cuda_c -arch=sm_90", "llvm -mcpu=x86-64-v3"):
        saved = json.loads(json.dumps(made(target=text).saved()))
        assert saving.from_data(made, saved, "x").target == text


def test_the_first_settings_come_after_the_first_lab_and_hold_where_nothing_was_chosen(made):
    """JupyterLab can tell a kernel its settings only once there is a lab."""
    plain, chosen = made(), made(target="llvm", machine="laptop-x86")
    chosen.runs.set(limit=60)
    pointed = made()
    pointed.target = "interp"
    loaded = saving.from_data(made, chosen.saved(), "x")
    seen = []
    plain.observe(lambda lab: seen.append(has(lab)))
    sent(GIVEN)
    assert has(plain) == ("numba", "teach-1", 7, 11) and seen == [has(plain)]
    assert has(chosen) == ("llvm", "laptop-x86", 60, 11)
    assert has(pointed) == ("interp", "teach-1", 7, 11)
    assert has(loaded) == ("llvm", "laptop-x86", 60, 11)
    later = made()
    sent({**GIVEN, "machineModel": "apple-like", "runBudget": {"rounds": 50}})  # a change: for the labs that follow
    assert has(later) == has(plain) == ("numba", "teach-1", 7, 11)
    assert has(made()) == ("numba", "apple-like", 60, 50)


def bound(threads):
    A = te.placeholder((512,), name="A")
    B = te.compute((512,), lambda i: A[i] + 1.0, name="B")
    s = te.create_schedule(B.op)
    bx, tx = s[B].split(B.op.axis[0], threads)
    s[B].bind(bx, te.thread_axis("blockIdx.x"))
    s[B].bind(tx, te.thread_axis("threadIdx.x"))
    return s, [A, B]


@pytest.mark.parametrize(
    "here, threads, target",
    [
        (["opencl", "cuda"], 64, "opencl"), (["cuda"], 64, "cuda"), ([], 64, "interp"),
        (["opencl", "cuda"], 512, "cuda"),  # OpenCL's devices have 256 threads for sure
        (["opencl"], 512, "interp"),
    ],
)  # fmt: skip
def test_a_schedule_with_threads_begins_where_there_are_threads(made, monkeypatch, here, threads, target):
    monkeypatch.setattr(devices, "listing", lambda kind: devices.Listing((kind,) if kind in here else ()))
    lab = made(*bound(threads))
    assert lab.target == lab.runs.options.target == target and lab.head()["badge"]["sign"] == "+"
    assert made(*bound(threads), target="llvm").target == "llvm"
    sent({**GIVEN, "defaultTarget": "numba"})  # which has no threads either
    assert lab.target == target
    sent({**GIVEN, "defaultTarget": "cuda_c"})
    assert made(*bound(threads)).target == "cuda_c"


def test_the_first_settings_may_name_a_target_with_threads(made, monkeypatch):
    monkeypatch.setattr(devices, "listing", lambda kind: devices.Listing(()))
    lab = made(*bound(64))
    sent({**GIVEN, "defaultTarget": "cuda_c"})
    assert lab.target == "cuda_c"


@pytest.mark.parametrize("values", [None, 7, [], "x", {"palette": "high contrast", "__class__": 1, 3: 4}])
def test_what_is_no_setting_is_passed_over(values):
    assert sent(values) == {"re": 3} and settings.now() == Settings()


BAD = [
    ("defaultTarget", ["hexagon", "no such", 7, None, [], "llvm -no-such=1", "\0"]),
    ("machineModel", ["abacus", 7, None, {}]),
    ("runBudget", [None, 5, "x", [], {"seconds": 0}, {"rounds": 2}, {"rounds": 9.5}, {"seconds": True}, {"hours": 1}]),
    ("staticCompanion", ["always", None, {}]),
    ("allowUnknown", ["yes", True, []]),
]


@pytest.mark.parametrize("name, value", [(name, value) for name, values in BAD for value in values])
def test_what_cannot_be_is_passed_over_from_jupyterlab_and_refused_from_python(name, value):
    sent({**GIVEN, name: value})
    assert getattr(settings.now(), name) == getattr(Settings(), name)
    others = [n for n in NAMES if n != name]
    assert [getattr(settings.now(), n) for n in others] == [getattr(Settings(**GIVEN), n) for n in others]
    with pytest.raises(LabError) as refused:
        setattr(tvmlab.options, name, value)
    assert refused.value.legal and name in refused.value.message
    assert getattr(tvmlab.options, name) == getattr(Settings(), name)


def test_a_person_reads_and_sets_them_from_python(made):
    options = tvmlab.options
    assert dir(options) == sorted(NAMES) and options.runBudget == Budget(60, 30)
    sent(GIVEN)
    assert [options.defaultTarget, options.runBudget] == ["numba", Budget(7, 11)]
    options.defaultTarget, options.runBudget = "llvm -mcpu=x86-64", {"seconds": 5}
    sent(GIVEN)  # the page was loaded again
    assert has(made()) == ("llvm -mcpu=x86-64", "teach-1", 5, 30)
    assert repr(options) == (
        "tvmlab.options(defaultTarget='llvm -mcpu=x86-64', machineModel='teach-1', runBudget=Budget(seconds=5, "
        "rounds=30), staticCompanion='never', allowUnknown='never')"
    )
    del options.defaultTarget
    assert options.defaultTarget == "numba"


def test_refusals_say_what_is_legal():
    with pytest.raises(LabError) as refused:
        tvmlab.options.allowUnknown = "always"
    assert str(refused.value) == "allowUnknown cannot be 'always'\n  legal here:  ask, never"
    with pytest.raises(LabError) as refused:
        tvmlab.options.runBudget = {"seconds": 0}
    assert str(refused.value) == (
        "runBudget cannot be {'seconds': 0}\n  legal here:  "
        '{"seconds": a number from 0.1 to 86400, "rounds": a whole number from 3 to 1000}'
    )
    for touch in (lambda: tvmlab.options.budget, lambda: setattr(tvmlab.options, "budget", 1)):
        with pytest.raises(AttributeError, match="there is no option `budget`\n  legal here:  defaultTarget, machineM"):
            touch()
    assert not hasattr(tvmlab.options, "_repr_html_")


# ---------------------------------------------------------------- a step that nobody can decide


@pytest.fixture
def undecided(made):
    """A lab, and an act in it of which nobody knows whether it is legal."""
    n = te.size_var("n")
    A, k = te.placeholder((4, n), name="A"), te.reduce_axis((0, n), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    lab = made(te.create_schedule(B.op), [A, B])
    state = lab.schedule.state
    return lab, acts.encode("fuse", acts.plain("fuse", ("B.i", "B.k"), {}, state), state)


def apply(lab, act, **more):
    from tvmlab.lab.requests import answer

    return answer(lab, {"seq": 7, "kind": "apply", "act": act, **more})


def test_a_step_that_nobody_can_decide_is_asked_for_twice(undecided):
    lab, act = undecided
    reply = apply(lab, act)
    assert not reply["ok"] and "apply it once more" in json.dumps(reply["card"]) and lab.step == 0
    assert apply(lab, act, sure=True)["ok"] and lab.step == 1


def test_or_it_is_taken_only_by_code(undecided):
    lab, act = undecided
    tvmlab.options.allowUnknown = "never"
    reply = apply(lab, act, sure=True)
    assert not reply["ok"] and lab.step == 0
    assert "the setting allowUnknown is never: only code takes such a step" in json.dumps(reply["card"])
    lab.apply("fuse", "B.i", "B.k")
    assert lab.step == 1


# ---------------------------------------------------------------- the still copy under a lab


@pytest.fixture
def cell(monkeypatch):
    """What a cell is shown: `shown` bundles, and updates of the still copy."""
    import IPython.display

    shown = []
    update = SimpleNamespace(update=lambda bundle, raw: shown.append(("update", bundle)))

    def display(bundle, raw, display_id=False):
        shown.append(("still" if display_id else "widget", bundle))
        return update

    monkeypatch.setattr(IPython.display, "display", display)
    return shown


def widgeted(lab):
    """With something that takes what a widget takes."""
    lab.screen.widget = SimpleNamespace(hold_sync=nullcontext, close=dict, model_id="m", _repr_mimebundle_=dict)
    return lab


def test_the_still_copy_is_written_or_not(made, cell):
    lab, other = widgeted(made()), widgeted(made())
    lab._ipython_display_()
    assert [kind for kind, _ in cell] == ["widget", "still"] and cell[1][1]
    cell.clear()
    sent({"staticCompanion": "never"})
    assert cell == [("update", {})]  # the first lab was shown before anybody could say so
    cell.clear()
    other._ipython_display_()
    other.snapshot()
    assert [kind for kind, _ in cell] == ["widget"]
    assert "staticCompanion" in panel.answer({"seq": 1, "kind": "snapshot"})["error"]
    sent({})
    lab.snapshot()
    assert cell[-1][0] == "update" and "text/html" in cell[-1][1]


# ---------------------------------------------------------------- the schema


def test_the_schema_has_the_same_names_values_and_defaults():
    for name in NAMES:
        usual = SCHEMA[name]["default"]
        assert settings.Settings(**{name: usual}) == Settings()
        for value in SCHEMA[name].get("enum", []):
            Settings(**{name: value})
    bounds = SCHEMA["runBudget"]["properties"]
    assert set(bounds) == {"seconds", "rounds"}
    for name, value in bounds.items():
        for edge, beyond in ((value["minimum"], -1), (value["maximum"], 1)):
            Settings(runBudget={name: edge})
            with pytest.raises(LabError):
                Settings(runBudget={name: edge + beyond})


def test_every_setting_has_a_title_and_a_description():
    parts = [*SCHEMA.items(), *SCHEMA["runBudget"]["properties"].items()]
    assert [name for name, part in parts if not (part.get("title") and part.get("description"))] == []
    assert set(NAMES) | {"palette"} <= set(SCHEMA)
