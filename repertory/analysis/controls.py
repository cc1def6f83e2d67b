"""What forgetting and transfer are measured against: the random policy and the one-to-one run."""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from repertory.analysis.capacity import CapacityEstimate, estimate_capacity
from repertory.core.metrics import by_bins, forgetting_ratios, transfer_ratios
from repertory.errors import UsageError
from repertory.runs.folder import RUN_FILE, RunFolder
from repertory.runs.live import live_spec
from repertory.runs.spec import RunSpec
from repertory.runs.summary import read_summary
from repertory.sweeps.results import Results, Run

if TYPE_CHECKING:
    from repertory.paper.experiments import Condition

UNADAPTIVE = ("fixed-partition", "one-to-one")
"""Selectors that never change which policy plays a task."""
TWIN = "OneToOne"
"""The conditions of runs that were made only to be compared with begin so."""


def run_key(run: Run) -> tuple[int, int]:
    """The same for runs of one number that met the same tasks in the same order: those may be compared pair by pair."""
    return run.number, zlib.crc32(run.blocks["task"].to_numpy(np.int64).tobytes())


def random_scores_of(run: Run) -> dict[int, float]:
    """The score of the random policy on each task, as it was found when the run ended."""
    summary = read_summary(run.path)
    scores = None if summary is None else summary.random_scores
    if scores is None or len(scores) != len(run.settings["task_names"]):
        raise UsageError(
            f"{run.path} does not say how random play scores, which {run.condition} is measured against; next: "
            f"repertory migrate {run.path}"
        )
    return dict(enumerate(scores))


def one_to_one_runs(results: Results, learner: str) -> dict[int, Run]:
    """Finished runs of a learner with a policy for each task, by number."""
    return {
        run.number: run
        for run in itertools.chain(*results.by_condition.values())
        if run.settings["learner"]["name"] == learner
        and run.settings["policies"] == len(run.settings["task_names"])
        and run.settings["selector"]["name"] in UNADAPTIVE
    }


def live_one_to_one(results: Results, run: Run) -> Run:
    """Run the one-to-one twin with the task sequence of another, into the same folder of results."""
    changes = {"selector": {"name": "one-to-one"}, "policies": len(run.settings["task_names"])}
    condition, path = _twin_folder(results, run)
    folder = RunFolder(path)
    if folder.is_done:  # made since the results were read
        return Run(condition, path, folder.settings(), folder.read_blocks(), is_done=True)
    record = live_spec(RunSpec.from_json({**run.settings, **changes}), path)
    return Run(condition, path, record.settings, record.blocks, is_done=True)


def _twin_folder(results: Results, run: Run) -> tuple[str, Path]:
    """Condition and folder of the one-to-one run; with the domain's name if that of another domain is there."""
    condition = f"{TWIN}{run.settings['learner']['name'].upper()}"
    for name in (condition, f"{condition}-{run.settings['domain']['name']}"):
        path = results.path / name / f"run-{run.number:02d}"
        if not (path / RUN_FILE).exists() or RunFolder(path).settings()["domain"] == run.settings["domain"]:
            break
    return name, path


def learning_metrics(results: Results, condition: str, compute_missing: bool = False) -> dict[str, pd.DataFrame]:
    """Forgetting and transfer ratios of a condition by bins, with standard errors over runs.

    Where a run of the same number with a policy for each task is missing, it is run if `compute_missing`, else named.
    """
    runs = results.by_condition.get(condition, [])
    if not runs:
        raise UsageError(f"{results.path} has no finished run of {condition}; next: {command(results, condition)}")
    learner = str(runs[0].settings["learner"]["name"])
    twins: Mapping[int, Run] = one_to_one_runs(results, learner)
    scores = random_scores_of(runs[0])
    forgetting, transfer = [], []
    for run in runs:
        twin = twins.get(run.number)
        if twin is None:
            if not compute_missing:
                raise _missing_twin(results, run)
            twin = live_one_to_one(results, run)
        forgetting.append(forgetting_ratios(run.blocks, twin.blocks, scores, run.score_kind).assign(run=run.number))
        transfer.append(transfer_ratios(run.blocks, twin.blocks, scores, run.score_kind).assign(run=run.number))
    return {
        "forgetting": by_bins(pd.concat(forgetting, ignore_index=True), "interfering"),
        "transfer": by_bins(pd.concat(transfer, ignore_index=True), "prior"),
    }


