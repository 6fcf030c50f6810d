"""The README says what is so: its example prints what it prints, its links lead somewhere, its targets exist."""

import re
import subprocess
import sys
from pathlib import Path

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
    assert len([line for line in block("python").splitlines() if line and "import" not in line]) <= 12


def test_links_lead_somewhere():
    for page in ("README.md", "CONTRIBUTING.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text(encoding="utf-8")):
            assert (ROOT / link).exists(), f"{page}: {link}"


def test_the_table_lists_the_targets():
    assert sorted(re.findall(r"^\| `(\w+)`", README, re.M)) == sorted(base.names())


def test_commands_are_targets_of_the_makefile():
    rules = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    assert set(re.findall(r"^    make (\w+)", README, re.M)) <= rules
