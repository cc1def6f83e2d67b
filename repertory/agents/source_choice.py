"""Which task to train the next source on, by the contexts of tasks: the two rules of model-based transfer learning.

Points are contexts, a row for each task. `sources` are the tasks chosen before, and `transfers[i, y]` is the return of
the policy trained on `sources[i]` when it plays task y. Both rules are as in the authors' code, mit-wu-lab/SD-MBTL
(*Structure detection for contextual reinforcement learning*, AAAI 2026), but for contexts that need not be a grid of
whole numbers. The second is that of J. Cho and others, *Model-based transfer learning for contextual reinforcement
learning*, NeurIPS 2024.
"""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
FEW_SOURCES = 3
"""From so many sources on, the Gaussian process has something to go by."""
DIGITS = 9
"""After the point, by which what is nearest is told; on a grid many are equal but for the last digits."""
MOST_MOVES = 300
"""Of a centre, until it stays where it is; it usually does after a few."""


def scaled(contexts: Points) -> Points:
    """Each feature from 0 to 1, so that distances do not depend on its unit."""
    spread = np.ptp(contexts, axis=0)
    points: Points = (contexts - contexts.min(axis=0)) / np.where(spread > 0, spread, 1.0)
    return points


def next_centre(points: Points, sources: list[int]) -> int:
    """M-MBTL, k-means of which only the newest centre moves: the task nearest to where that centre comes to rest.

    The centre starts from every task in turn, and the start that leaves all tasks nearest to some centre counts, by the
    sum of their L1 distances.
    """
    nearest = np.full(len(points), np.inf)
    for source in sources:
        nearest = np.minimum(nearest, _distances(points, points[source]))
    centres = [_at_rest(points, start, nearest) for start in points]
    costs = [np.minimum(nearest, _distances(points, centre)).sum() for centre in centres]
    return nearest_task(points, centres[int(np.round(costs, DIGITS).argmin())], sources)


def _at_rest(points: Points, centre: Points, nearest: NDArray[np.float64]) -> Points:
    """A centre moved to the mean of the tasks that are nearer to it than to any other, again and again."""
    for _ in range(MOST_MOVES):
        own = points[_distances(points, centre) <= nearest]
        moved = own.mean(axis=0) if len(own) else centre
        if np.abs(moved - centre).max() < 1e-6:
            break
        centre = moved
    return centre


def _distances(points: Points, centre: Points) -> NDArray[np.float64]:
    distances: NDArray[np.float64] = np.abs(points - centre).sum(axis=1)
    return distances


def nearest_task(points: Points, centre: Points, sources: list[int]) -> int:
    """Of those that are no source yet."""
    distances = np.round(_distances(points, centre), DIGITS)
    distances[sources] = np.inf
    return int(distances.argmin())


def next_by_process(points: Points, sources: list[int], transfers: NDArray[np.float64]) -> int:
    """GP-MBTL. The first source is the task in the middle, the second and third are those that do worst so far."""
    if not sources:
        return nearest_task(points, points.mean(axis=0), sources)
    best = transfers.max(axis=0)
    if len(sources) < FEW_SOURCES:
        gains = -best
    else:
        mean, deviation = own_returns(points, sources, transfers)
        gains = acquisition(mean, deviation, losses(points, sources, transfers), best, len(sources) + 1)
    gains[sources] = -np.inf
    return int(gains.argmax())


def acquisition(
    mean: NDArray[np.float64],
    deviation: NDArray[np.float64],
    loss: NDArray[np.float64],
    best: NDArray[np.float64],
    k: int,
) -> NDArray[np.float64]:
    """What the k-th source would add if it were trained on task x, over all tasks y, seen with optimism:
    mean over y of max(0, mean(x) + sqrt(log k) deviation(x) - loss(x, y) - best(y))."""
    hoped = mean + math.sqrt(math.log(k)) * deviation
    gains: NDArray[np.float64] = np.maximum(hoped[:, None] - loss - best, 0.0).mean(axis=1)
    return gains


def losses(points: Points, sources: list[int], transfers: NDArray[np.float64]) -> NDArray[np.float64]:
    """loss(x, y), from task x to task y: linear in the distance along each feature, with a slope for either side.

    The slopes are those that fit all returns that were evaluated best, by least squares.
    """
    aside = _sides(points[sources], points)
    known = aside.reshape(-1, aside.shape[2])
    fitted = np.linalg.lstsq(np.column_stack([np.ones(len(known)), known]), transfers.ravel(), rcond=None)[0]
    loss: NDArray[np.float64] = -(_sides(points, points) @ fitted[1:])
    return loss


def _sides(ones: Points, others: Points) -> NDArray[np.float64]:
    """(one, other, feature twice): how far one lies below the other, as a negative number, and how far above."""
    difference = ones[:, None, :] - others[None, :, :]
    return np.concatenate([np.minimum(difference, 0.0), np.maximum(difference, 0.0)], axis=2)


def own_returns(
    points: Points, sources: list[int], transfers: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and deviation of what a policy would come to on the task x it is trained on, for each x: a Gaussian process
    with a Gaussian kernel and noise, fitted to that of the sources by its likelihood."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    process = GaussianProcessRegressor(ConstantKernel() * RBF() + WhiteKernel(), normalize_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a few returns that are alike have no best length scale
        process.fit(points[sources], transfers[np.arange(len(sources)), sources])
    mean, deviation = process.predict(points, return_std=True)
    return mean, deviation
