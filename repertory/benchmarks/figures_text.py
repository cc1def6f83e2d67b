"""Figures as a person reads them."""

from __future__ import annotations

from repertory.benchmarks.result import AT_LEAST, AT_MOST, Side, Target

SIGNS = {AT_LEAST: "≥", AT_MOST: "≤"}


def number_text(value: float) -> str:
    """To three places, and no fractions of what is large."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def figure_text(figure: float, unit: str) -> str:
    """`131x`, `31.2 %`, `9.8 MB`."""
    if unit == "x":
        return f"{number_text(figure)}x"
    return f"{number_text(100 * figure if unit == '%' else figure)} {unit}"


def target_text(target: Target, unit: str) -> str:
    return f"{SIGNS[target.bound]} {figure_text(target.value, unit)}"


def side_text(side: Side) -> str:
    return f"{number_text(side.best)} {side.unit}"
