"""Forgetting and transfer, against a policy of its own for every task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from repertory.analysis.controls import learning_metrics
from repertory.errors import UsageError
from repertory.report.chart import BOTH, Axis, Chart, Mark, Panel, Rule, Series
from repertory.report.domains import by_domain, by_learner
from repertory.report.section import SHOWN_NOTES, Section, safe
from repertory.report.sections.curve_styles import is_adaptive, styles
from repertory.report.sections.multiples import MOST_TOGETHER, size_of, small_panels
from repertory.report.table import Table, column, name_column, number, records
from repertory.sweeps.results import Results, Run

CAPTIONS = {
    "forgetting": "Forgetting ratio by the blocks of other tasks in between: below 0, a task is played worse for them.",
    "transfer": "Transfer ratio by the blocks of other tasks before: above 0, a task is played better for them.",
}
AXES = {"forgetting": "interfering blocks", "transfer": "prior blocks"}
Ratios = Mapping[str, Mapping[str, pd.DataFrame]]


def section(results: Results) -> Section | None:
    ratios, notes = learning_ratios(results)
    if not ratios and not notes:
        return None
    intro = "Against a policy of its own for every task, in units of the random policy's score. Errors are over runs."
    charts = [chart for kind in CAPTIONS for chart in _charts(results, ratios, kind)] if ratios else []
    tables = [_table(ratios, kind) for kind in CAPTIONS] if ratios else []
    return Section("learning", "Forgetting and transfer", intro, notes[:SHOWN_NOTES], charts=charts, file_tables=tables)


def learning_ratios(results: Results) -> tuple[dict[str, dict[str, pd.DataFrame]], list[str]]:
    """By bins for every condition, or why there is none."""
    found, notes = {}, []
    for part in by_domain(results):
        for name in part.results.by_condition:
            try:
                found[name] = learning_metrics(part.results, name)
            except UsageError as reason:
                notes.append(str(reason))
    return found, list(dict.fromkeys(notes))


def _table(ratios: Ratios, kind: str) -> Table:
    rows = [{"condition": name, **row} for name, tables in ratios.items() for row in records(tables[kind])]
    columns = [*map(name_column, ("condition", "bin")), *map(column, ("mean", "error", "runs", "count"))]
    return Table(kind, columns, rows)


def _charts(results: Results, ratios: Ratios, kind: str) -> list[Chart]:
    """A panel for each learner, or a chart of small panels where conditions are many.

    Libraries that are their own measure are left out, unless there are no others.
    """
    known = {name: {n: runs[0] for n, runs in group.items() if n in ratios} for _, name, group in by_learner(results)}
    compared = {name: {n: run for n, run in own.items() if not _is_measure(run)} for name, own in known.items()}
    shown = [(name, own) for name, own in (compared if any(compared.values()) else known).items() if own]
    if max(len(firsts) for _learner, firsts in shown) > MOST_TOGETHER:
        return [_small(learner, firsts, ratios, kind) for learner, firsts in shown]
    panels = [
        _panel(learner, firsts, ratios, kind, f"{kind} ratio" if index == 0 else "")
        for index, (learner, firsts) in enumerate(shown)
    ]
    size = (1.5 + 5.2 * len(panels), 5.2)
    return [Chart(kind, [panels], caption=CAPTIONS[kind], legend="below", size=size)]


def _small(learner: str, firsts: Mapping[str, Run], ratios: Ratios, kind: str) -> Chart:
    whole = _panel(learner, firsts, ratios, kind, f"{kind} ratio")
    own = {
        name: [mark for mark in whole.marks if isinstance(mark, Rule) or getattr(mark, "name", "") == name]
        for name in firsts
    }
    rows = small_panels(own, firsts, whole.x, whole.y)
    options: dict[str, Any] = {"legend": "below", "size": size_of(rows), "are_small": True}
    return Chart(f"{kind}-{safe(learner)}", rows, f"{learner.upper()}: {kind}", CAPTIONS[kind], **options)


def _is_measure(run: Run) -> bool:
    return not is_adaptive(run) and run.settings["policies"] == len(run.settings["task_names"])


def _panel(learner: str, firsts: Mapping[str, Run], ratios: Ratios, kind: str, y_title: str) -> Panel:
    marks: list[Mark] = [Rule(0)]
    bins: list[str] = []
    for index, (name, style) in enumerate(zip(firsts, styles(list(firsts.values())), strict=True)):
        table = ratios[name][kind]
        bins = list(table["bin"])
        places = np.arange(len(bins)) + (index - (len(firsts) - 1) / 2) * 0.04
        hover = [
            f"{name}, {row['bin']} blocks: {number(row['mean'], 3)}, {row['count']} of {row['runs']} runs"
            for row in records(table)
        ]
        style |= {"error": table["error"].to_numpy(float), "hover": hover}
        marks.append(Series(name, places, table["mean"].to_numpy(float), kind=BOTH, width=1.5, size=4, **style))
    return Panel(marks, Axis(AXES[kind], bins), Axis(y_title), learner.upper())
