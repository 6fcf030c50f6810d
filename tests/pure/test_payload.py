"""The contract between kernel and browser: one file says it, the other is made from it."""

import pytest

from tests.payloads import FILES, complaints, typescript
from tvmlab.view import payload, payload_tune


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.parent.name)
def test_the_typescript_is_made_from_the_python(file):
    assert file.read_text(encoding="utf-8") == typescript(FILES[file]), "run: python -m tests.payloads"


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


def test_records_of_the_other_file_are_known_and_imported():
    cells = {"x": "a", "y": "b", "cells": [[1.0, None]], "table": {"title": "", "head": [], "rows": []}}
    assert complaints(cells, payload_tune.Heat) == []
    assert complaints(cells | {"table": {}}, payload_tune.Heat)[0] == ".table: Table lacks title"
    text = typescript(payload_tune)
    assert 'import type { Card, Table } from "../view/payload";' in text and "interface Card" not in text
