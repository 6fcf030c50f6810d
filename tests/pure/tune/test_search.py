"""Searches: the same seed gives the same points, none twice, also in a space that nobody could list."""

import pytest

from tests.tuning import Space, Task
from tvmlab.core.error import LabError
from tvmlab.tune import search
from tvmlab.tune.search.base import shuffled

ALL = ["genetic", "grid", "random"]
HUGE = Space({f"k{i}": tuple(range(10)) for i in range(12)})


def made(name, space, seed=0):
    return search.get(name)(Task(None, space), seed=seed)


def score(space, i):
    return 1.0 / (1 + sum((k - 7) ** 2 for k in space.point2knob(i)))


def played(found, space, rounds=20, n=8):
    """What it proposes when it is told what each point is worth."""
    points = []
    for _ in range(rounds):
        asked = found.propose(n)
        points += asked
        found.tell([(i, score(space, i) if i % 5 else None) for i in asked])
    return points


def test_a_file_is_a_search():
    assert set(ALL) <= set(search.names())
    with pytest.raises(LabError) as e:
        search.get("swarm")
    assert e.value.legal == tuple(search.names())


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("space", [HUGE, Space({"a": (1, 2, 3), "b": tuple(range(50))})], ids=["huge", "small"])
def test_the_same_seed_gives_the_same_points_and_none_twice(name, space):
    first, again, other = (played(made(name, space, seed), space) for seed in (1, 1, 2))
    assert first == again and len(set(first)) == len(first)
    assert name == "grid" or first != other
    assert all(0 <= i < len(space) for i in first)


@pytest.mark.parametrize("name", ALL)
def test_every_point_of_a_small_space_is_reached_once(name):
    space = Space({"a": tuple(range(6)), "b": tuple(range(7)), "c": (0,)})
    found = made(name, space)
    points = played(found, space, rounds=100)
    assert sorted(points) == list(range(42)) and found.exhausted and found.propose(5) == []


@pytest.mark.parametrize("name", ALL)
def test_an_empty_space_is_exhausted(name):
    found = made(name, Space({"a": ()}))
    assert found.exhausted and found.propose(4) == []


@pytest.mark.parametrize("name", ALL)
def test_what_was_measured_before_is_not_proposed(name):
    space = Space({"a": tuple(range(5)), "b": tuple(range(4))})
    found = made(name, space)
    found.tell([(i, 1.0) for i in range(0, 20, 2)])
    assert sorted(played(found, space)) == list(range(1, 20, 2))


def test_a_space_larger_than_a_length_may_be():
    found = made("random", Huge())
    assert len(set(found.propose(100))) == 100 and found.size == 10**30


class Huge:
    dims = [10] * 30

    def __len__(self):
        return 10**30  # which Python's len() refuses


def test_shuffling_reaches_every_number_and_keeps_only_what_moved():
    import random

    assert sorted(shuffled(100, random.Random(3))) == list(range(100))
    firsts = [next(shuffled(4, random.Random(seed))) for seed in range(400)]
    assert all(60 < firsts.count(k) < 140 for k in range(4))


def test_the_genetic_search_finds_better_points_than_chance():
    values = {name: [max(score(HUGE, i) for i in played(made(name, HUGE, seed), HUGE, 40)) for seed in range(5)]
              for name in ("genetic", "random")}  # fmt: skip
    assert min(values["genetic"]) > max(values["random"])
