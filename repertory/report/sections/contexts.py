"""Hidden tasks: which context was inferred for which task, how soon, and how often falsely."""

from __future__ import annotations

from typing import Any

import numpy as np

from repertory.analysis.hidden import contexts_of_episodes, inference_of, infers, merged_contexts
from repertory.report.chart import COLOURS, POINTS, Axis, Chart, Series, single, task_axis
from repertory.report.section import Section, file_name
from repertory.report.table import Table, column, name_column
from repertory.sweeps.results import Results, Run

MOST_POINTS = 4000
"""Of a chart."""


def section(results: Results) -> Section | None:
    """A row for each run that inferred tasks, and a chart for the first of each condition."""
    telling = [[run for run in runs if infers(run.blocks)] for runs in results.by_condition.values()]
    telling = [runs for runs in telling if runs]
    if not telling:
        return None
    charts: list[Chart] = []
    for runs in telling:
        charts.append(_chart(runs[0], file_name("contexts", runs[0].condition, [chart.name for chart in charts])))
    columns = [
        name_column("condition"),
        column("run"),
        column("detection (episodes)", "detection"),
        column("changes without", "missed"),
        column("false alarms per 1,000 episodes", "false_alarms", 3),
        column("adjusted Rand index", "rand_index", 3),
        column("contexts"),
        column("merged"),
    ]
    intro = (
        "Nobody said which task it was. Detection: median episodes after a change until the block's own context was "
        "played (1 is the soonest). Tasks that share a context are changes without detection; see docs/hidden-tasks.md."
    )
    rows = [_row(run) for runs in telling for run in runs]
    return Section(
        "contexts", "Which task it was taken for", intro, tables=[Table("contexts", columns, rows)], charts=charts
    )


def _row(run: Run) -> dict[str, Any]:
    measured = inference_of(run.blocks)._asdict()
    return {"condition": run.condition, "run": run.number, **measured, "merged": merged_contexts(run.blocks)}


def _chart(run: Run, name: str) -> Chart:
    """A point for stretches of one task and one context, over time, at the height of the task."""
    contexts = contexts_of_episodes(run.blocks)
    tasks = np.repeat(run.blocks["task"].to_numpy(), run.blocks["episodes"])
    ends = np.repeat(run.blocks["steps"].cumsum().to_numpy(float) / 1e6, run.blocks["episodes"])
    begins = np.flatnonzero((np.diff(contexts, prepend=-1) != 0) | (np.diff(tasks, prepend=-1) != 0))[:MOST_POINTS]
    marks = []
    for context in np.unique(contexts[begins]):
        own = begins[contexts[begins] == context]
        colour = COLOURS[context % len(COLOURS)]
        hover = [
            f"context {context}, task {task}, episode {episode}" for task, episode in zip(tasks[own], own, strict=True)
        ]
        marks.append(Series(f"context {context}", ends[own], tasks[own], colour, POINTS, hover=hover, in_legend=False))
    return single(
        name,
        marks,
        Axis("steps (millions)", low=0),
        task_axis(run.settings["task_names"]),
        title=f"{run.condition}, run {run.number}: a colour for each context",
        caption="A task that has one colour was always recognised; tasks of the same colour share a context.",
        label=f"{run.condition}, run {run.number}",
        size=(8, 4.4),
    )
