"""environment.yml asks conda for what pyproject.toml asks pip for."""

import re
import tomllib
from pathlib import Path

import pytest

from tvmlab.core.extras import EXTRAS, pip

ROOT = Path(__file__).parents[2]
CONDA_NAME = {"graphviz": "python-graphviz"}


def requirements(lines) -> dict[str, str]:
    """["numpy>=2.0"]  ->  {"numpy": ">=2.0"}"""
    return dict(re.fullmatch(r"([\w.-]+(?:\[\w+\])?)(.*)", line).groups() for line in lines)


def test_environment_yml_agrees_with_pyproject():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    python = f"python{project['requires-python']}"
    want = requirements([python, *project["dependencies"], *extras["lab"], *extras["dev"]])
    want = {CONDA_NAME.get(name, name): bounds for name, bounds in want.items()}

    lines = re.findall(r"^ *- (\S+)$", (ROOT / "environment.yml").read_text().partition("dependencies:")[2], re.M)
    have = requirements(line for line in lines if line not in ("pip", "pip:"))
    assert have == want


def test_the_extras_agree_with_each_other():
    bounds: dict[str, str] = {}
    for extra in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"].values():
        for name, bound in requirements(extra).items():
            assert bounds.setdefault(name, bound) == bound, name


@pytest.mark.parametrize("extra", EXTRAS)
def test_hints_name_what_an_extra_installs(extra):
    """Never the extra itself: this package is on no index."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"][extra]
    assert EXTRAS[extra] == tuple(re.sub(r">=[\d.]+$", "", line) for line in asked)
    assert "tvmlab" not in pip(extra)


def test_no_text_names_an_extra_of_ours():
    texts = [p for p in (ROOT / "tvmlab").rglob("*.py") if p.parent.name not in ("lab", "pictures")]
    assert not [p for p in texts if re.search(r"tvmlab\[\w+\]", p.read_text())]
