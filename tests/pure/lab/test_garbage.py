"""Garbage collections wait until nobody waits for the lab."""

import gc

import pytest

from tvmlab import te
from tvmlab.lab import garbage
from tvmlab.lab.app import Lab

pytestmark = pytest.mark.usefixtures("settings")


@pytest.fixture
def settings():
    before = gc.get_threshold()
    yield before
    gc.set_threshold(*before)
    gc.enable()


def test_while_the_lab_works_only_small_collections_are_done(settings):
    with garbage.put_off():
        with garbage.put_off():
            assert gc.get_threshold() == (settings[0], garbage.NEVER, garbage.NEVER)
        assert gc.get_threshold() == (settings[0], garbage.NEVER, garbage.NEVER) and gc.isenabled()
    assert gc.get_threshold() == settings


def test_what_a_person_sets_meanwhile_stays():
    with pytest.raises(ZeroDivisionError), garbage.put_off():
        gc.set_threshold(500, 5, 5)
        raise ZeroDivisionError
    assert gc.get_threshold() == (500, 5, 5)
    with garbage.put_off():
        gc.set_threshold(600, 6)
    assert gc.get_threshold() == (600, 6, 5)


def test_the_collection_that_is_due_is_done_later_but_not_for_who_has_it_off():
    gc.set_threshold(700, 10, 1)
    full = lambda: gc.get_stats()[2]["collections"]  # noqa: E731
    for on, done in ((False, 0), (True, 1)):
        gc.collect(), gc.collect(1), gc.collect(1)
        (gc.enable if on else gc.disable)()
        before = full()
        garbage.collect()
        assert full() == before + done
    garbage.collect()  # none is due
    assert full() == before + 1


def test_young_objects_are_looked_through_when_that_is_due_and_not_for_who_has_it_off():
    gc.set_threshold(700, 2, 1000)
    young = lambda: gc.get_stats()[1]["collections"]  # noqa: E731
    for on, done in ((False, 0), (True, 1)):
        with garbage.put_off():
            [gc.collect(0) for _ in range(4)]
            (gc.enable if on else gc.disable)()
            before = young()
            garbage.tidy()
            garbage.tidy()  # none is due any more
        assert young() == before + done


def test_work_that_can_wait_is_done_so(settings):
    X = te.placeholder((4,), name="X")
    lab = Lab(te.create_schedule(te.compute((4,), lambda i: X[i], name="Y").op))
    seen = []
    lab.later("look", 9, lambda: seen.append(gc.get_threshold()))
    lab.later._run("look")
    assert seen == [(settings[0], garbage.NEVER, garbage.NEVER)] and gc.get_threshold() == settings


def test_an_observer_finds_and_changes_the_settings_as_they_are(settings):
    X = te.placeholder((4,), name="X")
    lab = Lab(te.create_schedule(te.compute((4,), lambda i: X[i], name="Y").op))
    seen = []
    lab.observe(lambda _: seen.append(gc.get_threshold()))
    with garbage.put_off():
        lab.apply("unroll", "Y.i")
        assert gc.get_threshold()[2] == garbage.NEVER
    assert seen == [settings] and gc.get_threshold() == settings
    lab.observe(lambda _: gc.set_threshold(9000))
    with garbage.put_off():
        lab.undo()
    assert gc.get_threshold() == (9000, *settings[1:])
    lab.close()


def test_an_observer_that_wants_to_leave_is_only_told_off():
    X = te.placeholder((4,), name="X")
    lab = Lab(te.create_schedule(te.compute((4,), lambda i: X[i], name="Y").op))

    def leave(_):
        raise SystemExit(3)

    lab.observe(leave)
    with pytest.warns(UserWarning, match=r"leave, which observes lab \d+, failed: SystemExit\(3\)"):
        lab.apply("unroll", "Y.i")
    assert lab.step == 1
    lab.close()


def test_a_first_threshold_of_0_is_off_too():
    gc.collect(1), gc.collect(1)
    gc.set_threshold(0, 10, 0)
    before = gc.get_stats()[2]["collections"]
    garbage.collect()
    assert gc.get_stats()[2]["collections"] == before


def test_a_request_of_a_widget_is_answered_so(settings):
    pytest.importorskip("anywidget")
    X = te.placeholder((4,), name="X")
    lab = Lab(te.create_schedule(te.compute((4,), lambda i: X[i], name="Y").op))
    seen = []
    lab.widget._answer = lambda request: seen.append(gc.get_threshold()) or {}
    lab.widget._received(None, {"seq": 1}, [])
    assert seen == [(settings[0], garbage.NEVER, garbage.NEVER)] and gc.get_threshold() == settings
    lab.close()
