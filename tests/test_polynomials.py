"""Example 1 of the paper, lines for polynomials: by hand, by integration and by search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar

from repertory.errors import UsageError
from repertory.paper.polynomials import EXAMPLE_1, best_fit, expected_error, polynomial_capacity


def test_example_1_needs_two_lines() -> None:
    """By hand: the line s errs by 1/6 on f_1 and f_2, and 0.01 s by 1/600 on f_3 and f_4, so two are enough. For one
    line A s to serve f_1 and f_4: E_1(A) = 2/3 - A/2 for A <= 1 and E_4(A) = A/2 - 0.01/3 for A >= 0.01 are equal at
    A = 0.67, where both are 2/3 - 0.335 = 0.33167 > 0.25. So one is not enough: N = 2, C = 2."""
    answer = polynomial_capacity()
    assert (answer.n_policies, answer.capacity) == (2, 2.0)
    assert sorted(task for group in answer.groups for task in group) == [0, 1, 2, 3]
    for slope, group in zip(answer.slopes, answer.groups, strict=True):
        assert max(expected_error(EXAMPLE_1[task], slope) for task in group) <= 0.25
    assert polynomial_capacity(epsilon=2 / 3 - 0.335).n_policies == 1
    assert polynomial_capacity(epsilon=2 / 3 - 0.335 - 1e-9).n_policies == 2


def test_example_1_group_by_group() -> None:
    """By hand. s^2 alone: E(A) = A^3/3 - A/2 + 1/3 on [0, 1], least at A = 1/sqrt(2): (1 - 1/sqrt(2)) / 3. f_1 mirrors
    it, E_1(A) = E_2(2 - A); f_3 and f_4 are a hundredth of f_1 and f_2. For f_1 and f_2, E_1 falls and E_2 rises
    between 1/sqrt(2) and 2 - 1/sqrt(2), and they meet at A = 1. f_2 and f_4 meet where A^3/3 - A + 1/3 + 1/300 = 0."""
    fits = polynomial_capacity().fits
    assert len(fits) == 15
    root = 1 / math.sqrt(2)
    alone = (1 - root) / 3
    assert fits[1,] == pytest.approx((root, alone))
    assert fits[0,] == pytest.approx((2 - root, alone))
    assert fits[2,] == pytest.approx(((2 - root) / 100, alone / 100))
    assert fits[3,] == pytest.approx((root / 100, alone / 100))
    assert fits[0, 1] == pytest.approx((1, 1 / 6))
    assert fits[2, 3] == pytest.approx((0.01, 1 / 600))
    assert fits[0, 2] == pytest.approx((2 / 3 + 1 / 150, 0.33))
    assert fits[0, 3] == pytest.approx((0.67, 2 / 3 - 0.335))
    meeting = next(x.real for x in np.roots([1 / 3, 0, -1, 1 / 3 + 1 / 300]) if 0 < x.real < 1)
    assert fits[1, 3] == pytest.approx((meeting, meeting / 2 - 1 / 300))
    assert fits[0, 1, 2, 3] == fits[0, 3]


def test_example_1_as_the_paper_computes_it() -> None:
    """The line s errs by 1/6 on f_1 and f_2, by 0.493 on f_3 and by more on f_4; 0.01 s errs by 1/600 on both."""
    f_1, f_2, f_3, f_4 = EXAMPLE_1
    assert expected_error(f_1, 1) == pytest.approx(1 / 6)
    assert expected_error(f_2, 1) == pytest.approx(1 / 6)
    assert expected_error(f_3, 1) == pytest.approx(0.5 + 0.01 / 3 - 0.01)
    assert expected_error(f_4, 1) == pytest.approx(0.5 - 0.01 / 3)
    assert expected_error(f_3, 0.01) == pytest.approx(1 / 600)
    assert expected_error(f_4, 0.01) == pytest.approx(1 / 600)


@pytest.mark.parametrize("seed", range(10))
def test_errors_and_best_lines_agree_with_numerical_integration_and_search(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = [rng.normal(size=rng.integers(1, 6)).tolist() for _ in range(2)]
    slope = rng.normal()
    roots = [root.real for root in np.roots((np.polynomial.Polynomial(tasks[0]) - [0, slope]).coef[::-1])]
    inside = [root for root in roots if 0 < root < 1]
    integral, _ = quad(lambda s: abs(slope * s - np.polyval(tasks[0][::-1], s)), 0, 1, points=inside or None)
    assert expected_error(tasks[0], slope) == pytest.approx(integral)

    fit = best_fit(tasks)
    searched = minimize_scalar(
        lambda a: max(expected_error(task, a) for task in tasks), bounds=(-30, 30), options={"xatol": 1e-6}
    )
    assert fit.error == pytest.approx(searched.fun, abs=1e-6)
    assert fit.error <= searched.fun + 1e-14


def test_lines_and_constants_are_fitted_too() -> None:
    """A line through the origin is fitted exactly, zero included. A constant 1: E(A) = 1 - A/2 up to A = 1 and
    A/2 - 1 + 1/A beyond, least at A = sqrt(2): sqrt(2) - 1."""
    assert best_fit([(0.0,)]) == (0.0, 0.0)
    assert best_fit([(0.0, -3.0)]) == pytest.approx((-3.0, 0.0), abs=1e-14)
    assert best_fit([(1.0,)]) == pytest.approx((math.sqrt(2), math.sqrt(2) - 1))


def test_polynomials_are_checked() -> None:
    with pytest.raises(UsageError, match="0 polynomials; valid: from 1 to 12"):
        polynomial_capacity([])
    with pytest.raises(UsageError, match="finite numbers from the constant upwards"):
        polynomial_capacity([(0.0, math.nan)])
    with pytest.raises(UsageError, match=r"on task 0; valid: epsilon of at least 0\.41421"):
        polynomial_capacity([(1.0,)], epsilon=0.4)
