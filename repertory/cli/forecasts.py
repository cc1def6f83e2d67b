"""`repertory reproduce recommend`: make the recommendations that are compared with full-length answers.

Each is made in three ways, `NAME`, `NAME/pilot` and `NAME/clusters`: by `capacity recommend`, by short runs of all
library sizes as it used to be made, and by the clusters of random play.
"""

from __future__ import annotations

import fnmatch
import json
import time
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from repertory.analysis.clusters import STEPS, cluster_tasks
from repertory.analysis.pilot import (
    PILOT_BLOCK_STEPS,
    PILOT_BLOCKS_PER_TASK,
    PILOT_RUNS,
    candidates,
    pilot_policies,
)
from repertory.analysis.recommend import recommend_policies
from repertory.cli.progress import AdviceProgress
from repertory.errors import unknown
from repertory.paper.forecasts import Forecast, forecasts
from repertory.paths import check_new_folder, write_whole
from repertory.report.forecasts import CLUSTERS, FOLDER, METHODS, PILOT, Made
from repertory.runs.provenance import this_code

PROBES = "probes"
"""Where what was trained is saved; it need not be kept."""


def forecasts_in_console(console: Console, patterns: Sequence[str], seed: int, out: Path | None) -> None:
    """Make those whose names match, but for the ones that are there; the same command goes on where it was stopped."""
    folder = Path("results") / FOLDER if out is None else out
    check_new_folder(folder)
    for row, method in _selected(patterns):
        name = f"{row.name}{method.replace('/', '-')}"
        file = folder / f"{name}-{seed}.json"
        if not file.exists():
            console.print(f"{row.name}{method}:", soft_wrap=True)
            folder.mkdir(parents=True, exist_ok=True)
            make = {PILOT: _by_pilot, CLUSTERS: _by_clusters}.get(method, _by_probes)
            made = make(console, row, seed, folder / PROBES / f"{name}-{seed}")
            write_whole(file, (json.dumps(made.to_json(), indent=1) + "\n").encode())
        console.print(f"{row.name}{method}: {Made.read(file)}; in {file}", soft_wrap=True)


def _selected(patterns: Sequence[str]) -> list[tuple[Forecast, str]]:
    names = {
        row.name + method: (row, method)
        for method in METHODS
        for row in forecasts()
        if not (method == PILOT and row.above_random)  # it takes shares of scores that count from 0
    }
    for pattern in patterns:
        if not fnmatch.filter(names, pattern):
            raise unknown("recommendation", pattern, list(names))
    return [
        found for name, found in names.items() if not patterns or any(fnmatch.fnmatchcase(name, p) for p in patterns)
    ]


def _by_probes(console: Console, row: Forecast, seed: int, probes: Path) -> Made:
    with AdviceProgress(console) as progress:
        advice = recommend_policies(
            row.tasks,
            row.make_learner,
            blocks=row.blocks,
            block_steps=row.block_steps,
            steps=row.steps,
            profile=row.profile,
            seed=seed,
            out=probes,
            progress=progress,
        )
    console.print(str(advice), soft_wrap=True)
    health = advice.health
    return Made(
        name=row.name,
        seed=seed,
        policies=advice.policies,
        low=advice.low,
        high=advice.high,
        tolerance=advice.tolerance,
        groups=[list(group) for group in advice.groups],
        diverged_after=None if health is None else health.diverged_after,
        fall=None if health is None else health.fall,
        watched=0 if health is None else health.watched,
        steps=advice.spent.steps,
        core_seconds=advice.spent.core_seconds,
        said=str(advice),
        made_by=this_code().label,
    )


def _by_pilot(console: Console, row: Forecast, seed: int, pilots: Path) -> Made:
    """Every library size, two runs, 200,000 steps of each task."""
    began = time.process_time()
    found = pilot_policies(row.tasks, row.make_learner, seed=seed, profile=row.profile, out=pilots)
    n_tasks = found.estimate.curve.n_tasks
    few, many = found.estimate.interval(found.tolerance) or [n_tasks / found.policies] * 2
    steps = len(candidates(n_tasks)) * PILOT_RUNS * PILOT_BLOCKS_PER_TASK * n_tasks * PILOT_BLOCK_STEPS
    return _other(row, PILOT, seed, found.policies, round(n_tasks / many), round(n_tasks / few), steps, began)


def _by_clusters(console: Console, row: Forecast, seed: int, unused: Path) -> Made:
    began = time.process_time()
    domain = row.tasks
    count = cluster_tasks(domain, seed=seed).n_clusters
    return _other(row, CLUSTERS, seed, count, count, count, STEPS * domain.n_tasks, began)


def _other(row: Forecast, method: str, seed: int, policies: int, low: int, high: int, steps: int, began: float) -> Made:
    return Made(
        name=row.name,
        method=method,
        seed=seed,
        policies=policies,
        low=low,
        high=high,
        tolerance=0.05,
        groups=[],
        diverged_after=None,
        fall=None,
        watched=0,
        steps=steps,
        core_seconds=time.process_time() - began,
        said="",
        made_by=this_code().label,
    )
