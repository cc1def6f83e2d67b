"""Theoretical task capacity: the smallest cover, against brute force."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from repertory.errors import UsageError
from repertory.paper.cover import Cover, minimum_cover, relative_regrets, smallest_epsilon


def fewest_by_brute_force(regrets: np.ndarray, epsilon: float) -> int | None:
    policies = range(len(regrets))
    for size in range(1, len(regrets) + 1):
        for chosen in combinations(policies, size):
            if (regrets[list(chosen)].min(axis=0) <= epsilon).all():
                return size
    return None


@pytest.mark.parametrize("seed", range(60))
def test_the_cover_is_as_small_as_brute_force_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    regrets = rng.random((rng.integers(1, 9), rng.integers(1, 11)))
    epsilon = rng.uniform(0.1, 0.9)
    fewest = fewest_by_brute_force(regrets, epsilon)
    if fewest is None:
        with pytest.raises(UsageError):
            minimum_cover(regrets, epsilon)
        return
    cover = minimum_cover(regrets, epsilon)
    assert cover.n_policies == len(cover.chosen) == fewest
    assert cover.capacity == regrets.shape[1] / fewest
    for task, policy in enumerate(cover.assignment):
        assert regrets[policy, task] == regrets[list(cover.chosen), task].min() <= epsilon
    # In a smallest set nobody is idle, or the set could do without it.
    assert set(cover.assignment) == set(cover.chosen)


def test_the_greedy_answer_is_not_taken_for_the_smallest() -> None:
    """Greedy takes the policy with four tasks first and then needs two more; the two with three tasks are enough."""
    covers = np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 1, 1, 1, 1, 0]])
    assert minimum_cover(1 - covers, 0.5) == Cover(2, 3.0, chosen=(0, 1), assignment=(0, 0, 0, 1, 1, 1))


def test_the_extremes_are_one_policy_for_all_and_one_for_each() -> None:
    one_each = 1.0 - np.eye(5)
    assert minimum_cover(one_each, 0.0) == Cover(5, 1.0, (0, 1, 2, 3, 4), (0, 1, 2, 3, 4))
    assert minimum_cover(one_each, 1.0).n_policies == 1
    assert minimum_cover([[0.3]], 0.3) == Cover(1, 1.0, (0,), (0,))


def test_rounding_does_not_decide_a_cover() -> None:
    assert 0.1 + 0.2 > 0.3
    assert minimum_cover([[0.1 + 0.2]], 0.3).n_policies == 1


def test_among_policies_that_cover_the_same_tasks_the_best_is_taken() -> None:
    assert minimum_cover([[0.2, 0.2], [0.1, 0.1], [0.2, 0.1]], 0.25).chosen == (1,)


def test_an_impossible_cover_names_the_tasks_and_the_epsilon_that_would_do() -> None:
    regrets = np.array([[0.1, 0.9, 0.5], [0.2, 0.7, 0.4]])
    with pytest.raises(UsageError, match=r"epsilon=0\.25 on tasks 1, 2; valid: epsilon of at least 0\.7,"):
        minimum_cover(regrets, 0.25)
    assert smallest_epsilon(regrets) == 0.7
    assert minimum_cover(regrets, smallest_epsilon(regrets)).n_policies == 1


@pytest.mark.parametrize(
    ("regrets", "epsilon", "message"),
    [
        ([0.1, 0.2], 0.1, r"shape \(2,\)"),
        (np.zeros((0, 3)), 0.1, r"shape \(0, 3\)"),
        (np.zeros((3, 0)), 0.1, r"shape \(3, 0\)"),
        ([[0.1, math.nan]], 0.1, "policy 0 on task 1 is nan"),
        ([[0.1], [math.inf]], 0.1, "policy 1 on task 0 is inf"),
        ([[0.1]], -0.1, r"epsilon is -0\.1"),
        ([[0.1]], math.nan, "epsilon is nan"),
        ([[0.1]], math.inf, "epsilon is inf"),
    ],
)
def test_the_cover_refuses_what_is_no_regret_matrix(regrets: Any, epsilon: float, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        minimum_cover(regrets, epsilon)


def test_relative_regrets_are_shares_of_the_optimum() -> None:
    regrets = relative_regrets([[1.0, 3.0, 0.0], [2.0, 4.0, 0.0]], [2.0, 4.0, 0.0])
    np.testing.assert_array_equal(regrets, [[0.5, 0.25, 0.0], [0.0, 0.0, 0.0]])
    with pytest.raises(UsageError, match=r"\(policies, tasks\) and \(tasks,\)"):
        relative_regrets([[1.0, 2.0]], [1.0])
    with pytest.raises(UsageError, match="Shift the rewards"):
        relative_regrets([[1.0]], [-1.0])
