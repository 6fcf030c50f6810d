"""How far the model goes, under the reasons of a comparison."""

import pytest

from tvmlab.analysis.reasons import Found
from tvmlab.lab.comparing import DARK, model, said

WHY = ["a reason"]


@pytest.mark.parametrize(
    "found, measured, said",
    [
        (Found([], False, 3.0), 9.0, DARK),
        (Found(WHY, False, 1.2), 9.0, "The model explains only a part of it: it expects 1.2×; measured was 9×."),
        (Found(WHY, True, 6.9), 117.0, "The model explains only a part of it: it expects 6.9×; measured was 117×."),
        (Found(WHY, True, 8.0), 9.0, "All together the model expects 8×; measured was 9×."),
        (Found(WHY, True, 20.0), 9.0, "All together the model expects 20×; measured was 9×."),
        (Found(WHY, False, 0.8), 1.2, "The model explains only a part of it: it expects 1×; measured was 1.2×."),
    ],
)
def test_the_last_line_of_the_reasons(found, measured, said):
    assert model(found, measured) == said


@pytest.mark.parametrize(
    "state, text, told",
    [
        ("done", "step 5 is 2× faster than start (30 interleaved rounds)", "info"),
        ("failed", "It needed more memory.", "bad"),
        ("cancelled", "cancelled", "info"),
    ],
)
def test_its_end_is_said(state, text, told):
    assert said({"state": state, "text": text}) == (f"Compared: {text.rstrip('.')}.", told)
