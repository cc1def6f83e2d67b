"""Score against memory: what each way to play many tasks earns, and the bytes that it takes."""

from __future__ import annotations

from typing import Any

import numpy as np

from repertory.analysis.controls import learning_metrics
from repertory.analysis.resampling import estimate
from repertory.core.tally import BYTES
from repertory.errors import UsageError
from repertory.report.chart import COLOURS, POINTS, Axis, Chart, Mark, Panel, Series
from repertory.report.domains import Part, by_domain
from repertory.report.section import Section
from repertory.report.sections.final import MARKERS
from repertory.report.table import Column, Table, column, name_column
from repertory.runs.summary import read_summary
from repertory.runs.timing import time_used
from repertory.sweeps.results import Results, Run

FEWEST = 3
"""Conditions that a comparison needs."""


def section(results: Results) -> Section | None:
    """Where several conditions differ in the memory that they take."""
    rows = frontier_rows(results)
    if len(rows) < FEWEST or len({row["bytes"] for row in rows}) < 2:
        return None
    intro = (
        "Each point is a method: its lifetime score, with a 95% interval over runs, against the most memory that its "
        "policies took, replay memories included. What is up and to the left is better."
    )
    columns = [
        name_column("condition"),
        column("runs"),
        column("lifetime"),
        Column("95%", lambda row: "" if row["low"] is None else f"{row['low']:.4g} to {row['high']:.4g}"),
        column("final"),
        column("forgetting"),
        Column("MB", lambda row: f"{row['bytes'] / 1e6:.2f}"),
        column("core-minutes", "core minutes"),
    ]
    charts = [_chart(part, rows) for part in by_domain(results)]
    return Section("frontier", "Score against memory", intro, tables=[Table("frontier", columns, rows)], charts=charts)


def frontier_rows(results: Results) -> list[dict[str, Any]]:
    """A row per condition whose runs say what memory they took, the least first."""
    rows = [
        row
        for part in by_domain(results)
        for name in part.results.by_condition
        if (row := _row(part, name)) is not None
    ]
    return sorted(rows, key=lambda row: (row["domain"], row["bytes"]))


def _row(part: Part, name: str) -> dict[str, Any] | None:
    runs = part.results.by_condition[name]
    taken = [memory for run in runs if (memory := memory_of_run(run)) is not None]
    if not taken:
        return None
    lifetime = estimate(part.results.scores(name), [run.number for run in runs])
    low, high = lifetime.interval
    times = [used for run in runs if (used := time_used(run.path, int(run.blocks["steps"].sum()))) is not None]
    return {
        "condition": name,
        "domain": part.domain,
        "runs": len(runs),
        "lifetime": lifetime.value,
        "low": None if np.isnan(low) else low,
        "high": None if np.isnan(high) else high,
        "final": float(part.results.scores(name, "final").mean()),
        "forgetting": _forgetting(part.results, name),
        "bytes": max(taken),
        "core minutes": float(np.mean([used.core_seconds for used in times])) / 60 if times else None,
    }


def memory_of_run(run: Run) -> int | None:
    """The most that its policies took, in bytes."""
    if BYTES in run.blocks:
        return int(run.blocks[BYTES].max())
    summary = read_summary(run.path)
    return None if summary is None else summary.memory


def _forgetting(results: Results, name: str) -> float | None:
    """The mean forgetting ratio over all returns of a task; None without a policy per task to measure it by."""
    try:
        bins = learning_metrics(results, name)["forgetting"]
    except UsageError:
        return None
    counted = bins[bins["count"] > 0]
    return float(np.average(counted["mean"], weights=counted["count"])) if len(counted) else None


def _chart(part: Part, rows: list[dict[str, Any]]) -> Chart:
    marks: list[Mark] = []
    for place, row in enumerate(row for row in rows if row["domain"] == part.domain):
        spread = 0.0 if row["low"] is None else (row["high"] - row["low"]) / 2
        colour, marker = COLOURS[place % len(COLOURS)], MARKERS[place // len(COLOURS) % len(MARKERS)]
        at = [row["bytes"] / 1e6], [row["lifetime"]]
        marks.append(Series(row["condition"], *at, colour, POINTS, marker=marker, size=9, error=[spread]))
    x, y = Axis("memory (MB)", is_logarithmic=True), Axis("lifetime score")
    name = "frontier" if len({row["domain"] for row in rows}) == 1 else f"frontier-{part.domain}"
    return Chart(name, [[Panel(marks, x, y)]], title=part.domain, size=(8.2, 4.8))
