"""The table as a picture: how many times as good as asked for each figure is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from repertory.benchmarks.result import Result
from repertory.report.chart import COLOURS, Axis, Chart, Mark, Rule, Series, single

ROW_INCHES = 0.36
LEAST_REACH = 2.0
"""The axis goes at least so many times to either side of its target."""


def bench_chart(results: Sequence[Result], machine: str) -> Chart:
    """A bar from 1, which is just enough, for each row that has a target: on a logarithmic scale, the first on top."""
    shown = [result for result in reversed(results) if result.row.target is not None]
    marks: list[Mark] = [Rule(1, is_vertical=True)]
    for name, colour, is_met in (("met", COLOURS[0], True), ("not met", COLOURS[1], False)):
        own = [(place, result.margin) for place, result in enumerate(shown) if result.is_met is is_met]
        x = [value for _place, margin in own for value in (1.0, margin, math.nan)]
        y = [value for place, _margin in own for value in (place, place, math.nan)]
        marks.append(Series(name, x, y, colour, width=14, in_legend=bool(own)))
    reach = _reach([result.margin for result in shown if result.margin is not None])
    ticks = {tick: f"{tick:g}" for tick in _ticks(reach)}
    x_axis = Axis("times as good as the target (right of 1: met)", None, ticks, 1 / reach, reach, is_logarithmic=True)
    labels = [f"{row['name']}: {row['measured']} ({row['target']})" for row in (result.texts() for result in shown)]
    title = f"repertory bench on one thread of {machine}"
    size = (9.5, 1.7 + ROW_INCHES * max(len(shown), 1))
    return single("bench", marks, x_axis, Axis(labels=labels, low=-0.6, high=len(shown) - 0.4), title=title, size=size)


def _reach(margins: Sequence[float]) -> float:
    """As far to the left as to the right."""
    furthest = max([max(margin, 1 / margin) for margin in margins], default=1.0)
    return max(LEAST_REACH, 1.1 * furthest)


def _ticks(reach: float) -> list[float]:
    """1, and round numbers to either side of it whose inverse is round as well."""
    inside = [step for step in (1.25, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if step <= reach]
    if len(inside) > 4:  # no more than fit beside each other
        inside = [step for step in inside if step in (10, 100, 1000)]
    return [*(1 / step for step in reversed(inside)), 1.0, *inside]
