"""Everything the report page shows, as plain values: what the page's script draws and the dashboard sends.

Every number here comes from `repertory.metrics`, `repertory.capacity` or `repertory.significance`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from repertory.errors import UsageError
from repertory.experiments.library import LibrarySummary, summarise
from repertory.experiments.references import UNADAPTIVE, capacity_of, command, learning_metrics, scores_by_policies
from repertory.experiments.results import Results, Run
from repertory.metrics import STRETCH, development
from repertory.record import plays_by_task
from repertory.report.time_table import time_table
from repertory.significance import significance_matrix

ASSIGNMENT_POINTS = 15
"""Stretches of a lifetime in the picture of who plays what."""
PER_TASK_SHARE = 0.25
"""Per-task scores are over this last part of the lifetime."""


def page_data(results: Results, with_libraries: bool = True) -> dict[str, Any]:
    """All sections of the page; those that the runs do not allow say what is missing.

    Looking into libraries takes seconds for each run that was never looked into.
    """
    conditions = conditions_table(results)
    return plain(
        {
            "title": results.path.resolve().name if results.experiment is None else results.experiment.title,
            "folder": results.path.resolve().name,
            "score": results.runs[0].score_kind if results.runs else "score",
            "summary": summary(results, conditions),
            "conditions": conditions.to_dict("records"),
            "development": development_data(results),
            "stretch": stretch_of(results),
            "assignment": assignment_data(results),
            "per_task": per_task_data(results),
            "learning": learning_data(results),
            "capacity": capacity_data(results),
            "significance": significance_data(results),
            "libraries": libraries_data(results) if with_libraries else [],
            "time": time_table(results).to_dict("records"),
            "progress": progress_data(results),
            "missing": missing(results),
            "settings": settings_data(results),
        }
    )


# ----------------------------------------------------------------------------------------- table and summary


def conditions_table(results: Results) -> pd.DataFrame:
    """A row per condition: ours, published, and their difference in published standard deviations."""
    rows = []
    for name, runs in results.by_condition.items():
        paper = results.published(name)
        row: dict[str, Any] = {
            "condition": name,
            "learner": runs[0].settings["learner"]["name"],
            "policies": runs[0].settings["policies"],
            "runs": len(runs),
            "steps": int(sum(run.blocks["steps"].sum() for run in runs)),
        }
        for which in ("lifetime", "final"):
            scores = results.scores(name, which)
            published = getattr(paper, which, None)
            row[which] = float(scores.mean())
            row[f"{which} sd"] = float(scores.std(ddof=1)) if len(scores) > 1 else None
            row[f"{which} published"] = None if published is None else published.mean
            row[f"{which} published sd"] = None if published is None else published.deviation
            row[f"{which} difference"] = None
            if published is not None and published.deviation:
                row[f"{which} difference"] = (row[which] - published.mean) / published.deviation
        rows.append(row)
    return pd.DataFrame(rows)


def summary(results: Results, conditions: pd.DataFrame) -> list[str]:
    """Three sentences: what was run, what came out best, how it compares."""
    living = len(results.runs) - sum(len(runs) for runs in results.by_condition.values())
    unfinished = f", {living} more under way" if living else ""
    if conditions.empty:
        return [f"No run has finished yet{unfinished}."]
    steps, runs = int(conditions["steps"].sum()), int(conditions["runs"].sum())
    profile = f" of profile {results.sweep.profile}" if results.sweep is not None else ""
    sentences = [f"{runs} finished runs{profile} in {len(conditions)} conditions, {steps:,} steps{unfinished}."]
    best = {which: max(conditions.to_dict("records"), key=lambda row: row[which]) for which in ("lifetime", "final")}
    lived, ended = best["lifetime"], best["final"]
    sentences.append(
        f"The best lifetime score is {lived['lifetime']:.4g} ({lived['condition']}), the best final score "
        f"{ended['final']:.4g} ({ended['condition']})."
    )
    compared = conditions["lifetime difference"].dropna()
    if len(compared):
        close = int((compared.abs() <= 2).sum())
        sentences.append(
            f"{close} of {len(compared)} lifetime scores lie within two published standard deviations of the paper's."
        )
    return sentences


# ---------------------------------------------------------------------------------------------------- curves


def stretch_of(results: Results) -> int:
    """Blocks in a point of the development curves: the paper's 25, or a tenth of lifetimes that are shorter."""
    shortest = min((len(run.blocks) for runs in results.by_condition.values() for run in runs), default=1)
    return max(1, min(STRETCH, shortest // 10))


def development_data(results: Results) -> list[dict[str, Any]]:
    curves = []
    stretch = stretch_of(results)
    for name, runs in results.by_condition.items():
        curve = development([run.blocks for run in runs], runs[0].score_kind, stretch)
        settings = runs[0].settings
        curves.append(
            {
                "condition": name,
                "learner": settings["learner"]["name"],
                "policies": settings["policies"],
                "adaptive": settings["selector"]["name"] not in UNADAPTIVE,
                "steps": curve.steps / 1e6,
                "mean": curve.mean,
                "error": curve.error,
                "runs": len(runs),
            }
        )
    return curves


def assignment_data(results: Results) -> list[dict[str, Any]]:
    """For the first run of each adaptive condition: each task's favourite policy and its share, over the lifetime."""
    maps = []
    for name, runs in results.by_condition.items():
        run = runs[0]
        if run.settings["policies"] == 1 or run.settings["selector"]["name"] in UNADAPTIVE:
            continue
        maps.append({"condition": name, "run": run.number, **assignment_over_time(run)})
    return maps


def assignment_over_time(run: Run) -> dict[str, Any]:
    n_tasks = len(run.settings["task_names"])
    stretch = max(1, math.ceil(len(run.blocks) / ASSIGNMENT_POINTS))
    favourites, shares, ends = [], [], []
    for first in range(0, len(run.blocks), stretch):
        plays = plays_by_task(run.blocks.iloc[first : first + stretch], n_tasks).astype(float)
        totals = plays.sum(axis=1)
        seen = totals > 0
        favourites.append(np.where(seen, plays.argmax(axis=1), np.nan))
        shares.append(np.where(seen, plays.max(axis=1) / np.maximum(totals, 1), np.nan))
        ends.append(float(run.blocks["steps"].iloc[: first + stretch].sum()) / 1e6)
    return {
        "steps": ends,
        "tasks": run.settings["task_names"],
        "policies": run.settings["policies"],
        "favourite": np.array(favourites).T,
        "share": np.array(shares).T,
    }


def per_task_data(results: Results) -> dict[str, Any]:
    """Mean score of each task over the last quarter of the lifetimes, by condition."""
    rows, names = [], []
    for name, runs in results.by_condition.items():
        late = pd.concat(
            [pd.DataFrame({"task": run.blocks["task"], "score": run.scores}).tail(_late_blocks(run)) for run in runs]
        )
        means = late.groupby("task")["score"].mean()
        rows.append(means.reindex(range(len(runs[0].settings["task_names"]))).to_numpy(float))
        names.append(name)
    tasks = results.runs[0].settings["task_names"] if results.runs else []
    return {"conditions": names, "tasks": tasks, "scores": rows}


def _late_blocks(run: Run) -> int:
    return max(1, math.ceil(len(run.blocks) * PER_TASK_SHARE))


# -------------------------------------------------------------------------------------------------- analyses


def learning_data(results: Results) -> dict[str, Any]:
    """Forgetting and transfer by bins for every condition, or why there is none."""
    found, notes = [], []
    for name in results.by_condition:
        try:
            metrics = learning_metrics(results, name)
        except UsageError as reason:
            notes.append(str(reason))
            continue
        found.append({"condition": name, **{kind: table.to_dict("list") for kind, table in metrics.items()}})
    return {"conditions": found, "notes": list(dict.fromkeys(notes))[:3]}


def capacity_data(results: Results) -> list[dict[str, Any]]:
    curves = []
    for learner in results.learners():
        try:
            if len(scores_by_policies(results, learner)) < 2:
                continue
            estimate = capacity_of(results, learner)
        except UsageError:  # the library that the others are measured against is not there yet
            continue
        curve = estimate.curve
        paper = None if results.experiment is None else results.experiment.capacity.get(learner)
        curves.append(
            {
                "learner": learner,
                "reference": curve.reference,
                "tolerances": [step.tolerance for step in curve.steps] + [1.0],
                "capacities": [step.capacity for step in curve.steps] + [curve.steps[-1].capacity],
                "itc": curve.grid_mean,
                "itc exact": curve.integral,
                "itc interval": estimate.interval(),
                "published itc": None if paper is None else paper.integrated,
                "tolerance": None if paper is None else paper.tolerance,
                "capacity": None if paper is None else curve.capacity(paper.tolerance),
                "published capacity": None if paper is None else paper.capacity,
                "policies": None if paper is None else curve.policies(paper.tolerance),
                "published policies": None if paper is None else paper.policies,
            }
        )
    return curves


def significance_data(results: Results) -> dict[str, Any]:
    """Pairwise F-tests of the lifetime scores of conditions of the same learner and with two runs or more."""
    groups = {}
    for learner in results.learners():
        names = [name for name, runs in results.by_condition.items() if runs[0].settings["learner"]["name"] == learner]
        scores = {name: results.scores(name) for name in names if len(results.scores(name)) > 1}
        if len(scores) > 1:
            groups[learner] = significance_matrix(scores).to_dict("records")
    return groups


def libraries_data(results: Results) -> list[dict[str, Any]]:
    """Policy spread, memory and speed of the conditions whose libraries or summaries are at hand."""
    rows = []
    for name, runs in results.by_condition.items():
        summaries = [found for run in runs if (found := summarise(run.path)) is not None]
        if summaries:
            rows.append({"condition": name, "runs": len(summaries), **_means(summaries)})
    return rows


def _means(summaries: Sequence[LibrarySummary]) -> dict[str, float | None]:
    def mean(values: list[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if known else None

    return {
        "spread": mean([found.policy_spread for found in summaries]),
        "memory": mean([found.memory for found in summaries]),
        "steps per second": mean([found.steps_per_second for found in summaries]),
    }


# -------------------------------------------------------------------------------------- progress and settings


def progress_data(results: Results) -> list[dict[str, Any]]:
    """Every run and how far it has come."""
    return [
        {
            "condition": run.condition,
            "run": run.number,
            "blocks": len(run.blocks),
            "of": run.settings["blocks"],
            "finished": run.is_done,
            "score": float(run.scores.iloc[-1]),
        }
        for run in results.runs
    ]


def missing(results: Results) -> dict[str, Any] | None:
    """Conditions of the experiment without a finished run, and the command that fills the gap."""
    if results.experiment is None:
        return None
    gaps = [name for name in results.experiment.conditions if name not in results.by_condition]
    return {"conditions": gaps, "command": command(results, ",".join(gaps))} if gaps else None


def settings_data(results: Results) -> list[dict[str, Any]]:
    """Settings of one run of each condition, and the code that made it."""
    found = []
    for name, runs in results.by_condition.items():
        settings = {key: value for key, value in runs[0].settings.items() if key != "task_names"}
        makers = [maker.as_dict() for maker in runs[0].made_by]
        found.append({"condition": name, "settings": settings, "made_by": makers})
    return found


def plain(value: Any) -> Any:
    """JSON's own kinds of value: arrays to lists, NaN to null."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
