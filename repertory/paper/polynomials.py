"""The paper's Example 1: how many lines through the origin approximate four polynomials well enough?

A task is a polynomial f on [0, 1]; a policy is pi(s) = A s; the reward is 1 - |pi(s) - f(s)| with s uniform on [0, 1].
The optimal reward is 1, so the regret, relative or not, is the expected error E(A) = integral of |A s - f(s)| ds.

The class of policies is a continuum, yet the answer is exact: E is convex in A, so the best slope for any group of
tasks, the one with the least largest error, is found to machine precision by bisection; a group can share a policy if
and only if that slope serves it; and the fewest policies are a minimum cover by the best slopes of all groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.polynomial import polynomial as poly
from numpy.typing import NDArray

from repertory.errors import UsageError
from repertory.paper.cover import minimum_cover

EXAMPLE_1 = ((0.0, 2.0, -1.0), (0.0, 0.0, 1.0), (0.0, 0.02, -0.01), (0.0, 0.0, 0.01))
"""The paper's f_1, ..., f_4, coefficients from the constant upwards: 2s - s^2, s^2, 0.02s - 0.01s^2, 0.01s^2."""

MAX_TASKS = 12
"""All groups of tasks are examined, and there are 2^tasks - 1."""

Polynomial = Sequence[float]
"""Coefficients from the constant upwards."""


class Fit(NamedTuple):
    """The best slope for a group of tasks."""

    slope: float
    """A of pi(s) = A s."""
    error: float
    """The largest expected error on a task of the group; no slope has a smaller one."""


@dataclass(frozen=True)
class PolynomialCapacity:
    """The theoretical task capacity of lines through the origin on a set of polynomials."""

    n_policies: int
    """The fewest lines with an expected error of at most epsilon on every polynomial."""
    capacity: float
    """Tasks per line."""
    slopes: tuple[float, ...]
    """The lines of one smallest set, each the best for the group of tasks it is there for."""
    groups: tuple[tuple[int, ...], ...]
    """Those groups: a partition of the tasks."""
    fits: Mapping[tuple[int, ...], Fit]
    """The best line for every group of tasks, whatever epsilon is."""


def polynomial_capacity(tasks: Sequence[Polynomial] = EXAMPLE_1, epsilon: float = 0.25) -> PolynomialCapacity:
    """The fewest lines A s that approximate every polynomial with an expected error of at most epsilon."""
    if not 1 <= len(tasks) <= MAX_TASKS:
        raise UsageError(f"{len(tasks)} polynomials; valid: from 1 to {MAX_TASKS}, as every group of them is examined")
    everyone = range(len(tasks))
    subsets = [subset for size in range(1, len(tasks) + 1) for subset in combinations(everyone, size)]
    fits = {subset: best_fit([tasks[task] for task in subset]) for subset in subsets}

    # Enough candidates: a line of any set serves some group of tasks, and that group's best line serves it as well.
    candidates = np.unique([fit.slope for fit in fits.values()])
    errors = np.array([[expected_error(task, slope) for task in tasks] for slope in candidates])
    cover = minimum_cover(errors, epsilon)
    groups = [tuple(task for task in everyone if cover.assignment[task] == line) for line in cover.chosen]
    return PolynomialCapacity(
        n_policies=cover.n_policies,
        capacity=cover.capacity,
        # A line was a candidate for the sake of some subset; the tasks it ended up with may have a better one.
        slopes=tuple(fits[group].slope for group in groups),
        groups=tuple(groups),
        fits=fits,
    )


def expected_error(task: Polynomial, slope: float) -> float:
    """E(A): the integral of |A s - f(s)| over [0, 1], exact up to rounding."""
    return _error_and_derivative(_checked(task), slope)[0]


def best_fit(tasks: Sequence[Polynomial]) -> Fit:
    """The slope whose largest expected error over the tasks is least.

    The largest of convex functions is convex, and the slope of the largest one says on which side the minimum lies.
    """
    checked = [_checked(task) for task in tasks]
    # Beyond this slope the error exceeds that of slope 0: E(A) >= |A| / 2 - E(0) for each task.
    bound = 4 * max(_error_and_derivative(task, 0.0)[0] for task in checked)
    low, high = -bound, bound
    while high - low > np.finfo(np.float64).eps * bound:
        slope = (low + high) / 2
        _, derivative = max(_error_and_derivative(task, slope) for task in checked)
        if derivative == 0:
            low = high = slope
        elif derivative > 0:
            high = slope
        else:
            low = slope
    slope = (low + high) / 2
    return Fit(slope, max(_error_and_derivative(task, slope)[0] for task in checked))


def _error_and_derivative(task: NDArray[np.float64], slope: float) -> tuple[float, float]:
    """E(A) and dE/dA = integral of s sign(A s - f(s)) ds."""
    difference = poly.polysub([0.0, slope], task)
    # Between neighbouring roots the difference keeps its sign, so the integral of its absolute value is the absolute
    # integral. A cut more than needed does no harm, so the real parts of complex roots may stay: they stand in for
    # double roots that rounding has split.
    roots = poly.polyroots(difference).real
    cuts = np.concatenate(([0.0], np.sort(roots[(roots > 0) & (roots < 1)]), [1.0]))
    integrals = np.diff(poly.polyval(cuts, poly.polyint(difference)))
    moments = np.diff(cuts**2) / 2
    return float(np.abs(integrals).sum()), float(np.sign(integrals) @ moments)


def _checked(task: Polynomial) -> NDArray[np.float64]:
    coefficients = np.asarray(task, np.float64)
    if coefficients.ndim != 1 or coefficients.size == 0 or not np.isfinite(coefficients).all():
        raise UsageError(
            f"a polynomial with coefficients {coefficients.tolist()}; "
            "valid: finite numbers from the constant upwards, such as (0, 2, -1)"
        )
    return coefficients
