"""Intervals over runs, and scores that do not depend on which tasks came when."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from scipy import stats

from repertory.analysis.balanced import balanced_scores, drop_to_last, tenth_of_block, tenths_of_halves
from repertory.analysis.capacity import GRID, capacities_at, capacity_curve, estimate_capacity, integrated_capacities
from repertory.analysis.resampling import combined, estimate, from_spread
from repertory.analysis.significance import paired_test


@pytest.mark.parametrize("n", [2, 3, 6, 20])
def test_the_interval_of_a_mean_covers_it_as_often_as_it_says(n: int, rng: np.random.Generator) -> None:
    covered = 0
    for sample in range(500):
        low, high = estimate(rng.normal(7, 3, n), [(sample, run) for run in range(n)]).interval
        covered += low <= 7 <= high
    assert covered / 500 == pytest.approx(0.95, abs=0.03)


def test_the_interval_of_a_mean_is_about_students(rng: np.random.Generator) -> None:
    scores = rng.normal(0, 1, 15)
    expected = stats.t.interval(0.95, 14, scores.mean(), stats.sem(scores))
    assert estimate(scores, range(15)).interval == pytest.approx(expected, abs=0.1)


def test_one_run_has_no_interval_and_equal_runs_one_without_width() -> None:
    alone = estimate([3.0], [0])
    assert alone.value == 3.0
    assert all(map(math.isnan, alone.interval))
    assert estimate([0.1] * 6, range(6)).interval == (0.1, 0.1)


def test_runs_of_one_key_are_drawn_together(rng: np.random.Generator) -> None:
    scores = rng.normal(0, 10, 8)
    own = estimate(scores, range(8))
    paired, unpaired = estimate(scores + 1, range(8)), estimate(scores + 1, range(8, 16))
    assert combined(operator.sub, paired, own).interval == pytest.approx((1, 1))
    low, high = combined(operator.sub, unpaired, own).interval
    assert high - low > 10
    few = estimate((scores + 1)[:5], range(5))  # the first five are there in both, with the same weights
    less = combined(operator.sub, few, own)
    assert np.var(less.draws) < np.var(combined(operator.sub, unpaired, own).draws)


def test_a_known_spread_gives_the_normal_interval() -> None:
    low, high = from_spread(5.0, 4.0, 4, "condition").interval
    assert (low, high) == pytest.approx((5 - 1.96 * 2, 5 + 1.96 * 2), abs=0.3)


def test_a_function_of_several_means() -> None:
    rows = [(10.0, 2.0), (30.0, 2.0)]
    assert estimate(rows, range(2), lambda means: means[:, 0] / means[:, 1]).value == 10


# ---------------------------------------------------------------------------------------------------- balanced


def test_balanced_scores_of_a_constant_policy_are_constant(rng: np.random.Generator) -> None:
    tasks = np.sort(rng.integers(18, size=450) + rng.integers(3, size=450)) % 18  # other tasks in other tenths
    levels = rng.uniform(-1, 1, 18)
    present = np.unique(tasks)
    np.testing.assert_allclose(balanced_scores(levels[tasks], tasks), levels[present].mean(), atol=1e-9)


def test_balanced_scores_are_the_least_squares_fit(rng: np.random.Generator) -> None:
    """Against dummies for every task and tenth."""
    tasks, tenths = rng.integers(7, size=200), tenth_of_block(200)
    scores = rng.normal(size=200) + tasks + 3.0 * tenths
    design = np.column_stack([np.eye(7)[tasks], np.eye(10)[tenths]])
    effects = np.linalg.lstsq(design, scores, rcond=None)[0][:7]
    np.testing.assert_allclose(balanced_scores(scores, tasks), scores - effects[tasks] + effects.mean(), atol=1e-9)


def test_a_change_over_time_survives_the_balance(rng: np.random.Generator) -> None:
    tasks = rng.integers(27, size=675)
    change = np.linspace(0, -40, 675)
    halves = tenths_of_halves(rng.uniform(50, 200, 27)[tasks] + change, tasks)
    np.testing.assert_allclose(halves[:, -1] - halves[:, 0], -36, atol=1.5)


def test_the_best_tenth_is_chosen_by_one_half_and_measured_by_the_other() -> None:
    first, second = np.full(10, 10.0), np.full(10, 10.0)
    first[3], second[6] = 20, 30  # each half's luck
    second[9] = first[9] = 8
    drop = drop_to_last(np.concatenate([first, second])[None])
    assert drop[0] == pytest.approx((20 - 16) / 20)  # neither 20 nor 30 is measured
    assert drop_to_last(np.zeros((1, 20)))[0] == 0
    assert (tenths_of_halves(np.arange(10.0), np.zeros(10, int)) == np.arange(10)).all()  # too short to be halved


# --------------------------------------------------------------------------------------- capacity, paired tests


def test_many_capacities_at_once_are_those_of_the_curves(rng: np.random.Generator) -> None:
    policies = (1, 2, 4, 9, 27)
    scores = rng.uniform(20, 100, (50, 5))
    curves = [capacity_curve(dict(zip(policies, row, strict=True)), 27) for row in scores]
    for tolerance in (0.0, 0.05, 0.3, 1.0):
        assert capacities_at(scores, policies, 27, tolerance).tolist() == [c.capacity(tolerance) for c in curves]
    np.testing.assert_allclose(integrated_capacities(scores, policies, 27), [c.grid_mean for c in curves])
    assert len(GRID) == 101
    assert np.isnan(capacities_at(-scores, policies, 27, 0.5)).all()


def test_the_capacity_of_libraries_with_the_same_good_and_bad_runs_is_sure() -> None:
    luck = np.array([-30.0, 0, 30])
    scores = {1: 50 + luck, 2: 100 + luck}
    together = estimate_capacity(scores, 2, keys={1: range(3), 2: range(3)})
    apart = estimate_capacity(scores, 2)
    assert together.confidence(1, 0.05) == 0
    assert apart.confidence(1, 0.05) > 0.01


def test_the_paired_test_is_students_of_the_differences(rng: np.random.Generator) -> None:
    one, other = rng.normal(0, 5, 9), rng.normal(1, 5, 9)
    found = paired_test(dict(enumerate(one)), dict(enumerate(other)) | {99: 3.0})
    assert found == pytest.approx((9, stats.ttest_rel(one, other).pvalue))
    assert math.isnan(paired_test({0: 1.0}, {0: 2.0}).p)
