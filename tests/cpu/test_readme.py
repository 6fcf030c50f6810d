"""The README says what is so: its example prints what it prints, its links lead somewhere, its targets exist."""

import re
import subprocess
import sys
from pathlib import Path

import tvmlab
from tvmlab.target import base

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def block(language):
    (text,) = re.findall(rf"```{language}\n(.*?)```", README, re.S)
    return text


def test_the_example_works_as_printed(tmp_path):
    script = tmp_path / "example.py"
    script.write_text(block("python"))
    run = subprocess.run([sys.executable, str(script)], cwd=ROOT, capture_output=True, text=True, env=path_to_here())
    assert run.returncode == 0, run.stderr
    assert run.stdout == block("text")


def path_to_here():
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT)}


def test_the_example_is_short():
    assert len([line for line in block("python").splitlines() if line and "import" not in line]) <= 13


def test_links_lead_somewhere():
    for page in ("README.md", "CONTRIBUTING.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text(encoding="utf-8")):
            assert (ROOT / link).exists(), f"{page}: {link}"


def test_the_table_lists_the_targets():
    assert sorted(re.findall(r"^\| `(\w+)`", README, re.M)) == sorted(base.names())


def test_commands_are_targets_of_the_makefile():
    rules = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert set(re.findall(r"^    make (\w+)", README, re.M)) <= rules


def test_the_calls_it_names_are_there():
    from tvmlab import te

    A = te.placeholder((4,), name="A")
    C = te.compute((4,), lambda i: A[i] + 1, name="C")
    s = te.create_schedule(C.op)
    module = tvmlab.build(s, [A, C], target="interp")
    listed = README[README.index("by the names it goes by") : README.index("## What works where")]
    named = set(re.findall(r"\b(tvmlab|te|s|trace|module)\.(\w+)", listed)) | {("module", "ir"), ("module", "asm")}
    named |= {("trace", x) for x in re.findall(r"Trace\.(\w+)|s\.trace\.(\w+)", listed) for x in x if x}
    there = {"tvmlab": tvmlab, "te": te, "s": s, "trace": s.trace, "module": module}
    assert len(named) > 20 and [n for n in sorted(named) if not hasattr(there[n[0]], n[1])] == []


def test_what_it_says_of_the_lab_is_there(tmp_path):
    """Its calls, with the arguments that it gives them, on a matrix product."""
    said = README[README.index("## The Schedule Lab") : README.index("What else there is to ask")]
    from tvmlab import te

    A, B = (te.placeholder((16, 16), name=n) for n in "AB")
    k = te.reduce_axis((0, 16), name="k")
    C = te.compute((16, 16), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    known = {"tvmlab": tvmlab, "A": A, "B": B, "C": C, "s": s, "f": print, "path": tmp_path / "lab.html"}
    known["lab"] = lab = tvmlab.Lab(s, [A, B, C])
    known["a"] = known["b"] = lab.run()
    calls = re.findall(r"`((?:tvmlab|lab|s)\.\w+(?:\(.*?\)| = \d))`", said)
    assert len(calls) >= 8
    for call in calls:
        exec(call.replace("lab.step = 3", "lab.step = 1"), dict(known))
    assert lab.step == 1 and "%%schedule --live" in said
    lab.close()
