"""`repertory reproduce`: run a sweep and show it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from repertory.cli.sweep_display import SweepDisplay, print_scores
from repertory.paper.experiments import experiments_named
from repertory.runs.status import FINISHED
from repertory.sweeps.results import read_results
from repertory.sweeps.reuse import reuse as take_known
from repertory.sweeps.run_sweep import prepare
from repertory.sweeps.sweep import Sweep, claim, default_folder, live_sweep, make_engine
from repertory.wording import counted


def reproduce_all_in_console(console: Console, name: str, out: Path | None, profile: str, **options: Any) -> bool:
    """Run the sweep of a name, or those of all experiments that go by it, each in a folder of its own."""
    names = experiments_named(name)
    is_done = True
    for each in names:
        folder = out if out is None or len(names) == 1 else out / default_folder(each, profile).name
        is_done &= reproduce_in_console(console, each, out=folder, profile=profile, **options)
    return is_done


def reproduce_in_console(
    console: Console,
    name: str,
    runs: str | None,
    conditions: str | None,
    workers: int | None,
    engine: str,
    out: Path | None,
    reuse: Path | None,
    tensorboard: bool,
    wandb: str | None,
    **options: Any,
) -> bool:
    """Run a sweep of an experiment, the paper's by name or one's own by file; whether all its runs finished."""
    sweep = Sweep.of(name, **options)
    patterns = [part.strip() for part in (conditions or "").split(",") if part.strip()]
    path, jobs = prepare(sweep, runs, patterns, out, reuse, tensorboard, wandb)
    chosen_engine = make_engine(engine, workers)
    claim(path, sweep)
    if reuse is not None:
        taken = take_known(jobs, reuse)
        console.print(f"{counted(len(taken), 'run')} copied from {reuse}", soft_wrap=True)
    with _polite_kill():
        try:
            standing = live_sweep(jobs, chosen_engine, SweepDisplay(console))
        except KeyboardInterrupt:
            console.print(f"saved in {path}; the same command resumes it", soft_wrap=True)
            raise
    print_scores(console, read_results(path))
    unfinished = [job for job in jobs if standing[job.folder].state != FINISHED]
    for job in unfinished:
        status = standing[job.folder]
        console.print(f"{job.condition} run {job.run} {status.state}: {status.message}", soft_wrap=True)
    finished = len(jobs) - len(unfinished)
    console.print(f"{finished} of {counted(len(jobs), 'run')} finished; saved in {path}", soft_wrap=True)
    return not unfinished


@contextmanager
def _polite_kill() -> Iterator[None]:
    """Let SIGTERM end a sweep as Ctrl-C does: every run is saved."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    old = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, old)
