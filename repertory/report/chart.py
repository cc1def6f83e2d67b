"""One description of a chart, made once, whatever draws it: `to_plotly` for the page, `to_matplotlib` for files.

A chart is a grid of panels; a panel has two axes and marks: series of points, bands, rules and heatmaps. All text in it
may come from anywhere; whoever draws it shows it as it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from repertory.errors import one_line
from repertory.wording import task_labels

Values: TypeAlias = "Sequence[Any] | NDArray[Any]"
LINE, POINTS, BOTH, STEPS, BARS = "line", "points", "both", "steps", "bars"
"""Kinds of series; `both` is points with a line through them, and a step holds from its point to the next."""
SOLID, DASH, DOT, DASHDOT = "solid", "dash", "dot", "dashdot"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f")
"""Told apart by colour-blind eyes as well (after Okabe and Ito)."""
GREY = "#8a8f98"
"""For what is only there to compare with: seen on a light page and on a dark one."""
LONGEST_LABEL = 60
"""Characters."""
EVERY_LABEL = 40
"""Numbered places up to which each has a label."""


@dataclass(frozen=True)
class Series:
    """A line or points, with error bars if their errors are given. NaN leaves a gap."""

    name: str
    x: Values
    y: Values
    colour: str
    kind: str = LINE
    dash: str = SOLID
    width: float = 1.8
    marker: str = "circle"
    """circle, square, diamond, up, down, cross, x, star, or dash: a short line."""
    size: float = 6
    opacity: float = 1.0
    error: Values | None = None
    hover: Sequence[str] | None = None
    """What is said of each point where a pointer can ask; the numbers if not given."""
    in_legend: bool = True
    labels: Sequence[str] | None = None
    """Written beside the points."""
    label_sides: Sequence[str] = ()
    """`left` or `right`, for each of them."""


@dataclass(frozen=True)
class Band:
    """The space between two lines; it comes and goes with the series of the same name."""

    name: str
    x: Values
    low: Values
    high: Values
    colour: str


@dataclass(frozen=True)
class Rule:
    """A straight line across the panel."""

    at: float
    is_vertical: bool = False


@dataclass(frozen=True)
class Heatmap:
    """A cell for each value, rows from top to bottom; NaN leaves it blank."""

    values: Values
    label: str
    """Of the colours."""
    colours: str = "cividis"
    is_reversed: bool = False
    low: float | None = None
    high: float | None = None
    text: Sequence[Sequence[str]] | None = None
    """In each cell."""
    hover: Sequence[Sequence[str]] | None = None


Mark: TypeAlias = "Series | Band | Rule | Heatmap"


@dataclass(frozen=True)
class Axis:
    title: str = ""
    labels: Sequence[str] | None = None
    """At 0, 1, 2 ..., where places have names."""
    ticks: Mapping[float, str] | None = None
    """Or at any places."""
    low: float | None = None
    high: float | None = None
    is_logarithmic: bool = False
    slant: float = 0
    """Degrees by which labels are turned."""
    brief: Sequence[str] | None = None
    """Labels for a screen that is too narrow for the others."""


@dataclass(frozen=True)
class Panel:
    marks: Sequence[Mark]
    x: Axis = field(default_factory=Axis)
    y: Axis = field(default_factory=Axis)
    title: str = ""

    @property
    def heatmap(self) -> Heatmap | None:
        return next((mark for mark in self.marks if isinstance(mark, Heatmap)), None)


@dataclass(frozen=True)
class Chart:
    name: str
    """Of its files, and of its place on the page."""
    rows: Sequence[Sequence[Panel]]
    """Panels of one row have the same range of y if they are more than one, those of a column the same range of x."""
    title: str = ""
    caption: str = ""
    label: str = ""
    """Where one of several is chosen."""
    legend: str = "right"
    """right, below or inside."""
    size: tuple[float, float] = (7, 4.4)
    """In inches."""
    are_small: bool = False
    """Whether panels are small and many; they are then two in a row even on a phone."""

    @property
    def panels(self) -> list[Panel]:
        return [panel for row in self.rows for panel in row]


def single(name: str, marks: Sequence[Mark], x: Axis, y: Axis, **options: Any) -> Chart:
    """A chart of one panel."""
    return Chart(name, [[Panel(marks, x, y)]], **options)


def short(text: str) -> str:
    """One line of a label that fits, of text that may be anything."""
    line = one_line(text)
    return line if len(line) <= LONGEST_LABEL else f"{line[: LONGEST_LABEL - 3]}..."


def numbered(count: int) -> list[str]:
    """Labels of numbered places: each has its number, or every tenth, or every hundredth."""
    every = 1
    while count > EVERY_LABEL * every:
        every *= 10
    return [str(place) if place % every == 0 else "" for place in range(count)]


def task_axis(names: Sequence[str], is_across: bool = False) -> Axis:
    """Of the tasks of a domain; on a narrow screen, by their numbers."""
    numbers = numbered(len(names))
    if len(names) > EVERY_LABEL:
        return Axis("task", numbers)
    return Axis("task", task_labels(names), brief=numbers, slant=45 if is_across else 0)


def tick_places(axis: Axis) -> dict[float, str] | None:
    if axis.labels is not None:
        return {float(place): text for place, text in enumerate(axis.labels) if text}
    return None if axis.ticks is None else dict(axis.ticks)


def plain(value: Any) -> Any:
    """JSON's own kinds of value: arrays to lists, NaN to null."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
