"""Task capacity in front of a person: a table on the screen, a figure and a CSV file of each analysis."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from repertory.analysis.capacity import CapacityEstimate
from repertory.analysis.clusters import PUBLISHED, Clusters
from repertory.analysis.recommend import Recommendation
from repertory.paper.experiments import PublishedCapacity
from repertory.paths import staged
from repertory.report.style import COLOURS

mpl.use("Agg")
import matplotlib.pyplot as plt


def print_frame(console: Console, frame: pd.DataFrame) -> None:
    """A table as it is, numbers to four places."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for column in frame.columns:
        table.add_column(str(column), justify="right" if pd.api.types.is_numeric_dtype(frame[column]) else "left")
    for row in frame.itertuples(index=False):
        table.add_row(*(_cell(value) for value in row))
    console.print(table)


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, (float, np.floating)) else str(value)


def keep(console: Console, out: Path, name: str, frame: pd.DataFrame, figure: Any) -> None:
    """Write NAME.csv and NAME.png and say where."""
    try:
        with staged(out) as scratch:
            frame.to_csv(scratch / f"{name}.csv", index=False)
            figure.savefig(scratch / f"{name}.png", dpi=150)
    finally:
        plt.close(figure)
    console.print(f"kept in {out / name}.csv and .png", soft_wrap=True)


# ------------------------------------------------------------------------------------------------ empirical


def empirical_table(
    estimates: Mapping[str, CapacityEstimate], tolerance: float, published: Mapping[str, PublishedCapacity]
) -> pd.DataFrame:
    """A row per learner: policies needed, capacity and ITC with intervals, and the paper's."""
    rows = []
    for learner, estimate in estimates.items():
        curve, paper = estimate.curve, published.get(learner)
        same_tolerance = paper is not None and paper.tolerance == tolerance
        rows.append(
            {
                "learner": learner,
                "runs": min(estimate.runs.values()),
                "policies": curve.policies(tolerance),
                "capacity": curve.capacity(tolerance),
                "95%": _interval(estimate.interval(tolerance)),
                "published": paper.capacity if paper is not None and same_tolerance else None,
                "ITC": curve.grid_mean,
                "ITC 95%": _interval(estimate.interval()),
                "exact": curve.integral,
                "published ITC": None if paper is None else paper.integrated,
            }
        )
    return pd.DataFrame(rows)


def _interval(interval: tuple[float, float] | None) -> str:
    return "" if interval is None else f"{interval[0]:.3g}-{interval[1]:.3g}"


def scores_table(estimates: Mapping[str, CapacityEstimate]) -> pd.DataFrame:
    """What the capacities were decided from."""
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


def empirical_figure(estimates: Mapping[str, CapacityEstimate], tolerance: float | None = None) -> Any:
    """Capacity as a function of the tolerance, a step curve per learner."""
    figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
    grid = np.linspace(0, 1, 501)
    for colour, (learner, estimate) in zip(COLOURS, estimates.items(), strict=False):
        curve = estimate.curve
        ends = [step.tolerance for step in curve.steps] + [1.0]
        values = [step.capacity for step in curve.steps]
        axes.stairs(
            values, ends, baseline=None, color=colour, linewidth=2, label=f"{learner}: ITC {curve.grid_mean:.3g}"
        )
        if estimate.samples:
            sampled = np.array([[sample.capacity(float(t)) for t in grid] for sample in estimate.samples[:200]])
            low, high = np.quantile(sampled, [0.025, 0.975], axis=0)
            axes.fill_between(grid, low, high, color=colour, alpha=0.15, linewidth=0)
    if tolerance is not None:
        axes.axvline(tolerance, color="#777777", linestyle=":", linewidth=1)
    axes.set_xlabel("tolerance (share of the one-to-one score given up)")
    axes.set_ylabel("tasks per policy")
    axes.set_xlim(0, 1)
    axes.set_ylim(bottom=0)
    axes.set_title("Empirical task capacity", fontsize=10)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", framealpha=0.9, edgecolor="none")
    return figure


# ------------------------------------------------------------------------------------------------- clusters


def clusters_summary(name: str, clusters: Clusters) -> str:
    paper = f" (the paper counts {PUBLISHED[name]})" if name in PUBLISHED else ""
    return (
        f"{clusters.n_clusters} clusters of {len(clusters.signatures)} tasks{paper}, a capacity of "
        f"{clusters.capacity:.3g}; k-means, number of clusters by the highest mean silhouette "
        f"({clusters.silhouettes[clusters.n_clusters]:.2f})"
    )


def clusters_figure(name: str, clusters: Clusters) -> Any:
    figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
    x, y = clusters.columns
    markers = "osD^vP*X<>"
    for cluster, tasks in clusters.signatures.groupby("cluster"):
        number = int(str(cluster))
        colour, marker = COLOURS[number % len(COLOURS)], markers[number % len(markers)]
        axes.scatter(tasks[x], tasks[y], color=colour, marker=marker, s=40, label=f"{number}: {len(tasks)} tasks")
    axes.set_xlabel(x if x == "reward per step" else f"lowest {x} before a fall")
    axes.set_ylabel("mean episode length (steps)")
    axes.set_title(f"{name}: {clusters.n_clusters} clusters of tasks under random play", fontsize=10)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right center", title="cluster", frameon=False)
    return figure


# ------------------------------------------------------------------------------------------------ recommend


def recommendation_table(recommendation: Recommendation) -> pd.DataFrame:
    table = recommendation.table
    return table.assign(memory=table["memory"].map(lambda b: "" if pd.isna(b) else f"{b / 1e6:.1f} MB"))


def recommendation_figure(recommendation: Recommendation) -> Any:
    """Score by number of policies, the tolerated loss, and the choice."""
    figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
    table = recommendation.table
    axes.plot(table["policies"], table["relative"], color=COLOURS[0], marker="o", linewidth=2)
    axes.axhline(1 - recommendation.tolerance, color="#777777", linestyle=":", linewidth=1)
    chosen = table.set_index("policies")["relative"][recommendation.policies]
    axes.scatter([recommendation.policies], [chosen], s=160, facecolors="none", edgecolors=COLOURS[1], linewidths=2)
    axes.set_xscale("log", base=2)
    axes.set_xticks(table["policies"], [str(count) for count in table["policies"]])
    axes.minorticks_off()
    axes.set_xlabel("policies")
    axes.set_ylabel("lifetime score, relative to one policy per task")
    axes.set_title(str(recommendation), fontsize=9)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
