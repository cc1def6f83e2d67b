"""Task capacity: a table on the screen, a figure and a CSV file of each analysis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from rich.console import Console

from repertory.analysis.capacity import CapacityEstimate
from repertory.analysis.clusters import PUBLISHED, Clusters, ClustersOverSeeds
from repertory.analysis.pilot import PilotAnswer
from repertory.paper.experiments import PublishedCapacity
from repertory.paths import staged
from repertory.report.chart import BOTH, COLOURS, POINTS, Axis, Band, Chart, Mark, Rule, Series, single
from repertory.report.sections import capacity
from repertory.report.sections.final import MARKERS
from repertory.report.table import Column, Table, column, from_frame, name_column, to_console
from repertory.report.to_matplotlib import write_figure

MOST_ROWS = 125
"""Of a table in the console."""


def print_frame(console: Console, frame: pd.DataFrame) -> None:
    """A table as it is, numbers to four places; of a very long one, its beginning."""
    console.print(to_console(from_frame("", frame.head(MOST_ROWS))))
    if len(frame) > MOST_ROWS:
        console.print(f"... and {len(frame) - MOST_ROWS} more; all are in the CSV file", soft_wrap=True)


def save(console: Console, out: Path, name: str, frame: pd.DataFrame, chart: Chart) -> None:
    """Write NAME.csv and NAME.png and say where."""
    with staged(out) as scratch:
        frame.to_csv(scratch / f"{name}.csv", index=False)
        write_figure(replace(chart, name=name), scratch, ("png",))
    console.print(f"saved in {out / name}.csv and .png", soft_wrap=True)


# ------------------------------------------------------------------------------------------------ empirical


def empirical_table(
    estimates: Mapping[str, CapacityEstimate], tolerance: float, published: Mapping[str, PublishedCapacity]
) -> Table:
    """The page's rows at any tolerance, for a terminal: with the capacity's interval and the exact ITC."""
    rows = [
        capacity.capacity_row(learner, estimate, tolerance, published.get(learner))
        for learner, estimate in estimates.items()
    ]
    columns = [
        name_column("learner"),
        column("policies"),
        column("capacity"),
        _interval("95%", "capacity"),
        column("published", "published capacity"),
        column("ITC", "itc"),
        _interval("ITC 95%", "itc"),
        column("exact", "itc exact"),
        column("published", "published itc"),
    ]
    return Table("empirical", columns, rows)


def _interval(title: str, of: str) -> Column:
    low, high = f"{of} low", f"{of} high"
    return Column(title, lambda row: "" if row[low] is None else f"{row[low]:.3g}-{row[high]:.3g}")


def scores_table(estimates: Mapping[str, CapacityEstimate]) -> pd.DataFrame:
    """The scores that the capacities follow from."""
    rows = [
        {
            "learner": learner,
            "policies": count,
            "runs": estimate.runs[count],
            "lifetime score": score,
            "relative": score / estimate.curve.scores[estimate.curve.reference],
            "tolerance needed": max(0.0, 1 - score / estimate.curve.scores[estimate.curve.reference]),
        }
        for learner, estimate in estimates.items()
        for count, score in sorted(estimate.curve.scores.items())
    ]
    return pd.DataFrame(rows)


def empirical_figure(estimates: Mapping[str, CapacityEstimate], tolerance: float | None = None) -> Chart:
    """Capacity as a function of the tolerance, a step curve per learner."""
    marks: list[Mark] = [] if tolerance is None else [Rule(tolerance, is_vertical=True)]
    grid = np.linspace(0, 1, 501)
    for colour, (learner, estimate) in zip(COLOURS, estimates.items(), strict=False):
        name = f"{learner}: ITC {estimate.curve.grid_mean:.3g}"
        if len(estimate.samples):
            low, high = np.quantile([estimate.capacities(float(t)) for t in grid], [0.025, 0.975], axis=1)
            marks.append(Band(name, grid, low, high, colour))
        marks.append(capacity.capacity_series(name, estimate.curve, colour))
    return single("empirical", marks, *capacity.AXES, title="Empirical task capacity", legend="inside")


# ------------------------------------------------------------------------------------------------- clusters


def clusters_summary(name: str, found: ClustersOverSeeds) -> str:
    clusters = found.first
    paper = f" (the paper counts {PUBLISHED[name]})" if name in PUBLISHED else ""
    lines = [
        f"{clusters.n_clusters} clusters of {len(clusters.signatures)} tasks{paper}, a capacity of "
        f"{clusters.capacity:.3g}; k-means, number of clusters by the highest mean silhouette "
        f"({clusters.silhouettes[clusters.n_clusters]:.2f})"
    ]
    for signature, counts in found.counts.items():
        spread = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"always {counts[0]}"
        lines.append(
            f"with {len(counts)} seeds, by the signature '{signature}': {spread} ({', '.join(map(str, counts))})"
        )
    return "\n".join(lines)


def clusters_figure(name: str, clusters: Clusters) -> Chart:
    x, y = clusters.columns
    marks: list[Mark] = []
    for cluster, tasks in clusters.signatures.groupby("cluster"):
        number = int(str(cluster))
        colour, marker = COLOURS[number % len(COLOURS)], MARKERS[number % len(MARKERS)]
        name_of = f"{number}: {len(tasks)} tasks"
        marks.append(Series(name_of, list(tasks[x]), list(tasks[y]), colour, POINTS, marker=marker))
    x_axis = Axis(x if x == "reward per step" else f"{x} before a fall")
    title = f"{name}: {clusters.n_clusters} clusters of tasks under random play"
    return single("clusters", marks, x_axis, Axis("mean episode length (steps)"), title=title)


# --------------------------------------------------------------------------------------------------- pilot


def pilot_table(answer: PilotAnswer) -> pd.DataFrame:
    table = answer.table
    return table.assign(memory=table["memory"].map(lambda b: "" if pd.isna(b) else f"{b / 1e6:.1f} MB"))


def pilot_figure(answer: PilotAnswer) -> Chart:
    """Score by number of policies, the tolerated loss, and the choice."""
    table = answer.table
    chosen = table.set_index("policies")["relative"][answer.policies]
    marks: list[Mark] = [
        Rule(1 - answer.tolerance),
        Series("chosen", [answer.policies], [chosen], COLOURS[1], POINTS, size=13),
        Series("relative score", list(table["policies"]), list(table["relative"]), COLOURS[0], BOTH, in_legend=False),
    ]
    x_axis = Axis("policies", ticks={float(n): str(n) for n in table["policies"]}, is_logarithmic=True)
    y_axis = Axis("lifetime score, relative to one policy per task")
    return single("recommend", marks, x_axis, y_axis, title=str(answer), legend="inside")
