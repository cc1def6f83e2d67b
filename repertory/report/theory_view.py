"""The paper's two examples of theoretical capacity in front of a person: table, figure and CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from rich.console import Console

from repertory.errors import unknown
from repertory.paper.polynomials import EXAMPLE_1, polynomial_capacity
from repertory.paper.walks import WalkCapacity, walk_capacities
from repertory.paths import check_new_folder
from repertory.report.capacity_view import keep, print_frame
from repertory.report.style import COLOURS

mpl.use("Agg")
import matplotlib.pyplot as plt

EXAMPLES = ("polynomials", "walks")


def show_example(name: str, epsilon: float, out: Path, console: Console) -> None:
    if name not in EXAMPLES:
        raise unknown("example", name, EXAMPLES)
    check_new_folder(out)
    (show_polynomials if name == "polynomials" else show_walks)(epsilon, out, console)


def show_polynomials(epsilon: float, out: Path, console: Console) -> None:
    """Example 1: four polynomials, approximated by lines through the origin."""
    found = polynomial_capacity(epsilon=epsilon)
    rows = [
        {"tasks": ", ".join(f"f{task + 1}" for task in group), "slope": fit.slope, "largest error": fit.error}
        for group, fit in found.fits.items()
    ]
    table = pd.DataFrame(rows).assign(within=lambda frame: frame["largest error"] <= epsilon)
    print_frame(console, table)
    slopes = ", ".join(f"{slope:.4g} s" for slope in found.slopes)
    enough = f"{found.n_policies} policies ({slopes}) are enough for {len(EXAMPLE_1)} tasks"
    console.print(f"{enough}: a capacity of {found.capacity:g}", soft_wrap=True)
    figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
    s = np.linspace(0, 1, 200)
    for index, task in enumerate(EXAMPLE_1):
        values = np.polynomial.polynomial.polyval(s, task)
        axes.plot(s, values, color=COLOURS[index], linewidth=2, label=f"task f{index + 1}")
    for slope in found.slopes:
        axes.plot(s, slope * s, color="#777777", linestyle="--", linewidth=1.2, label=f"policy {slope:.3g} s")
    _finish(axes, "s", "output", f"Example 1: {found.n_policies} lines within {epsilon:g} of four polynomials")
    keep(console, out, "theoretical-polynomials", table, figure)


def show_walks(epsilon: float, out: Path, console: Console) -> None:
    """Example 2: six walks on five states, three classes of policies."""
    rows, classes = [], []
    for turn_time in (1, 0):
        for found in walk_capacities(epsilon, turn_time):
            rows.append({"rewards": "as printed" if turn_time else "as the transitions give them", **_walk_row(found)})
            classes.append(found)
    table = pd.DataFrame(rows)
    print_frame(console, table)
    console.print(
        "The printed rewards need one time unit for a change of direction that the printed transitions do not have; "
        "the paper bounds the capacity by 1 and 3 for all of them.",
        soft_wrap=True,
    )
    figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
    names = [found.memory for found in classes[:3]]
    for index, label in enumerate(("rewards as printed", "transitions as printed")):
        heights = [found.capacity or 0 for found in classes[3 * index : 3 * index + 3]]
        axes.bar(np.arange(3) + 0.4 * index - 0.2, heights, width=0.36, color=COLOURS[index], label=label)
        for place, height in enumerate(heights):
            if not height:
                axes.text(place + 0.4 * index - 0.2, 0.03, "none", ha="center", fontsize=8)
    axes.set_xticks(range(3), [f"state and {name}" if name != "nothing" else "state only" for name in names])
    _finish(axes, "what a policy acts on", "tasks per policy", f"Example 2: capacity at epsilon {epsilon:g}")
    keep(console, out, "theoretical-walks", table, figure)


def _walk_row(found: WalkCapacity) -> dict[str, Any]:
    return {
        "policies act on": "state" if found.memory == "nothing" else f"state, {found.memory}",
        "policies": found.policies_enumerated,
        "N": "none" if found.n_policies is None else str(found.n_policies),
        "C": "none" if found.capacity is None else f"{found.capacity:g}",
        "possible from epsilon": found.smallest_epsilon,
    }


def _finish(axes: Any, x: str, y: str, title: str) -> None:
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(framealpha=0.9, edgecolor="none")
