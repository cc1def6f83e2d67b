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
from repertory.report.sections.curve_styles import is_adaptive
from repertory.report.table import Column, Table, column, decimals, name_column
from repertory.runs.summary import read_summary
from repertory.runs.timing import time_used
from repertory.sweeps.results import Results, Run

FEWEST = 3
"""Conditions that a comparison needs."""
LABEL_HEIGHT, SAME_MEMORY = 0.05, 1.5
"""Labels of points nearer than this share of the chart's height, and this ratio of memory, would overlap."""
TWO_RUNS = 2
"""Have an interval so wide that it would hide all else; the table has it."""
LETTER_WIDTH, MARKER_WIDTH = 0.009, 0.015
"""Shares of the chart's width."""
LEFT, RIGHT = "left", "right"


def section(results: Results) -> Section | None:
    """Where several conditions differ in the memory that they take."""
    rows = frontier_rows(results)
    if len(rows) < FEWEST or len({row["bytes"] for row in rows}) < 2:
        return None
    intro = (
        "Each point is a method: its lifetime score, with a 95% interval over three runs or more, against the most "
        "memory that its policies took, replay memories included. What is up and to the left is better."
    )
    places = decimals([row["lifetime"] for row in rows], 4) or 0
    columns = [
        name_column("condition"),
        column("runs"),
        column("lifetime"),
        Column("95%", lambda row: "" if row["low"] is None else f"{row['low']:.{places}f} to {row['high']:.{places}f}"),
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
        "learner": str(runs[0].settings["learner"]["name"]),
        "adaptive": is_adaptive(runs[0]),
        "policies": int(runs[0].settings["policies"]),
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


def apart(names: list[str], points: list[dict[str, Any]], scale: float) -> list[str]:
    """Labels of which none is written over another: of points that are as good as one, the first has all names."""
    labels = [""] * len(names)
    owners: list[int] = []
    for place, row in enumerate(points):
        for owner in owners:
            is_level = abs(points[owner]["lifetime"] - row["lifetime"]) <= LABEL_HEIGHT * scale
            if is_level and abs(np.log(points[owner]["bytes"] / row["bytes"])) < np.log(SAME_MEMORY):
                labels[owner] += f", {names[place]}"
                break
        else:
            owners.append(place)
            labels[place] = names[place]
    return labels


def sides(labels: list[str], points: list[dict[str, Any]], scale: float) -> tuple[list[str], list[str]]:
    """Labels, and on which side of its point each stands: towards the middle of the chart, or on the other side if one
    that came before is in the way. Where both sides are taken, it is left out: the table and the pointer tell."""
    memory = np.log([row["bytes"] for row in points])
    across = (memory - memory.min()) / (np.ptp(memory) or 1.0)
    boxes: list[tuple[float, float, float]] = []
    shown, chosen = [], []
    for label, x, row in zip(labels, across, points, strict=True):
        width, y = MARKER_WIDTH + LETTER_WIDTH * len(label), row["lifetime"] / (scale or 1.0)
        usual = (RIGHT, LEFT) if x < 0.5 else (LEFT, RIGHT)
        spans = {LEFT: (x - width, x), RIGHT: (x, x + width)}
        free = [side for side in usual if not any(_overlap((*spans[side], y), box) for box in boxes)]
        if free and label:
            boxes.append((*spans[free[0]], y))
        shown.append(label if free else "")
        chosen.append((free or usual)[0])
    return shown, chosen


def _overlap(one: tuple[float, float, float], other: tuple[float, float, float]) -> bool:
    """Of labels from, to, at a height."""
    return one[0] < other[1] and other[0] < one[1] and abs(one[2] - other[2]) < LABEL_HEIGHT


def _are_told_by_number(rows: list[dict[str, Any]]) -> bool:
    """Whether how many policies a condition has tells it from the others of its learner and kind."""
    kinds = [(row["learner"], row["adaptive"], row["policies"]) for row in rows]
    return len(set(kinds)) == len(kinds)


def _chart(part: Part, rows: list[dict[str, Any]]) -> Chart:
    """A colour for each learner, a marker for adaptive; beside each point the number of policies, or its name."""
    own = [row for row in rows if row["domain"] == part.domain]
    kinds = list(dict.fromkeys((row["learner"], row["adaptive"]) for row in own))
    learners = list(dict.fromkeys(learner for learner, _adaptive in kinds))
    scale = max(row["lifetime"] for row in own) - min(row["lifetime"] for row in own)
    by_number = _are_told_by_number(own)
    names = [row["condition"] for row in own]
    placed = dict(zip(names, zip(*sides(apart(names, own, scale), own, scale), strict=True), strict=True))
    marks: list[Mark] = []
    for learner, adaptive in sorted(kinds):
        points = [row for row in own if (row["learner"], row["adaptive"]) == (learner, adaptive)]
        if by_number:  # those of the two kinds stand on either side of a point they share
            labels = apart([str(row["policies"]) for row in points], points, scale)
            label_sides = [RIGHT if adaptive else LEFT] * len(points)
        else:
            labels, label_sides = map(list, zip(*(placed[row["condition"]] for row in points), strict=True))
        has_interval = [row["runs"] > TWO_RUNS and row["low"] is not None for row in points]
        spread = [(row["high"] - row["low"]) / 2 if has else 0.0 for row, has in zip(points, has_interval, strict=True)]
        marks.append(
            Series(
                f"{learner.upper()}, {'adaptive' if adaptive else 'unadaptive'}",
                [row["bytes"] / 1e6 for row in points],
                [row["lifetime"] for row in points],
                COLOURS[learners.index(learner) % len(COLOURS)],
                POINTS,
                marker="diamond" if adaptive else "circle",
                size=9,
                error=spread,
                label_sides=label_sides,
                hover=[f"{row['condition']}: {row['lifetime']:.4g}, {row['bytes'] / 1e6:.3g} MB" for row in points],
                labels=labels,
            )
        )
    x, y = Axis("memory (MB)", is_logarithmic=True), Axis("lifetime score")
    name = "frontier" if len({row["domain"] for row in rows}) == 1 else f"frontier-{part.domain}"
    caption = "The number beside a point is how many policies it has." if by_number else ""
    panel = Panel(marks, x, y)
    return Chart(name, [[panel]], title=part.domain, caption=caption, legend="below", size=(8.2, 4.8))
