"""Policy spread, memory and speed of the libraries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from repertory.report.domains import together
from repertory.report.section import Section
from repertory.report.table import Column, Table, column, name_column
from repertory.runs.summary import read_summary
from repertory.sweeps.results import Results


def section(results: Results) -> Section | None:
    """Of the conditions whose runs were summarised, as they were when the runs ended."""
    rows = library_rows(together(results))
    columns = [
        name_column("condition"),
        column("runs"),
        column("policy spread", "spread", 3),
        Column("memory (MB)", lambda row: "" if row["memory"] is None else f"{row['memory'] / 1e6:.4g}"),
        Column("steps/s", lambda row: "" if row["steps per second"] is None else f"{row['steps per second']:,.0f}"),
    ]
    intro = "Policy spread: mean total-variation distance between the policies of a library."
    tables = [Table("libraries", columns, rows)]
    return Section("libraries", "Libraries and speed", intro, tables=tables) if rows else None


def library_rows(results: Results) -> list[dict[str, Any]]:
    rows = []
    for name, runs in results.by_condition.items():
        found = [summary for run in runs if (summary := read_summary(run.path)) is not None]
        if found:
            rows.append(
                {
                    "condition": name,
                    "runs": len(found),
                    "spread": _mean(summary.policy_spread for summary in found),
                    "memory": _mean(summary.memory for summary in found),
                    "steps per second": _mean(summary.steps_per_second for summary in found),
                }
            )
    return rows


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
