"""`repertory.sweep`: the runs of an experiment, the paper's or your own, from Python."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from repertory.errors import RunStopped
from repertory.paths import check_new_folder, existing_folder
from repertory.runs.status import FINISHED
from repertory.runs.wandb import WandbMonitor
from repertory.sweeps.job import Job
from repertory.sweeps.results import Results, read_results
from repertory.sweeps.reuse import reuse as take_known
from repertory.sweeps.sweep import Engine, Sweep, Watcher, claim, default_folder, live_sweep, make_engine, parse_runs


def sweep(
    source: str | Path,
    *,
    runs: str | Sequence[int] | None = None,
    conditions: Sequence[str] = (),
    scale: float = 1.0,
    blocks: int | None = None,
    profile: str = "text",
    seed: int = 0,
    sequence: str | None = None,
    out: str | Path | None = None,
    engine: str | Engine = "local",
    workers: int | None = None,
    reuse: str | Path | None = None,
) -> Results:
    """Run an experiment and return what its folder holds. Runs that were stopped are resumed, finished ones left alone.

    `source` is an experiment of the paper (`"cartpole27"`) or a TOML file of yours. `runs` is such as `"0-4"` or
    `[0, 1]`, `conditions` names or patterns; all if not given. `engine` is `"local"`, `"ray"`, the name of one that a
    package brings, or an object. Runs that are finished in the folder `reuse`, of whatever experiment, are copied from
    there instead of run. Runs that did not finish raise RunStopped, after all others have.
    """
    chosen = Sweep.of(source, profile=profile, scale=scale, blocks=blocks, seed=seed, sequence=sequence)
    path, jobs = prepare(chosen, runs, conditions, out, reuse)
    running = make_engine(engine, workers) if isinstance(engine, str) else engine
    claim(path, chosen)
    if reuse is not None:
        take_known(jobs, Path(reuse))
    standing = live_sweep(jobs, running, Watcher())
    failed = [job for job in jobs if standing[job.folder].state != FINISHED]
    if failed:
        status = standing[failed[0].folder]
        raise RunStopped(
            f"{len(failed)} of {len(jobs)} runs did not finish; {failed[0].folder} {status.state}: {status.message}"
        )
    return read_results(path)


def prepare(
    chosen: Sweep,
    runs: str | Sequence[int] | None,
    conditions: Sequence[str],
    out: str | Path | None,
    reuse: str | Path | None = None,
    tensorboard: bool = False,
    wandb: str | None = None,
) -> tuple[Path, list[Job]]:
    """The folder of a sweep and the jobs asked for; what cannot be run is refused here, before anything is written."""
    if wandb is not None:
        WandbMonitor(wandb)  # the workers' own come too late to refuse a sweep
    if reuse is not None:
        existing_folder(Path(reuse), "valid: a folder of runs")
    path = Path(out or default_folder(chosen.experiment, chosen.profile))
    if not os.path.isdir(path):  # the folder of a finished sweep may be read-only
        check_new_folder(path)
    path = path.resolve()
    selected = chosen.data.select(conditions)
    given = parse_runs(runs) if isinstance(runs, str) else runs
    numbers = range(max(condition.runs for condition in selected)) if given is None else given
    asked = [(run, each) for run in numbers for each in selected if given is not None or run < each.runs]
    return path, [chosen.job(path, condition, run, tensorboard, wandb) for run, condition in asked]
