"""What is said of runs: rows, verdict lines, failures, what a step is worth."""

import pytest

from tests.payloads import complaints
from tvmlab.face.options import Options
from tvmlab.runtime.worker import Outcome
from tvmlab.view import payload, runs

RESULT = {
    "ratio": 2.0, "low": 1.9, "high": 2.1, "rounds": 30, "a": [2.0, 2.1, 1.9], "b": [1.0, 1.1, 0.9],
    "verdict": "faster", "checks": [{"check": "ok"}, {"check": "ok"}],
}  # fmt: skip


@pytest.mark.parametrize(
    "change, text",
    [
        ({}, "tiled is 2× faster than start (95 % interval 1.9 to 2.1; 30 interleaved rounds)"),
        ({"verdict": "slower", "ratio": 0.5, "low": 0.4, "high": 0.8},
         "tiled is 2× slower than start (95 % interval 1.25 to 2.5; 30 interleaved rounds)"),
        ({"verdict": "same within noise", "ratio": 1.004, "low": 0.98, "high": 1.02},
         "tiled and start are the same within noise: 1× (95 % interval 0.98 to 1.02; 30 interleaved rounds)"),
        ({"low": 1.1, "high": 3.4},
         "tiled is 2× faster than start (95 % interval 1.1 to 3.4; 30 interleaved rounds). "
         "The times were unsteady: run it again for a surer answer"),
        ({"verdict": "slower", "ratio": 0.5, "low": 0.2, "high": 0.8},
         "tiled is 2× slower than start (95 % interval 1.25 to 5; 30 interleaved rounds). "
         "The times were unsteady: run it again for a surer answer"),
        ({"ratio": 2103.0, "checks": [{"check": "ok"}, {"check": "wrong"}]},
         "tiled is 2,100× faster than start (95 % interval 1.9 to 2.1; 30 interleaved rounds). "
         "tiled gives a wrong result"),
    ],
)  # fmt: skip
def test_the_verdict_line(change, text):
    assert runs.verdict_line({**RESULT, **change}, ["start", "tiled"]) == text


@pytest.mark.parametrize(
    "change, text",
    [({}, "worth 2×"), ({"verdict": "slower", "ratio": 0.5}, "costs 2×: faster without it"),
     ({"verdict": "same within noise"}, "no difference within noise"),
     ({"checks": [{"check": "wrong"}, {"check": "ok"}]}, "without it the result is wrong")],
)  # fmt: skip
def test_what_a_step_is_worth(change, text):
    made = runs.waiting("e1")
    runs.worth(made, {**RESULT, **change})
    assert made["text"] == text and made["ratio"] == {**RESULT, **change}["ratio"]


@pytest.mark.parametrize("kind", ["timeout", "memory", "crash", "lost", "error"])
def test_a_failure_is_a_card_without_insides(kind):
    error = {"type": "ZeroDivisionError", "rule": "python-error", "message": "it divided", "where": ["line 3"],
             "legal": [], "hint": "", "said": "hello\nFatal Python error: Aborted\nThread 0x1"}  # fmt: skip
    card = runs.failed(Outcome(kind, error=error, text="it crashed (SIGABRT)"), "run of step 2", "checking")
    assert complaints(card, payload.Card) == [] and card["title"] == "run of step 2"
    assert "Fatal" not in str(card) and "0x1" not in str(card)
    if kind == "crash":
        assert "(while checking)" in card["text"] and card["clash"] == "hello"
    assert (kind == "error") == ("it divided" in card["text"])


def test_rows_keep_the_contract_and_stay_small():
    row = runs.blank("r1", '<b>"step" 😀</b>', "", "", Options())
    assert complaints(row, payload.Run) == []
    result = {"check": "ok", "worst": "", "wrong": None, "compile": 0.123456789, "size": "", "threads": 2,
              "machine": "", "baseline_name": "", "untimed": "", "seconds": 0.123456789, "spread": 0.0, "gflops": None,
              "baseline": None, "naive": None, "times": [0.123456789] * 1000}  # fmt: skip
    runs.filled(row, result)
    assert complaints(row, payload.Run) == [] and len(row["times"]) <= 40 and row["seconds"] == 0.12346
    made = runs.comparing(row, row)
    assert complaints(made, payload.Comparison) == []
    runs.compared(made, RESULT, ["a", "b"])
    assert complaints(made, payload.Comparison) == [] and made["table"]["rows"][0][1:] == ["2 s", "1 s"]
