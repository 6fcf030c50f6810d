"""Golden files: text that a test expects, kept in a file named by the test and rewritten by `--update-golden`."""

import difflib
import re
from pathlib import Path

import pytest

GOLDEN = Path(__file__).parent / "golden"


class Golden:
    """`golden(text)` or `assert text == golden` compares; `golden(text, "after")` is for a test with several texts."""

    def __init__(self, stem: Path, update: bool):
        self.stem, self.update = stem, update

    def __call__(self, text: str, part: str = "") -> None:
        __tracebackhide__ = True
        path = self.stem.with_name(self.stem.name + (f".{part}" if part else "") + ".txt")
        text = str(text).rstrip("\n") + "\n"
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        shown = path.relative_to(GOLDEN.parent.parent) if path.is_relative_to(GOLDEN) else path
        if not path.exists():
            message = f"no golden file {shown}: read the text below, then write it with --update-golden"
            pytest.fail(f"{message}\n{text}", pytrace=False)
        want = path.read_text(encoding="utf-8")
        if text != want:
            diff = difflib.unified_diff(want.splitlines(), text.splitlines(), str(shown), "now", lineterm="")
            pytest.fail("\n".join(["differs from its golden file (--update-golden accepts it):", *diff]), pytrace=False)

    def __eq__(self, text: object) -> bool:
        __tracebackhide__ = True
        self(str(text))
        return True

    __hash__ = None


def stem(test_file: Path, test_name: str) -> Path:
    """tests/cpu/test_split.py, test_tail[7-3]  ->  tests/golden/test_split/test_tail[7-3]"""
    return GOLDEN / test_file.stem / re.sub(r"[^\w.,=+\[\]-]", "_", test_name)
