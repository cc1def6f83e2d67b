"""Task capacity: tasks per policy, by the share of the one-to-one score that may be given up."""

from __future__ import annotations

from typing import Any

from repertory.analysis.controls import capacity_of, scores_by_policies
from repertory.analysis.update_control import capacity_parts, controls_for, parts_warning
from repertory.errors import UsageError
from repertory.report.chart import STEPS, Axis, Chart, Mark, Series, single
from repertory.report.domains import Part, by_domain
from repertory.report.escaping import Marked
from repertory.report.section import SHOWN_NOTES, Section
from repertory.report.style import COLOURS
from repertory.report.table import Column, Row, Table, column, name_column
from repertory.sweeps.results import Results

TITLE = "Task capacity"
AXES = Axis("tolerance (share of the one-to-one score given up)", low=0, high=1), Axis("tasks per policy", low=0)


def section(results: Results) -> Section | None:
    rows: list[dict[str, Any]] = []
    part_rows: list[dict[str, Any]] = []
    curves, notes = [], []
    for part in by_domain(results):
        for learner in part.results.learners():
            try:
                if len(scores_by_policies(part.results, learner)) > 1:
                    row, curve = _row(part, learner, len(rows))
                    rows.append(row)
                    curves.append(curve)
                    parts = capacity_parts(part.results, controls_for(results), learner)
                    part_rows += [{"learner": part.named(learner), **each._asdict()} for each in parts if each.tasks]
                    warned = {each.policies: parts_warning(each) for each in parts}
                    notes += [f"{part.named(learner)} with {n}: {text}." for n, text in warned.items() if text]
            except UsageError as reason:  # such as a library that the others are measured against, not there yet
                notes.append(f"{part.named(learner)}: {reason}")
    if not rows:
        return Section("capacity", TITLE, notes=notes[:SHOWN_NOTES]) if notes else None
    intro = Marked(
        "Tasks per policy within a tolerance, from the unadaptive lifetime scores, and the mean over all tolerances "
        "(*integrated*)."
    )
    tables = [_table(rows), _parts_table(part_rows)] if part_rows else [_table(rows)]
    return Section("capacity", TITLE, intro, notes[:SHOWN_NOTES], tables, [_chart(curves)])


def _row(part: Part, learner: str, index: int) -> tuple[dict[str, Any], Series]:
    """The numbers of a learner, and its curve."""
    estimate = capacity_of(part.results, learner)
    curve, interval = estimate.curve, estimate.interval()
    paper = None if part.results.experiment is None else part.results.experiment.capacity.get(learner)
    row = {
        "learner": part.named(learner),
        "reference": curve.reference,
        "itc": curve.grid_mean,
        "itc exact": curve.integral,
        "itc low": None if interval is None else interval[0],
        "itc high": None if interval is None else interval[1],
        "published itc": None if paper is None else paper.integrated,
        "tolerance": None if paper is None else paper.tolerance,
        "capacity": None if paper is None else curve.capacity(paper.tolerance),
        "published capacity": None if paper is None else paper.capacity,
        "policies": None if paper is None else curve.policies(paper.tolerance),
        "published policies": None if paper is None else paper.policies,
    }
    published = "" if row["published itc"] is None else f" (published: {row['published itc']:g})"
    name = f"{part.named(learner).upper()}: integrated {curve.grid_mean:.3g}{published}"
    tolerances = [step.tolerance for step in curve.steps] + [1.0]
    capacities = [step.capacity for step in curve.steps] + [curve.steps[-1].capacity]
    return row, Series(name, tolerances, capacities, COLOURS[index % 8], STEPS, width=2)


def _table(rows: list[dict[str, Any]]) -> Table:
    columns = [
        name_column("learner"),
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


def _parts_table(rows: list[dict[str, Any]]) -> Table:
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


def _chart(curves: list[Series]) -> Chart:
    marks: list[Mark] = list(curves)
    caption = "Tasks per policy by the share of the one-to-one score that may be given up."
    return single("capacity", marks, *AXES, caption=caption, legend="inside")
