"""What trials say, against brute force: the best so far, what knobs explain, the model's order, two knobs, failures."""

import random
from itertools import product
from math import exp

import numpy as np
import pytest
from scipy.stats import spearmanr

from tvmlab.core.error import LabError
from tvmlab.tune import insight
from tvmlab.tune.records import Record
from tvmlab.tune.space import Space


def space(**knobs):
    made = Space()
    for name, values in knobs.items():
        made.define_knob(name, values)
    return made


SMALL = space(x=[1, 2, 4, 8], y=["rows", "columns"], z=[False, True], w=list(range(10)))


def timed(index, seconds, of=SMALL, **more):
    return Record("t", index=index, space=of.hash, config=of.get(index).to_json(), times=[seconds], **more)


def failed(index, outcome="wrong", reason="", of=SMALL, **more):
    return Record("t", index=index, space=of.hash, outcome=outcome, reason=reason, **more)


def law(of, point):
    """Log seconds of a point: x matters most, z a little, x and y together, w not at all."""
    x, y, z, *_ = of.point2knob(point)
    return -0.6 * x + 0.15 * z + 0.2 * ((x + y) % 2)


def law_trials(points, noise=0.0, of=SMALL):
    chance = random.Random(5)
    return [timed(p, 1e-3 * exp(law(of, p) + chance.gauss(0, noise)), of) for p in points]


# ---------------------------------------------------------------- best, failures


def test_best_so_far_counts_what_was_measured():
    left_out = [failed(0, "instantiation"), timed(3, 2.0, kind="drift"), failed(7, "lost")]
    records = [left_out[0], timed(1, 3.0), failed(2), left_out[1], timed(4, 1.0, alone=False), timed(5, 2.5),
               timed(6, 2.5), left_out[2], timed(8, 0.5)]  # fmt: skip
    assert insight.best_so_far(records) == [(1, 3.0), (4, 2.5), (6, 0.5)]
    assert insight.best_so_far([]) == insight.best_so_far(records[:1]) == []


def test_failures_are_put_together_that_differ_in_numbers_only():
    wrong = [failed(k, "wrong", f"{k} cells of 4.5e-0{k} differ") for k in range(1, 4)]
    others = [failed(4, "timeout", "5 s are over"), failed(5, "crash", "5 s are over"), timed(6, 1.0),
              failed(7, "timeout", "it hangs"), failed(8, "crash", kind="drift")]  # fmt: skip
    first, *rest = insight.failures(others + wrong)
    assert first == insight.Failure("wrong", "1 cells of 4.5e-01 differ", 3)
    assert {(f.outcome, f.reason, f.count) for f in rest} == {
        ("timeout", "5 s are over", 1), ("crash", "5 s are over", 1), ("timeout", "it hangs", 1),
    }  # fmt: skip
    assert [f.text for f in insight.failures(others + wrong, 1)] == ["wrong: 1 cells of 4.5e-01 differ", "others"]
    assert insight.failures(others + wrong, 1)[1].count == 3 and len(insight.failures(others + wrong, 4)) == 4


# ---------------------------------------------------------------- importance


def true_shares(of):
    """One-way sums of squares over every point, the point's own value for the time."""
    y = {p: law(of, p) for p in range(len(of))}
    mean, total = np.mean(list(y.values())), np.var(list(y.values()))
    at = {p: of.point2knob(p) for p in y}
    found = {}
    for k, name in enumerate(of.names):
        means = [np.mean([y[p] for p in y if at[p][k] == v]) for v in range(of.dims[k])]
        found[name] = np.mean((np.array(means) - mean) ** 2) / total
    return found


def test_importance_of_a_whole_space_is_the_analysis_of_variance():
    found = insight.importance(SMALL, law_trials(range(len(SMALL))))
    assert list(found)[:2] == ["x", "z"]
    for name, share in true_shares(SMALL).items():
        assert found[name] == pytest.approx(share, abs=0.02)


