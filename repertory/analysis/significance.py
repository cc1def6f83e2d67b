"""Statistics between conditions: F-tests, and correction for many of them.

Pure functions of the scores of runs, or of their means and standard deviations. The paper calls a difference
significant if a pair-wise F-test gives p < 0.01, and does not correct for the number of pairs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.special import fdtrc

from repertory.errors import UsageError, unknown

MATRIX_COLUMNS = ("condition_1", "condition_2", "n1", "n2", "difference", "F", "p", "p_released", "p_paired", "p_holm")


class FTest(NamedTuple):
    """A one-way F-test between two groups; all NaN if a group has fewer than two runs."""

    F: float
    p: float
    F_released: float
    """What the paper's printed p-values follow: only the second group enters the sum of squares between groups. For
    groups of equal size this is half of F."""
    p_released: float


class PairedTest(NamedTuple):
    """A t-test of the differences between runs that met the same tasks; NaN if there are fewer than two such pairs."""

    pairs: int
    p: float


def f_test(one: ArrayLike, other: ArrayLike) -> FTest:
    """One-way F-test of equal means, from the scores of runs.

    `F_released` depends on which group comes last if their sizes differ; F does not.
    """
    first, second = _scores("one", one), _scores("other", other)
    if min(len(first), len(second)) < 2:
        return FTest(math.nan, math.nan, math.nan, math.nan)
    with np.errstate(invalid="ignore"):  # a run that diverged to infinity makes the test NaN
        # F is the same for scores shifted together; shifted like this, runs that are all alike have no rounding error.
        first, second = first - first[0], second - first[0]
        return f_test_from_summary(
            first.mean(), first.std(), len(first), second.mean(), second.std(), len(second), ddof=0
        )


def f_test_from_summary(
    mean1: float, sd1: float, n1: int, mean2: float, sd2: float, n2: int, *, ddof: int = 0
) -> FTest:
    """One-way F-test of equal means, from the mean, standard deviation and number of runs of each group.

        F = (n1 (mean1 - mean)^2 + n2 (mean2 - mean)^2) / (SS1 + SS2) * (n1 + n2 - 2),  SS = (n - ddof) sd^2

    where `mean` is that of all runs. `ddof` is what was subtracted from n when the deviations were computed. The
    paper does not say, and its tables do not decide: its printed p-values .763, .02 and .532 come out as .762, .019 and
    .548 with 0, as .757, .017 and .536 with 1, all within what the rounding of the printed means allows. The default,
    NumPy's 0, is closer for the first two.
    """
    if ddof not in (0, 1):
        raise UsageError(f"ddof is {ddof!r}; valid: 0 or 1")
    for name, deviation in (("sd1", sd1), ("sd2", sd2)):
        if deviation < 0:
            raise UsageError(f"{name} is {deviation!r}; valid: a number at least 0")
    if min(n1, n2) < 2:
        return FTest(math.nan, math.nan, math.nan, math.nan)
    mean = (n1 * mean1 + n2 * mean2) / (n1 + n2)
    between_first, between_second = n1 * (mean1 - mean) ** 2, n2 * (mean2 - mean) ** 2
    freedom = n1 + n2 - 2
    within = np.float64((n1 - ddof) * sd1**2 + (n2 - ddof) * sd2**2) / freedom
    with np.errstate(divide="ignore", invalid="ignore"):  # constant groups: infinite if they differ, NaN if not
        standard, released = (between_first + between_second) / within, between_second / within
    return FTest(
        F=float(standard),
        p=float(fdtrc(1, freedom, standard)),
        F_released=float(released),
        p_released=float(fdtrc(1, freedom, released)),
    )


def paired_test(one: Mapping[Any, float], other: Mapping[Any, float]) -> PairedTest:
    """Between runs of the same key, such as their number: what the tasks do to both of a pair cancels out.

    The paper's F-test takes all runs for independent, although run n of every condition meets the same task sequence.
    """
    differences = np.array([one[key] - other[key] for key in one if key in other], np.float64)
    n = len(differences)
    if n < 2:
        return PairedTest(n, math.nan)
    with np.errstate(divide="ignore", invalid="ignore"):  # constant differences: p is 0, or NaN if they are 0
        t = differences.mean() / (differences.std(ddof=1) / math.sqrt(n))
    return PairedTest(n, float(fdtrc(1, n - 1, t * t)))


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """p-values corrected for their number by Holm's step-down method, in the order given.

    The k-th smallest of m is multiplied by m - k + 1, made no smaller than the one before it and no larger than 1.
    NaN stays NaN and does not count as a test.
    """
    given = np.asarray(p_values, np.float64)
    if given.ndim != 1 or np.any((given < 0) | (given > 1)):
        raise UsageError(f"p_values is {p_values!r}; valid: a list of numbers at least 0 and at most 1, or NaN")
    corrected = np.full(len(given), np.nan)
    order = np.argsort(given)[: np.count_nonzero(~np.isnan(given))]  # NaN sorts to the end
    tests_left = np.arange(len(order), 0, -1)
    corrected[order] = np.minimum(np.maximum.accumulate(tests_left * given[order]), 1)
    return corrected


def significance_matrix(
    scores: Mapping[str, ArrayLike], *, against: str | None = None, keys: Mapping[str, Sequence[Any]] | None = None
) -> pd.DataFrame:
    """A row per pair of conditions, in the order of `scores`; with `against`, only pairs whose second it is.

    `keys` names each run, the same for runs that met the same tasks, for `p_paired`; without, there is none.
    `difference` is the first condition's mean minus the second's. `p_holm` corrects `p` for the number of rows that
    have one; pairs with fewer than two runs on a side have none.
    """
    runs = {name: _scores(f"scores of {name}", values) for name, values in scores.items()}
    if against is not None and against not in runs:
        raise unknown("condition", against, runs)
    pairs = (
        list(itertools.combinations(runs, 2))
        if against is None
        else [(name, against) for name in runs if name != against]
    )
    rows = []
    for first, second in pairs:
        test = f_test(runs[first], runs[second])
        difference = _mean(runs[first]) - _mean(runs[second])
        paired = math.nan
        if keys is not None:
            sides = [dict(zip(keys[name], runs[name].tolist(), strict=True)) for name in (first, second)]
            paired = paired_test(*sides).p
        counts = (len(runs[first]), len(runs[second]))
        rows.append((first, second, *counts, difference, test.F, test.p, test.p_released, paired, math.nan))
    matrix = pd.DataFrame(rows, columns=list(MATRIX_COLUMNS))
    matrix["p_holm"] = holm(matrix["p"].to_numpy(np.float64))
    return matrix


def _scores(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """A score per run."""
    scores = np.asarray(values, np.float64)
    if scores.ndim != 1:
        raise UsageError(f"{name} has shape {scores.shape}; valid: a list with a number per run")
    return scores


def _mean(scores: NDArray[np.float64]) -> float:
    return float(scores.mean()) if len(scores) else math.nan
