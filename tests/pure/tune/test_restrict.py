"""A part of a space, a search over it, and a session that is told of one while it works."""

import threading

import pytest

from tests.pure.tune.test_session import Played, played  # noqa: F401  # measures at once
from tests.tuning import matmul
from tvmlab.core.error import CallError, LabError
from tvmlab.tune import search as searches
from tvmlab.tune.restrict import Part, PartOf, Within
from tvmlab.tune.session import Session
from tvmlab.tune.space import Space

ON = {"y": [1, 3], "k": [2]}  # of 5, 4, 4, 2: 2 * 4 * 1 * 2 are left


def inside(task, index):
    y, _, k, _ = task.space.point2knob(index)
    return y in (1, 3) and k == 2


def test_points_of_a_part_are_points_of_the_whole():
    task = matmul()
    part = Part(task.space, ON)
    whole = [part.whole(i) for i in range(len(part))]
    assert len(part) == 16 == len(set(whole)) and all(inside(task, i) for i in whole)
    assert [part.inside(i) for i in whole] == list(range(16)) and part.inside(0) is None
    assert all(part.get(i).index == w for i, w in enumerate(whole))
    assert [part.knob2point(part.point2knob(i)) for i in range(16)] == list(range(16))
    with pytest.raises(IndexError):
        part.get(16)


def test_a_real_space_with_a_filter():
    space = Space()
    space.define_split("t", 64, num_outputs=2)
    space.define_knob("u", [0, 8, 64])
    space.multi_filter(lambda c: c["u"].val != 8)
    part = Part(space, {"u": [1, 2]})
    assert len(part) == 14 and part.get(8)["u"].val == 64
    with pytest.raises(IndexError):
        part.get(0)


@pytest.mark.parametrize("on, rule", [({"z": [0]}, "missing-knob"), ({"y": []}, "nothing-left"),
                                      ({"y": [5]}, "no-candidate"), ({"y": [True]}, "no-candidate")])  # fmt: skip
def test_what_cannot_be_a_part(on, rule):
    with pytest.raises(LabError) as e:
        Part(matmul().space, on)
    assert e.value.rule == rule


@pytest.mark.parametrize("name", searches.names())
def test_every_search_keeps_to_a_part_and_is_told_what_is_known_inside(name):
    if name == "annealing":
        pytest.importorskip("lightgbm")
    part = PartOf(matmul(), ON)
    search = Within(searches.get(name)(part, seed=3), part.space)
    known = [part.space.whole(i) for i in (2, 5)]
    search.tell([(0, 9.0), *((i, 1.0 + i) for i in known)])
    found = []
    while (more := search.propose(4)):
        found += more
        search.tell([(i, 1.0 + i % 7) for i in more])
    assert sorted([*found, *known]) == sorted(part.space.whole(i) for i in range(16))
    assert search.predicted(0) is None


# ---------------------------------------------------------------- in a session


def test_a_session_measures_only_what_is_left():
    session = Session(matmul(), trials=100)
    session.restrict(ON)
    session.start().wait(60)
    assert len(session.records) == 16 and all(inside(session.task, r.index) for r in session.records)
    assert "every point of the space that is left has been tried" in session.notes


def test_it_acts_on_the_next_proposal_and_back(played):  # noqa: F811
    session = Session(matmul(), trials=60, batch=8)
    known = []

    def heard(record):
        known.append(record.index)
        if len(known) == 18:
            session.restrict(ON)
        if len(known) == 30:
            session.restrict(None)

    session.on_trial = heard
    session.start().wait(60)
    between, after = known[21:30], known[34:]  # what was being measured comes to its end
    assert all(inside(session.task, i) for i in between) and not all(inside(session.task, i) for i in after)
    assert len(known) == 60 == len(set(known))


def test_a_paused_session_can_be_restricted(played):  # noqa: F811
    session = Session(matmul(), trials=40, batch=4, setup={"jobs": 1})
    paused = threading.Event()

    def heard(record):
        if len(session.records) == 6:
            session.pause()
            paused.set()

    session.on_trial = heard
    session.start()
    assert paused.wait(60)
    before = len(session.records)
    session.restrict(ON)
    session.resume()
    session.wait(60)
    later = [r.index for r in session.records[before + 4 :]]
    assert later and all(inside(session.task, i) for i in later)


def test_a_search_that_is_an_object_stays_as_it_is():
    search = searches.get("random")(matmul())
    with pytest.raises(CallError, match="object"):
        Session(matmul(), search=search).restrict(ON)


def test_what_is_known_is_not_measured_again():
    first = Session(matmul(), trials=10)
    first.start().wait(60)
    again = Session(matmul(), trials=30)
    assert again.know(first.records) == 10 and again.know(first.records) == 0 and again.progress.done == 10
    again.start().wait(60)
    assert len(again.records) == 30 and len({r.index for r in again.records}) == 30
    assert not {r.index for r in first.records} & set(Played.last.measured) - {again.drift.record.index}
