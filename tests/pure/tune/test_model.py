"""The model learns an order, keeps it in a file, starts from others; without its package it says what to install."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tvmlab.core.error import LabError
from tvmlab.tune.features import NAMES
from tvmlab.tune.model import CostModel, MissingModel, pairwise_accuracy, rank_correlation, ranks

SIZE = len(NAMES)


def made(n, seed=0, scale=1.0, shift=0.0):
    """Rows in which three columns decide."""
    rng = np.random.default_rng(seed)
    rows = rng.random((n, SIZE), dtype=np.float32)
    speed = np.exp(2 * rows[:, 3] - rows[:, 10] + (rows[:, 20] > 0.5)) * scale + shift
    return rows, speed


@pytest.fixture(autouse=True, scope="module")
def trees():
    pytest.importorskip("lightgbm", reason="the cost model needs lightgbm")


def accuracy(model, seed=99):
    rows, speed = made(500, seed)
    return pairwise_accuracy(model.predict(rows), speed)


def test_it_learns_the_order():
    assert accuracy(CostModel().fit(*made(400))) > 0.85


def test_the_same_seed_gives_the_same_model():
    rows, speed = made(80)
    probe = made(20, 7)[0]
    one, two = (CostModel(3).fit(rows, speed).predict(probe) for _ in range(2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, CostModel(4).fit(rows, speed).predict(probe))


def test_only_the_order_within_a_task_counts():
    """Two tasks, one of them a thousand times as fast: their speeds are not compared."""
    rows, speed = made(200)
    other, faster = made(200, 1, scale=1000.0)
    both = CostModel().fit(np.concatenate([rows, other]), [*speed, *faster], ["a"] * 200 + ["b"] * 200)
    assert accuracy(both) > 0.85


def test_failures_come_last():
    rows, speed = made(200)
    speed[rows[:, 5] > 0.7] = 0.0
    guess = CostModel().fit(rows, speed).predict(rows)
    assert np.median(guess[speed == 0]) < np.quantile(guess[speed > 0], 0.1)


def test_a_base_is_the_start():
    base = CostModel().fit(*made(400))
    few = made(12, 5)
    assert accuracy(CostModel(base=base).fit(*few)) > accuracy(CostModel().fit(*few))
    probe = made(20, 7)[0]
    assert np.array_equal(CostModel(base=base).predict(probe), base.predict(probe))


def test_it_is_kept_in_a_file(tmp_path):
    model = CostModel(base=CostModel().fit(*made(60))).fit(*made(60, 1))
    model.save(tmp_path / "model.json")
    probe = made(20, 7)[0]
    assert np.allclose(CostModel.load(tmp_path / "model.json").predict(probe), model.predict(probe))


def test_a_model_of_other_columns_is_refused():
    saved = CostModel().fit(*made(30)).to_json() | {"columns": "others"}
    with pytest.raises(LabError, match="learned from other columns"):
        CostModel.from_json(saved)


def test_importance_names_the_columns_that_decide():
    shares = CostModel().fit(*made(400)).importance()
    assert {name for name, _ in shares[:3]} == {NAMES[3], NAMES[10], NAMES[20]}
    assert sum(share for _, share in shares) == pytest.approx(1.0)


def test_nothing_measured_is_no_order():
    assert list(CostModel().fit(np.zeros((0, SIZE)), []).predict(np.zeros((3, SIZE)))) == [0, 0, 0]
    assert CostModel().importance() == []


def test_rows_and_scores_are_as_many():
    with pytest.raises(ValueError, match="3 rows, but 2 scores"):
        CostModel().fit(np.zeros((3, SIZE)), [1.0, 2.0])


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(MissingModel) as error:
        CostModel().fit(*made(10))
    assert str(error.value) == (
        "a search that learns needs the package lightgbm, which is not installed\n  pip install \"lightgbm\""
    )


def test_measures_of_an_order():
    assert pairwise_accuracy([1, 2, 3], [10, 20, 30]) == 1.0
    assert pairwise_accuracy([3, 2, 1], [10, 20, 30]) == 0.0
    assert pairwise_accuracy([0, 0, 0], [10, 20, 30]) == 0.5
    assert pairwise_accuracy([1, 2], [5, 5]) == 1.0
    assert rank_correlation([1, 2, 3], [1, 10, 100]) == pytest.approx(1.0)
    assert rank_correlation([3, 2, 1], [1, 10, 100]) == pytest.approx(-1.0)
    assert rank_correlation([1, 1, 1], [1, 2, 3]) == 0.0
    assert list(ranks([5, 1, 5])) == [2.5, 1.0, 2.5]
