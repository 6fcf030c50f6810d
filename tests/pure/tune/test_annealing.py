"""The search: random first, then guided; no point twice, the same with the same seed, in spaces of any size."""

from __future__ import annotations

import sys

import pytest

from tests.speed import recorded, replay
from tests.tuned import Product, Task, matmul, matmul_schedule
from tvmlab.tune.model import learned, pairwise_accuracy
from tvmlab.tune.search.annealing import Search as Annealing

pytest.importorskip("lightgbm", reason="the search learns with lightgbm")


def score(index):
    """Of a point of the small space: large for large tiles."""
    knobs = SMALL.space.point2knob(index)
    return 1.0 + knobs[0] + 2 * knobs[1] + 3 * knobs[2] - knobs[6]


SMALL = matmul(32, 128, 16)


def run(search, batches, n=6):
    told = []
    for _ in range(batches):
        points = search.propose(n)
        told += points
        search.tell([(i, score(i)) for i in points])
    return told


def test_the_same_seed_proposes_the_same():
    one, two, other = (run(Annealing(SMALL, seed, lowered=5), 5) for seed in (1, 1, 2))
    assert one == two != other


def test_no_point_is_proposed_twice():
    told = run(Annealing(SMALL, lowered=5), 8)
    assert len(told) == len(set(told))


def test_the_first_batch_is_at_most_sixteen():
    assert len(Annealing(SMALL, first=100).propose(64)) == 16
    assert len(Annealing(SMALL).propose(4)) == 4


def test_guided_points_are_better_than_random_ones():
    told = run(Annealing(SMALL, first=16, lowered=19), 8, 8)
    first, last = told[:16], told[-24:]
    assert sum(map(score, last)) / 24 > sum(map(score, first)) / 16 + 2


def test_a_space_is_exhausted_after_every_point_once():
    space = Product(rows=(1, 2, 4), vectors=(1, 2), lanes=(4,), depth=(8,), order=("rows outside",), pack=(False,),
                    cache=(False, True), expand=(True,))  # fmt: skip
    task = Task(space, lambda knobs: matmul_schedule(16, 16, 16, **knobs))
    search, told = Annealing(task), []
    while not search.exhausted:
        points = search.propose(5)
        told += points
        search.tell([(i, float(i + 1)) for i in points])
    assert sorted(told) == list(range(12))
    assert search.propose(5) == []


def test_a_space_of_a_million_million_points_is_not_listed():
    knobs = {f"unused {k}": range(10) for k in range(9)}
    space = Product(rows=(1, 2, 4, 8, 16), vectors=(1, 2, 4, 8), lanes=(4, 8, 16, 32, 64), depth=range(1, 11), **knobs)
    asked = []

    def make(config):
        asked.append(config)
        chosen = {k: config[k] for k in ("rows", "vectors", "lanes", "depth")}
        return matmul_schedule(32, 32, 32, **chosen, order="rows outside", pack=False, cache=False, expand=True)

    assert len(space) == 10**12
    search = Annealing(Task(space, make), lowered=6, chains=16)
    for _ in range(4):
        points = search.propose(8)
        search.tell([(i, float(space.get(i)["rows"])) for i in points])
    assert len(asked) <= 4 * 6 * 8 + 32


def test_points_without_a_program_and_failed_ones_are_left_behind():
    def make(knobs):
        if knobs["cache"]:
            raise ValueError("too many registers")
        return matmul_schedule(32, 128, 16, **knobs)

    task = Task(SMALL.space, make)
    search = Annealing(task, first=16, lowered=13)
    told = []
    for _ in range(6):
        points = search.propose(8)
        told += points
        search.tell([(i, None if task.space.get(i)["cache"] else score(i)) for i in points])
    guided = told[16:]
    assert sum(task.space.get(i)["cache"] for i in guided) <= 0.2 * len(guided)


