# ruff: noqa: F811  # fixtures that are imported
"""Trials of one lab in another: of the same expression whose loops have other names, in another kernel."""

import pytest

from tests.pure.lab.tuned import made, played, product, state, tuned  # noqa: F401  # measures at once
from tests.pure.tune.test_identity import pasted

pytestmark = pytest.mark.usefixtures("played")


def other_names(lab):
    text = lab.program
    for old, new in (("io", "zz"), ("ji", "a")):
        text = text.replace(old, new)
    return pasted(text.replace("lambda i, j", "lambda y, x").replace("A[i, k] * B[k, j]", "A[y, k] * B[k, x]"), "<p3>")


def test_a_trial_is_adopted_where_loops_have_other_names(made):
    first = made()
    first.tune.open("e1", "factor").open("e3", "axes").start(trials=12)
    assert first.tune.wait(60)
    second = made(other_names(first).schedule)
    now = state(second)
    assert now["count"] == 12 and "C.tune.jsonl says what was opened" in now["notes"]
    assert len(now["knobs"]) == 2 and now["knobs"] != state(first)["knobs"]
    second.tune.adopt()
    assert state(second)["adopted"] == str(second.tune.result.best.index)
    assert "The steps are others" not in second.said["text"]


def test_the_whole_expression_is_tuned_on_in_another_kernel(made):
    first = made()
    first.tune.choose("generic").start(trials=12)
    assert first.tune.wait(60)
    first.close()
    second = made()
    now = state(second)
    assert second.tune.source == "generic" and now["count"] == len(second.tune.trials) > 0
    assert now["notes"].count("C.tune.jsonl says that the whole expression was tuned") == 1


def test_trials_of_another_task_in_the_file_are_said(made):
    tuned(made()).close()
    s, args = product()
    s[args[2]].parallel(s[args[2]].leaf_iter_vars[0])
    other = made(s, args)
    other.tune.open("e1", "factor")
    assert any("12 trials in the file are of another expression" in note for note in state(other)["notes"])
