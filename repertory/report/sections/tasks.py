"""Scores by task at the end of the lifetimes."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from repertory.report.chart import Axis, Heatmap, single, task_axis
from repertory.report.domains import by_domain
from repertory.report.section import Section
from repertory.report.sections.scores import shared_score
from repertory.sweeps.results import Results, Run

LATE_SHARE = 0.25
"""Of a lifetime."""


def section(results: Results) -> Section | None:
    parts = by_domain(results)
    if len(parts) > 1:
        note = "Domains have tasks of their own: for scores by task, give the folder of one domain's runs."
        return Section("tasks", "Tasks", notes=[note])
    scores = task_scores(results)
    if not scores:
        return None
    names = results.runs[0].settings["task_names"]
    values = np.array(list(scores.values()))
    hover = [
        [f"{condition}\n{name}: {score:.4g}" for name, score in zip(names, row, strict=True)]
        for condition, row in scores.items()
    ]
    chart = single(
        "tasks",
        [Heatmap(values, shared_score(results), "viridis", hover=hover)],
        task_axis(names, is_across=True),
        Axis(labels=list(scores)),
        title="Scores by task over the last quarter of the lifetimes",
        size=(9, max(2.5, 0.3 * len(scores) + 1.2)),
    )
    intro = "Score of each task over the last quarter of the lifetimes."
    return Section("tasks", "Tasks", intro, ["Blank: not met."], charts=[chart])


def task_scores(results: Results) -> dict[str, np.ndarray]:
    """Mean score of each task, by condition; NaN for tasks that were not met."""
    found = {}
    for name, runs in results.by_condition.items():
        late = pd.concat(
            [pd.DataFrame({"task": run.blocks["task"], "score": run.scores}).tail(_late_blocks(run)) for run in runs]
        )
        means = late.groupby("task")["score"].mean()
        found[name] = means.reindex(range(len(runs[0].settings["task_names"]))).to_numpy(float)
    return found


def _late_blocks(run: Run) -> int:
    return max(1, math.ceil(len(run.blocks) * LATE_SHARE))
