"""Searches: the same seed gives the same points, none twice, also in a space that nobody could list."""

import importlib.util
import sys

import pytest

from tests.tuning import Space, Task
from tvmlab.core.error import LabError
from tvmlab.tune import search
from tvmlab.tune.records import now
from tvmlab.tune.search.base import shuffled

HAS_OPTUNA = importlib.util.find_spec("optuna") is not None
without = pytest.mark.skipif(not HAS_OPTUNA, reason="needs optuna")
ALL = ["droplet", "genetic", "grid", "random", pytest.param("optuna", marks=without)]
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
    assert {"annealing", "droplet", "genetic", "grid", "optuna", "random"} <= set(search.names())
    with pytest.raises(LabError) as e:
        search.get("swarm")
    assert e.value.legal == tuple(search.names())


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("space", [HUGE, Space({"a": (1, 2, 3), "b": tuple(range(50))})], ids=["huge", "small"])
def test_the_same_seed_gives_the_same_points_and_none_twice(name, space):
    rounds = 5 if name == "optuna" else 20  # which is slower
    first, again, other = (played(made(name, space, seed), space, rounds) for seed in (1, 1, 2))
    assert first == again and len(set(first)) == len(first)
    assert name in ("grid", "droplet") or first != other
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


@pytest.mark.parametrize("name", ["random", "annealing"])
def test_a_space_larger_than_a_length_may_be(name):
    found = made(name, Huge())
    assert found.size == 10**30
    if name == "random":
        assert len(set(found.propose(100))) == 100


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


# ---------------------------------------------------------------- coordinate descent


def told(search, worth, n=4, rounds=80):
    points = []
    for _ in range(rounds):
        asked = search.propose(n)
        points += asked
        search.tell([(i, worth(i)) for i in asked])
    return points


def test_it_walks_to_the_best_of_one_valley_and_then_starts_again():
    space = Space({f"k{i}": tuple(range(10)) for i in range(6)})
    found = droplet(space, start=[0] * 6)
    points = told(found, lambda i: 1.0 / (1 + sum((k - 4) ** 2 for k in space.point2knob(i))))
    best = space.knob2point([4] * 6)
    assert points[0] == 0 and best in points[:250]
    assert found.at != best, "it has started again"


def test_it_starts_where_it_is_told_to():
    space = Space({"a": tuple(range(10)), "b": tuple(range(10))})
    assert droplet(space, start=[3, 5]).propose(5) == [53, 54, 52, 63, 43] == droplet(space, start=53).propose(5)
    for bad in ([3], [3, 10], [-1, 0]):
        with pytest.raises(LabError, match="the space has no point at"):
            droplet(space, start=bad)
    with pytest.raises(LabError, match="pvalue is a probability"):
        droplet(space, pvalue=5)


def test_it_does_not_follow_what_may_be_chance():
    space = Space({"a": tuple(range(9))})

    def worth(*times):
        return now(task="t", times=times).score

    for spread, at in ((0.5, 4), (1e-3, 5)):  # the right neighbour's median is shorter by a tenth
        times = {i: [2 - spread, 2, 2 + spread] for i in range(9)}
        times[4], times[5] = [1 - spread, 1.0, 1 + spread], [0.9 - spread, 0.9, 0.9 + spread]
        found = droplet(space, start=[4])
        asked = found.propose(3)
        found.tell([(i, worth(*times[i])) for i in asked])
        found._move()
        assert found.at == at


@pytest.mark.parametrize("t, freedom, more", [(0, 3, 0.5), (1, 1, 0.25), (-1, 1, 0.75), (2.571, 5, 0.025),
                                               (3.169, 10, 0.005)])  # fmt: skip
def test_students_distribution(t, freedom, more):
    from tvmlab.tune.search.droplet import student

    assert student(t, freedom) == pytest.approx(more, rel=1e-3)


def droplet(space, **how):
    return search.get("droplet")(Task(None, space), **how)


# ---------------------------------------------------------------- Optuna


@without
def test_what_is_in_order_is_an_integer_to_optuna():
    from tvmlab.tune import space
    from tvmlab.tune.search.optuna import in_order

    made_of = space.Space()
    made_of.define_knob("unroll", [0, 16, 64])
    made_of.define_knob("order", ["rows", "columns", "both"])
    made_of.define_split("tile", 64, num_outputs=2)
    made_of.define_split("tiles", 64, num_outputs=3)
    kinds = made("optuna", made_of).kinds
    assert [type(k).__name__[0] for k in kinds.values()] == ["I", "C", "I", "C"] and kinds["tile"].high == 6
    assert not in_order([1, 2]) and not in_order([True, False, True]) and not in_order([4, 2, 1])


@without
def test_a_sampler_of_ones_own_and_what_is_none():
    import optuna

    task = Task(None, HUGE)
    found = search.get("optuna")(task, sampler=optuna.samplers.RandomSampler(seed=3))
    assert isinstance(found.study.sampler, optuna.samplers.RandomSampler)
    with pytest.raises(LabError, match="'TPE' is no sampler"):
        search.get("optuna")(task, sampler="TPE")


@without
def test_tpe_finds_better_points_than_chance_and_knows_what_failed():
    best = [max(score(HUGE, i) for i in played(made(name, HUGE, 1), HUGE, 20)) for name in ("optuna", "random")]
    assert best[0] > 1.5 * best[1]
    found = made("optuna", HUGE)
    found.tell([(7, None), (8, 2.0)])
    assert [t.value for t in found.study.trials] == [0.0, 2.0]


def test_without_optuna_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match="the package optuna, which is not installed") as e:
        made("optuna", HUGE)
    assert e.value.hint == 'pip install "optuna"'
