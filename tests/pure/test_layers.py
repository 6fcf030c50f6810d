"""The import rule: a module imports from its own folder and from lower layers; peers do not import each other.

Also: every module imports, and no module replaces a public name.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "tvmlab"

LAYER = {
    "core": 0, "expr": 1, "schedule": 2, "lowering": 3, "analysis": 3, "vdla": 3, "target": 4, "runtime": 5,
    "face": 6, "tune": 7, "graph": 8, "view": 9, "lab": 12,
}  # fmt: skip
TOP = 11  # the thin modules with the classic names, the gallery, and tvmlab itself: only the lab, which is an
# application of all of them (what is typed into its drawer is `te`, its catalogue the gallery), may import them
MAY_ONLY = {"core": {"core"}, "analysis": {"core", "analysis"}, "vdla": {"core", "vdla"}}
PUBLIC_FOLDERS = {"tune", "lab"}  # `tune.run`, `lab.Lab` are what users write; the gallery may write them too

# (file, imported folder): where a method on a low object needs a high layer, in a function, on first use
HOOKS: set[tuple[str, str]] = {
    ("tvmlab/schedule/__init__.py", "face"),  # release 0.6's tvm.schedule.InferBound
    ("tvmlab/__init__.py", "lab"),  # tvmlab.Lab, s.lab()
    ("tvmlab/tune/templates.py", "kernels"),  # tune.create("kernels.matmul", ...)
}


def files() -> list[Path]:
    """tvmlab/**/*.py; the gallery once, under its own name."""
    package = [path for path in PACKAGE.rglob("*.py") if path.relative_to(PACKAGE).parts[0] != "kernels"]
    return sorted([*package, *(ROOT / "kernels").rglob("*.py")])


def module_name(path: Path) -> str:
    inside = path.relative_to(ROOT)
    if inside.parts[0] == "kernels":
        inside = "tvmlab" / inside
    return ".".join(inside.with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path, tree: ast.AST):
    """(line, dotted name) of everything the file imports, in functions too, and by a literal import_module(...)."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package.pop()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*base, *filter(None, [node.module])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            text = node.args and next((n.value for n in ast.walk(node.args[0]) if isinstance(n, ast.Constant)), None)
            yield from [(node.lineno, text)] * (isinstance(text, str) and text.startswith("tvmlab."))


def complaint(path: Path, name: str) -> str | None:
    """Why this file may not import that name, or None."""
    me, (root, *rest) = module_name(path).split("."), name.split(".")
    folder, other = (me[1] if len(me) > 1 else ""), (rest[0] if rest else "")
    if root == "kernels":
        return "the gallery is called tvmlab.kernels"
    if root != "tvmlab":
        foreign = folder == "core" and root not in sys.stdlib_module_names
        return "core/ uses the standard library only" if foreign else None
    if folder == "kernels":
        private = other in LAYER.keys() - PUBLIC_FOLDERS
        return "kernels/ imports the public face only" if private else None
    if folder == other or (path.relative_to(ROOT).as_posix(), other) in HOOKS:
        return None
    if folder in MAY_ONLY and other not in MAY_ONLY[folder]:
        return f"{folder}/ imports only {' and '.join(sorted(MAY_ONLY[folder]))}"
    mine, theirs = LAYER.get(folder, TOP), LAYER.get(other, TOP)
    if theirs > mine or theirs == mine < TOP:
        return f"{folder} is layer {mine}, {other or 'tvmlab'} is layer {theirs}"
    return None


def test_imports_go_down_the_layers():
    bad = []
    for path in files():
        for line, name in imports(path, ast.parse(path.read_text(encoding="utf-8"))):
            if why := complaint(path, name):
                bad.append(f"{path.relative_to(ROOT)}:{line}: imports {name}: {why}")
    assert not bad, "\n" + "\n".join(bad)


@pytest.mark.parametrize(
    "file, code, why",
    [
        ("tvmlab/core/node.py", "from dataclasses import field", None),
        ("tvmlab/core/node.py", "import numpy", "standard library only"),
        ("tvmlab/core/node.py", "from .. import expr", "core/ imports only core"),
        ("tvmlab/expr/__init__.py", "from ..core.node import Expr", None),
        ("tvmlab/expr/tensor.py", "def f():\n from tvmlab import lower", "expr is layer 1, lower is layer 11"),
        ("tvmlab/lowering/passes/unroll.py", "from ..pipeline import run", None),
        ("tvmlab/lowering/passes/unroll.py", "from ...analysis import cache", "layer 3, analysis is layer 3"),
        ("tvmlab/vdla/sim.py", "import tvmlab.schedule", "vdla/ imports only core and vdla"),
        ("tvmlab/schedule/state.py", "import_module(f'tvmlab.target.{x}')", "schedule is layer 2, target is layer 4"),
        ("tvmlab/topi/__init__.py", "from ..kernels import matmul; from ..target import base", None),
        ("tvmlab/te.py", "import kernels", "tvmlab.kernels"),
        ("kernels/matmul.py", "from tvmlab import te, tune; import numpy", None),
        ("kernels/matmul.py", "from tvmlab.core.node import Expr", "public face only"),
    ],
)
def test_the_rule_itself(file, code, why):
    path = ROOT / file
    reasons = [complaint(path, name) for _, name in imports(path, ast.parse(code))]
    assert reasons
    assert [reason for reason in reasons if reason] == [] if why is None else why in reasons[0]


def test_thread_tags_and_the_width_of_a_warp_are_said_once():
    """In core/threads.py; a text that names one axis may spell it."""
    again = re.compile(r"WARP\b[^=!\n]*= *\d|^TAGS = |startswith\(\W*(blockIdx|threadIdx)|for \w+ in \"xyz\"\)?$", re.M)
    own, gallery = PACKAGE / "core" / "threads.py", ROOT / "kernels"
    wrong = [p for p in files() if p != own and not p.is_relative_to(gallery) and again.search(p.read_text())]
    assert not wrong, wrong


IMPORT_ALL = """
import sys, types, tvmlab
from importlib import import_module
for name in sys.argv[1:]:
    import_module(name)
for name, where in tvmlab._WHERE.items():
    value = getattr(tvmlab, name)
    if where == f"tvmlab.{name}":
        assert value is sys.modules[where], f"tvmlab.{name} is not its module"
    else:
        assert value is getattr(sys.modules[where], name), f"tvmlab.{name} is not the one in {where}"
"""


def test_every_module_imports_and_no_module_replaces_a_public_name():
    names = [module_name(path) for path in files() if path.stem != "__main__"]
    run = subprocess.run([sys.executable, "-c", IMPORT_ALL, *names], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
