"""How certain a verdict is that rests on fewer runs than the paper's: would it outlast the spread the paper prints?

By a published standard deviation s over runs, the mean score of n runs has a standard error of s / sqrt(n). A verdict
is *clear* if the scores that decide it lie beyond their bounds by more than two such errors, and *within the published
spread* if not. It is the same verdict either way. Nothing is said where the paper prints no deviation for one of the
conditions, of sweeps that are not of the paper's length, or where there are as many runs as the paper's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from repertory.paper.experiments import experiment
from repertory.report.claim_quantities import SCORES, Evidence, Reference

CLEAR, WITHIN_SPREAD = "clear", "within the published spread"
ERRORS = 2.0
"""Standard errors beyond a bound from which on a verdict is clear."""

Weights = Mapping[Reference, float]


class Requirement(NamedTuple):
    """That the sum of a score over conditions, each with its weight, is at least some number."""

    weights: Weights
    least: float


def bounded(scores: Weights, low: float, high: float) -> Iterator[Requirement]:
    """A sum of scores lies between bounds."""
    if math.isfinite(low):
        yield Requirement(scores, low)
    if math.isfinite(high):
        yield Requirement(_sum(scores, {}, -1.0, 0.0), -high)


def difference_bounded(one: Weights, other: Weights, low: float, high: float) -> Iterator[Requirement]:
    yield from bounded(_sum(one, other, 1.0, -1.0), low, high)


def ratio_bounded(one: Weights, other: Weights, low: float, high: float) -> Iterator[Requirement]:
    """One is at least `low` and at most `high` times the other, which is above 0."""
    if math.isfinite(low):
        yield Requirement(_sum(one, other, 1.0, -low), 0.0)
    if math.isfinite(high):
        yield Requirement(_sum(one, other, -1.0, high), 0.0)
    yield Requirement(other, 0.0)


def rising(conditions: Sequence[Reference]) -> Iterator[Requirement]:
    """Each score is above the one before."""
    for before, after in itertools.pairwise(conditions):
        yield Requirement({after: 1.0, before: -1.0}, 0.0)


def _sum(one: Weights, other: Weights, first: float, second: float) -> dict[Reference, float]:
    total = {reference: first * weight for reference, weight in one.items()}
    for reference, weight in other.items():
        total[reference] = total.get(reference, 0.0) + second * weight
    return total


def certainty(evidence: Evidence, quantity: str, requirements: Iterable[Requirement]) -> str:
    """Of a verdict that stands if all requirements are met and falls if one is not; empty if nothing can be said."""
    requirements = list(requirements)
    references = {reference for requirement in requirements for reference in requirement.weights}
    errors = {reference: standard_error(evidence, quantity, reference) for reference in references}
    known = {reference: error for reference, error in errors.items() if error is not None}
    is_short = any(len(evidence.runs(r)) < experiment(r.experiment).runs for r in references)
    if not is_short or len(known) < len(references) or not evidence.is_full_length:
        return ""
    worst = min(_margin(evidence, quantity, requirement, known) for requirement in requirements)
    return CLEAR if abs(worst) > ERRORS else WITHIN_SPREAD  # below 0, it is the one that the verdict falls by


def _margin(evidence: Evidence, quantity: str, requirement: Requirement, errors: Weights) -> float:
    """By how many standard errors a requirement is met; below 0 if it is not."""
    value = sum(weight * evidence.value(quantity, reference) for reference, weight in requirement.weights.items())
    error = math.hypot(*(weight * errors[reference] for reference, weight in requirement.weights.items()))
    return (value - requirement.least) / error


def standard_error(evidence: Evidence, quantity: str, reference: Reference) -> float | None:
    """Of the mean over the runs at hand, by the published deviation; None if there is none."""
    if quantity not in SCORES:
        return None
    published = getattr(experiment(reference.experiment).conditions[reference.condition], SCORES[quantity])
    if published is None or not published.deviation:
        return None
    return float(published.deviation) / math.sqrt(len(evidence.runs(reference)))