def command(results: Results, condition: str, runs: str = "0") -> str:
    """The command that fills a gap."""
    if results.sweep is None:
        return "repertory run --help"
    extra = f" --profile {results.sweep.profile}" if results.sweep.profile != "text" else ""
    extra += f" --scale {results.sweep.scale:g}" if results.sweep.scale != 1 else ""
    extra += f" --blocks {results.sweep.blocks}" if results.sweep.blocks is not None else ""
    extra += f" --seed {results.sweep.seed}" if results.sweep.seed else ""
    extra += f" --sequence {results.sweep.sequence}" if results.sweep.sequence is not None else ""
    name = results.sweep.experiment
    return f"repertory reproduce {name} --conditions {condition} --runs {runs}{extra} --out {results.path}"


def _conditions_of(results: Results, learner: str) -> list[Condition]:
    """Those that the experiment has of a learner; none outside of the paper's experiments."""
    known = {} if results.experiment is None else results.experiment.conditions
    return [condition for condition in known.values() if condition.learner == learner]


def _missing_twin(results: Results, run: Run) -> UsageError:
    learner = str(run.settings["learner"]["name"])
    names = [c.name for c in _conditions_of(results, learner) if c.policies == len(run.settings["task_names"])]
    next_step = command(results, names[0], str(run.number)) if names else "make it with --selector one-to-one"
    return UsageError(
        f"forgetting and transfer of {run.condition} need run {run.number} of {learner} with a policy for each task; "
        f"next: {next_step}"
    )


def scores_by_policies(results: Results, learner: str, above_random: bool = False) -> dict[int, Any]:
    """Lifetime scores of a learner's unadaptive runs by number of policies; or what they are above random play's."""
    runs = runs_by_policies(results, learner)
    return {
        policies: np.array([run.score("lifetime") - (_random_lifetime(run) if above_random else 0.0) for run in own])
        for policies, own in runs.items()
    }


def _random_lifetime(run: Run) -> float:
    """The lifetime score of random play on a run's tasks."""
    return float(run.blocks["task"].map(random_scores_of(run)).mean())


def runs_by_policies(results: Results, learner: str) -> dict[int, list[Run]]:
    """A learner's finished unadaptive runs, which the paper's capacity is of, by number of policies, fewest first."""
    found: dict[int, list[Run]] = {}
    kinds = set()
    for runs in results.by_condition.values():
        for run in runs:
            if run.condition.startswith(TWIN) and results.experiment is not None:
                continue  # made for comparison; the experiment has a condition of its own for it
            if run.settings["task"] is not None:
                continue  # of some tasks only: a control
            if run.settings["learner"]["name"] == learner and run.settings["selector"]["name"] in UNADAPTIVE:
                found.setdefault(int(run.settings["policies"]), []).append(run)
                shared = ("domain", "learner", "profile", "blocks", "block_steps")
                kinds.add(json.dumps({key: run.settings.get(key) for key in shared}, sort_keys=True))
    if len(kinds) > 1:
        raise UsageError(
            f"{results.path} holds runs of {learner} on {len(kinds)} different domains, settings or lengths, which do "
            "not compare; next: give the folder of one sweep"
        )
    return dict(sorted(found.items()))


def capacity_of(results: Results, learner: str, above_random: bool = False) -> CapacityEstimate:
    """From the unadaptive runs; the largest library must have a policy for each task, or be the paper's largest.

    With `above_random`, scores count from random play's, so that rewards may be costs.
    """
    scores = scores_by_policies(results, learner, above_random)
    n_tasks = next(len(r.settings["task_names"]) for r in results.runs if r.settings["learner"]["name"] == learner)
    known = _conditions_of(results, learner)
    largest = max((c.policies for c in known), default=n_tasks)
    if max(scores) < largest:
        names = [c.name for c in known if c.policies == largest]
        next_step = command(results, names[0]) if names else "make a run with --selector one-to-one"
        raise UsageError(
            f"{results.path} has no finished run of {learner} with {largest} policies, which the others are measured "
            f"against; next: {next_step}"
        )
    runs = runs_by_policies(results, learner)
    keys = {policies: [run_key(run) for run in own] for policies, own in runs.items()}
    return estimate_capacity(scores, n_tasks, keys=keys)
