"""A recommendation as tables and a chart: which tasks go together, and what each trained policy loses on each."""

from __future__ import annotations

import numpy as np
import pandas as pd

from repertory.analysis.advice import Advice
from repertory.report.chart import GREY, Axis, Chart, Heatmap, Mark, Panel, Rule, Series

LONGEST_NAME = 14
"""Characters of the tasks that a policy was trained on."""


def tried_table(advice: Advice) -> pd.DataFrame:
    """A row per number of policies that was tried, in words that a user reads."""
    rows = [
        {
            "policies": tried.policies,
            "loss": f"{tried.loss:.1%}",
            "interval": f"{max(tried.low, 0.0):.1%} to {tried.high:.1%}",
            "expected": f"{tried.expected:.1%}",
            "worst task": f"{tried.worst:.1%}",
            "steps of a policy": f"{tried.steps:,}",
        }
        for tried in advice.tried
    ]
    return pd.DataFrame(rows)


def regrets_table(advice: Advice) -> pd.DataFrame:
    """A row per trained policy and task, with what theory says of those that were trained alone."""
    table = _by_pair(advice.regrets, "loss")
    if advice.estimates is None:
        return table
    return table.merge(_by_pair(advice.estimates, "loss in theory"), how="left")


def _by_pair(matrix: pd.DataFrame, name: str) -> pd.DataFrame:
    return matrix.reset_index().melt("trained on", var_name="task", value_name=name)


def advice_chart(name: str, advice: Advice) -> Chart:
    """The tasks as a tree, over the losses of each trained policy on each of them."""
    order = list(range(len(advice.tasks)))
    tree: list[Mark] = []
    if advice.tree is not None:
        from scipy.cluster.hierarchy import dendrogram

        drawn = dendrogram(advice.tree, no_plot=True)
        order = drawn["leaves"]
        # Leaves are at 5, 15, 25, ...; a gap ends each bracket.
        x = [place for bracket in drawn["icoord"] for place in [*((at - 5) / 10 for at in bracket), np.nan]]
        y = [height for bracket in drawn["dcoord"] for height in [*bracket, np.nan]]
        tree = [Rule(advice.tolerance), Series("tasks", x, y, GREY, in_legend=False)]
    values = np.clip(advice.regrets.to_numpy()[:, order], 0.0, 1.0)
    labels = [str(advice.tasks[place]) for place in order]
    rows = [_shortened(str(trained)) for trained in advice.regrets.index]
    hover = [
        [f"trained on {trained}, on task {task}\nloses {value:.0%}" for task, value in zip(labels, own, strict=True)]
        for trained, own in zip(rows, values, strict=True)
    ]
    heatmap = Heatmap(values, "share lost", is_reversed=True, low=0.0, high=1.0, hover=hover)
    width = max(5.0, min(14.0, 0.22 * len(order) + 3.0))
    return Chart(
        name,
        [
            [Panel(tree, Axis(labels=labels), Axis("distance", low=0.0))],
            [Panel([heatmap], Axis("task", labels), Axis("policy trained on", rows))],
        ],
        title=_title(advice),
        size=(width, max(4.6, min(14.0, 0.26 * len(rows) + 3.4))),
    )


def _title(advice: Advice) -> str:
    if advice.policies is None:
        return "No number of policies can be recommended"
    interval = "" if advice.low == advice.high else f" ({advice.low} to {advice.high})"
    return f"Policies that are enough: {advice.policies}{interval}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST_NAME else f"{len(text.split())} tasks"
