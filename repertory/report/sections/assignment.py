"""Who plays what: specialisation as it forms over a lifetime."""

from __future__ import annotations

import math

import numpy as np

from repertory.core.tally import policy_columns
from repertory.report.chart import EVERY_LABEL, Axis, Chart, Heatmap, single, task_axis
from repertory.report.domains import by_domain
from repertory.report.section import Section, file_name
from repertory.report.sections.curve_styles import is_adaptive
from repertory.sweeps.results import Results, Run

POINTS = 15
"""Stretches of a lifetime."""
NOT_TOO_MANY = 9
"""Policies of the map that is shown first."""


def section(results: Results) -> Section | None:
    """A map for the first run of each condition that adapts."""
    shown = [
        runs[0]
        for part in by_domain(results)
        for runs in part.results.by_condition.values()
        if runs[0].settings["policies"] > 1 and is_adaptive(runs[0])
    ]
    charts: list[Chart] = []
    for run in shown:
        charts.append(_chart(run, file_name("assignment", run.condition, [chart.name for chart in charts])))
    if not charts:
        return None
    sizes = [run.settings["policies"] for run in shown]
    fitting = [size for size in sizes if size <= NOT_TOO_MANY]
    intro = (
        "Each task's favourite policy (number) and its share of the task's episodes (colour): specialisation forming. "
        "Blank: not met."
    )
    first = sizes.index(max(fitting)) if fitting else 0
    return Section("assignment", "Who plays what", intro, charts=charts, first_choice=first)


def _chart(run: Run, name: str) -> Chart:
    tasks = run.settings["task_names"]
    length = len(run.blocks)
    stretch = np.arange(length) // max(1, math.ceil(length / POINTS))
    episodes = run.blocks[policy_columns(run.blocks)].to_numpy(float)
    plays = np.zeros((len(tasks), stretch[-1] + 1, episodes.shape[1]))
    np.add.at(plays, (run.blocks["task"].to_numpy(), stretch), episodes)
    totals = plays.sum(axis=2)
    favourite, share = plays.argmax(axis=2), np.where(totals > 0, plays.max(axis=2) / np.maximum(totals, 1), np.nan)
    is_met = np.isfinite(share)
    ends = [f"{steps / 1e6:.3g}" for steps in run.blocks["steps"].groupby(stretch).sum().cumsum()]
    text = [[str(p) if met else "" for p, met in zip(*row, strict=True)] for row in zip(favourite, is_met, strict=True)]
    hover = [
        [
            f"task {task}\npolicy {policy}, {part:.0%} of episodes" if part == part else ""
            for policy, part in zip(*rows, strict=True)
        ]
        for task, *rows in zip(range(len(tasks)), favourite, share, strict=True)
    ]
    cells = text if len(tasks) <= EVERY_LABEL else None
    heatmap = Heatmap(share, "share of the task's episodes", low=0, high=1, text=cells, hover=hover)
    return single(
        name,
        [heatmap],
        Axis("steps (millions), end of stretch", ends),
        task_axis(tasks),
        title=f"{run.condition}, run {run.number}: favourite policy of each task",
        label=f"{run.condition}, run {run.number}",
        size=(8, max(3.0, min(14.0, 0.24 * len(tasks) + 1.2))),
    )
