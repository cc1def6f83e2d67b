"""Scores by task over the lifetimes: a curve for each task, or a row of a map where tasks are many."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from repertory.report.chart import BOTH, COLOURS, Axis, Chart, Heatmap, Panel, Series, single, task_axis
from repertory.report.domains import by_domain
from repertory.report.section import Section, file_name
from repertory.report.sections.multiples import size_of
from repertory.sweeps.results import Results, Run
from repertory.wording import task_labels

POINTS = 15
"""Stretches of a lifetime."""
MOST_PANELS = 12
"""Tasks up to which each has a panel of its own."""
COLUMNS = 3


def section(results: Results) -> Section | None:
    """A chart for each condition: means over its runs."""
    charts: list[Chart] = []
    for part in by_domain(results):
        for condition, runs in part.results.by_condition.items():
            if len(runs[0].settings["task_names"]) > 1 and min(len(run.blocks) for run in runs) > 1:
                charts.append(_chart(condition, runs, file_name("curves", condition, [c.name for c in charts])))
    if not charts:
        return None
    intro = "Score of each task over the lifetime; means over runs. Blank: not met."
    return Section("task-curves", "Tasks over the lifetime", intro, charts=charts, first_choice=0)


def task_curves(runs: Sequence[Run]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Millions of steps at the end of each stretch, and (tasks, stretches) mean scores of the blocks in it, or NaN."""
    n_tasks, blocks = len(runs[0].settings["task_names"]), min(len(run.blocks) for run in runs)
    stretch = np.arange(blocks) // max(1, math.ceil(blocks / POINTS))
    sums, counts = (np.zeros((n_tasks, stretch[-1] + 1)) for _ in range(2))
    for run in runs:
        places = run.blocks["task"].to_numpy()[:blocks], stretch
        np.add.at(sums, places, run.scores.to_numpy(float)[:blocks])
        np.add.at(counts, places, 1)
    ends = runs[0].blocks["steps"][:blocks].groupby(stretch).sum().cumsum().to_numpy(float) / 1e6
    return ends, np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _chart(condition: str, runs: Sequence[Run], name: str) -> Chart:
    ends, scores = task_curves(runs)
    names, score = runs[0].settings["task_names"], runs[0].score_kind
    options: dict[str, Any] = {"title": f"{condition}: {score} of each task", "label": condition}
    if len(names) > MOST_PANELS:
        heatmap = Heatmap(scores, score, "viridis")
        x = Axis("steps (millions), end of stretch", [f"{end:.3g}" for end in ends])
        height = max(3.0, min(14.0, 0.24 * len(names) + 1.2))
        return single(name, [heatmap], x, task_axis(names), size=(8, height), **options)
    low, high = float(np.nanmin(scores)), float(np.nanmax(scores))
    margin = 0.05 * (high - low) or 1.0
    panels = [
        Panel(
            [Series(score, ends[met], own[met], COLOURS[0], BOTH, size=4, in_legend=False)],
            Axis("steps (millions)", low=0),
            Axis(score if place % COLUMNS == 0 else "", low=low - margin, high=high + margin),
            label,
        )
        for place, (own, label) in enumerate(zip(scores, task_labels(names), strict=True))
        for met in [np.isfinite(own)]
    ]
    rows = [panels[start : start + COLUMNS] for start in range(0, len(panels), COLUMNS)]
    return Chart(name, rows, size=size_of(rows), are_small=True, **options)
