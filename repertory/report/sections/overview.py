"""What a folder holds, in a few sentences; what several sweeps hold, in a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from repertory.report.domains import by_domain
from repertory.report.escaping import Marked
from repertory.report.section import Section
from repertory.report.sections.scores import FAR, WHICH, closeness, part_rows, runs_text, score_rows
from repertory.report.sections.time import days_text, duration, time_rows
from repertory.report.table import Table, column, name_column
from repertory.runs.provenance import code_labels
from repertory.runs.timing import FROM_SPEED
from repertory.sweeps.results import Results
from repertory.wording import counted

CLOSE = {which: f"{which} within {FAR:g} SD" for which in WHICH}
TIME = ("core-hours", "wall-clock per run, mean (most)", "paper, per run")


def headline(results: Results) -> list[str]:
    """What was run, what came out best, how it compares."""
    running = len(results.runs) - sum(len(runs) for runs in results.by_condition.values())
    unfinished = f", {running} more not finished" if running else ""
    tables = [(part, part_rows(part)) for part in by_domain(results)]
    conditions = [row for _part, rows in tables for row in rows]
    if not conditions:
        return [f"No run has finished yet{unfinished}."]
    steps, runs = sum(row["steps"] for row in conditions), sum(row["runs"] for row in conditions)
    profile = f" of profile {results.sweep.profile}" if results.sweep is not None else ""
    told = f"{counted(runs, 'finished run')}{profile} in {counted(len(conditions), 'condition')}"
    sentences = [f"{told}, {counted(steps, 'step')}{unfinished}."]
    if len(tables) > 1:
        domains = ", ".join(part.domain for part, _rows in tables)
        sentences.append(f"This folder holds {len(tables)} domains ({domains}); scores compare within a domain only.")
    for part, rows in tables:
        if rows:
            best, ended = max(rows, key=lambda row: row["lifetime"]), max(rows, key=lambda row: row["final"])
            sentences.append(
                f"The best lifetime score{'' if part.is_alone else f' on {part.domain}'} is {best['lifetime']:.4g} "
                f"({best['condition']}), the best final score {ended['final']:.4g} ({ended['condition']})."
            )
    close = closeness(conditions, "lifetime")
    if close:
        sentences.append(f"{close} lifetime scores lie within two published standard deviations of the paper's.")
    return sentences


def sweeps_section(sweeps: Iterable[Results]) -> Section:
    """A row per sweep: how much was run, how close it came to the paper, what time it took."""
    rows = [_row(results) for results in sweeps]
    guessed = any(row["is guessed"] for row in rows)
    intro = Marked(
        "Runs are ours of each condition, beside the paper's. *Within 2 SD* counts the conditions whose mean lies "
        "within two published standard deviations of the published mean."
        + (" ~: worked out from speed, not measured." if guessed else "")
    )
    columns = [name_column("sweep"), *map(column, ("runs (paper)", *CLOSE.values(), "million steps", *TIME))]
    columns.append(name_column("made by repertory"))
    return Section("sweeps", "All sweeps", intro, tables=[Table("sweeps", columns, rows)])


def _row(results: Results) -> dict[str, Any]:
    assert results.sweep is not None
    conditions, times = score_rows(results), time_rows(results)
    mark, time = "", {}
    if times:
        total = times[-1]
        mark = "~" if total["source"] == FROM_SPEED else ""
        per_run = f"{mark}{duration(total['mean run seconds'])} ({duration(total['longest run seconds'])})"
        cells = Marked(f"{mark}{total['core hours']:.1f}"), Marked(per_run), days_text(total)
        time = dict(zip(TIME, cells, strict=True))
    return {
        "sweep": Marked(f"`{results.sweep.experiment}`, {results.sweep.profile}"),
        "runs (paper)": runs_text(conditions, results),
        **{title: closeness(conditions, which) for which, title in CLOSE.items()},
        "million steps": f"{sum(row['steps'] for row in conditions) / 1e6:,.0f}",
        **time,
        "made by repertory": "; ".join(code_labels(maker for run in results.runs for maker in run.made_by)),
        "is guessed": bool(mark),
    }
