"""The kinds of test that a claim of the paper is put to: functions of the runs at hand.

A kind (`KINDS`) takes the evidence and what `claims.toml` states about a claim, and says whether the claim holds and
from which figures; it is called once all conditions it names have finished runs. Most kinds bound a quantity
(`QUANTITIES`) of conditions: its value, its order, or how it compares with that of other conditions. A bound is met or
missed only if the whole interval of the estimate lies on one side of it; else the runs do not tell.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.analysis.capacity import capacities_at, integrated_capacities
from repertory.analysis.controls import run_key
from repertory.analysis.resampling import Estimate, combined
from repertory.analysis.significance import f_test, paired_test
from repertory.errors import UsageError
from repertory.paper.experiments import experiment
from repertory.paper.memory_simulation import memory_table
from repertory.report.claim_quantities import ENOUGH_RUNS, QUANTITIES, SCORES, Evidence, Reference
from repertory.report.claim_theory import THEORY


class Outcome(NamedTuple):
    """What a test found."""

    holds: bool | None
    """None: the runs do not tell."""
    figures: str
    leans: bool = True
    """Whether it would hold if the estimates were certain."""
    wanted: Mapping[Reference, int] = {}
    """How many runs of each condition to ask for, where they do not tell."""
    runs: float = math.nan
    """How many would tell, if more are like those at hand: infinite if more than the paper has, NaN if nobody knows."""


class Bounds(NamedTuple):
    """What a claim lets a figure be."""

    at_least: float = -math.inf
    at_most: float = math.inf

    def __str__(self) -> str:
        if self.at_least == self.at_most:
            return f"{self.at_least:g}"
        if math.isinf(self.at_most):
            return f"at least {self.at_least:g}"
        return f"at most {self.at_most:g}" if math.isinf(self.at_least) else f"{self.at_least:g} to {self.at_most:g}"


ABOVE_0 = Bounds(math.ulp(0.0))


class Check(NamedTuple):
    """One of the figures that a test is made of."""

    holds: bool | None
    leans: bool
    text: str
    runs: float = math.nan
    """How many would tell, if it does not hold nor fail."""


# --------------------------------------------------------------------------------------------------- kinds


def within(evidence: Evidence, *, conditions: Sequence[Reference], quantity: str, bounds: Bounds) -> Outcome:
    """A quantity of each condition lies between bounds."""
    checks = []
    for reference in conditions:
        found = evidence.estimate(quantity, reference)
        entered = entered_text(evidence, quantity, [reference])
        checks.append(checked(reference.condition, found, bounds, entered))
    return concluded(evidence, quantity, checks, str(bounds), conditions)


def ordering(evidence: Evidence, *, conditions: Sequence[Reference], quantity: str) -> Outcome:
    """A quantity rises from each condition to the next."""
    checks = []
    for one, other in itertools.pairwise(conditions):
        rise = combined(operator.sub, evidence.estimate(quantity, other), evidence.estimate(quantity, one))
        name = f"{_label(one, conditions[0])} to {_label(other, conditions[0])}"
        entered = entered_text(evidence, quantity, [one, other])
        checks.append(checked(name, rise, ABOVE_0, entered, sign="+"))
    values = ", ".join(f"{r.condition} {evidence.estimate(quantity, r).value:.3g}" for r in conditions)
    return concluded(evidence, f"{quantity}: {values}; steps", checks, "above 0", conditions)


def compare(
    evidence: Evidence,
    *,
    conditions: Sequence[Reference],
    against: Sequence[Reference],
    quantity: str,
    bounds: Bounds,
    by: str = "ratio",
    average: bool = False,
) -> Outcome:
    """A quantity of each condition and of another: their ratio or difference lies between bounds.

    With `average`, the mean over all conditions is compared with the mean over all others.
    """
    groups = [(conditions, against)] if average else [((one,), (other,)) for one, other in pair_up(conditions, against)]
    checks = []
    for ones, others in groups:
        sides = [combined(_mean, *(evidence.estimate(quantity, r) for r in side)) for side in (ones, others)]
        name = f"means {sides[0].value:.3g} and {sides[1].value:.3g}"
        if not average:
            sign = "/" if by == "ratio" else "-"
            name = f"{_label(ones[0], conditions[0])} {sign} {_label(others[0], conditions[0])}"
        found = combined(COMPARISONS[by], *sides)
        entered = entered_text(evidence, quantity, [*ones, *others])
        checks.append(checked(name, found, bounds, entered))
    return concluded(evidence, f"{by} of {quantity}", checks, str(bounds), [*conditions, *against])


def _mean(*values: NDArray[np.float64]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = np.mean(values, axis=0)
    return mean


def _quotient(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Without anything to measure by, infinite, one or zero: better, equal or worse."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(other > 0, one / other, np.where(one > other, math.inf, np.where(one == other, 1.0, 0.0)))
    return np.where(np.isnan(one) | np.isnan(other), math.nan, ratio)


COMPARISONS: Mapping[str, Callable[..., Any]] = {"ratio": _quotient, "difference": operator.sub}


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
    the profile `released` it is the p-value that the paper's printed ones follow that decides, else the standard one. A
    paired t-test, of runs that met the same tasks, stands beside them.
    """
    checks = []
    wanted: dict[Reference, int] = {}
    for one, other in pair_up(conditions, against):
        first, second = evidence.scores(one, quantity), evidence.scores(other, quantity)
        test = f_test(first, second)
        p = test.p if evidence.profile == "text" else test.p_released
        holds: bool | None = expect == "no difference"
        leans = bool(holds)
        if p < level:
            holds = leans = expect == "better" and bool(first.mean() > second.mean())
        elif min(len(first), len(second)) < enough:
            holds = None
            leans = expect == "no difference" or bool(first.mean() > second.mean())
            wanted |= {one: enough, other: enough}
        paired = paired_test(_by_key(evidence, one, first), _by_key(evidence, other, second))
        beside = f", {paired.p:.2g} paired" if math.isfinite(paired.p) else ""
        less = combined(operator.sub, evidence.estimate(quantity, one), evidence.estimate(quantity, other))
        text = (
            f"{one.condition} {first.mean():.3g} - {other.condition} {second.mean():.3g}: "
            f"{_with_interval(less, entered_text(evidence, quantity, [one, other]))}, p {test.p:.2g} standard, "
            f"{test.p_released:.2g} as the paper's{beside}{_printed(one, other, quantity)}"
        )
        checks.append(Check(holds, leans, text))
    claimed = f"{expect}, p {'below' if expect == 'better' else 'not below'} {level:g}"
    outcome = concluded(evidence, quantity, checks, claimed, [*conditions, *against])
    if outcome.holds is None:
        figures = f"{outcome.figures}; no significance counts from {enough} runs on"
        return outcome._replace(wanted=wanted, figures=figures)
    return outcome


