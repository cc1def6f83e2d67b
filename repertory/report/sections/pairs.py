"""Conditions compared run by run: what one has more than another on the same sequences of tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from repertory.analysis.controls import run_key
from repertory.analysis.resampling import combined, estimate
from repertory.report.section import Section
from repertory.report.table import Column, Table, column, decimals, name_column
from repertory.sweeps.results import Results, Run


def section(results: Results) -> Section | None:
    """The comparisons that the experiment's file asks for, as far as both sides have been run."""
    rows = list(pair_rows(results))
    if not rows:
        return None
    intro = (
        "Lifetime scores of runs that met the same tasks in the same order. Difference: what the condition has more "
        "than the one it is compared with, in the mean over pairs of runs, with a 95% interval where there are two "
        "pairs or more. Of its score: the share that it has. More on: the tasks on which it has more, over all pairs."
    )
    places = decimals([row["difference"] for row in rows], 3) or 1
    columns = [
        name_column("compared with", "reference"),
        name_column("condition"),
        column("pairs"),
        Column("difference", lambda row: f"{row['difference']:+.{places}f}"),
        Column(
            "95%", lambda row: "" if row["low"] is None else f"{row['low']:+.{places}f} to {row['high']:+.{places}f}"
        ),
        Column("of its score", lambda row: "" if row["share"] is None else f"{row['share']:.1%}"),
        Column("more on", lambda row: f"{row['tasks_more']} of {row['tasks']} tasks"),
    ]
    return Section("pairs", "Compared run by run", intro, tables=[Table("pairs", columns, rows)])


def pair_rows(results: Results) -> Iterator[dict[str, Any]]:
    """A row for each condition and the one that it is compared with."""
    experiment, found = results.experiment, results.by_condition
    if experiment is None:
        return
    for reference, patterns in experiment.against.items():
        chosen = experiment.select(patterns) if patterns else []  # without a pattern, it would be all
        for name in (condition.name for condition in chosen):
            if name != reference and name in found and reference in found:
                row = _row(found[name], found[reference])
                yield from [{"reference": reference, "condition": name, **row}] if row else []


def _row(runs: list[Run], references: list[Run]) -> dict[str, Any] | None:
    """None where no run met the tasks of another."""
    own, other = ({run_key(run): run for run in side} for side in (runs, references))
    keys = sorted(own.keys() & other.keys())
    if not keys:
        return None
    ours, theirs = (estimate([side[key].score("lifetime") for key in keys], keys) for side in (own, other))
    difference = combined(np.subtract, ours, theirs)
    low, high = difference.interval
    blocks = pd.concat([own[key].blocks[["task"]].assign(more=own[key].scores - other[key].scores) for key in keys])
    by_task = blocks.groupby("task")["more"].mean()
    return {
        "pairs": len(keys),
        "difference": difference.value,
        "low": None if np.isnan(low) else low,
        "high": None if np.isnan(high) else high,
        "share": ours.value / theirs.value if min(ours.value, theirs.value) > 0 else None,
        "tasks_more": int((by_task > 0).sum()),
        "tasks": len(by_task),
    }
