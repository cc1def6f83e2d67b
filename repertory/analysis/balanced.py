"""A life's scores, freed of which tasks came when.

Tasks differ in what can be scored on them, and a tenth of a life holds some tasks more often than another tenth does.
So tenths are compared by the least-squares fit of

    score of a block = effect of its task + effect of its tenth

and a block's balanced score is its score less the effect of its task, plus the mean effect of all tasks. A policy that
never changes has the same balanced score throughout, up to the noise of its blocks.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

TENTHS = 10

Scores = NDArray[np.float64]


def tenth_of_block(blocks: int) -> NDArray[np.int64]:
    """0 to 9 for each block; some are left out of a life of fewer than ten."""
    tenths: NDArray[np.int64] = np.arange(blocks) * TENTHS // blocks
    return tenths


def balanced_scores(scores: ArrayLike, tasks: ArrayLike, tenths: ArrayLike | None = None) -> Scores:
    """Of each block; `tenths` says which each is in, if they are not all blocks of a life."""
    values = np.asarray(scores, np.float64)
    names, index = np.unique(np.asarray(tasks), return_inverse=True)
    if len(names) == 1:
        return values
    group = tenth_of_block(len(values)) if tenths is None else np.asarray(tenths)
    counts = np.bincount(index)
    member = np.eye(TENTHS)[group]
    # Frisch and Waugh: less the means of their tasks, scores and tenths give the tenths' effects alone.
    shares = np.array([np.bincount(index, column) for column in member.T]).T / counts[:, None]
    within = values - (np.bincount(index, values) / counts)[index]
    effects = np.linalg.lstsq(member - shares[index], within, rcond=None)[0]
    of_task = np.bincount(index, values - effects[group]) / counts
    balanced: Scores = values - of_task[index] + of_task.mean()
    return balanced


def tenths_of_halves(scores: ArrayLike, tasks: ArrayLike) -> Scores:
    """The balanced score over each tenth, by one half of its blocks and by the other: (2, 10).

    What one half finds best can be measured by the other, whose noise had no part in the choice. A life of fewer than
    twenty blocks is not halved.
    """
    values, of_task = np.asarray(scores, np.float64), np.asarray(tasks)
    tenths = tenth_of_block(len(values))
    halves = [np.arange(len(values))] * 2
    if len(values) >= 2 * TENTHS:
        order = np.lexsort((of_task, tenths))  # every other block of a tenth, taken task by task
        halves = [order[0::2], order[1::2]]
    return np.array([_tenth_means(values[half], of_task[half], tenths[half]) for half in halves])


def _tenth_means(scores: Scores, tasks: NDArray[np.int64], tenths: NDArray[np.int64]) -> Scores:
    balanced = balanced_scores(scores, tasks, tenths)
    counts = np.bincount(tenths, minlength=TENTHS)
    with np.errstate(invalid="ignore"):  # no block: NaN
        means: Scores = np.bincount(tenths, balanced, minlength=TENTHS) / counts
    known = ~np.isnan(means)
    return means if known.all() else np.interp(np.arange(TENTHS), np.flatnonzero(known), means[known])


def drop_to_last(halves: Scores) -> Scores:
    """(any, 20) as `tenths_of_halves`, flat: the loss from the best tenth to the last, as a share of the best.

    The best tenth is chosen by one half and measured by the other, and the other way round: a policy that never changes
    loses nothing on average, where the best of ten noisy numbers always lies above the last.
    """
    first, second = halves[:, :TENTHS], halves[:, TENTHS:]
    best, last = np.zeros(len(halves)), np.zeros(len(halves))
    rows = np.arange(len(halves))
    for chosen_by, measured_by in ((first, second), (second, first)):
        best += measured_by[rows, chosen_by.argmax(axis=1)]
        last += measured_by[:, -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        drops: Scores = np.where(best == 0, 0.0, (best - last) / np.abs(best))
    return drops