@pytest.mark.parametrize("seed", range(3))
def test_importance_from_a_quarter_of_the_points_is_near(seed):
    found = insight.importance(SMALL, law_trials(random.Random(seed).sample(range(len(SMALL)), 40), noise=0.02))
    for name, share in true_shares(SMALL).items():
        assert found[name] == pytest.approx(share, abs=0.06)


def test_a_knob_of_many_values_that_does_nothing_explains_nothing():
    """One-way sums of squares would give it nearly all: each of its values was tried about once."""
    wide = space(x=[1, 2, 4, 8], y=[0, 1], z=[0, 1], many=list(range(500)))
    points = random.Random(0).sample(range(len(wide)), 60)
    found = insight.importance(wide, law_trials(points, 0.05, wide))
    assert found["many"] < 0.05 and found["x"] == pytest.approx(true_shares(wide)["x"], abs=0.08)


def test_knobs_that_a_search_changed_together_are_told_apart():
    """x is what matters; where x is best, z was tried mostly true: z's plain averages differ nearly as x's do."""
    chance = random.Random(3)
    at = {p: SMALL.point2knob(p) for p in range(len(SMALL))}
    points = [p for p, (x, _, z, _) in at.items() if (x >= 2) == z or chance.random() < 0.2]
    found = insight.importance(SMALL, law_trials(points, 0.02))
    assert found["x"] > 0.85 and found["z"] < 0.06


def test_noise_is_no_knobs_share():
    """Nothing matters: over 40 draws the shares of a knob of 30 values and of one of 3 are near 0, and seldom large."""
    chance = np.random.default_rng(0)
    values = np.stack([chance.integers(0, 30, 40), chance.integers(0, 3, 40)], axis=1)
    shares = np.array([insight.main_effects(values, chance.normal(size=40)) for _ in range(40)])
    assert shares.mean(axis=0).max() < 0.04


def test_importance_says_nothing_of_few_trials_and_of_equal_ones():
    assert insight.importance(SMALL, law_trials(range(insight.FEW - 1))) is None
    assert insight.importance(SMALL, law_trials(range(23)) + [failed(30), timed(31, 1.0, kind="drift")]) is None
    assert set(insight.importance(SMALL, [timed(p, 1e-3) for p in range(40)]).values()) == {0.0}


def test_records_of_another_space_are_refused():
    other, alike = space(x=[1, 2]), space(x=[1, 2, 4, 9], y=[0, 1], z=[0, 1], w=list(range(10)))
    with pytest.raises(LabError, match="another space"):
        insight.importance(alike, law_trials(range(40)))
    for call in (insight.importance, lambda s, r: insight.landscape(s, r, "x", "x")):
        with pytest.raises(LabError, match="point 8 of t was measured in another space"):
            call(other, [Record("t", index=n, times=[1.0]) for n in range(8, 48)])  # as of AutoTVM: no hash


# ---------------------------------------------------------------- landscape


def test_a_landscape_is_the_best_over_the_other_knobs():
    points = random.Random(1).sample(range(len(SMALL)), 50)
    records = law_trials(points, 0.3) + [failed(p) for p in points[:9]] + [failed(3, "instantiation")]
    found = insight.landscape(SMALL, records, "x", "y")
    assert (found.xs, found.ys) == ([1, 2, 4, 8], ["rows", "columns"])
    for (i, x), (j, y) in product(enumerate(found.xs), enumerate(found.ys)):
        here = [r for r in records[:-1] if [SMALL.get(r.index)[n].val for n in "xy"] == [x, y]]
        assert found.counts[j][i] == len(here)
        assert found.seconds[j][i] == min((r.seconds for r in here if r.ok), default=None)


def test_a_knob_of_very_many_candidates_shows_those_that_were_tried():
    wide = Space()
    wide.define_reorder("order", [wide.axis(k) for k in range(2, 12)], policy="all")  # 3 628 800 of them
    wide.define_knob("x", [1, 2])
    records = [timed(p, 1.0, wide) for p in (7, 7 + 3628800, 0, 99)]
    found = insight.landscape(wide, records, "order", "x")
    assert found.counts == [[1, 1, 1], [0, 1, 0]] and found.xs[0] == list(range(10))


