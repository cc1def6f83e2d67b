"""The kinds of test that a claim of the paper is put to: functions of the runs at hand.

A kind (`KINDS`) takes the evidence and what `claims.toml` states about a claim, and says whether the claim holds and
from which figures; it is called once all conditions it names have finished runs. Most kinds bound a quantity
(`QUANTITIES`) of conditions: its value, its order, or how it compares with that of other conditions.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from repertory.analysis.capacity import CapacityCurve, capacity_curve
from repertory.analysis.controls import scores_by_policies
from repertory.analysis.significance import f_test
from repertory.errors import UsageError
from repertory.paper.experiments import experiment
from repertory.paper.memory_simulation import memory_table
from repertory.report.claim_certainty import (
    Requirement,
    Weights,
    bounded,
    certainty,
    difference_bounded,
    ratio_bounded,
    rising,
)
from repertory.report.claim_quantities import QUANTITIES, Evidence, NotYet, Reference


class Outcome(NamedTuple):
    """What a test found."""

    holds: bool
    figures: str
    certainty: str = ""
    """Of a test on fewer runs than the paper's, where its printed spread tells."""


# --------------------------------------------------------------------------------------------------- kinds


def within(
    evidence: Evidence,
    *,
    conditions: Sequence[Reference],
    quantity: str,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> Outcome:
    """A quantity of each condition lies between bounds."""
    values = {reference.condition: evidence.value(quantity, reference) for reference in conditions}
    required = itertools.chain(*(bounded({reference: 1.0}, at_least, at_most) for reference in conditions))
    outcome = _bounded(quantity, values, (at_least, at_most), count_runs(evidence, conditions))
    return outcome._replace(certainty=certainty(evidence, quantity, required))


def ordering(evidence: Evidence, *, conditions: Sequence[Reference], quantity: str) -> Outcome:
    """A quantity rises from each condition to the next."""
    values = [evidence.value(quantity, reference) for reference in conditions]
    listed = f"{conditions[0].condition} {values[0]:.3g}"
    for reference, (before, value) in zip(conditions[1:], itertools.pairwise(values), strict=True):
        listed += f" {'<' if before < value else '>= (no)'} {reference.condition} {value:.3g}"
    holds = all(before < value for before, value in itertools.pairwise(values))
    figures = f"{quantity}: {listed}; {count_runs(evidence, conditions)}"
    return Outcome(holds, figures, certainty(evidence, quantity, rising(conditions)))


def compare(
    evidence: Evidence,
    *,
    conditions: Sequence[Reference],
    against: Sequence[Reference],
    quantity: str,
    by: str = "ratio",
    average: bool = False,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> Outcome:
    """A quantity of each condition and of another: their ratio or difference lies between bounds.

    With `average`, the mean over all conditions is compared with the mean over all others.
    """
    compared, require = COMPARISONS[by]
    sides: list[tuple[Weights, Weights]]
    if average:
        means = [float(np.mean([evidence.value(quantity, r) for r in side])) for side in (conditions, against)]
        values = {f"means {means[0]:.3g} and {means[1]:.3g}": compared(*means)}
        sides = [(dict.fromkeys(conditions, 1 / len(conditions)), dict.fromkeys(against, 1 / len(against)))]
    else:
        sign = "/" if by == "ratio" else "-"
        pairs = pair_up(conditions, against)
        values = {
            f"{_label(one, conditions[0])} {sign} {_label(other, conditions[0])}": compared(
                evidence.value(quantity, one), evidence.value(quantity, other)
            )
            for one, other in pairs
        }
        sides = [({one: 1.0}, {other: 1.0}) for one, other in pairs]
    required = itertools.chain(*(require(one, other, at_least, at_most) for one, other in sides))
    runs = count_runs(evidence, [*conditions, *against])
    outcome = _bounded(f"{by} of {quantity}", values, (at_least, at_most), runs)
    return outcome._replace(certainty=certainty(evidence, quantity, required))


def _quotient(one: float, other: float) -> float:
    if other > 0:
        return one / other
    return math.inf if one > other else 1.0 if one == other else 0.0  # nothing to measure by: better, equal or worse


COMPARISONS: Mapping[str, tuple[Callable[[float, float], float], Callable[..., Iterable[Requirement]]]] = {
    "ratio": (_quotient, ratio_bounded),
    "difference": (operator.sub, difference_bounded),
}
"""What is computed from two values, and what bounds on it require of scores."""


def significance(
    evidence: Evidence,
    *,
    conditions: Sequence[Reference],
    against: Sequence[Reference],
    quantity: str,
    expect: str,
    enough: int,
    level: float = 0.01,
) -> Outcome:
    """Each condition is better than another by an F-test, or there is no difference.

    Of few runs hardly any difference is significant, so that none being significant counts from `enough` runs on. In
    the profile `released` it is the p-value that the paper's printed ones follow that decides, else the standard one.
    """
    found: list[bool | None] = []
    listed: list[str] = []
    wanted: dict[Reference, range] = {}
    for one, other in pair_up(conditions, against):
        first, second = evidence.scores(one, quantity), evidence.scores(other, quantity)
        test = f_test(first, second)
        p = test.p if evidence.profile == "text" else test.p_released
        holds: bool | None = expect == "no difference"
        if p < level:
            holds = expect == "better" and bool(first.mean() > second.mean())
        elif min(len(first), len(second)) < enough:
            holds = None
            wanted |= {one: range(enough), other: range(enough)}
        found.append(holds)
        listed.append(
            f"{one.condition} {first.mean():.3g}, {other.condition} {second.mean():.3g}: p {test.p:.2g} standard, "
            f"{test.p_released:.2g} as the paper's" + {True: "", False: " (no)", None: " (open)"}[holds]
        )
    claimed = f"claimed: {expect}, p {'below' if expect == 'better' else 'not below'} {level:g}"
    figures = f"{quantity}: {'; '.join(listed)}; {claimed}; {count_runs(evidence, [*conditions, *against])}"
    if None in found and False not in found:
        raise NotYet(f"{figures}; no significance counts from {enough} runs on", wanted)
    return Outcome(False not in found, figures)


MEASURES: Mapping[str, Callable[[CapacityCurve, float], float]] = {
    "tasks per policy": lambda curve, tolerance: curve.capacity(tolerance),
    "policies needed": lambda curve, tolerance: curve.policies(tolerance),
    "integrated tasks per policy": lambda curve, _tolerance: curve.grid_mean,
}


def capacity(
    evidence: Evidence,
    *,
    conditions: Sequence[Reference],
    measure: str,
    tolerance: float = 0.0,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> Outcome:
    """Empirical task capacity, or the policies it asks for, at a tolerance; or its mean over all tolerances.

    The conditions are the unadaptive ones of a learner.
    """
    home = conditions[0]
    settings = evidence.runs(home)[0].settings
    scores = scores_by_policies(evidence.folders[home.experiment], str(settings["learner"]["name"]))
    means = {policies: float(values.mean()) for policies, values in scores.items()}
    curve = capacity_curve(means, len(settings["task_names"]))
    measured = MEASURES[measure](curve, tolerance)
    reference = curve.scores[curve.reference]
    relative = ", ".join(f"{count}P {score / reference:.2f}" for count, score in sorted(curve.scores.items()))
    runs = f"lifetime scores over that of {curve.reference}P: {relative}; {count_runs(evidence, conditions)}"
    name = measure if "integrated" in measure else f"{measure} at tolerance {tolerance:g}"
    return _bounded(name, {"": measured}, (at_least, at_most), runs)


def memory_growth(
    evidence: Evidence,
    *,
    capacity: float,
    blocks_to_converge: int,
    acceptances: Sequence[float],
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> Outcome:
    """How many times the policies of a fixed library a growing one holds at its peak: a simulation, no runs needed."""
    table = memory_table(capacities=[capacity], blocks_to_converge=[blocks_to_converge], acceptances=acceptances)
    ratios = table["ratio_to_fixed"].to_numpy(float).tolist()
    values = {f"{share:.0%} accepted": ratio for share, ratio in zip(acceptances, ratios, strict=True)}
    return _bounded("peak over fixed", values, (at_least, at_most), "simulation")


def memory_trend(evidence: Evidence, *, factors: Sequence[str]) -> Outcome:
    """A growing library holds more as each factor grows, on average over the others: a simulation, no runs needed."""
    table = memory_table()
    means = {factor: table.groupby(factor)["ratio_to_fixed"].mean() for factor in factors}
    rises = {factor: bool((values.diff().dropna() > 0).all()) for factor, values in means.items()}
    listed = [
        f"{factor} {', '.join(f'{key}: {value:.3g}' for key, value in means[factor].items())}"
        + ("" if rises[factor] else " (no)")
        for factor in factors
    ]
    return Outcome(all(rises.values()), f"mean peak over fixed by {'; by '.join(listed)}; simulation")


KINDS: Mapping[str, Callable[..., Outcome]] = {
    "within": within,
    "ordering": ordering,
    "compare": compare,
    "significance": significance,
    "capacity": capacity,
    "memory growth": memory_growth,
    "memory trend": memory_trend,
}
CHOICES: Mapping[str, Iterable[str]] = {
    "quantity": QUANTITIES,
    "by": COMPARISONS,
    "expect": ("better", "no difference"),
    "measure": MEASURES,
}
"""What parameters of kinds can be."""


# ------------------------------------------------------------------------------------------------ together


def _bounded(what: str, values: Mapping[str, float], bounds: tuple[float, float], runs: str) -> Outcome:
    """All values must lie between the bounds; those that do not are marked."""
    low, high = bounds
    inside = {name: low <= value <= high for name, value in values.items()}
    listed = ", ".join(f"{name} {value:.3g}{'' if inside[name] else ' (no)'}".strip() for name, value in values.items())
    if low == high:
        claimed = f"{low:g}"
    elif math.isinf(high):
        claimed = f"at least {low:g}"
    else:
        claimed = f"at most {high:g}" if math.isinf(low) else f"{low:g} to {high:g}"
    return Outcome(all(inside.values()), f"{what}: {listed}; claimed: {claimed}; {runs}")


def pair_up(conditions: Sequence[Reference], against: Sequence[Reference]) -> list[tuple[Reference, Reference]]:
    """As many of each, or one for all."""
    longest = max(len(conditions), len(against))
    sides = [list(side) * (longest if len(side) == 1 else 1) for side in (conditions, against)]
    if len(sides[0]) != len(sides[1]):
        raise UsageError(f"{len(conditions)} conditions against {len(against)}; valid: as many, or one")
    return list(zip(*sides, strict=True))


def _label(reference: Reference, beside: Reference) -> str:
    """A condition's name, with its experiment's where that is another."""
    same = reference.experiment == beside.experiment
    return reference.condition if same else f"{reference.experiment}/{reference.condition}"


def count_runs(evidence: Evidence, references: Sequence[Reference]) -> str:
    """How many there are of each, beside how many the paper has: few decide little."""
    ours, papers = (
        "-".join(map(str, sorted({min(counts), max(counts)})))
        for counts in (
            [len(evidence.runs(reference)) for reference in references],
            [experiment(reference.experiment).runs for reference in references],
        )
    )
    return f"{ours} run{'' if ours == '1' else 's'} each (the paper: {papers})"
