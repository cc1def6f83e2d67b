"""Intervals over runs: a bootstrap in which runs that met the same tasks in the same order are drawn together.

Each run gets a random weight (Rubin's Bayesian bootstrap, so that no condition is ever left without a run), and runs
with the same key get the same weight in every condition: what is compared then is run with run. A bootstrap of few runs
is too narrow. The means it draws are therefore stretched about the estimate to the width of Student's t: for a mean of
n normal scores that gives the t-interval, give or take a percent of coverage.

    own = estimate(scores_of_one, keys_of_one)
    other = estimate(scores_of_other, keys_of_other)
    ratio = combined(np.divide, own, other)
    ratio.value, ratio.interval
"""

from __future__ import annotations

import math
import zlib
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri, stdtrit

RESAMPLES = 2000
LEVEL = 0.95
MOST_RUNS = 100
"""Nobody makes more."""

Samples = NDArray[np.float64]


class Interval(NamedTuple):
    """A confidence interval."""

    low: float
    high: float

    def lies_within(self, low: float, high: float) -> bool | None:
        """Whether all of it lies between bounds; None if only a part does, or if it is not known."""
        if low <= self.low and self.high <= high:
            return True
        return False if self.high < low or self.low > high else None


@dataclass(frozen=True, eq=False)
class Estimate:
    """A value, and what it is in every resample."""

    value: float
    draws: Samples
    """All NaN if nothing is known of its spread, as from a single run."""
    foreseen: Callable[[int], Samples]
    """What they would be if there were at least so many runs of everything, like those at hand."""

    @property
    def interval(self) -> Interval:
        """The middle 95% of the draws, and the value; both ends NaN where more draws than are cut off have none."""
        tail = (1 - LEVEL) / 2
        known = self.draws[~np.isnan(self.draws)]
        if len(self.draws) - len(known) > tail * len(self.draws):
            return Interval(math.nan, math.nan)
        low = np.quantile(known, tail, method="lower")  # not between two draws, one of which may be infinite
        high = np.quantile(known, 1 - tail, method="higher")
        return Interval(min(float(low), self.value), max(float(high), self.value))

    def runs_to_tell(self, low: float, high: float) -> float:
        """How many runs of everything, like those at hand, make an interval that lies between bounds or beyond one.

        Infinite if nobody makes so many, NaN if nothing is known.
        """
        if math.isnan(self.interval.low):
            return math.nan

        def tell(runs: int) -> bool:
            return replace(self, draws=self.foreseen(runs)).interval.lies_within(low, high) is not None

        runs = bisect_left(range(MOST_RUNS + 1), True, key=tell)
        return runs if runs <= MOST_RUNS else math.inf


def estimate(
    rows: ArrayLike, keys: Sequence[Hashable], combine: Callable[[Any], Any] | None = None, resamples: int = RESAMPLES
) -> Estimate:
    """Of the mean over runs of a number, or of several that `combine` makes one: (any, numbers) to (any,)."""
    runs = np.asarray(rows, np.float64)
    runs = runs[:, None] if runs.ndim == 1 else runs
    combine = combine or _only
    value = float(combine(_mean(runs)[None])[0])
    if len(runs) < 2:
        unknown = np.full(resamples, np.nan)
        return Estimate(value, unknown, lambda _more: unknown)
    mean, means = _mean(runs), mean_draws(runs, keys, resamples)
    width = _reach(len(runs) - 1) / math.sqrt(len(runs))

    def foreseen(more: int) -> Samples:
        return np.asarray(combine(mean + _narrower(width, more) * (means - mean)), np.float64)

    return Estimate(value, np.asarray(combine(means), np.float64), foreseen)


def from_spread(value: float, deviation: float, runs: int, key: Hashable, resamples: int = RESAMPLES) -> Estimate:
    """Of a mean over runs whose deviation is known from elsewhere; `key` makes its draws its own."""
    errors = deviation / math.sqrt(runs) * _generator(("normal", key)).standard_normal(resamples)
    width = _reach(math.inf) / math.sqrt(runs)
    return Estimate(value, value + errors, lambda more: value + _narrower(width, more) * errors)


def combined(function: Callable[..., Any], *estimates: Estimate) -> Estimate:
    """A function of estimates, which takes arrays."""

    def of(parts: Iterable[Samples]) -> Samples:
        return np.asarray(function(*parts), np.float64)

    value = float(of(np.array([known.value]) for known in estimates)[0])
    draws = of(known.draws for known in estimates)
    return Estimate(value, draws, lambda more: of(known.foreseen(more) for known in estimates))


def mean_draws(rows: Samples, keys: Sequence[Hashable], resamples: int = RESAMPLES) -> Samples:
    """The mean over runs in every resample, stretched: (resamples, numbers)."""
    n = len(rows)
    weights = np.array([_weights(key, resamples) for key in keys])
    mean = _mean(rows)
    drawn = weights.T @ (rows - mean) / weights.sum(axis=0)[:, None]
    # A weighted mean has the deviation s0 / sqrt(n + 1), where the mean's error is s0 / sqrt(n - 1).
    stretch = math.sqrt((n + 1) / (n - 1)) * _reach(n - 1) / _reach(math.inf)
    stretched: Samples = mean + stretch * drawn
    return stretched


def _reach(freedom: float) -> float:
    """Of an interval to either side, in standard errors."""
    return float(stdtrit(freedom, (1 + LEVEL) / 2) if math.isfinite(freedom) else ndtri((1 + LEVEL) / 2))


def _narrower(width: float, runs: int) -> float:
    """To which share an interval of a width, in standard deviations, shrinks if there are at least so many runs."""
    return min(1.0, _reach(runs - 1) / math.sqrt(runs) / width) if runs > 1 else 1.0


def _mean(rows: Samples) -> Samples:
    """Over runs; without a rounding error if they are all alike, for their interval to have no width."""
    mean: Samples = rows[0] + (rows - rows[0]).mean(axis=0)
    return mean


@lru_cache(maxsize=4096)
def _weights(key: Hashable, resamples: int) -> Samples:
    return _generator(("weight", key)).standard_exponential(resamples)


def _generator(key: Hashable) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def _only(means: Samples) -> Samples:
    return means[:, 0]
