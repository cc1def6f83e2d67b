"""The health of learners over the lifetime: whether their values stayed within what is possible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from repertory.core.tally import health_of
from repertory.learners.health import DIVERGED
from repertory.report.chart import Axis, Chart, Mark, Rule, Series, single
from repertory.report.domains import by_learner
from repertory.report.section import Section, file_name
from repertory.report.sections.curve_styles import styles
from repertory.report.sections.development import STEPS_AXIS
from repertory.report.sections.multiples import MOST_TOGETHER, size_of, small_panels
from repertory.report.table import BAD, Column, Row, Table, column, name_column
from repertory.sweeps.results import Results, Run

SMALLEST = 1e-3
"""Of a share on a logarithmic axis."""


def section(results: Results) -> Section | None:
    rows: list[dict[str, Any]] = []
    charts: list[Chart] = []
    for _part, learner, conditions in by_learner(results):
        measured = {name: found for name, runs in conditions.items() if (found := [r for r in runs if has_health(r)])}
        rows += [_row(name, runs) for name, runs in measured.items()]
        if any(np.isfinite(value_shares(run)).any() for runs in measured.values() for run in runs):
            charts.append(_chart(file_name("health", learner, [chart.name for chart in charts]), learner, measured))
    if not rows:
        return None
    intro = (
        "Measured at the end of blocks on the policy that played most. A run has diverged once its values are more "
        f"than {DIVERGED:g} times as large as any return can be."
    )
    return Section("health", "Health of the learners", intro, tables=[_table(rows)], charts=charts)


def has_health(run: Run) -> bool:
    """Whether its values were measured as it went on."""
    return bool(health_of(run.blocks).notna().to_numpy().any())


def value_shares(run: Run) -> pd.Series:
    """By block, the largest |Q| or |value| over the largest return there can be; NaN where it was not measured."""
    health = health_of(run.blocks)
    kind = "q" if "q_bound" in health else "value"
    if f"{kind}_bound" not in health or f"{kind}_largest" not in health:
        return pd.Series(np.nan, index=run.blocks.index)
    bound = health[f"{kind}_bound"]
    return health[f"{kind}_largest"] / bound.where(bound > 0)


def _row(condition: str, runs: list[Run]) -> dict[str, Any]:
    """Means over runs of what was measured last, and when values diverged."""
    last = pd.DataFrame([health_of(run.blocks).ffill().iloc[-1] for run in runs]).mean()
    diverged = [run.divergence.block for run in runs if run.divergence is not None]
    return {
        "condition": condition,
        "runs": len(runs),
        "diverged": len(diverged),
        "first block": min(diverged, default=None),
        "largest share": max((share for run in runs if np.isfinite(share := value_shares(run).max())), default=None),
        **{str(name): float(value) for name, value in last.items()},
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    columns = [
        name_column("condition"),
        column("runs"),
        Column("diverged", _diverged, tone=lambda row: BAD if row["diverged"] else ""),
        column("largest value / bound", "largest share", digits=3),
        column("action gap", "action_gap", digits=3),
        column("entropy", digits=3),
        column("TD error", "td_error", digits=3),
        column("gradient", "gradient_norm", digits=3),
        column("weights", "weight_norm", digits=3),
        Column("dormant", lambda row: "" if "dormant" not in row else f"{row['dormant']:.0%}"),
    ]
    return Table("health", columns, rows)


def _diverged(row: Row) -> str:
    return "no" if not row["diverged"] else f"{row['diverged']} of {row['runs']}, first in block {row['first block']}"


def _chart(name: str, learner: str, conditions: dict[str, list[Run]]) -> Chart:
    marks: dict[str, list[Mark]] = {}
    firsts = [runs[0] for runs in conditions.values()]
    for (condition, runs), style in zip(conditions.items(), styles(firsts), strict=True):
        worst = max(runs, key=lambda run: np.nan_to_num(value_shares(run).max(), nan=-1.0))
        shares = value_shares(worst).dropna().clip(lower=SMALLEST)
        steps = worst.blocks["steps"].cumsum().loc[shares.index] / 1e6
        marks[condition] = [Rule(DIVERGED), Series(condition, steps.to_numpy(float), shares.to_numpy(float), **style)]
    title = f"{learner.upper()}: largest value / largest possible return"
    caption = "The run with the largest values of each condition. Past the dotted line, a run has diverged."
    y_axis = Axis("share of what is possible", is_logarithmic=True)
    if len(conditions) > MOST_TOGETHER:
        rows = small_panels(marks, dict(zip(conditions, firsts, strict=True)), STEPS_AXIS, y_axis)
        options: dict[str, Any] = {"legend": "below", "size": size_of(rows), "are_small": True}
        return Chart(name, rows, title=title, caption=caption, **options)
    together = [Rule(DIVERGED), *(own[1] for own in marks.values())]
    return single(name, together, STEPS_AXIS, y_axis, title=title, caption=caption, size=(8, 4.4))
