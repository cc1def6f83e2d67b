"""The time that finished runs took, beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from repertory.report.section import Section
from repertory.report.table import Column, Row, Table, column, name_column
from repertory.runs.timing import FROM_SPEED, MEASURED, TimeUsed, time_used
from repertory.sweeps.results import Results, Run
from repertory.wording import counted

HOUR, DAY = 3600.0, 86400.0
ALL = "all"


def section(results: Results) -> Section | None:
    rows = time_rows(results)
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
    return Section("time", "Time", intro, tables=[Table("time", columns, rows)]) if rows else None


def time_rows(results: Results) -> list[dict[str, Any]]:
    """A row per learner, and one for all: what its finished runs used, as far as their folders tell."""
    groups: dict[str, list[Run]] = {}
    for runs in results.by_condition.values():
        for run in runs:
            groups.setdefault(str(run.settings["learner"]["name"]), []).append(run)
    if len(groups) > 1:
        groups[ALL] = [run for runs in groups.values() for run in runs]
    times = {run.path: _time_of(run) for runs in groups.values() for run in runs}
    timed = {name: [used for run in runs if (used := times[run.path]) is not None] for name, runs in groups.items()}
    return [_row(results, name, used) for name, used in timed.items() if used]


def _time_of(run: Run) -> TimeUsed | None:
    return time_used(run.path, int(run.blocks["steps"].sum()))


def _row(results: Results, learner: str, times: Sequence[TimeUsed]) -> dict[str, Any]:
    core_seconds = sum(used.core_seconds for used in times)
    wall_seconds = sum(used.wall_seconds for used in times)
    mean = wall_seconds / len(times)
    days = paper_days(results)
    return {
        "learner": learner,
        "runs": len(times),
        "steps": sum(used.steps for used in times),
        "core hours": core_seconds / HOUR,
        "wall-clock hours": wall_seconds / HOUR,
        "mean run seconds": mean,
        "longest run seconds": max(used.wall_seconds for used in times),
        "steps per core second": sum(used.steps for used in times) / core_seconds if core_seconds else None,
        "published days per run": "-".join(f"{number:g}" for number in days),
        "times faster": min(days) * DAY / mean if days and mean else None,
        "source": MEASURED if all(used.source == MEASURED for used in times) else FROM_SPEED,
    }


def paper_days(results: Results) -> tuple[float, ...]:
    """Of a run, where the lifetimes are as long as the paper's and it says."""
    sweep = results.sweep
    if sweep is None or sweep.scale != 1 or sweep.n_blocks != sweep.data.blocks:
        return ()
    return sweep.data.days_per_run


def time_sentence(results: Results) -> str:
    """All of a sweep in a line; empty if nothing is known."""
    rows = time_rows(results)
    if not rows:
        return ""
    total = rows[-1]
    paper = f" (the paper: {days_text(total)})" if total["published days per run"] else ""
    speed = _whole("steps per core second")(total)
    source = ", worked out from speed" if total["source"] == FROM_SPEED else ""
    return (
        f"{counted(total['runs'], 'run')} used {total['core hours']:.3g} core-hours: "
        f"{duration(total['mean run seconds'])} a run, {duration(total['longest run seconds'])} at most{paper}, "
        f"{speed or 'unknown'} steps/s per core{source}"
    )


def _whole(key: str) -> Callable[[Row], str]:
    return lambda row: "" if row[key] is None else f"{row[key]:,.0f}"


def days_text(row: Row) -> str:
    return f"{row['published days per run']} days" if row["published days per run"] else ""


def duration(seconds: float | None) -> str:
    if seconds is None:
        return "unknown time"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 600:
        return f"{seconds / 60:.1f} min"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / HOUR:.1f} h"
