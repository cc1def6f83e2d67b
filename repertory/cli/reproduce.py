"""`repertory reproduce`: run a sweep and show it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from repertory.cli.sweep_display import SweepDisplay, print_scores
from repertory.runs.status import FINISHED
from repertory.sweeps.results import read_results
from repertory.sweeps.run_sweep import prepare
from repertory.sweeps.sweep import Sweep, claim, live_sweep, make_engine


def reproduce_in_console(
    console: Console,
    name: str,
    runs: str | None,
    conditions: str | None,
    workers: int | None,
    engine: str,
    out: Path | None,
    tensorboard: bool,
    **options: Any,
) -> bool:
    """Run a sweep of an experiment, the paper's by name or one's own by file; whether all its runs finished."""
    sweep = Sweep.of(name, **options)
    patterns = [part.strip() for part in (conditions or "").split(",") if part.strip()]
    path, jobs = prepare(sweep, runs, patterns, out, tensorboard)
    chosen_engine = make_engine(engine, workers)
    claim(path, sweep)
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
    console.print(f"{finished} of {len(jobs)} runs finished; saved in {path}", soft_wrap=True)
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
