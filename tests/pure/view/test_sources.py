"""Texts of a schedule: every target's, linked to loops where that is certain; refusals as cards; long texts cut."""

import random

import pytest

from tests.payloads import complaints
from tests.pure.view import sketch
from tests.traces import random_steps
from tvmlab import te
from tvmlab.core.error import BuildError
from tvmlab.target import base
from tvmlab.view import payload, sources
from tvmlab.view.frame import frame
from tvmlab.view.sources import cut, link, source


def linked(text):
    return [(x["t"], x["id"]) for x in text["lines"] if "id" in x]


def test_kinds_come_from_the_targets():
    assert [(k.name, k.label) for k in sources.kinds("llvm")] == [
        ("loops", "Loops"), ("numba", "Python (Numba)"), ("llvm", "LLVM IR"), ("asm", "Assembly"),
    ]  # fmt: skip
    assert [(k.name, k.label) for k in sources.kinds("opencl")] == [
        ("loops", "Loops"), ("opencl", "OpenCL C"), ("metal", "Metal"), ("cuda_c", "CUDA C++"),
        ("cuda", "Python (Numba CUDA)"),
    ]  # fmt: skip
    assert len(sources.kinds()) == 8


def test_a_new_target_is_there_by_itself(monkeypatch):
    text = "kernel void main() {\n    for (int i = 0;;) {}\n}"
    made = base.TargetKind("metal", "Metal text", lambda program, target: text, lambda program, target: None)
    monkeypatch.setattr(sources, "names", lambda: ("metal", "numba"))
    monkeypatch.setattr(sources, "get", lambda name: made if name == "metal" else base.get(name))
    monkeypatch.setattr(base.Target, "kind", property(lambda self: made))
    assert [k.name for k in sources.kinds()] == ["loops", "numba", "metal"]
    s = sketch.tiled()
    monkeypatch.setattr(sources, "Target", lambda name: base.Target("llvm"))
    assert [(x["d"], x["t"]) for x in source(s.trace, "metal")["lines"]] == [
        (0, "kernel void main() {"), (1, "for (int i = 0;;) {}"), (0, "}"),
    ]  # fmt: skip


def test_a_target_that_cannot_be_loaded_is_left_out(monkeypatch):
    def missing(name):
        if name == "cuda":
            raise ImportError
        raise BuildError("unknown-target", "no")

    monkeypatch.setattr(sources, "names", lambda: ("cuda", "tpu"))
    monkeypatch.setattr(sources, "get", missing)
    assert [k.name for k in sources.kinds()] == ["loops"]


def test_python_is_linked_and_its_vocabulary_left_out():
    text = source(sketch.twelve().trace, "numba")
    assert not complaints(text, payload.SourceText)
    assert linked(text)[:4] == [
        ("for xo in prange(16):", "C.i.outer"), ("for yo in range(16):", "C.j.outer"),
        ("for ax0 in range(512):", "B.global.ax0"), ("for ko in range(128):", "C.global.k.outer"),
    ]  # fmt: skip
    assert not any("class Vec" in x["t"] for x in text["lines"])
    assert "left out" in text["note"]


def test_blocks_of_llvm_are_linked():
    text = source(sketch.twelve().trace, "llvm")
    assert ("C.global.k.outer") in [i for _, i in linked(text)]
    assert all(t.startswith("for.") for t, _ in linked(text))


def test_assembly_says_how_long_the_compiler_took():
    text = source(sketch.tiled(32).trace, "asm")
    assert text["error"] is None
    assert text["note"].startswith("compiled in ")
    assert any("tvmlab_main" in x["t"] for x in text["lines"])
    assert source(sketch.tiled(32).trace, "loops")["label"] == "Loops"


def test_a_schedule_that_is_not_complete_has_a_card():
    _, _, _, C = sketch.matmul()
    D = te.compute((64, 64), lambda i, j: C[i, j] + 1.0, name="D")
    E = te.compute((64, 64), lambda i, j: D[i, j] + C[i, j], name="E")
    s = te.create_schedule(E.op)
    s[C].compute_at(s[D], D.op.axis[1])
    for kind in ("numba", "llvm", "asm"):
        text = source(s.trace, kind)
        assert not complaints(text, payload.SourceText)
        assert text["lines"] == []
        assert "not complete" in text["error"]["text"]


def test_a_compiler_that_fails_is_a_card(monkeypatch):
    def broken(program, target):
        raise RuntimeError("LLVM says no <here>")

    s = sketch.tiled(16)
    made = base.TargetKind("llvm", "", broken, broken, title="LLVM IR", syntax="llvm", forms=("asm",))
    monkeypatch.setattr(base.Target, "kind", property(lambda self: made))
    for kind in ("llvm", "asm"):
        assert "LLVM says no <here>" in source(s.trace, kind)["error"]["text"]


def test_an_unknown_kind_names_those_there_are():
    assert source(sketch.tiled().trace, "ptx")["error"]["legal"] == [k.name for k in sources.kinds()]


def test_long_texts_are_cut_and_say_so():
    lines, note = cut("\n".join(["\tmovl\t$1, %eax"] * 20_000), "asm")
    assert len(lines) == sources.MOST_LINES
    assert note == "the first 5000 of 20000 lines"
    lines, note = cut("\n".join(["x = 1"] * 2000), "python")
    assert (len(lines), note) == (2000, "")
    (line,), _ = cut("  " + "%v = add " * 10_000, "llvm")
    assert len(line["t"]) < 1100


def test_what_is_not_certain_is_not_linked():
    def ids(texts, loops):
        lines = [{"d": 0, "t": t} for t in texts]
        link(lines, loops, sources.HEADS["python"])
        return [x.get("id", "") for x in lines]

    two = ["for i in range(4):", "for i in range(8):"]
    assert ids(two, [("i", "B.i"), ("i", "C.i")]) == ["B.i", "C.i"]
    assert ids(two, [("i", "B.i")]) == ["B.i", "B.i"]
    assert ids(two[:1], [("i", "B.i"), ("i", "C.i")]) == [""]
    assert ids(["for q in range(4):", "x = 1"], [("i", "B.i")]) == ["", ""]


@pytest.mark.parametrize("seed", range(25))
def test_random_schedules(seed):
    trace = random_steps(random.Random(seed), 10).schedule.trace
    rows = {r["id"] for r in frame(trace)["tree"]}
    for kind in ("numba", "llvm"):
        text = source(trace, kind)
        assert not complaints(text, payload.SourceText)
        assert bool(text["lines"]) != bool(text["error"])
        assert all(i in rows for _, i in linked(text))


def test_what_would_take_minutes_to_compile_is_not_compiled_to_be_looked_at():
    A = te.placeholder((512, 512), name="A")
    B = te.compute((512, 512), lambda i, j: A[i, j] * 2.0, name="B")
    s = te.create_schedule(B.op)
    s[B].unroll(B.op.axis[0])  # 512 loops, one after the other
    assert "br i1 " in "".join(line["t"] for line in source(s.trace, "llvm")["lines"])
    found = source(s.trace, "asm")
    assert found["error"]["code"] == "too-long-to-compile" and "run it" in found["error"]["hint"]