def _printed(one: Reference, other: Reference, quantity: str) -> str:
    """The p-value that the paper prints of a pair, if it does."""
    for known in experiment(one.experiment).comparisons if one.experiment == other.experiment else ():
        if set(known.conditions) == {one.condition, other.condition} and known.score == SCORES[quantity]:
            return f" (the paper prints {known.p:g})"
    return ""


def _by_key(evidence: Evidence, reference: Reference, scores: NDArray[np.float64]) -> dict[tuple[int, int], float]:
    return {run_key(run): float(score) for run, score in zip(evidence.runs(reference), scores, strict=True)}


def falling(evidence: Evidence, *, conditions: Sequence[Reference], quantities: Sequence[str]) -> Outcome:
    """Of each condition, every quantity is below the one before it."""
    checks = []
    for reference in conditions:
        found = [evidence.estimate(quantity, reference) for quantity in quantities]
        entered = entered_text(evidence, quantities[-1], [reference])
        values = " > ".join(f"{each.value:.3g}" for each in found)
        steps = [combined(operator.sub, *pair) for pair in itertools.pairwise(found)]
        each = [checked("", step, ABOVE_0, "") for step in steps]
        leans = all(check.leans for check in each)
        checks.append(Check(all_hold(each), leans, f"{reference.condition} {values} ({entered})", runs_to_tell(each)))
    return concluded(evidence, " > ".join(quantities), checks, "each below the one before", conditions)


def theory(evidence: Evidence, *, subject: str) -> Outcome:
    """What follows without runs."""
    found = THEORY[subject]()
    return Outcome(found.holds, found.figures, found.holds)


MEASURES = ("tasks per policy", "policies needed", "integrated tasks per policy")


def capacity(
    evidence: Evidence, *, conditions: Sequence[Reference], measure: str, bounds: Bounds, tolerance: float = 0.0
) -> Outcome:
    """Empirical task capacity, or the policies it asks for, at a tolerance; or its mean over all tolerances.

    The conditions are the unadaptive ones of a learner.
    """
    known = experiment(conditions[0].experiment).conditions
    in_order = sorted(conditions, key=lambda reference: known[reference.condition].policies)
    policies = [known[reference.condition].policies for reference in in_order]
    n_tasks = len(evidence.runs(conditions[0])[0].settings["task_names"])
    estimates = [evidence.estimate("lifetime score", reference) for reference in in_order]
    if not estimates[-1].value > 0:
        raise UsageError(
            f"the score with {policies[-1]} policies is {estimates[-1].value:.4g}; capacity needs it above 0"
        )

    def measured(*scores: NDArray[np.float64]) -> NDArray[np.float64]:
        table = np.column_stack(scores)
        if "integrated" in measure:
            return integrated_capacities(table, policies, n_tasks)
        tasks_per_policy = capacities_at(table, policies, n_tasks, tolerance)
        return n_tasks / tasks_per_policy if measure == "policies needed" else tasks_per_policy

    scores = zip(policies, estimates, strict=True)
    relative = ", ".join(f"{count}P {known.value / estimates[-1].value:.2f}" for count, known in scores)
    name = measure if "integrated" in measure else f"{measure} at tolerance {tolerance:g}"
    entered = entered_text(evidence, "lifetime score", in_order)
    check = checked("", combined(measured, *estimates), bounds, entered)
    shown = f"{bounds}; lifetime scores over that of {policies[-1]}P: {relative}"
    return concluded(evidence, name, [check], shown, conditions)


