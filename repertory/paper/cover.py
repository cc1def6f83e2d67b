"""Theoretical task capacity by its definition: the fewest policies such that every task has a good one among them.

The paper defines C(H, F, epsilon) as N_tasks / N_policies for the smallest library Lambda of policies from a class H
such that each task has a policy in Lambda whose regret is at most epsilon times the task's optimal reward. With a
finite class that is a minimum set cover: a policy covers the tasks on which its regret is small enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from repertory.errors import UsageError

ROUNDING = 1e-12
"""A regret above epsilon by no more than this counts as equal to it: floating-point noise must not decide a cover."""


@dataclass(frozen=True)
class Cover:
    """A smallest set of policies that is good enough on every task. Another set of the same size may exist."""

    n_policies: int
    """The fewest policies that cover all tasks."""
    capacity: float
    """Tasks per policy: the theoretical task capacity C."""
    chosen: tuple[int, ...]
    """The policies of the set, as rows of the regret matrix, in rising order."""
    assignment: tuple[int, ...]
    """For each task, the chosen policy with the least regret on it (a row of the regret matrix)."""


def minimum_cover(regrets: ArrayLike, epsilon: float) -> Cover:
    """The smallest set of policies such that each task has one with regret at most epsilon, found exactly.

    `regrets` has a row per policy and a column per task. For the paper's definition give relative regrets, see
    `relative_regrets`. Set cover is NP-hard; the solver (HiGHS) is exact and takes milliseconds for tens of tasks.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # slow to import, and a report needs no cover

    table = checked_regrets(regrets)
    epsilon = checked_epsilon(epsilon)
    covered = table <= epsilon + ROUNDING
    _require_every_task_covered(table, covered, epsilon)

    # Policies that cover the same tasks are interchangeable, so one of each kind is enough: the one with the least
    # total regret. There are at most 2^tasks kinds however many policies were enumerated.
    by_total_regret = np.argsort(table.sum(axis=1), kind="stable")
    kinds, first = np.unique(covered[by_total_regret], axis=0, return_index=True)
    representatives = by_total_regret[first]

    solution = milp(
        c=np.ones(len(kinds)),
        integrality=np.ones(len(kinds), np.int64),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(kinds.T.astype(np.float64), lb=1.0),
        options={"mip_rel_gap": 0.0},  # the solver's default stops within 0.01 % of the optimum
    )
    if not solution.success:
        raise RuntimeError(f"the set-cover solver stopped without an answer: {solution.message}")

    chosen = np.sort(representatives[solution.x > 0.5])
    assignment = chosen[table[chosen].argmin(axis=0)]
    return Cover(
        n_policies=len(chosen),
        capacity=table.shape[1] / len(chosen),
        chosen=tuple(chosen.tolist()),
        assignment=tuple(assignment.tolist()),
    )


def smallest_epsilon(regrets: ArrayLike) -> float:
    """The smallest tolerance at which a cover exists: the regret of the best policy on the task it serves worst."""
    return max(0.0, float(checked_regrets(regrets).min(axis=0).max()))


def relative_regrets(rewards: ArrayLike, optimal: ArrayLike) -> NDArray[np.float64]:
    """(R* - R) / R* for each policy (row) and task (column), which the paper's definition compares with epsilon.

    `optimal` holds R* per task. Where R* is 0 nothing can be lost, and the relative regret is 0.
    """
    earned = np.asarray(rewards, np.float64)
    best = np.asarray(optimal, np.float64)
    if earned.ndim != 2 or best.shape != earned.shape[1:]:
        raise UsageError(
            f"rewards of shape {earned.shape} with optimal rewards of shape {best.shape}; "
            "valid: (policies, tasks) and (tasks,)"
        )
    if not (np.isfinite(best).all() and (best >= 0).all()):
        raise UsageError(f"optimal rewards {best.tolist()}; valid: numbers of at least 0. Shift the rewards first")
    return (best - earned) / np.where(best > 0, best, 1.0) * (best > 0)


def checked_regrets(regrets: ArrayLike) -> NDArray[np.float64]:
    """The regret matrix as float64, or the reason why it is none."""
    table = np.asarray(regrets, np.float64)
    if table.ndim != 2 or table.size == 0:
        raise UsageError(f"a regret matrix of shape {table.shape}; valid: (policies, tasks), with at least one of each")
    if not np.isfinite(table).all():
        policy, task = np.argwhere(~np.isfinite(table))[0]
        raise UsageError(
            f"the regret of policy {policy} on task {task} is {table[policy, task]}; valid: finite numbers. "
            "Leave out policies that were never evaluated"
        )
    return table


def checked_epsilon(epsilon: float) -> float:
    """The tolerance as a float, or the reason why it is none."""
    if not (np.isfinite(epsilon) and epsilon >= 0):
        raise UsageError(f"epsilon is {epsilon}; valid: a finite number of at least 0, such as 0.25")
    return float(epsilon)


def _require_every_task_covered(table: NDArray[np.float64], covered: NDArray[np.bool_], epsilon: float) -> None:
    uncovered = np.flatnonzero(~covered.any(axis=0))
    if uncovered.size:
        names = ", ".join(str(task) for task in uncovered)
        raise UsageError(
            f"no policy has a regret of at most epsilon={epsilon} on task{'s' if uncovered.size > 1 else ''} {names}; "
            f"valid: epsilon of at least {smallest_epsilon(table)}, or more policies to choose from"
        )
