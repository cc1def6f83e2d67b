"""How many policies the runs say are enough, and what is to be known before the number is taken for true."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from repertory.analysis.capacity import CapacityEstimate
from repertory.analysis.controls import capacity_of, runs_by_policies
from repertory.analysis.update_control import capacity_parts, controls_for, parts_warning
from repertory.errors import UsageError
from repertory.report.claim_quantities import ENOUGH_RUNS
from repertory.report.claims import shorter
from repertory.report.sections.health import has_health
from repertory.sweeps.results import Results
from repertory.wording import counted

TOLERANCE = 0.05
"""Where the paper has none of its own: that of `repertory capacity empirical`."""


@dataclass(frozen=True)
class Answer:
    """Of one learner, on one domain."""

    learner: str
    policies: int | None
    """None if the runs cannot say; the only caveat is why."""
    claim: str
    """What the number is of, and how sure it is."""
    meaning: str
    caveats: tuple[str, ...]


def answers(results: Results) -> list[Answer]:
    """One for each learner; the runs must be of one domain."""
    return [_answer(results, learner) for learner in results.learners()]


def _answer(results: Results, learner: str) -> Answer:
    try:
        if len(runs_by_policies(results, learner)) < 2:
            return _unanswered(
                learner,
                "A number needs finished runs with fixed policies (selector fixed-partition or one-to-one) of two "
                "sizes or more, one of them with a policy for each task. Next: repertory capacity recommend",
            )
        estimate = capacity_of(results, learner)
    except UsageError as reason:  # such as a library that the others are measured against, not there yet
        return _unanswered(learner, str(reason))
    published = None if results.experiment is None else results.experiment.capacity.get(learner)
    tolerance = TOLERANCE if published is None else published.tolerance
    policies, n_tasks = estimate.curve.policies(tolerance), estimate.curve.n_tasks
    interval = estimate.policies_interval(tolerance)
    sure = "no interval" if interval is None else f"95% interval: {_from_to(*interval)}"
    papers = None if published is None else published.policies or _whole(n_tasks, published.capacity)
    paper = "" if papers is None else f"; the paper: {papers}"
    claim = f"{'policy' if policies == 1 else 'policies'} for {counted(n_tasks, 'task')} ({sure}{paper})"
    meaning = (
        f"The fewest whose lifetime score is within {tolerance:.0%} of that with {_reference(estimate)}, of the sizes "
        f"that were run: {', '.join(map(str, estimate.runs))}."
    )
    return Answer(learner, policies, claim, meaning, tuple(_caveats(results, learner, estimate, policies)))


def _unanswered(learner: str, why: str) -> Answer:
    return Answer(learner, None, "These runs cannot say.", "", (why,))


def _whole(n_tasks: int, capacity: float | None) -> int | None:
    """The number of policies that a capacity amounts to."""
    return None if not capacity else round(n_tasks / capacity)


def _from_to(low: int, high: int) -> str:
    return str(low) if low == high else f"{low} to {high}"


def _reference(estimate: CapacityEstimate) -> str:
    largest = estimate.curve.reference
    return "a policy for each task" if largest == estimate.curve.n_tasks else counted(largest, "policy")


def _caveats(results: Results, learner: str, estimate: CapacityEstimate, policies: int) -> Iterator[str]:
    counts = sorted(set(estimate.runs.values()))
    runs = f"{counts[0]} to {counts[-1]} runs" if len(counts) > 1 else counted(counts[0], "run")
    if counts[0] == 1:
        yield f"{runs} of each size: no interval can be given."
    elif counts[0] < ENOUGH_RUNS:
        yield f"{runs} of each size: with fewer than {ENOUGH_RUNS}, the interval is rough."
    smaller = [size for size in estimate.runs if size < policies]
    if smaller and smaller[-1] < policies - 1:
        first, last = smaller[-1] + 1, policies - 1
        yield f"{_from_to(first, last)} {'was' if first == last else 'were'} not tried, and may do."
    elif not smaller and policies > 1:
        yield f"Fewer than {policies} were not tried, and may do."
    if results.sweep is not None and (lengths := shorter(results.sweep)):
        yield f"Lives are shorter than the paper's ({', '.join(lengths)})."
    parts = {each.policies: each for each in capacity_parts(results, controls_for(results), learner)}
    for size in reversed(smaller):  # the next smaller one is what the number hangs on
        warning = parts_warning(parts[size]) if size in parts and parts[size].tasks else ""
        own = runs_by_policies(results, learner)[size]
        diverged = sum(run.divergence is not None for run in own)
        if not warning and diverged:
            warning = (
                f"values diverged in {diverged} of {counted(len(own), 'run')}, so what is lost may not be capacity"
            )
        if warning:
            yield f"With {size}: {warning}."
            return
    unmeasured = [run for size in smaller for run in runs_by_policies(results, learner)[size] if not has_health(run)]
    if unmeasured:
        yield "Whether values stayed sound was not recorded: what is lost with fewer may be that, not capacity."
