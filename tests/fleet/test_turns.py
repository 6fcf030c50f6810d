"""Turns among those who measure on one machine, each with locks of its own, as processes have."""

import tempfile
import threading

import pytest

from tvmlab.tune.fleet import turns
from tvmlab.tune.fleet.turns import HostTurns

pytestmark = pytest.mark.skipif(turns.fcntl is None, reason="there are no such locks here")


@pytest.fixture
def pair(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return HostTurns(60.0), HostTurns(60.0)


def entered(turn):
    """A thread that takes a turn, and what says that it has it."""
    inside, leave = threading.Event(), threading.Event()

    def work():
        with turn:
            inside.set()
            leave.wait(60)

    t = threading.Thread(target=work, daemon=True)
    t.start()
    return inside, leave, t


def test_many_together_and_one_alone(pair):
    one, two = pair
    with one.together(), two.together():
        inside, leave, t = entered(one.alone())
        assert not inside.wait(0.1)
    assert inside.wait(60)
    after, gone, u = entered(two.together())
    assert not after.wait(0.1)
    leave.set()
    assert after.wait(60) and not one.late and not two.late
    gone.set()
    t.join(60)
    u.join(60)


def test_who_waits_to_be_alone_is_not_passed_by_others(pair):
    one, two = pair
    with one.together():
        alone, leave, t = entered(two.alone())
        assert not alone.wait(0.05)
        late, gone, u = entered(one.together())
        assert not late.wait(0.1)
    assert alone.wait(60) and not late.is_set()
    leave.set()
    assert late.wait(60)
    gone.set()
    t.join(60)
    u.join(60)


def test_with_threads_of_their_own_only_what_is_timed_takes_turns(pair):
    one, two = pair
    one.strict = two.strict = False
    with one.alone(), two.together():
        inside, leave, t = entered(two.alone())
        assert not inside.wait(0.05)
    assert inside.wait(60)
    leave.set()
    t.join(60)


def test_a_turn_is_taken_when_who_has_it_was_stopped(pair):
    one, two = pair
    with one.alone():
        two.patience = two._left = 0.01
        with two.alone():
            assert two.late
    two.late = False
    with two.alone():
        assert not two.late
