"""Task capacity: tasks per policy, by the share of the one-to-one score that may be given up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from repertory.analysis.capacity import CapacityCurve, CapacityEstimate
from repertory.analysis.controls import capacity_of, scores_by_policies
from repertory.analysis.update_control import capacity_parts, controls_for, parts_warning
from repertory.errors import UsageError
from repertory.paper.experiments import PublishedCapacity
from repertory.report.chart import COLOURS, STEPS, Axis, Mark, Series, single
from repertory.report.domains import by_domain
from repertory.report.escaping import Marked
from repertory.report.section import SHOWN_NOTES, Section
from repertory.report.table import Column, Row, Table, column, name_column
from repertory.sweeps.results import Results

TITLE = "Task capacity"
AXES = Axis("tolerance (share of the one-to-one score given up)", low=0, high=1), Axis("tasks per policy", low=0)


def section(results: Results) -> Section | None:
    rows: list[dict[str, Any]] = []
    part_rows: list[dict[str, Any]] = []
    curves: list[Mark] = []
    notes: list[str] = []
    for part in by_domain(results):
        for learner in part.results.learners():
            try:
                if len(scores_by_policies(part.results, learner)) > 1:
                    estimate, name = capacity_of(part.results, learner), part.named(learner)
                    paper = None if part.results.experiment is None else part.results.experiment.capacity.get(learner)
                    rows.append(capacity_row(name, estimate, None if paper is None else paper.tolerance, paper))
                    curves.append(capacity_series(_curve_name(rows[-1]), estimate.curve, COLOURS[len(curves) % 8]))
                    parts = capacity_parts(part.results, controls_for(results), learner)
                    part_rows += [{"learner": name, **each._asdict()} for each in parts if each.tasks]
                    warned = {each.policies: parts_warning(each) for each in parts}
                    notes += [f"{name} with {n}: {text}." for n, text in warned.items() if text]
            except UsageError as reason:  # such as a library that the others are measured against, not there yet
                notes.append(f"{part.named(learner)}: {reason}")
    if not rows:
        return Section("capacity", TITLE, notes=notes[:SHOWN_NOTES]) if notes else None
    intro = Marked(
        "Tasks per policy within a tolerance, from the unadaptive lifetime scores, and the mean over all tolerances "
        "(*integrated*). They go by the numbers of policies that were tried: with others, they are others."
    )
    tables = [capacity_table(rows), parts_table(part_rows)] if part_rows else [capacity_table(rows)]
    caption = "Tasks per policy by the share of the one-to-one score that may be given up."
    chart = single("capacity", curves, *AXES, caption=caption, legend="inside")
    return Section("capacity", TITLE, intro, notes[:SHOWN_NOTES], tables, [chart])


def capacity_row(
    learner: str, estimate: CapacityEstimate, tolerance: float | None, paper: PublishedCapacity | None
) -> dict[str, Any]:
    """The numbers of a learner, at a tolerance and over all of them; the paper's, where it has that tolerance."""
    curve, interval = estimate.curve, estimate.interval() or (None, None)
    there = None if tolerance is None else estimate.interval(tolerance)
    same = paper if paper is not None and paper.tolerance == tolerance else None
    return {
        "learner": learner,
        "tried": ", ".join(map(str, estimate.runs)),
        "reference": curve.reference,
        "itc": curve.grid_mean,
        "itc exact": curve.integral,
        "itc low": interval[0],
        "itc high": interval[1],
        "published itc": None if paper is None else paper.integrated,
        "tolerance": tolerance,
        "capacity": None if tolerance is None else curve.capacity(tolerance),
        "capacity low": None if there is None else there[0],
        "capacity high": None if there is None else there[1],
        "published capacity": None if same is None else same.capacity,
        "policies": None if tolerance is None else curve.policies(tolerance),
        "published policies": None if same is None else same.policies,
    }


def _curve_name(row: Row) -> str:
    published = "" if row["published itc"] is None else f" (published: {row['published itc']:g})"
    return f"{row['learner'].upper()}: integrated {row['itc']:.3g}{published}"


def capacity_series(name: str, curve: CapacityCurve, colour: str) -> Series:
    tolerances = [step.tolerance for step in curve.steps] + [1.0]
    capacities = [step.capacity for step in curve.steps] + [curve.steps[-1].capacity]
    return Series(name, tolerances, capacities, colour, STEPS, width=2)


def capacity_table(rows: Sequence[Row]) -> Table:
    columns = [
        name_column("learner"),
        name_column("policies tried", "tried"),
        column("tolerance"),
        column("policies needed", "policies"),
        column("published", "published policies"),
        column("tasks per policy", "capacity"),
        column("published", "published capacity"),
        column("integrated", "itc"),
        Column("95% interval", _interval),
        column("published", "published itc"),
    ]
    return Table("capacity", columns, rows)


def parts_table(rows: Sequence[Row]) -> Table:
    """What smaller libraries lose or gain, as shares of the score with a policy per task."""
    columns = [
        name_column("learner"),
        column("policies"),
        column("score", "library"),
        column("alone, as many updates", "control"),
        Column("sharing", lambda row: f"{row['sharing']:+.1%}"),
        Column("interference", lambda row: f"{row['interference']:+.1%}"),
        Column("ageing", lambda row: f"{row['ageing']:.1%}"),
        column("tasks"),
        Column("diverged", lambda row: f"{row['diverged']} of {row['runs']}"),
    ]
    return Table("capacity-parts", columns, rows)


def _interval(row: Row) -> str:
    return "" if row["itc low"] is None else f"{row['itc low']:.1f} to {row['itc high']:.1f}"
