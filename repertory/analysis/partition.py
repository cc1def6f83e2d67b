"""Which tasks can share a policy: pure functions of what some policies score on all tasks."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

MOST_CHOICES = 20_000
"""Sets of policies that are all compared; where there are more, one is added after another."""
SMALLEST_LOSS = 0.005
"""Losses below it are alike: logarithms of noise are no trend."""
FEWEST_TO_PROJECT = 5
"""Looks that a trend needs."""
LATEST = 3
"""Looks whose mean counts: a policy that learns by bootstrapping differs from one look to the next."""


def losses(scores: NDArray[np.float64], best: NDArray[np.float64], base: NDArray[np.float64]) -> NDArray[np.float64]:
    """What scores, whose last axis is the task, are below the best known, as shares of what learning gains there.

    `base` is what no learning scores. On a task where nothing was ever gained, nothing is lost.
    """
    gain = best - base
    lost: NDArray[np.float64] = np.where(gain > 0, (best - scores) / np.where(gain > 0, gain, 1.0), 0.0)
    return lost


def fewest_lost(table: NDArray[np.float64], count: int) -> tuple[int, ...]:
    """The `count` policies that together lose the least, each task with its best: rows of (policy, task)."""
    rows = range(len(table))
    if math.comb(len(table), count) <= MOST_CHOICES:
        return min(itertools.combinations(rows, count), key=lambda chosen: lost_with(table, chosen))
    chosen: tuple[int, ...] = ()
    for _ in range(count):
        added = min((row for row in rows if row not in chosen), key=lambda row: lost_with(table, (*chosen, row)))
        chosen = (*chosen, added)
    return tuple(sorted(chosen))


def lost_with(table: NDArray[np.float64], chosen: Sequence[int]) -> float:
    """The mean loss over tasks, each with the best of the chosen policies."""
    return float(table[list(chosen)].min(axis=0).mean())


def grouped(table: NDArray[np.float64], chosen: Sequence[int]) -> list[tuple[int, ...]]:
    """The tasks of each of the chosen policies: those on which it loses the least. All have one at least."""
    own = table[list(chosen)].argmin(axis=0)
    groups = [tuple(np.flatnonzero(own == place).tolist()) for place in range(len(chosen))]
    return sorted(group for group in groups if group)


def most_opposed(
    table: NDArray[np.float64], homes: Sequence[int], groups: Sequence[Sequence[int]]
) -> tuple[int, int] | None:
    """Of the two groups that are most alike, the two tasks whose policies lose most on each other's.

    Rows of the table are policies, each trained on its home alone. None where fewer than two groups have one.
    """
    row = {home: number for number, home in enumerate(homes)}
    worst = []
    for one, other in itertools.combinations(groups, 2):
        pairs = [(mine, yours) for mine in one for yours in other if mine in row and yours in row]
        if pairs:
            lost = [float(table[row[mine], yours] + table[row[yours], mine]) for mine, yours in pairs]
            worst.append((max(lost), pairs[lost.index(max(lost))]))
    return min(worst)[1] if worst else None


def projected(steps: NDArray[np.float64], lost: NDArray[np.float64], at: float) -> float:
    """What will be lost after `at` steps, by the trend of what was lost: a power of the steps, fitted with caution.

    The first third of the steps is left out, and the trend taken is weaker than the fitted one by a standard error. A
    loss that does not fall stays as it is.
    """
    recent = steps >= steps[-1] / 3
    x, y = np.log(steps[recent]), np.log(np.maximum(lost[recent], SMALLEST_LOSS))
    last = float(lost[-LATEST:].mean())
    if len(x) < FEWEST_TO_PROJECT or at <= steps[-1]:
        return last
    (slope, _), covariance = np.polyfit(x, y, 1, cov=True)
    cautious = min(0.0, float(slope + np.sqrt(covariance[0, 0])))
    return last * float(at / steps[-1]) ** cautious


def task_tree(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """SciPy's linkage of the tasks: near are those on which all policies lose alike."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import pdist

    tree: NDArray[np.float64] = linkage(pdist(table.T, "cityblock") / len(table), "average")
    return tree
