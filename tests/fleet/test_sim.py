"""The model of a fleet where its answer is known: one thing is the limit."""

import pytest

from tests.speed.fleet_sim import Cost, modelled, trial

SECONDS = [0.01]  # of every run
TAKES = trial(0.01)["takes"]
FREE = Cost(client=0.0, scheduler=0.0, idle=0.0, lag=0.0)


def rate(workers, **cost):
    return modelled(workers, 200 * workers, SECONDS, Cost(**{**vars(FREE), **cost}))


@pytest.mark.parametrize("workers", [1, 7])
def test_workers_are_the_limit_and_what_is_on_the_way_counts(workers):
    assert rate(workers) == pytest.approx(workers / TAKES, rel=0.01)
    assert rate(workers, lag=TAKES) == pytest.approx(workers / TAKES / 2, rel=0.01)


def test_the_session_or_the_scheduler_is_the_limit():
    assert rate(50, client=0.02) == pytest.approx(50, rel=0.01)
    assert rate(50, scheduler=0.02) == pytest.approx(50, rel=0.01)
    assert rate(50, scheduler=0.02, idle=0.01) == pytest.approx(25, rel=0.01)  # half of its time is for the workers
    assert rate(50, idle=0.03) == 0
