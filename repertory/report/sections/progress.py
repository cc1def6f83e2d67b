"""Runs that are not finished, and conditions without any run."""

from __future__ import annotations

from repertory.analysis.controls import command
from repertory.report.domains import together
from repertory.report.section import Section
from repertory.report.table import SHARE, Column, Table, column, name_column
from repertory.sweeps.results import Results


def section(results: Results) -> Section | None:
    results = together(results)
    rows = [
        {
            "condition": run.condition,
            "run": run.number,
            "blocks": len(run.blocks),
            "of": run.settings["blocks"],
            "score": float(run.scores.iloc[-1]),
        }
        for run in results.runs
        if not run.is_done
    ]
    columns = [
        name_column("condition"),
        column("run"),
        Column("blocks", lambda row: f"{row['blocks']} of {row['of']}"),
        Column("done", lambda row: f"{100 * row['blocks'] / max(1, row['of']):.0f}%", SHARE),
        column("last score", "score"),
    ]
    gaps = missing(results)
    if not rows and not gaps:
        return None
    notes = [f"Not run yet: {', '.join(gaps)}."] if gaps else []
    tables = [Table("progress", columns, rows)] if rows else []
    fill = command(results, ",".join(gaps)) if gaps else ""
    return Section("progress", "Under way and missing", notes=notes, tables=tables, command=fill)


def missing(results: Results) -> list[str]:
    """Conditions of the experiment without a finished run."""
    known = {} if results.experiment is None else results.experiment.conditions
    return [name for name in known if name not in results.by_condition]
