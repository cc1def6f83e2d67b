"""Small multiples: many conditions as small panels of the same axes, each over all the others in grey.

More than a few lines in one panel cannot be told apart; a panel for each number of policies, or for each condition
where that does not tell them apart, can.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from repertory.report.chart import COLOURS, DASH, GREY, SOLID, Axis, Band, Mark, Panel, Rule, Series
from repertory.report.sections.curve_styles import is_adaptive
from repertory.sweeps.results import Run
from repertory.wording import counted

MOST_TOGETHER = 4
"""Conditions in one panel."""
COLUMNS = 3
MOST_BEHIND = 16
"""Conditions up to which each panel shows all the others as well."""
OTHERS = "the other conditions"
SIZE_PER_ROW, SIZE_AROUND = 1.9, 1.1
"""Inches."""


def small_panels(marks: Mapping[str, Sequence[Mark]], runs: Mapping[str, Run], x: Axis, y: Axis) -> list[list[Panel]]:
    """Rows of panels of the marks of each condition."""
    limits = _limits([mark for own in marks.values() for mark in own], y)
    panels: list[Panel] = []
    for title, names in _groups(runs).items():
        shown = [mark for name in names for mark in _dressed(marks[name], runs[name], len(names) > 1)]
        behind = [mark for name in marks if name not in names for mark in _greyed(marks[name])]
        behind = behind if len(marks) <= MOST_BEHIND else []
        rules = [mark for mark in next(iter(marks.values())) if isinstance(mark, Rule)]
        panels.append(Panel([*rules, *behind, *shown], x, y if not len(panels) % COLUMNS else limits, title))
    panels = [replace(panel, y=replace(panel.y, low=limits.low, high=limits.high)) for panel in panels]
    return [panels[start : start + COLUMNS] for start in range(0, len(panels), COLUMNS)]


def size_of(rows: Sequence[Sequence[Panel]]) -> tuple[float, float]:
    return (10, SIZE_AROUND + SIZE_PER_ROW * len(rows))


def _groups(runs: Mapping[str, Run]) -> dict[str, list[str]]:
    """Titles, and the conditions of each: adaptive beside unadaptive of the same size, or each by itself."""
    kinds = [(int(run.settings["policies"]), is_adaptive(run)) for run in runs.values()]
    if len({size for size, _kind in kinds}) < 2 or len(set(kinds)) < len(kinds):
        return {name: [name] for name in runs}
    sizes = sorted({size for size, _kind in kinds})
    return {
        counted(size, "policy"): [name for name, (own, _kind) in zip(runs, kinds, strict=True) if own == size]
        for size in sizes
    }


def _dressed(marks: Sequence[Mark], run: Run, beside_another: bool) -> list[Mark]:
    """A colour for adaptive and one for unadaptive, the same in every panel."""
    kind = is_adaptive(run)
    name, colour = ("adaptive", COLOURS[1]) if kind else ("unadaptive", COLOURS[0])
    dressed: list[Mark] = []
    for mark in marks:
        if isinstance(mark, Series):
            dressed.append(replace(mark, name=name, colour=colour, dash=DASH if kind and beside_another else SOLID))
        elif isinstance(mark, Band):
            dressed.append(replace(mark, name=name, colour=colour))
    return dressed


def _greyed(marks: Sequence[Mark]) -> list[Mark]:
    lines = [mark for mark in marks if isinstance(mark, Series)]
    plain = {"colour": GREY, "dash": SOLID, "width": 1.0, "opacity": 0.35, "kind": "line", "error": None}
    return [replace(line, name=OTHERS, hover=[""] * len(line.x), **plain) for line in lines]  # type: ignore[arg-type]


def _limits(marks: Sequence[Mark], y: Axis) -> Axis:
    """An axis without a title that all values fit on."""
    ends = [values for mark in marks if isinstance(mark, Series) for values in (mark.y,)]
    ends += [values for mark in marks if isinstance(mark, Band) for values in (mark.low, mark.high)]
    values = np.concatenate([np.asarray(each, float) for each in ends]) if ends else np.array([0.0, 1.0])
    values = values[np.isfinite(values)]
    if not len(values):
        return replace(y, title="")
    low, high = float(values.min()), float(values.max())
    if y.is_logarithmic:
        margin = (high / low) ** 0.05 if low > 0 else 1.0
        return replace(y, title="", low=low / margin, high=high * margin)
    margin = 0.04 * (high - low) or 0.5 * abs(high) or 1.0
    low, high = (low - margin if y.low is None else y.low), high + margin
    return replace(y, title="", low=low, high=high if math.isfinite(high) else None)
