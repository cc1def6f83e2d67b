"""Everything the report page shows, as plain values: what the page's script draws and the dashboard sends.

Every number here comes from `repertory.core.metrics` or `repertory.analysis`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from repertory.analysis.controls import UNADAPTIVE, capacity_of, command, learning_metrics, scores_by_policies
from repertory.analysis.significance import significance_matrix
from repertory.core.metrics import STRETCH, development
from repertory.core.tally import plays_by_task
from repertory.errors import UsageError
from repertory.report.domains import Part, by_domain, together
from repertory.report.time_table import time_table
from repertory.runs.summary import RunSummary, read_summary
from repertory.sweeps.results import Results, Run

ASSIGNMENT_POINTS = 15
"""Stretches of a lifetime in the picture of who plays what."""
SHOWN_NOTES = 3
"""On what a section lacks."""
PER_TASK_SHARE = 0.25
"""Per-task scores are over this last part of the lifetime."""


def page_data(results: Results, with_libraries: bool = True) -> dict[str, Any]:
    """All sections of the page; those that the runs do not allow say what is missing.

    Looking into libraries takes seconds for each run that was never looked into.
    """
    parts = by_domain(results)
    results = together(results, parts)
    tables = [(part, condition_rows(part)) for part in parts]
    return plain(
        {
            "title": results.path.resolve().name if results.experiment is None else results.experiment.title,
            "folder": results.path.resolve().name,
            "domains": [part.domain for part in parts],
            "score": shared_score(results),
            "summary": summary(results, tables),
            "conditions": [row for _part, rows in tables for row in rows],
            "development": [curve for part in parts for curve in development_data(part, stretch_of(results))],
            "stretch": stretch_of(results),
            "assignment": assignment_data(results),
            "per_task": per_task_data(parts),
            "learning": learning_data(parts),
            **capacity_data(parts),
            "significance": {learner: pairs for part in parts for learner, pairs in significance_data(part).items()},
            "libraries": libraries_data(results) if with_libraries else [],
            "time": time_table(results).to_dict("records"),
            "progress": progress_data(results),
            "missing": missing(results),
            "problems": results.problems,
            "settings": settings_data(results),
        }
    )


def shared_score(results: Results) -> str:
    """How blocks are scored, if all runs are scored alike."""
    kinds = {run.score_kind for run in results.runs}
    return kinds.pop() if len(kinds) == 1 else "score"


# ----------------------------------------------------------------------------------------- table and summary


def conditions_table(results: Results) -> pd.DataFrame:
    """A row per condition: ours, published, and their difference in published standard deviations."""
    return pd.DataFrame([row for part in by_domain(results) for row in condition_rows(part)])


def condition_rows(part: Part) -> list[dict[str, Any]]:
    """Those of one domain."""
    rows, results = [], part.results
    for name, runs in results.by_condition.items():
        paper = results.published(name)
        row: dict[str, Any] = {
            "condition": name,
            "learner": part.named(runs[0].settings["learner"]["name"]),
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
    return rows


def summary(results: Results, tables: Sequence[tuple[Part, list[dict[str, Any]]]]) -> list[str]:
    """A few sentences: what was run, what came out best, how it compares."""
    living = len(results.runs) - sum(len(runs) for runs in results.by_condition.values())
    unfinished = f", {living} more under way" if living else ""
    conditions = [row for _part, rows in tables for row in rows]
    if not conditions:
        return [f"No run has finished yet{unfinished}."]
    steps, runs = sum(row["steps"] for row in conditions), sum(row["runs"] for row in conditions)
    profile = f" of profile {results.sweep.profile}" if results.sweep is not None else ""
    sentences = [f"{runs} finished runs{profile} in {len(conditions)} conditions, {steps:,} steps{unfinished}."]
    if len(tables) > 1:
        domains = ", ".join(part.domain for part, _rows in tables)
        sentences.append(f"This folder holds {len(tables)} domains ({domains}); scores compare within a domain only.")
    for part, rows in tables:
        if rows:
            lived, ended = max(rows, key=lambda row: row["lifetime"]), max(rows, key=lambda row: row["final"])
            sentences.append(
                f"The best lifetime score{'' if part.is_alone else f' on {part.domain}'} is {lived['lifetime']:.4g} "
                f"({lived['condition']}), the best final score {ended['final']:.4g} ({ended['condition']})."
            )
    compared = [gap for row in conditions if (gap := row["lifetime difference"]) is not None]
    if compared:
        close = sum(abs(gap) <= 2 for gap in compared)
        sentences.append(
            f"{close} of {len(compared)} lifetime scores lie within two published standard deviations of the paper's."
        )
    return sentences


# ---------------------------------------------------------------------------------------------------- curves


def stretch_of(results: Results) -> int:
    """Blocks in a point of the development curves: the paper's 25, or a tenth of lifetimes that are shorter."""
    shortest = min((len(run.blocks) for runs in results.by_condition.values() for run in runs), default=1)
    return max(1, min(STRETCH, shortest // 10))


def development_data(part: Part, stretch: int) -> list[dict[str, Any]]:
    curves = []
    for name, runs in part.results.by_condition.items():
        curve = development([run.blocks for run in runs], runs[0].score_kind, stretch)
        settings = runs[0].settings
        curves.append(
            {
                "condition": name,
                "learner": part.named(settings["learner"]["name"]),
                "policies": settings["policies"],
                "tasks": len(settings["task_names"]),
                "score": runs[0].score_kind,
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


def per_task_data(parts: Sequence[Part]) -> dict[str, Any]:
    """Mean score of each task over the last quarter of the lifetimes, by condition; or why there is none."""
    if len(parts) > 1:
        note = "Domains have tasks of their own: for scores by task, give the folder of one domain's runs."
        return {"conditions": [], "tasks": [], "scores": [], "note": note}
    rows, names, results = [], [], parts[0].results
    for name, runs in results.by_condition.items():
        late = pd.concat(
            [pd.DataFrame({"task": run.blocks["task"], "score": run.scores}).tail(_late_blocks(run)) for run in runs]
        )
        means = late.groupby("task")["score"].mean()
        rows.append(means.reindex(range(len(runs[0].settings["task_names"]))).to_numpy(float))
        names.append(name)
    tasks = results.runs[0].settings["task_names"] if results.runs else []
    return {"conditions": names, "tasks": tasks, "scores": rows, "note": ""}


def _late_blocks(run: Run) -> int:
    return max(1, math.ceil(len(run.blocks) * PER_TASK_SHARE))


# -------------------------------------------------------------------------------------------------- analyses


def learning_data(parts: Sequence[Part]) -> dict[str, Any]:
    """Forgetting and transfer by bins for every condition, or why there is none."""
    found, notes = [], []
    for part in parts:
        for name in part.results.by_condition:
            try:
                metrics = learning_metrics(part.results, name)
            except UsageError as reason:
                notes.append(str(reason))
                continue
            found.append({"condition": name, **{kind: table.to_dict("list") for kind, table in metrics.items()}})
    return {"conditions": found, "notes": list(dict.fromkeys(notes))[:SHOWN_NOTES]}


def capacity_data(parts: Sequence[Part]) -> dict[str, Any]:
    """A curve for each learner with unadaptive runs at two numbers of policies or more, or why there is none."""
    curves, notes = [], []
    for part in parts:
        for learner in part.results.learners():
            try:
                if len(scores_by_policies(part.results, learner)) > 1:
                    curves.append({"learner": part.named(learner), **capacity_curve_data(part.results, learner)})
            except UsageError as reason:  # such as a library that the others are measured against, not there yet
                notes.append(f"{part.named(learner)}: {reason}")
    return {"capacity": curves, "capacity_notes": notes[:SHOWN_NOTES]}


def capacity_curve_data(results: Results, learner: str) -> dict[str, Any]:
    estimate = capacity_of(results, learner)
    curve = estimate.curve
    paper = None if results.experiment is None else results.experiment.capacity.get(learner)
    return {
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


def significance_data(part: Part) -> dict[str, Any]:
    """Pairwise F-tests of the lifetime scores of conditions of the same learner and with two runs or more."""
    groups, results = {}, part.results
    for learner in results.learners():
        names = [name for name, runs in results.by_condition.items() if runs[0].settings["learner"]["name"] == learner]
        scores = {name: results.scores(name) for name in names if len(results.scores(name)) > 1}
        if len(scores) > 1:
            groups[part.named(learner)] = significance_matrix(scores).to_dict("records")
    return groups


def libraries_data(results: Results) -> list[dict[str, Any]]:
    """Policy spread, memory and speed of the conditions whose libraries or summaries are at hand."""
    rows = []
    for name, runs in results.by_condition.items():
        summaries = [found for run in runs if (found := read_summary(run.path)) is not None]
        if summaries:
            rows.append({"condition": name, "runs": len(summaries), **_means(summaries)})
    return rows


def _means(summaries: Sequence[RunSummary]) -> dict[str, float | None]:
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
