"""Empirical task capacity (the paper's Section 4.3): how many tasks a policy can be trained to hold.

C_emp(tolerance) = tasks / N, with N the lowest number of policies whose lifetime score is at least (1 - tolerance)
times that of the one-to-one mapping. It is a step function of the tolerance; its integral from 0 to 1 is the
Integrated Task Capacity (ITC).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.analysis.resampling import mean_draws
from repertory.errors import UsageError

GRID = np.arange(101) / 100
"""The tolerances over which the paper averages for its ITC."""


class Step(NamedTuple):
    """From this tolerance on, so many policies are enough."""

    tolerance: float
    policies: int
    capacity: float


@dataclass(frozen=True)
class CapacityCurve:
    """Capacity at every tolerance."""

    n_tasks: int
    reference: int
    """The number of policies that the others are measured against: one for each task, or the most there are."""
    scores: Mapping[int, float]
    """Lifetime score by number of policies."""
    steps: tuple[Step, ...]
    """In order of tolerance; the first is at 0."""

    def policies(self, tolerance: float) -> int:
        """The lowest number of policies within a tolerance."""
        check_tolerance(tolerance)
        return next(step.policies for step in reversed(self.steps) if step.tolerance <= tolerance)

    def capacity(self, tolerance: float) -> float:
        """C_emp: tasks per policy within a tolerance."""
        return self.n_tasks / self.policies(tolerance)

    @property
    def integral(self) -> float:
        """ITC: the exact integral of the step function."""
        ends = [step.tolerance for step in self.steps[1:]] + [1.0]
        return sum((end - step.tolerance) * step.capacity for step, end in zip(self.steps, ends, strict=True))

    @property
    def grid_mean(self) -> float:
        """ITC as the paper computes it: the mean over tolerances 0, .01, ..., 1."""
        last = np.searchsorted([step.tolerance for step in self.steps], GRID, side="right") - 1
        return float(np.mean(np.array([step.capacity for step in self.steps])[last]))


def check_tolerance(tolerance: float) -> None:
    if not 0 <= tolerance <= 1:
        raise UsageError(f"tolerance is {tolerance}; valid: from 0 to 1")


def capacity_curve(scores: Mapping[int, float], n_tasks: int) -> CapacityCurve:
    """From lifetime scores by number of policies; the highest number is the reference."""
    if not scores:
        raise UsageError("no scores; valid: a lifetime score for each of some numbers of policies")
    if not all(np.isfinite(score) for score in scores.values()):
        raise UsageError(f"scores are {dict(scores)}; valid: finite numbers")
    reference = max(scores)
    best = scores[reference]
    if not best > 0:
        raise UsageError(
            f"the score with {reference} policies is {best:.4g}; capacity is a share of it and needs it above 0: train "
            "longer, or count from random play's (repertory capacity empirical --above-random)"
        )
    steps: list[Step] = []
    fewest = reference + 1
    # A smaller library is enough from the tolerance on that it needs, unless a still smaller one needs no more.
    for needed, policies in sorted((max(0.0, 1 - score / best), policies) for policies, score in scores.items()):
        if policies < fewest and needed <= 1:
            fewest = policies
            if steps and steps[-1].tolerance == needed:
                steps.pop()
            steps.append(Step(needed, policies, n_tasks / policies))
    return CapacityCurve(n_tasks, reference, dict(scores), tuple(steps))


def capacities_at(
    scores: NDArray[np.float64], policies: Sequence[int], n_tasks: int, tolerance: float
) -> NDArray[np.float64]:
    """C_emp of many curves at once: scores are (curves, numbers of policies), fewest first, the last the reference.

    NaN where the reference has no score above 0.
    """
    reference = scores[:, -1:]
    with np.errstate(divide="ignore", invalid="ignore"):
        enough = np.maximum(0.0, 1 - scores / reference) <= tolerance
    fewest = np.asarray(policies, np.float64)[enough.argmax(axis=1)]
    return np.where(reference[:, 0] > 0, n_tasks / fewest, np.nan)


def integrated_capacities(scores: NDArray[np.float64], policies: Sequence[int], n_tasks: int) -> NDArray[np.float64]:
    """The mean over the paper's grid of tolerances, of many curves at once."""
    mean: NDArray[np.float64] = np.mean([capacities_at(scores, policies, n_tasks, t) for t in GRID], axis=0)
    return mean


@dataclass(frozen=True)
class CapacityEstimate:
    """A capacity curve from runs, and how sure it is."""

    curve: CapacityCurve
    runs: Mapping[int, int]
    """By number of policies, the fewest first."""
    samples: NDArray[np.float64]
    """(resamples, numbers of policies): scores of resampled runs; empty if a condition has one run only."""

    def capacities(self, tolerance: float | None = None) -> NDArray[np.float64]:
        """C_emp of every resample at a tolerance, or ITC if none is given."""
        if tolerance is None:
            return integrated_capacities(self.samples, list(self.runs), self.curve.n_tasks)
        return capacities_at(self.samples, list(self.runs), self.curve.n_tasks, tolerance)

    def interval(self, tolerance: float | None = None, level: float = 0.95) -> tuple[float, float] | None:
        """Bootstrap interval of C_emp at a tolerance, or of ITC if none is given; None without samples."""
        if not len(self.samples):
            return None
        low, high = np.quantile(self.capacities(tolerance), [(1 - level) / 2, (1 + level) / 2])
        return float(low), float(high)

    def policies_interval(self, tolerance: float, level: float = 0.95) -> tuple[int, int] | None:
        """Bootstrap interval of the number of policies that are enough, whole numbers; None without samples."""
        if not len(self.samples):
            return None
        needed = self.curve.n_tasks / self.capacities(tolerance)
        low, high = np.quantile(needed, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
        return round(low), round(high)

    def confidence(self, policies: int, tolerance: float) -> float | None:
        """The share of resamples in which so many policies are within the tolerance."""
        if not len(self.samples):
            return None
        score = self.samples[:, list(self.runs).index(policies)]
        return float(np.mean(score >= (1 - tolerance) * self.samples[:, -1]))


def estimate_capacity(
    scores: Mapping[int, NDArray[np.float64]],
    n_tasks: int,
    resamples: int = 1000,
    keys: Mapping[int, Sequence[Hashable]] | None = None,
) -> CapacityEstimate:
    """From the lifetime scores of the runs at each number of policies.

    Runs with the same key, such as their number, met the same tasks and are resampled together; without keys, all are
    resampled by themselves.
    """
    curve = capacity_curve({policies: float(np.mean(values)) for policies, values in scores.items()}, n_tasks)
    runs = {n: len(scores[n]) for n in sorted(scores)}
    samples = np.empty((0, len(runs)))
    if min(runs.values()) > 1:
        own = {n: [(n, place) for place in range(runs[n])] if keys is None else keys[n] for n in runs}
        drawn = [mean_draws(np.asarray(scores[n], np.float64)[:, None], own[n], resamples) for n in runs]
        samples = np.hstack(drawn)
    return CapacityEstimate(curve, runs, samples[samples[:, -1] > 0])
