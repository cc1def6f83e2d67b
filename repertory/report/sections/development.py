"""Scores over the lifetime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from repertory.core.metrics import STRETCH, Development, development
from repertory.report.chart import Axis, Band, Chart, Mark, Series, single
from repertory.report.domains import by_learner
from repertory.report.section import Section, file_name
from repertory.report.sections.curve_styles import styles
from repertory.report.sections.multiples import MOST_TOGETHER, size_of, small_panels
from repertory.sweeps.results import Results, Run

Conditions: TypeAlias = "Mapping[str, Sequence[Run]]"
CurveOf: TypeAlias = "Callable[[Sequence[Run]], Development]"
Looks: TypeAlias = "Sequence[Mapping[str, Any]] | None"
STEPS_AXIS = Axis("steps (millions)", low=0)


def section(results: Results) -> Section | None:
    stretch = stretch_of(results)
    charts: list[Chart] = []
    for _part, learner, conditions in by_learner(results):
        name = file_name("development", learner, [chart.name for chart in charts])
        charts.append(_chart(name, learner, conditions, stretch))
    if not charts:
        return None
    means = f"means over {stretch} blocks" if stretch > 1 else "each block"
    intro = f"Score over the lifetime: {means}. Solid: unadaptive; dashed: adaptive."
    several = any(len(runs) > 1 for runs in results.by_condition.values())
    notes = ["The band is the standard error over runs."] if several else []
    return Section("development", "Development", intro, notes, charts=charts)


def stretch_of(results: Results) -> int:
    """Blocks in a point of the curves: the paper's 25, or a tenth of lifetimes that are shorter."""
    shortest = min((len(run.blocks) for runs in results.by_condition.values() for run in runs), default=1)
    return max(1, min(STRETCH, shortest // 10))


def curves(conditions: Conditions, curve_of: CurveOf, looks: Looks = None) -> list[Mark]:
    """A line for the mean over the runs of each condition, over a band for its standard error where there is one."""
    bands: list[Mark] = []
    lines: list[Mark] = []
    looks = looks or styles([runs[0] for runs in conditions.values()])
    for (condition, runs), style in zip(conditions.items(), looks, strict=True):
        curve = curve_of(runs)
        x = curve.steps / 1e6
        if np.isfinite(curve.error).all():
            bands.append(Band(condition, x, curve.mean - curve.error, curve.mean + curve.error, style["colour"]))
        lines.append(Series(condition, x, curve.mean, **style))
    return [*bands, *lines]


def score_curve(stretch: int) -> CurveOf:
    """The score of runs over their lives: means over so many blocks."""
    return lambda runs: development([run.blocks for run in runs], runs[0].score_kind, stretch)


def _chart(name: str, learner: str, conditions: Conditions, stretch: int) -> Chart:
    marks = curves(conditions, score_curve(stretch))
    title = f"{learner.upper()}: score over the lifetime"
    score = next(iter(conditions.values()))[0].score_kind
    if len(conditions) <= MOST_TOGETHER:
        return single(name, marks, STEPS_AXIS, Axis(score), title=title, size=(8, 4.4))
    own = {name: [mark for mark in marks if getattr(mark, "name", "") == name] for name in conditions}
    firsts = {condition: runs[0] for condition, runs in conditions.items()}
    rows = small_panels(own, firsts, STEPS_AXIS, Axis(score))
    return Chart(name, rows, title=title, legend="below", size=size_of(rows), are_small=True)
