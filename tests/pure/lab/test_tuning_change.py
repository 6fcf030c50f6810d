# ruff: noqa: F811  # fixtures that are imported
"""Tuning in the lab while that becomes another one: another expression, other steps, an earlier step, another space."""

import pytest

from tests.pure.lab.tuned import lab, made, opened, state, tuned  # noqa: F401
from tests.pure.tune.test_session import Played, played  # noqa: F401  # measures at once
from tvmlab import te
from tvmlab.core.error import LabError
from tvmlab.lab import tune_state

pytestmark = pytest.mark.usefixtures("played")


def test_another_expression_ends_the_session(made):
    lab = made()
    Played.wait = {*range(5, 60)}
    opened(lab).tune.start()
    assert lab.tune.busy and lab.screen.open().head["busy"] == lab.tune.busy
    a = te.placeholder((8, 8), name="A")
    lab.start([a, te.compute((8, 8), lambda i, j: a[i, j] + 1, name="D")])
    state(lab)
    assert lab.tune.wait(60) and not lab.tune.busy
    assert any(n.startswith("stopped, since the lab has another expression now: ") for n in state(lab)["notes"])


def test_a_session_of_steps_that_were_changed_says_so_at_its_end(lab):
    opened(lab)
    Played.wait = {*range(60)}
    lab.tune.start()
    lab.document.delete("e4")
    Played.wait = set()
    lab.tune.pause().resume().wait(60)
    assert tune_state.ended(lab.tune)[0].endswith("They are of the steps as they were: Undo shows them.")


def test_a_raised_budget_is_not_that_of_another_space(lab):
    tuned(lab)
    lab.tune.start().wait(60)
    assert lab.tune.settings.trials == 24
    lab.tune.choose("generic")
    assert state(lab)["trials"] == 12


@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_a_file_that_cannot_have_its_name(lab, name):
    with pytest.raises(LabError, match="cannot be written"):
        lab.tune.set(file=name)


def test_an_earlier_step_that_is_looked_at_is_said(lab):
    opened(lab)
    lab.jump(2)
    assert any(n.startswith("tuned is the schedule as of step 2 of ") for n in state(lab)["notes"])
