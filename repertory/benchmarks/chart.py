"""The table as a picture: how many times as good as asked for each figure is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

from repertory.benchmarks.figures_text import figure_text, target_text
from repertory.benchmarks.result import Result
from repertory.report.chart import COLOURS

mpl.use("Agg")
import matplotlib.pyplot as plt

MET, UNMET, QUIET = COLOURS[0], COLOURS[1], "#777777"
ROW_INCHES = 0.36
LEAST_REACH = 2.0
"""The axis goes at least so many times to either side of its target."""


def draw_chart(results: Sequence[Result], machine: str, paths: Sequence[Path]) -> None:
    """A bar for each row that has a target, on a logarithmic scale; one picture in the format of each path."""
    shown = [result for result in results if result.row.target is not None]
    figure, axes = plt.subplots(figsize=(9.5, 1.7 + ROW_INCHES * max(len(shown), 1)), layout="constrained")
    margins = [result.margin for result in shown]
    reach = _reach([margin for margin in margins if margin is not None])
    for place, result in enumerate(shown):
        _draw_row(axes, place, result)
    axes.text(1.01, 1.005, "target", transform=axes.transAxes, ha="left", va="bottom", fontsize=8.5, color=QUIET)
    axes.axvline(1, color="#202124", linewidth=1)
    axes.set_xscale("log")
    axes.set_xlim(1 / reach, reach)
    axes.set_ylim(len(shown) - 0.4, -0.6)
    axes.set_yticks(range(len(shown)), [result.row.name for result in shown], fontsize=9)
    ticks = _ticks(reach)
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("times as good as the target (right of 1: met)")
    axes.set_title(f"repertory bench on one thread of {machine}", fontsize=10, loc="left", pad=10)
    axes.grid(axis="x", alpha=0.25)
    axes.set_axisbelow(True)
    axes.spines[["top", "right", "left"]].set_visible(False)
    for path in paths:
        figure.savefig(path, dpi=150)
    plt.close(figure)


def _draw_row(axes: Any, place: int, result: Result) -> None:
    """The bar, the figure at its end, and the target at the right edge."""
    row, measured, margin = result.row, result.measured, result.margin
    assert row.target is not None
    edge = {"transform": axes.get_yaxis_transform(), "va": "center", "fontsize": 8.5, "color": QUIET}
    axes.text(1.01, place, target_text(row.target, row.unit), ha="left", **edge)
    if measured is None or margin is None:
        offset = {"xytext": (4, 0), "textcoords": "offset points"}
        axes.annotate("not measured", (1, place), va="center", fontsize=8.5, color=QUIET, **offset)
        return
    colour = MET if result.is_met else UNMET
    axes.barh(place, margin - 1, left=1, height=0.62, color=colour)
    is_right = margin >= 1
    axes.annotate(
        figure_text(measured.figure, row.unit),
        (margin, place),
        (4 if is_right else -4, 0),
        textcoords="offset points",
        ha="left" if is_right else "right",
        va="center",
        fontsize=8.5,
        color=colour,
        fontweight="bold",
    )


def _reach(margins: Sequence[float]) -> float:
    """As far to the left as to the right, with room for the figure at the end of the longest bar."""
    furthest = max([max(margin, 1 / margin) for margin in margins], default=1.0)
    return max(LEAST_REACH, furthest**1.35)


def _ticks(reach: float) -> list[float]:
    """1, and round numbers to either side of it whose inverse is round as well."""
    inside = [step for step in (1.25, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if step <= reach]
    if len(inside) > 4:  # no more than fit beside each other
        inside = [step for step in inside if step in (10, 100, 1000)]
    return [*(1 / step for step in reversed(inside)), 1.0, *inside]
