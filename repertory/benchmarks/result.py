"""What a benchmark row is, and what measuring one gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

AT_LEAST, AT_MOST = "at least", "at most"
SIGNS = {AT_LEAST: "≥", AT_MOST: "≤"}


def number_text(value: float) -> str:
    """To three places, and no fractions of what is large."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def figure_text(figure: float, unit: str) -> str:
    """`131x`, `31.2 %`, `9.8 MB`."""
    if unit == "x":
        return f"{number_text(figure)}x"
    return f"{number_text(100 * figure if unit == '%' else figure)} {unit}"


class Target(NamedTuple):
    """What a figure should reach, or stay below."""

    bound: str
    value: float

    def is_met(self, figure: float) -> bool:
        return figure >= self.value if self.bound == AT_LEAST else figure <= self.value

    def margin(self, figure: float) -> float:
        """How many times as good as asked for: 1 is just enough, whichever way the bound points."""
        return figure / self.value if self.bound == AT_LEAST else self.value / figure

    def text(self, unit: str) -> str:
        return f"{SIGNS[self.bound]} {figure_text(self.value, unit)}"


class Side(NamedTuple):
    """One contender of a row: its best repeat is the one that was disturbed least."""

    who: str
    unit: str
    repeats: tuple[float, ...]
    is_cost: bool = False
    """Whether less is better."""

    @property
    def best(self) -> float:
        return min(self.repeats) if self.is_cost else max(self.repeats)

    def __str__(self) -> str:
        return f"{number_text(self.best)} {self.unit}"


class Measured(NamedTuple):
    """What measuring a row gave. `figure` is in the row's unit."""

    figure: float
    ours: Side
    other: Side | None = None
    note: str = ""


class NotMeasured(Exception):
    """A contender is not there."""

    def __init__(self, reason: str, next_step: str) -> None:
        super().__init__(f"{reason}; next: {next_step}")
        self.reason, self.next_step = reason, next_step


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    unit: str
    """Of the figure: `x` for a ratio, `%` for a share (stored as a fraction), or what it is counted in."""
    target: Target | None
    """None for what is only good to know."""
    measure: Callable[[int], Measured]
    """measure(repeats)."""


@dataclass(frozen=True)
class Result:
    """A row, with what was measured of it or why nothing was."""

    row: Row
    measured: Measured | None
    missing: NotMeasured | None = None

    @property
    def is_met(self) -> bool | None:
        """None if nothing was asked for or measured."""
        if self.measured is None or self.row.target is None:
            return None
        return self.row.target.is_met(self.measured.figure)

    @property
    def margin(self) -> float | None:
        if self.measured is None or self.row.target is None:
            return None
        return self.row.target.margin(self.measured.figure)

    def texts(self) -> dict[str, str]:
        """For the table."""
        row, measured = self.row, self.measured
        return {
            "name": row.name,
            "ours": "" if measured is None else str(measured.ours),
            "other": "" if measured is None or measured.other is None else str(measured.other),
            "measured": "not measured" if measured is None else figure_text(measured.figure, row.unit),
            "target": "" if row.target is None else row.target.text(row.unit),
            "met": "" if self.is_met is None else "yes" if self.is_met else "NO",
        }

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for a file."""
        target, measured, missing = self.row.target, self.measured, self.missing
        return {
            "name": self.row.name,
            "unit": self.row.unit,
            "figure": None if measured is None else measured.figure,
            "target": None if target is None else {"bound": target.bound, "value": target.value},
            "met": self.is_met,
            "ours": None if measured is None else _side(measured.ours),
            "other": None if measured is None or measured.other is None else _side(measured.other),
            "note": "" if measured is None else measured.note,
            "not_measured": None if missing is None else {"reason": missing.reason, "next": missing.next_step},
        }


def _side(side: Side) -> dict[str, Any]:
    return {"who": side.who, "unit": side.unit, "best": side.best, "repeats": list(side.repeats)}


def run_row(row: Row, repeats: int) -> Result:
    """Measure a row, unless a contender is missing."""
    try:
        return Result(row, row.measure(repeats))
    except NotMeasured as missing:
        return Result(row, None, missing)