def test_points_that_the_space_filters_out_are_not_proposed():
    class Filtered(Product):
        def get(self, index):
            if index % 3 == 0:
                raise IndexError("filtered out")
            return super().get(index)

    space = Filtered(rows=(1, 2, 4), vectors=(1, 2), lanes=(4,), depth=(8,), order=("rows outside",), pack=(False,),
                     cache=(False, True), expand=(True,))  # fmt: skip
    search, told = Annealing(Task(space, lambda knobs: matmul_schedule(16, 16, 16, **knobs))), []
    while not search.exhausted:
        points = search.propose(5)
        told += points
        search.tell([(i, float(i + 1)) for i in points])
    assert sorted(told) == [i for i in range(12) if i % 3]


def test_it_says_what_it_expects():
    search = Annealing(SMALL, lowered=13)
    assert search.predicted(0) is None
    run(search, 6, 8)
    points = range(0, len(SMALL.space), 60)
    expected = [search.predicted(i) for i in points]
    assert pairwise_accuracy(expected, [score(i) for i in points]) > 0.7
    assert min(search.known.values()) <= min(expected) <= max(expected) <= max(search.known.values())


def test_results_of_before_are_taken_up():
    search = Annealing(SMALL, lowered=5)
    before = list(range(0, len(SMALL.space), 100))
    search.tell([(i, score(i)) for i in before])
    points = search.propose(8)
    assert not set(points) & set(before)
    assert search.model is not None


def test_a_model_of_other_shapes_makes_the_first_points_promising():
    teacher = matmul(64, 256, 32)
    points = range(0, len(SMALL.space), 12)
    model = learned([(teacher, [(i, score(i)) for i in points])])
    first = Annealing(SMALL, model=model, lowered=19).propose(8)
    cold = Annealing(SMALL).propose(8)
    assert sum(map(score, first)) > sum(map(score, cold)) + 8


def test_without_the_package_it_is_random_and_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.warns(UserWarning, match=r'lightgbm, which is not installed: pip install "lightgbm".*random'):
        search = Annealing(SMALL)
    told = run(search, 4, 10)
    assert len(set(told)) == 40


# ---------------------------------------------------------------- against the recorded space


@pytest.fixture(scope="module")
def space():
    data = recorded.load()
    task = matmul(*data["shape"])
    assert {k: list(v) for k, v in task.space.choices.items()} == data["choices"], "record the space again"
    return task, recorded.scores(data["passes"]), replay.rows(task)


def test_few_of_the_recorded_points_are_good(space):
    _, scores, _ = space
    assert (scores >= 0.95 * scores.max()).mean() <= 0.01


@pytest.mark.slow
def test_it_needs_half_the_trials_of_random(space):
    """The median of 20 seeds: 90% of the best within 64 trials, 95% within 128."""
    task, scores, rows = space
    found = replay.compare(task, scores, replay.prepared(task, rows))
    for near, within, mine in zip(replay.NEAR, (64, 128), zip(*found), strict=True):
        assert sorted(mine)[10] <= min(within, replay.chance(scores, near) / 2)


def test_chance_is_the_median_of_random_searches(space):
    task, scores, _ = space
    found = [replay.trials(replay.random_trials(task, seed), scores)[0] for seed in range(300)]
    assert sorted(found)[150] == pytest.approx(replay.chance(scores, 0.9), rel=0.25)


@pytest.mark.slow
def test_a_model_of_other_shapes_halves_that_again(space):
    task, scores, rows = space
    model = replay.learned_elsewhere(recorded.load())
    make = replay.prepared(task, rows)
    cold = replay.compare(task, scores, make, 10)
    warm = replay.compare(task, scores, lambda seed: make(seed, model=model), 10)
    for mine, theirs in zip(zip(*warm), zip(*cold), strict=True):
        assert sorted(mine)[5] <= sorted(theirs)[5] / 2


@pytest.mark.slow
def test_after_128_trials_the_model_knows_the_order(space):
    _, scores, rows = space
    assert replay.quality(rows, scores, 128)[0] >= 0.8


def test_points_to_start_from_come_first_and_once():
    search = Annealing(SMALL, 1, start=[0, 5])
    first = search.propose(1) + search.propose(4)
    assert first[:2] == [0, 5] and len(set(first)) == 5
    assert not {0, 5} & set(search.propose(20))
