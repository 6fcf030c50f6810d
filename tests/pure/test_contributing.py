"""CONTRIBUTING.md, followed to the letter in a copy of the package: one new file is all a new thing takes."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


@pytest.fixture
def copy(tmp_path):
    """A copy of the package, and a function that runs code with it."""
    shutil.copytree(ROOT / "tvmlab", tmp_path / "tvmlab", ignore=shutil.ignore_patterns("__pycache__"))
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def run(code):
        command = [sys.executable, "-c", START + code]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run.folder = tmp_path / "tvmlab"
    return run


START = """
import tvmlab
from tvmlab import te

A = te.placeholder((8,), name="A")
C = te.compute((8,), lambda i: A[i] + 1, name="C")
s = te.create_schedule(C.op)
"""

NOTED = '''
from __future__ import annotations

from ...core.node import IterVar
from ..guard import need_leaf
from ..state import State
from . import StageIndex


def noted(state: State, stage: StageIndex, var: IterVar, text: str = "here") -> tuple[State, None]:
    """for i: S   ->   # pragma: for i: S"""
    s = state.stages[stage]
    need_leaf(state, s, var, "note")
    return state.with_stage(s.with_mark(var, pragmas=((text, None),))), None
'''


def test_a_primitive_is_one_file(copy):
    (copy.folder / "schedule" / "primitives" / "noted.py").write_text(NOTED)
    out = copy("""
s[C].noted(C.op.axis[0], "look")
print(s.to_code())
print(te.create_schedule(C.op)[C].noted.__doc__)
print(tvmlab.lower(s, [A, C]))
again = type(s.trace).from_json(s.trace.to_json(), [C.op])
print(again.same(s.trace), s.undo().trace.length, s.verdict("noted", C, C.op.axis[0]).kind)
try:
    s[C].noted()
except TypeError as error:
    print(error)
""")
    assert 's[C].noted(i, "look")' in out and "for i: S   ->" in out and "# pragma_look" in out
    assert "True 0 legal" in out and "legal here:  noted(var, text='here')" in out


PASS = '''
"""`+ 1` becomes `+ 2`."""

from ...core import build
from ...core.node import Bin, Const
from ...core.program import Program
from ...core.walk import rewrite
from ..config import DEFAULT, Config


def two(program: Program, config: Config = DEFAULT) -> Program:
    return program.map_bodies(lambda body: rewrite(body, _more))


def _more(e):
    if isinstance(e, Bin) and e.op == "+" and isinstance(e.b, Const) and e.b.value == 1:
        return build.binary("+", e.a, 2.0)
    return e
'''


def test_a_pass_is_one_file_and_its_place_in_the_order(copy):
    (copy.folder / "lowering" / "passes" / "two.py").write_text(PASS)
    pipeline = copy.folder / "lowering" / "pipeline.py"
    pipeline.write_text(pipeline.read_text().replace('    "sync_threads",\n)', '    "sync_threads",\n    "two",\n)'))
    out = copy("""
from tvmlab.lowering.config import Config
program = tvmlab.lower(s, [A, C], config=Config(snapshots=True))
print(program)
print([x.name for x in program.snapshots][-1])
""")
    assert "C[i] = A[i] + 2.0" in out and out.rstrip().endswith("two")


TARGET = '''
"""Counts the lines of a program instead of running it."""

from .base import Compiled, TargetKind


def source(program, target):
    return f"{len(str(program).splitlines())} lines"


def compile(program, target):
    return Compiled(call=lambda arrays, scalars: arrays[-1].fill(42), source=source(program, target))


TARGET = TargetKind("lines", "counts lines", source, compile)
'''


def test_a_target_is_one_file(copy):
    (copy.folder / "target" / "lines.py").write_text(TARGET)
    out = copy("""
import numpy as np
f = tvmlab.build(s, [A, C], "lines")
c = np.zeros(8, "float32")
f(np.ones(8, "float32"), c)
print(f.source, c[0])
try:
    tvmlab.build(s, [A, C], "line")
except tvmlab.LabError as error:
    print(error)
""")
    assert "3 lines 42.0" in out and "there is no target `line`" in out and "lines" in out.splitlines()[-1]


RECIPE = '''
from __future__ import annotations

from ...schedule.state import Stage, State
from . import Steps, Value, data_loops, mark, split

LABEL = "in blocks"
VALUES = (Value("size", "size of a block", 4),)


def steps(state: State, stage: Stage, size: int) -> Steps:
    """for i: S   ->   for io: for ii in range(size): S"""
    (i,) = data_loops(state, stage, 1, LABEL)[-1:]
    (_, ii), _ = yield split(stage, i, size)
    yield mark("unroll", stage, ii)
'''


def test_a_recipe_is_one_file(copy):
    (copy.folder / "face" / "recipes" / "in_blocks.py").write_text(RECIPE)
    out = copy("""
lab = tvmlab.Lab(s, [A, C])
(item,) = [a for a in lab.actions()["items"] if a["name"] == "recipe:in-blocks"]
print(item["sign"], item["label"], [p["label"] for p in item["params"]])
lab.apply("recipe:in-blocks", "C", size=2)
print(lab.code)
print(lab.step, lab.undo().step)
""")
    assert "+ in blocks ['size of a block']" in out
    assert "s[C].split(i, factor=2)" in out and "s[C].unroll(i_inner)" in out and out.rstrip().endswith("2 0")


PICTURE = '''
from .svg import Svg

LABEL = "Steps"


def draw(subject):
    svg = Svg(80, 20, "steps")
    svg.text(0, 12, f"{len(subject.trace)} steps")
    table = {"title": "Steps", "head": ["steps"], "rows": [[str(len(subject.trace))]]}
    return {"kind": "steps", "svg": str(svg), "table": table, "about": "How many steps there are.", "how": ""}
'''


def test_a_picture_is_one_file_and_its_place_in_the_order(copy):
    folder = copy.folder / "view" / "pictures"
    (folder / "steps.py").write_text(PICTURE)
    order = folder / "__init__.py"
    text = re.sub(r"(?m)^(KINDS = .*)\)", r'\1, "steps")', order.read_text())
    assert '"steps")' in text
    order.write_text(text)
    out = copy("""
from tvmlab.lab.requests import answer
lab = tvmlab.Lab(s, [A, C])
print(answer(lab, {"seq": 1, "kind": "picture"})["data"][-1])
print(lab.picture("steps"))
print([p["kind"] for p in lab.saved()["pictures"]][-1])
""")
    assert "{'kind': 'steps', 'label': 'Steps'}" in out and "Steps\n  steps\n  0\n" in out
    assert out.rstrip().endswith("steps")


def test_the_map_has_every_folder():
    rows = re.findall(r"^\| [\w, ]+ \| (.*?) \|", GUIDE, re.M)
    named = {name for row in rows for name in re.findall(r"`(?:tvmlab/)?(\w+)(?:/|\.py)?`", row)}
    folders = {p.parent.name for p in (ROOT / "tvmlab").glob("*/__init__.py")} - {"kernels", *CLASSIC}
    assert folders <= named, folders - named


CLASSIC = {"te", "tir", "topi", "contrib", "testing", "compat"}  # the row `top`


def test_commands_of_the_guide_exist():
    rules = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert set(re.findall(r"^    make (\w+)", GUIDE, re.M)) <= rules