def test_a_knob_that_there_is_not_is_named():
    with pytest.raises(LabError, match="'tile_x'"):
        insight.landscape(SMALL, [], "tile_x", "y")
    assert insight.landscape(SMALL, [], "y", "z").counts == [[0, 0], [0, 0]]


# ---------------------------------------------------------------- the model's order


def guessed(scores, predicted, fitted=0):
    pairs = enumerate(zip(scores, predicted, strict=True))
    return [failed(n, predicted=p, fitted=fitted) if s is None else timed(n, 1 / s, predicted=p, fitted=fitted)
            for n, (s, p) in pairs]  # fmt: skip


def test_one_fit_is_spearmans_rho():
    chance = random.Random(2)
    scores = [chance.random() + 0.1 for _ in range(32)]
    predicted = [s + chance.gauss(0, 0.3) for s in scores]
    records = guessed(scores, predicted, fitted=8)
    found = insight.rank_over_time(records, every=8)
    assert [n for n, _ in found] == [8, 16, 24, 32]
    for n, rho in found:
        assert rho == pytest.approx(spearmanr(predicted[:n], scores[:n]).statistic)


def test_only_the_latest_count_and_failures_are_the_slowest():
    scores = [1.0, None, 3.0, 4.0] * 2
    good, bad = guessed(scores, [1, 0, 3, 4] * 2, 5), guessed(scores, [4, 5, 2, 1] * 2, 5)
    found = insight.rank_over_time(bad + good * 4, every=8)
    assert found[0][1] == pytest.approx(-1) and found[-1][1] == pytest.approx(1) and -1 < found[2][1] < 1


def test_predictions_of_two_fits_are_not_compared():
    """Within each fit the order is right; what the second says of its points is not on the scale of the first."""
    scores = [1.0, 2.0, 3.0, 4.0]
    first, second = guessed(scores, [101, 102, 103, 104], 8), guessed([s + 4 for s in scores], [1, 2, 3, 4], 12)
    assert insight.rank_over_time(first + second, every=8) == [(8, pytest.approx(1))]
    pooled = spearmanr([101, 102, 103, 104, 1, 2, 3, 4], [1, 2, 3, 4, 5, 6, 7, 8]).statistic
    assert pooled < 0.1
    unknown = [Record(**{**vars(r), "fitted": 0}) for r in first + second]
    assert insight.rank_over_time(unknown, every=4) == [(4, pytest.approx(1)), (8, pytest.approx(1))]


def test_without_predictions_there_is_no_order_and_trials_keep_their_numbers():
    assert insight.rank_over_time(law_trials(range(30))) == []
    later = [*law_trials(range(10)), *guessed([1.0, 2, 3, 4], [1, 2, 3, 4], 8)]
    assert insight.rank_over_time(later, every=4) == [(14, pytest.approx(1))]
    assert insight.rank_over_time(later, every=2) == [(14, pytest.approx(1))]  # two have no order yet


def test_a_session_says_which_fit_it_was():
    """Through the session: `fitted` comes from the search, and grows from batch to batch."""
    from tests.pure.tune.test_session import Played
    from tests.tuning import matmul
    from tvmlab.tune import session

    class Guesses:
        known = fitted = 0

        def propose(self, n):
            self.fitted = self.known
            return list(range(self.known, self.known + 4))

        def tell(self, results):
            self.known += len(results)

        def predicted(self, index):
            return 160.0 - index if self.fitted else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "Measurer", Played)
        found = session.run(matmul(), trials=12, search=Guesses())
    assert [r.fitted for r in sorted(found.records, key=lambda r: r.index)] == [0] * 4 + [4] * 4 + [8] * 4
    assert insight.rank_over_time(found.records, every=4)[-1][1] == pytest.approx(1)
