"""Runs and sweeps in front of a person: progress while they live, tables and figures when they are over."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from repertory.cli.sweep_display import SweepDisplay, print_scores
from repertory.cli.tables import ProgressMonitor, print_summary
from repertory.core.lifetime import Monitor
from repertory.errors import UsageError
from repertory.paths import check_new_folder
from repertory.report.figures import draw_lifetime
from repertory.runs.folder import RunFolder
from repertory.runs.live import live_spec
from repertory.runs.spec import RunSpec
from repertory.runs.status import FINISHED
from repertory.runs.tensorboard import TensorBoardMonitor
from repertory.sweeps.results import read_results
from repertory.sweeps.run_sweep import prepare
from repertory.sweeps.sweep import Sweep, claim, live_sweep, make_engine


def run_in_console(spec: RunSpec, out: Path | None, console: Console, tensorboard: bool = False) -> None:
    if tensorboard and out is None:
        raise UsageError("--tensorboard writes into the run's folder; give --out as well")
    if out is not None and RunFolder(out).holds_finished(spec.to_json()):
        console.print(f"{out} holds this run, finished; nothing to do", soft_wrap=True)
        return
    if out is not None:
        check_new_folder(out)
    progress = ProgressMonitor(console, spec.blocks, spec.block_steps, spec.domain.score)
    monitors: list[Monitor] = [progress]
    if tensorboard and out is not None:
        monitors.append(TensorBoardMonitor(out, spec.domain.score))
    try:
        record = live_spec(spec, out, monitors, draw_lifetime, notice=lambda text: console.print(text, soft_wrap=True))
    except KeyboardInterrupt:
        progress.close()
        if out is not None:
            console.print(f"kept in {out}; the same command goes on from its last checkpoint", soft_wrap=True)
        raise
    finally:
        progress.close()
    print_summary(console, record)
    if out is not None:
        console.print(f"kept in {out} (figure: {RunFolder(out).figure_file})", soft_wrap=True)


def reproduce_in_console(
    name: str,
    console: Console,
    *,
    runs: str | None,
    conditions: Sequence[str],
    scale: float,
    blocks: int | None,
    workers: int | None,
    profile: str,
    engine: str,
    out: Path | None,
    seed: int,
    tensorboard: bool,
) -> bool:
    """Run a sweep of an experiment, the paper's by name or one's own by file; whether all its runs finished."""
    sweep = Sweep.of(name, profile=profile, scale=scale, blocks=blocks, seed=seed)
    path, jobs = prepare(sweep, runs, conditions, out, tensorboard)
    chosen_engine = make_engine(engine, workers)
    claim(path, sweep)
    with _polite_kill():
        try:
            standing = live_sweep(jobs, chosen_engine, SweepDisplay(console))
        except KeyboardInterrupt:
            console.print(f"kept in {path}; the same command goes on from its last checkpoints", soft_wrap=True)
            raise
    print_scores(console, read_results(path))
    unfinished = [job for job in jobs if standing[job.folder].state != FINISHED]
    for job in unfinished:
        status = standing[job.folder]
        console.print(f"{job.condition} run {job.run} {status.state}: {status.message}", soft_wrap=True)
    finished = len(jobs) - len(unfinished)
    console.print(f"{finished} of {len(jobs)} runs finished; kept in {path}", soft_wrap=True)
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
