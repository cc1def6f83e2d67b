"""Statistics between conditions against SciPy, closed forms and the paper's printed values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from repertory.analysis.significance import (
    f_test,
    f_test_from_summary,
    holm,
    significance_matrix,
)
from repertory.errors import UsageError

# Two conditions of the paper's tables (mean, sd), their runs, p as printed, p of the standard test.
PRINTED = [
    ("UnadaptivePPO1P", (67.7, 9.1), "UnadaptivePPO27P", (68.5, 2.6), 27, 0.763, 0.668),
    ("AdaptivePPO14P", (72.1, 4.7), "UnadaptivePPO27P", (68.5, 2.6), 27, 0.02, 0.001),
    ("AdaptiveDRQN2P", (0.098, 0.017), "UnadaptiveDRQN4P", (0.105, 0.029), 18, 0.532, 0.397),
]


def holm_naively(p_values: list[float]) -> list[float]:
    corrected = [math.nan] * len(p_values)
    tests = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    largest = 0.0
    for rank, (p, i) in enumerate(tests):
        largest = max(largest, min(1.0, (len(tests) - rank) * p))
        corrected[i] = largest
    return corrected


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize(("_one", "first", "_other", "second", "runs", "printed", "standard"), PRINTED)
def test_the_released_variant_gives_the_printed_p_values(
    _one: str,
    first: tuple[float, float],
    _other: str,
    second: tuple[float, float],
    runs: int,
    printed: float,
    standard: float,
    ddof: int,
) -> None:
    test = f_test_from_summary(*first, runs, *second, runs, ddof=ddof)
    assert test.p_released == pytest.approx(printed, abs=0.02)
    assert test.p == pytest.approx(standard, abs=0.02)
    assert abs(test.p - printed) > 0.015  # the standard test does not give what is printed


def test_the_default_deviation_is_that_of_numpy() -> None:
    standard = [f_test_from_summary(*first, n, *second, n).p for _, first, _, second, n, _, _ in PRINTED]
    assert standard == pytest.approx([0.668, 0.001, 0.397], abs=0.0005)


def test_a_summary_gives_what_its_runs_give(rng: np.random.Generator) -> None:
    one, other = rng.normal(3, 2, 9), rng.normal(4, 1, 14)
    for ddof in (0, 1):
        summary = f_test_from_summary(
            one.mean(), one.std(ddof=ddof), 9, other.mean(), other.std(ddof=ddof), 14, ddof=ddof
        )
        assert summary == pytest.approx(f_test(one, other), rel=1e-9)


@pytest.mark.parametrize("sizes", [(2, 2), (27, 27), (5, 40)])
def test_f_and_p_are_those_of_scipy_and_f_is_t_squared(sizes: tuple[int, int], rng: np.random.Generator) -> None:
    one, other = rng.normal(1000, 1, sizes[0]), rng.normal(1001, 2, sizes[1])
    test = f_test(one, other)
    reference = stats.f_oneway(one, other)
    assert (test.F, test.p) == pytest.approx((reference.statistic, reference.pvalue), rel=1e-8)
    student = stats.ttest_ind(one, other)
    assert (test.F, test.p) == pytest.approx((student.statistic**2, student.pvalue), rel=1e-8)


def test_the_released_f_is_half_for_equal_groups_and_the_last_groups_part_otherwise(rng: np.random.Generator) -> None:
    one, other = rng.normal(0, 1, 6), rng.normal(1, 1, 6)
    test = f_test(one, other)
    assert test.F_released == pytest.approx(test.F / 2)
    assert test.p_released > test.p
    assert f_test(other, one) == pytest.approx(test)
    longer = np.append(other, [0.5, 0.7, 1.9])
    there, back = f_test(one, longer), f_test(longer, one)
    np.testing.assert_allclose(there.F, back.F)
    assert there.F_released + back.F_released == pytest.approx(there.F)
    everyone = np.concatenate([one, longer])
    between = len(longer) * (longer.mean() - everyone.mean()) ** 2
    within = (one.var() * len(one) + longer.var() * len(longer)) / (len(everyone) - 2)
    assert there.F_released == pytest.approx(between / within)


def test_groups_without_variance_and_groups_too_small() -> None:
    assert f_test([1, 1], [2, 2])[:2] == (math.inf, 0)
    for undefined in (f_test([0.1] * 3, [0.1] * 4), f_test([1.0], [1, 2]), f_test([], [1, 2])):
        assert all(math.isnan(value) for value in undefined)
    for diverged in (math.nan, math.inf):
        assert all(math.isnan(value) for value in f_test([1, diverged], [1, 2]))
    assert math.isnan(f_test_from_summary(1, 0, 1, 2, 1, 5).p)


def test_bad_groups_are_refused() -> None:
    with pytest.raises(UsageError, match="sd2 is -1"):
        f_test_from_summary(0, 1, 5, 0, -1, 5)
    with pytest.raises(UsageError, match="ddof is 2; valid: 0 or 1"):
        f_test_from_summary(0, 1, 5, 0, 1, 5, ddof=2)
    with pytest.raises(UsageError, match=r"one has shape \(2, 2\)"):
        f_test([[1, 2], [3, 4]], [1, 2])


def test_false_alarms_are_as_frequent_as_the_level_says(rng: np.random.Generator) -> None:
    p_values = np.array([f_test(*rng.normal(size=(2, 8)))[1] for _ in range(2000)])
    assert (p_values < 0.1).mean() == pytest.approx(0.1, abs=4 * math.sqrt(0.09 / 2000))


def test_holm_of_a_known_example() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == pytest.approx([1, 1])
    assert holm([0.03]) == pytest.approx([0.03])
    assert len(holm([])) == 0


def test_holm_equals_its_naive_twin(rng: np.random.Generator) -> None:
    for tests in range(1, 40):
        p_values = rng.random(tests) ** 3
        p_values[rng.random(tests) < 0.2] = np.nan
        p_values[0] = p_values[-1]  # ties
        corrected = holm(p_values)
        np.testing.assert_allclose(corrected, holm_naively(p_values.tolist()), rtol=1e-12)
        known = ~np.isnan(p_values)
        assert (corrected[known] >= p_values[known]).all()
        assert (np.diff(corrected[np.argsort(p_values)][: known.sum()]) >= 0).all()


def test_nan_does_not_count_as_a_test() -> None:
    np.testing.assert_allclose(holm([math.nan, 0.02, math.nan, 0.04]), [math.nan, 0.04, math.nan, 0.04])
    assert np.isnan(holm([math.nan])).all()


@pytest.mark.parametrize("p_values", [[0.5, 1.2], [-0.1], [[0.5]]])
def test_what_is_no_p_value_is_refused(p_values: list[float]) -> None:
    with pytest.raises(UsageError, match="p_values is"):
        holm(p_values)


def test_a_matrix_by_hand() -> None:
    matrix = significance_matrix({"a": [1, 2, 3], "b": [4, 5, 6], "one run": [9], "c": [1, 2, 6]})
    assert list(matrix.columns) == [
        *("condition_1", "condition_2", "n1", "n2", "difference", "F", "p", "p_released", "p_paired", "p_holm")
    ]
    pairs = list(zip(matrix["condition_1"], matrix["condition_2"], strict=True))
    assert pairs == [("a", "b"), ("a", "one run"), ("a", "c"), ("b", "one run"), ("b", "c"), ("one run", "c")]
    assert matrix["n1"].tolist() == [3, 3, 3, 3, 3, 1]
    assert matrix["n2"].tolist() == [3, 1, 3, 1, 3, 3]
    assert matrix["difference"].tolist() == [-3, -7, -1, -4, 2, 6]
    # F = 3 difference^2 / 2 over the mean of the two variances: 1, 1 and 7.
    np.testing.assert_allclose(matrix["F"], [13.5, np.nan, 0.375, np.nan, 1.5, np.nan])
    # With four degrees of freedom, p = 1 - s (3 - s^2) / 2 with s = sqrt(F / (F + 4)).
    s = np.sqrt(matrix["F"] / (matrix["F"] + 4))
    np.testing.assert_allclose(matrix["p"], 1 - s * (3 - s**2) / 2)
    s = np.sqrt(matrix["F"] / (matrix["F"] + 8))  # half of F
    np.testing.assert_allclose(matrix["p_released"], 1 - s * (3 - s**2) / 2)
    smallest, middle = matrix["p"][0], matrix["p"][4]
    # The largest p is below twice the middle one, so that it takes over the middle one's correction.
    np.testing.assert_allclose(matrix["p_holm"], [3 * smallest, np.nan, 2 * middle, np.nan, 2 * middle, np.nan])


def test_a_matrix_pairs_the_runs_that_have_the_same_key() -> None:
    scores, keys = {"a": [1, 2, 4], "b": [9, 3, 3, 7]}, {"a": [0, 1, 2], "b": [7, 0, 1, 2]}
    (p,) = significance_matrix(scores, keys=keys)["p_paired"]
    assert p == pytest.approx(stats.ttest_rel([1, 2, 4], [3, 3, 7]).pvalue)
    assert significance_matrix(scores)["p_paired"].isna().all()


def test_a_matrix_against_one_condition_corrects_for_its_own_rows_only() -> None:
    scores = {"a": [1, 2, 3], "b": [4, 5, 6], "c": [1, 2, 6]}
    matrix = significance_matrix(scores, against="b")
    assert matrix["condition_1"].tolist() == ["a", "c"]
    assert matrix["condition_2"].tolist() == ["b", "b"]
    assert matrix["difference"].tolist() == [-3, -2]
    np.testing.assert_allclose(matrix["p_holm"], holm(matrix["p"]))
    with pytest.raises(UsageError, match="unknown condition 'd'"):
        significance_matrix(scores, against="d")


def test_a_matrix_of_too_few_conditions_or_runs_is_empty_or_nan() -> None:
    assert len(significance_matrix({})) == len(significance_matrix({"a": [1, 2]})) == 0
    matrix = significance_matrix({"a": [], "b": [1.0]})
    assert matrix[["difference", "F", "p", "p_released", "p_holm"]].isna().all(axis=None)
