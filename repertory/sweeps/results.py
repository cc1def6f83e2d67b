"""What a folder of runs holds: every run folder below it, its settings and its blocks, grouped by condition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from repertory.core import metrics
from repertory.errors import UsageError
from repertory.paper.experiments import Condition, Experiment
from repertory.paths import existing_folder
from repertory.runs.folder import RunFolder, run_folders
from repertory.runs.provenance import MadeBy
from repertory.sweeps.sweep import FILE_NAME, Sweep, read_sweep


@dataclass(frozen=True)
class Run:
    """One run as far as it has come."""

    condition: str
    path: Path
    settings: dict[str, Any]
    blocks: pd.DataFrame
    is_done: bool
    made_by: tuple[MadeBy, ...] = ()
    """The code that made it."""

    @property
    def number(self) -> int:
        return int(self.settings["run"])

    @property
    def score_kind(self) -> str:
        return str(self.settings["score"])

    @cached_property
    def scores(self) -> pd.Series:
        """Of each block."""
        return metrics.block_scores(self.blocks, self.score_kind)

    @cached_property
    def divergence(self) -> metrics.Divergence | None:
        """When the values of a policy passed what any return can be."""
        return metrics.divergence(self.blocks)

    def score(self, which: str, final: str = metrics.LAST_BLOCKS) -> float:
        """`lifetime` or `final`; of what the latter is, see `metrics.FINAL_SCORES`."""
        if which == "lifetime":
            return metrics.lifetime_score(self.blocks, self.score_kind)
        if final == metrics.LAST_EPISODES:
            return float(self.blocks["last_return"].iloc[-1])
        return metrics.final_score(self.blocks, self.score_kind)


@dataclass(frozen=True)
class Results:
    """All runs of a folder. Those of a sweep know the experiment they belong to."""

    path: Path
    runs: tuple[Run, ...]
    sweep: Sweep | None
    problems: tuple[str, ...] = ()
    """What is wrong with the run folders that are left out."""

    @property
    def experiment(self) -> Experiment | None:
        return None if self.sweep is None else self.sweep.data

    @property
    def final(self) -> str:
        """Of what final scores are."""
        return metrics.LAST_BLOCKS if self.experiment is None else self.experiment.final

    def published(self, condition: str) -> Condition | None:
        """The condition as the paper has it."""
        return None if self.experiment is None else self.experiment.conditions.get(condition)

    @cached_property
    def by_condition(self) -> Mapping[str, list[Run]]:
        """Finished runs, in the experiment's order of conditions."""
        groups: dict[str, list[Run]] = {}
        if self.experiment is not None:
            groups = {name: [] for name in self.experiment.conditions}
        for run in self.runs:
            if run.is_done:
                groups.setdefault(run.condition, []).append(run)
        return {name: sorted(runs, key=lambda run: run.number) for name, runs in groups.items() if runs}

    def scores(self, condition: str, which: str = "lifetime") -> np.ndarray[Any, np.dtype[np.float64]]:
        """Of each finished run of a condition."""
        return np.array([run.score(which, self.final) for run in self.by_condition.get(condition, [])])

    def learners(self) -> list[str]:
        return list(dict.fromkeys(str(run.settings["learner"]["name"]) for run in self.runs))


def read_results(path: Path) -> Results:
    """Every run folder in `path`, at any depth."""
    existing_folder(path)
    sweep = read_sweep(path) if (path / FILE_NAME).exists() else None
    runs, problems = [], []
    for folder in run_folders(path):
        try:
            run = _read_run(path, folder)
        except UsageError as problem:  # one damaged folder does not hide the others
            problems.append(str(problem))
            continue
        if run is not None:
            runs.append(run)
    return Results(path, tuple(runs), sweep, tuple(problems))


def _read_run(root: Path, path: Path) -> Run | None:
    """None for a run that has no block yet."""
    folder = RunFolder(path)
    is_done = folder.is_done  # before the blocks are read: the run may end in between
    file = folder.run_file()
    try:
        blocks = folder.read_blocks(file.settings)
    except FileNotFoundError:
        return None
    if blocks.empty:
        return None
    named = path.parent if path.name.startswith("run-") and path != root else path
    condition = str(named.relative_to(root)) if named != root else named.resolve().name
    return Run(condition, path, file.settings, blocks, is_done, file.made_by)
