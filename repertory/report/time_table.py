"""The time that a sweep used, beside what the paper's runs took."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from repertory.runs.timing import FROM_SPEED, MEASURED, TimeUsed, time_used
from repertory.sweeps.results import Results, Run

HOUR, DAY = 3600.0, 86400.0
ALL = "all"


def time_table(results: Results) -> pd.DataFrame:
    """A row per learner, and one for all: what its finished runs used, as far as their folders tell."""
    groups: dict[str, list[Run]] = {}
    for runs in results.by_condition.values():
        for run in runs:
            groups.setdefault(str(run.settings["learner"]["name"]), []).append(run)
    if len(groups) > 1:
        groups[ALL] = [run for runs in groups.values() for run in runs]
    times = {run.path: used for runs in groups.values() for run in runs if (used := _time_of(run)) is not None}
    timed = {name: [times[run.path] for run in runs if run.path in times] for name, runs in groups.items()}
    return pd.DataFrame([_row(results, name, used) for name, used in timed.items() if used])


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
    table = time_table(results)
    if table.empty:
        return ""
    total = table.iloc[-1]
    paper = f" (the paper: {total['published days per run']} days)" if total["published days per run"] else ""
    source = ", worked out from speed" if total["source"] == FROM_SPEED else ""
    return (
        f"{total['runs']} runs used {total['core hours']:.3g} core-hours: {duration(total['mean run seconds'])} a run, "
        f"{duration(total['longest run seconds'])} at most{paper}, {total['steps per core second']:,.0f} steps/s per "
        f"core{source}"
    )


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