def memory_growth(
    evidence: Evidence, *, capacity: float, blocks_to_converge: int, acceptances: Sequence[float], bounds: Bounds
) -> Outcome:
    """How many times the policies of a fixed library a growing one holds at its peak: a simulation, no runs needed."""
    table = memory_table(capacities=[capacity], blocks_to_converge=[blocks_to_converge], acceptances=acceptances)
    ratios = table["ratio_to_fixed"].to_numpy(float).tolist()
    values = {f"{share:.0%} accepted": ratio for share, ratio in zip(acceptances, ratios, strict=True)}
    inside = {name: bounds.at_least <= value <= bounds.at_most for name, value in values.items()}
    checks = [Check(inside[name], inside[name], f"{name} {value:.3g}") for name, value in values.items()]
    return _together("peak over fixed", checks, f"{bounds}; simulation")


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
    "falling": falling,
    "theory": theory,
    "capacity": capacity,
    "memory growth": memory_growth,
    "memory trend": memory_trend,
}
CHOICES: Mapping[str, Iterable[str]] = {
    "quantity": QUANTITIES,
    "by": COMPARISONS,
    "expect": ("better", "no difference"),
    "measure": MEASURES,
    "subject": THEORY,
}
"""What parameters of kinds can be."""


# ------------------------------------------------------------------------------------------------ together


def checked(name: str, found: Estimate, bounds: Bounds, entered: str, sign: str = "") -> Check:
    """Whether the whole interval of an estimate lies between bounds, or beyond one of them."""
    holds, (low, high) = found.interval.lies_within(*bounds), bounds
    text = f"{name} {_with_interval(found, entered, sign)}".strip()
    runs = found.runs_to_tell(low, high) if holds is None else 0.0
    return Check(holds, low <= found.value <= high, text, runs)


def _with_interval(found: Estimate, entered: str, sign: str = "") -> str:
    least, most = found.interval
    spread = "" if math.isnan(least) else f"{least:.3g} to {most:.3g}; "
    return f"{found.value:{sign}.3g} ({spread}{entered})"


def concluded(
    evidence: Evidence, what: str, checks: Sequence[Check], claimed: str, conditions: Sequence[Reference]
) -> Outcome:
    """All must hold; one that does not is enough. Where the runs do not tell, more of them are wanted."""
    papers = sorted({experiment(reference.experiment).runs for reference in conditions})
    outcome = _together(what, checks, f"{claimed}; the paper: {'-'.join(map(str, papers))} runs")
    if outcome.holds is not None:
        return outcome
    runs = runs_to_tell(checks)
    wanted = {reference: more_runs(evidence, reference, runs) for reference in conditions}
    return outcome._replace(wanted=wanted, runs=math.inf if runs > papers[0] else runs)


def _together(what: str, checks: Sequence[Check], claimed: str) -> Outcome:
    found = {check.holds for check in checks}
    marks = {True: "", False: " (no)", None: "" if found == {None} else " (open)"}
    listed = ", ".join(f"{check.text}{marks[check.holds]}" for check in checks)
    return Outcome(all_hold(checks), f"{what}: {listed}; claimed: {claimed}", all(check.leans for check in checks))


def all_hold(checks: Sequence[Check]) -> bool | None:
    """None if some are open and none fails."""
    found = {check.holds for check in checks}
    return False if False in found else None if None in found else True


def runs_to_tell(checks: Sequence[Check]) -> float:
    """How many it takes until one fails of those that would, or else until all hold; NaN if nobody knows."""
    waiting = [check for check in checks if check.holds is None]
    failing = [check.runs for check in waiting if not check.leans]
    if not failing:
        return float(np.max([0.0, *(check.runs for check in waiting)]))
    soonest = float(np.fmin.reduce(failing))
    return math.nan if math.isinf(soonest) and np.isnan(failing).any() else soonest


def more_runs(evidence: Evidence, reference: Reference, enough: float) -> int:
    """Twice as many, or what is enough if that is less; six at least, and no more than the paper has.

    Six only, where the paper's would not be enough: that so many are needed is what fewer cannot tell.
    """
    papers = experiment(reference.experiment).runs
    most = ENOUGH_RUNS if enough > papers else 2 * len(evidence.runs(reference))
    return min(papers, max(ENOUGH_RUNS, int(np.fmin(most, enough))))


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


def entered_text(evidence: Evidence, quantity: str, references: Sequence[Reference]) -> str:
    """How many runs of each condition really entered."""
    counts = [evidence.quantified(quantity, reference).runs for reference in references]
    ours = "-".join(map(str, sorted({min(counts), max(counts)})))
    return f"{ours} run{'' if ours == '1' else 's'}"
