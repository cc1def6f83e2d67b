"""The time that finished runs took, beside the paper's."""

from __future__ import annotations

from collections.abc import Callable

from repertory.report.section import Section
from repertory.report.table import Column, Row, Table, column, name_column, records
from repertory.report.time_table import duration, time_table
from repertory.sweeps.results import Results


def section(results: Results) -> Section | None:
    frame = time_table(results)
    if frame.empty:
        return None
    columns = [
        name_column("learner"),
        column("runs"),
        Column("million steps", lambda row: f"{row['steps'] / 1e6:,.1f}"),
        Column("core-hours", lambda row: f"{row['core hours']:.2f}"),
        Column("wall-clock hours", lambda row: f"{row['wall-clock hours']:.2f}"),
        Column("per run, mean", lambda row: duration(row["mean run seconds"])),
        Column("per run, most", lambda row: duration(row["longest run seconds"])),
        Column("steps/s per core", _whole("steps per core second")),
        Column("paper, per run", days_text),
        Column("times faster", _whole("times faster")),
        column("how known", "source"),
    ]
    intro = "A run has one core. Wall-clock hours are those of all runs, one after another."
    return Section("time", "Time", intro, tables=[Table("time", columns, records(frame))])


def _whole(key: str) -> Callable[[Row], str]:
    return lambda row: "" if row[key] is None else f"{row[key]:,.0f}"


def days_text(row: Row) -> str:
    return f"{row['published days per run']} days" if row["published days per run"] else ""
