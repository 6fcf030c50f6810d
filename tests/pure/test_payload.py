"""The contract between kernel and browser: one file says it, the other is made from it."""

import pytest

from tests.payloads import FILE, complaints, typescript
from tvmlab.view import payload


def test_the_typescript_is_made_from_the_python():
    assert FILE.read_text(encoding="utf-8") == typescript(), "run: python -m tests.payloads"


GOOD = {"d": 1, "t": "for i in range(4):", "k": [(0, 3, "word")], "id": "C.i", "s": 2}


@pytest.mark.parametrize(
    "change, complaint",
    [
        ({}, None),
        ({"d": "1"}, ".d: '1' is not number"),
        ({"d": True}, ".d: True is not number"),
        ({"k": [(0, 3)]}, ".k[0]: (0, 3) has not 3 elements"),
        ({"x": 1}, ": Line has no x"),
        ({"id": None}, ".id: None is not string"),
    ],
)
def test_a_value_is_held_against_it(change, complaint):
    assert complaints(GOOD | change, payload.Line) == ([complaint] if complaint else [])


def test_what_is_missing_is_named():
    assert complaints({"d": 1}, payload.Line) == [": Line lacks t"]
