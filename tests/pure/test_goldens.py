"""The golden fixture itself, and that no golden file is left without its test."""

import re
from pathlib import Path

import pytest

from tests.goldens import GOLDEN, Golden, stem

TESTS = GOLDEN.parent


def test_update_writes_and_the_next_run_compares(tmp_path):
    Golden(tmp_path / "m" / "t", update=True)("for i in 4:\n  a")
    assert (tmp_path / "m" / "t.txt").read_text() == "for i in 4:\n  a\n"
    assert Golden(tmp_path / "m" / "t", update=False) == "for i in 4:\n  a"


def test_a_difference_is_shown_as_a_diff(tmp_path):
    Golden(tmp_path / "t", update=True)("one\ntwo", "after")
    with pytest.raises(pytest.fail.Exception, match=r"--update-golden accepts it(.|\n)*-two\n\+three"):
        Golden(tmp_path / "t", update=False)("one\nthree", "after")


def test_a_missing_file_says_how_to_make_it(tmp_path):
    with pytest.raises(pytest.fail.Exception, match=r"no golden file .*t\.txt.*--update-golden\ntext"):
        assert Golden(tmp_path / "t", update=False) == "text"


@pytest.mark.parametrize("factor", ["4/3"])
def test_the_fixture_names_the_file_by_the_test(golden, factor):
    assert golden.stem == stem(Path(__file__), "test_the_fixture_names_the_file_by_the_test[4_3]")


def test_every_golden_file_has_its_test():
    sources: dict[str, str] = {}
    for path in TESTS.rglob("test_*.py"):
        sources[path.stem] = sources.get(path.stem, "") + path.read_text()
    for path in GOLDEN.rglob("*.txt"):
        test = re.match(r"(?:\w+\.)?(test\w*)", path.name)
        assert test and f"def {test[1]}(" in sources.get(path.parent.name, ""), f"{path} belongs to no test"
