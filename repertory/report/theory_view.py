"""Theoretical capacity of the paper's two examples, and of policies that were evaluated: table, figure and CSV file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.console import Console

from repertory.errors import UsageError, unknown
from repertory.paper.cover import minimum_cover
from repertory.paper.polynomials import EXAMPLE_1, polynomial_capacity
from repertory.paper.walks import WalkCapacity, walk_capacities
from repertory.paths import check_new_folder
from repertory.report.capacity_view import print_frame, save
from repertory.report.chart import BARS, COLOURS, DASH, GREY, STEPS, Axis, Mark, Rule, Series, single
from repertory.report.evaluation_view import cover_table, read_evaluation, regrets_of

EXAMPLES = ("polynomials", "walks")


def show_example(name: str, epsilon: float, out: Path, console: Console) -> None:
    """An example by name, or the policies in a CSV file of `repertory evaluate`."""
    check_new_folder(out)
    if name in EXAMPLES:
        (show_polynomials if name == "polynomials" else show_walks)(epsilon, out, console)
    elif name.endswith(".csv"):
        show_policies(Path(name), epsilon, out, console)
    else:
        raise UsageError(f"{unknown('example', name, EXAMPLES)}, or a CSV file that 'repertory evaluate' wrote")


def show_policies(path: Path, epsilon: float, out: Path, console: Console) -> None:
    """Policies that were trained: the fewest of them within epsilon of the best, on every task."""
    scores = read_evaluation(path).scores
    regrets = regrets_of(scores)
    found = minimum_cover(regrets, epsilon)
    table = cover_table(regrets, found)
    print_frame(console, table)
    console.print(
        f"{found.n_policies} of {len(scores)} policies are enough for {scores.shape[1]} tasks at a tolerance of "
        f"{epsilon:g}: a capacity of {found.capacity:g}. The optimum of a task is taken to be its best policy's score.",
        soft_wrap=True,
    )
    tolerances = np.linspace(0, 1, 101)
    # The best policy of every task is among them, so there is a cover at each tolerance.
    capacities = [minimum_cover(regrets, float(tolerance)).capacity for tolerance in tolerances]
    marks: list[Mark] = [
        Rule(epsilon, is_vertical=True),
        Series("capacity", tolerances, capacities, COLOURS[0], STEPS, width=2, in_legend=False),
    ]
    axes = Axis("tolerance (share of the best policy's score given up)", low=0, high=1), Axis("tasks per policy", low=0)
    chart = single("policies", marks, *axes, title=f"{len(scores)} trained policies on {scores.shape[1]} tasks")
    save(console, out, f"theoretical-{path.stem}", table, chart)


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
    s = np.linspace(0, 1, 200)
    marks: list[Mark] = [
        Series(f"task f{index + 1}", s, np.polynomial.polynomial.polyval(s, task), COLOURS[index])
        for index, task in enumerate(EXAMPLE_1)
    ]
    marks += [Series(f"policy {k:.3g} s", s, k * s, GREY, dash=DASH, width=1.2) for k in found.slopes]
    title = f"Example 1: {found.n_policies} lines within {epsilon:g} of four polynomials"
    chart = single("polynomials", marks, Axis("s"), Axis("output"), title=title, legend="inside")
    save(console, out, "theoretical-polynomials", table, chart)


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
    labels = ["state only" if found.memory == "nothing" else f"state and {found.memory}" for found in classes[:3]]
    marks: list[Mark] = [
        Series(label, [0, 1, 2], [found.capacity or 0 for found in classes[start : start + 3]], COLOURS[index], BARS)
        for index, (start, label) in enumerate(((0, "rewards as printed"), (3, "transitions as printed")))
    ]
    axes = Axis("what a policy acts on", labels), Axis("tasks per policy (none: no bar)", low=0)
    chart = single("walks", marks, *axes, title=f"Example 2: capacity at epsilon {epsilon:g}", legend="inside")
    save(console, out, "theoretical-walks", table, chart)


def _walk_row(found: WalkCapacity) -> dict[str, Any]:
    return {
        "policies act on": "state" if found.memory == "nothing" else f"state, {found.memory}",
        "policies": found.policies_enumerated,
        "N": "none" if found.n_policies is None else str(found.n_policies),
        "C": "none" if found.capacity is None else f"{found.capacity:g}",
        "possible from epsilon": found.smallest_epsilon,
    }
