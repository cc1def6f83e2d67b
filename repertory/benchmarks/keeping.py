"""What checkpoints cost, and what a second worker gains."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from repertory.benchmarks.result import Measured, Side
from repertory.core.lifetime import Monitor
from repertory.core.tally import BlockTally
from repertory.runs.folder import RunFolder
from repertory.runs.live import live_spec
from repertory.runs.saver import Saver
from repertory.runs.spec import run_spec
from repertory.sweeps.job import Job
from repertory.sweeps.local_engine import LocalEngine

SECONDS = 60.0
"""Of a lifetime, to find the share of checkpoints: they are at least 20 seconds apart."""
RUNS, BLOCKS = 4, 40
"""Of the sweep that one or two workers run."""


class _StopAfter(Monitor):
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def block_ended(self, tally: BlockTally) -> None:
        if time.monotonic() > self._end:
            raise KeyboardInterrupt


def checkpoint_share(_repeats: int) -> Measured:
    """Time that a 9-policy Cartpole DQN lifetime spends on checkpoints. Once: it is a minute already."""
    saving = 0.0
    save = Saver.save

    def timed_save(self: Saver) -> None:
        nonlocal saving
        started = time.monotonic()
        save(self)
        saving += time.monotonic() - started

    with tempfile.TemporaryDirectory() as scratch:
        spec = run_spec("cartpole27", "dqn", 9, "epsilon-greedy")
        Saver.save = timed_save  # type: ignore[method-assign]
        started = time.monotonic()
        try:
            live_spec(spec, Path(scratch) / "run", [_StopAfter(SECONDS)])
        except KeyboardInterrupt:
            pass
        finally:
            Saver.save = save  # type: ignore[method-assign]
        whole = time.monotonic() - started
    return Measured(saving / whole, Side("saving", "s", (saving,), is_cost=True), Side("in all", "s", (whole,)))


def checkpoint_seconds(repeats: int) -> Measured:
    """For one checkpoint of 27 Cartpole DQN policies whose memories are full."""
    lifetime = run_spec("cartpole27", "dqn", 27, "one-to-one").lifetime()
    for policy in lifetime.policies:
        policy.arrays.replay.slots.view("u1")[:] = 1  # pages that were never written would cost nothing
    seen = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = RunFolder(Path(scratch) / "library")
        folder.path.mkdir()
        for _ in range(repeats):
            started = time.monotonic()
            Saver(folder, lifetime, {}).save()
            seen.append(time.monotonic() - started)
    side = Side("repertory", "s", tuple(seen), is_cost=True)
    return Measured(side.best, side)


def gain_of_second_worker(repeats: int) -> Measured:
    """Time of a sweep with one worker over that with two."""
    seconds: dict[int, list[float]] = {2: [], 1: []}
    for _ in range(repeats):
        for workers, seen in seconds.items():
            seen.append(_sweep(workers))
    two, one = (
        Side(f"{workers} worker{'s' if workers > 1 else ''}", "s", tuple(seen), is_cost=True)
        for workers, seen in seconds.items()
    )
    return Measured(one.best / two.best, two, one)


def _sweep(workers: int) -> float:
    with tempfile.TemporaryDirectory() as scratch:
        jobs = [_job(Path(scratch), run) for run in range(RUNS)]
        started = time.monotonic()
        ends = [outcome for outcome in LocalEngine(workers).outcomes(jobs) if outcome is not None]
        taken = time.monotonic() - started
    for job, status in ends:
        if status.state != "finished":
            raise RuntimeError(f"run {job.run} {status.state}: {status.message}")
    return taken


def _job(scratch: Path, run: int) -> Job:
    spec = run_spec("cartpole27", "dqn", 4, "fixed-partition", blocks=BLOCKS, block_steps=60_000, run=run)
    return Job("bench", str(scratch / f"run-{run}"), spec.to_json())
