"""Tasks that were held out: how policies do on tasks that they never learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from repertory.core.held_out import EPISODES
from repertory.core.tally import held_out_of
from repertory.report.chart import BOTH, Axis, Chart, Series, single
from repertory.report.domains import by_domain
from repertory.report.section import Section, file_name
from repertory.report.sections.curve_styles import styles
from repertory.report.sections.development import STEPS_AXIS
from repertory.report.table import Table, column, name_column
from repertory.sweeps.results import Results, Run

Conditions = dict[str, list[Run]]


def section(results: Results) -> Section | None:
    tables: list[Table] = []
    charts: list[Chart] = []
    for part in by_domain(results):
        conditions = {
            name: tried
            for name, runs in part.results.by_condition.items()
            if (tried := [run for run in runs if not held_out_of(run.blocks).empty])
        }
        if conditions:
            domain = next(iter(conditions.values()))[0].settings["domain"]["name"]
            name = file_name("held-out", domain, [chart.name for chart in charts])
            charts.append(_chart(name, conditions))
            tables.append(Table(name, _columns(conditions), [_row(*each) for each in conditions.items()]))
    if not charts:
        return None
    intro = (
        f"Scores on tasks that were never trained on, greedy and without learning, over {EPISODES} episodes each. The "
        f"policy that plays is the one that did best in {EPISODES} others."
    )
    return Section("held-out", "Tasks held out", intro, tables=tables, charts=charts)


def _names(conditions: Conditions) -> list[str]:
    return list(next(iter(conditions.values()))[0].settings["domain"].get("held_out_names", []))


def _columns(conditions: Conditions) -> list[Any]:
    held = [column(name, f"task {task}") for task, name in enumerate(_names(conditions))]
    return [name_column("condition"), column("runs"), column("tasks trained on", "trained"), *held]


def _row(name: str, runs: Sequence[Run]) -> dict[str, Any]:
    last = pd.concat([held_out_of(run.blocks).tail(1) for run in runs])
    return {
        "condition": name,
        "runs": len(runs),
        "trained": float(np.mean([run.score("final") for run in runs])),
        **{f"task {task}": float(score) for task, score in last.mean().items()},
    }


def _chart(name: str, conditions: Conditions) -> Chart:
    """The mean over the tasks that are held out, and over runs."""
    marks = []
    looks = styles([runs[0] for runs in conditions.values()])
    for (condition, runs), style in zip(conditions.items(), looks, strict=True):
        tables = [held_out_of(run.blocks).mean(axis=1) for run in runs]
        blocks = tables[0].index
        steps = runs[0].blocks["steps"].cumsum().loc[blocks].to_numpy(float) / 1e6
        scores = pd.concat(tables, axis=1).reindex(blocks).mean(axis=1).to_numpy(float)
        marks.append(Series(condition, steps, scores, kind=BOTH, size=4, **style))
    score = next(iter(conditions.values()))[0].score_kind
    title = f"Mean over {len(_names(conditions))} tasks that were held out"
    return single(name, marks, STEPS_AXIS, Axis(score), title=title, size=(8, 4.4))
