"""What it costs to lose nothing, and what a second worker gains."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from repertory.experiments.folder import RunFolder
from repertory.experiments.job import Job
from repertory.experiments.keeper import Keeper
from repertory.experiments.local_engine import LocalEngine
from repertory.experiments.plan import make_plan
from repertory.experiments.run import live_plan
from repertory.lifetime import Monitor
from repertory.record import BlockTally


class CheckpointCost(NamedTuple):
    share: float
    """Of the time of a 9-policy Cartpole DQN lifetime."""
    seconds: float
    """For one checkpoint of 27 policies whose memories are full."""


class _StopAfter(Monitor):
    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def block_ended(self, tally: BlockTally) -> None:
        if time.monotonic() > self._end:
            raise KeyboardInterrupt


def checkpoint_cost(seconds: float = 60.0) -> CheckpointCost:
    saving = 0.0
    save = Keeper.save

    def timed_save(keeper: Keeper) -> None:
        nonlocal saving
        started = time.monotonic()
        save(keeper)
        saving += time.monotonic() - started

    with tempfile.TemporaryDirectory() as scratch:
        plan = make_plan("cartpole27", "dqn", 9, "epsilon-greedy")
        Keeper.save = timed_save  # type: ignore[method-assign]
        started = time.monotonic()
        try:
            live_plan(plan, Path(scratch) / "run", [_StopAfter(seconds)])
        except KeyboardInterrupt:
            pass
        finally:
            Keeper.save = save  # type: ignore[method-assign]
        share = saving / (time.monotonic() - started)
        library = make_plan("cartpole27", "dqn", 27, "one-to-one").lifetime()
        for policy in library.policies:
            policy.arrays.replay.slots.view("u1")[:] = 1  # pages that were never written would cost nothing
        folder = RunFolder(Path(scratch) / "library")
        folder.path.mkdir()
        started = time.monotonic()
        Keeper(folder, library, {}).save()
        return CheckpointCost(share, time.monotonic() - started)


def gain_of_second_worker(runs: int = 4, blocks: int = 40) -> float:
    """Time of a sweep with one worker over that with two, at their best of two turns each."""
    best = {1: float("inf"), 2: float("inf")}
    for turn in range(2):
        for workers in best:
            with tempfile.TemporaryDirectory() as scratch:
                jobs = [_job(Path(scratch), run, blocks) for run in range(runs)]
                started = time.monotonic()
                ends = [outcome for outcome in LocalEngine(workers).outcomes(jobs) if outcome is not None]
                assert all(status.state == "finished" for _job, status in ends), turn
                best[workers] = min(best[workers], time.monotonic() - started)
    return best[1] / best[2]


def _job(scratch: Path, run: int, blocks: int) -> Job:
    options = {"domain": "cartpole27", "learner": "dqn", "selector": "fixed-partition", "policies": 4}
    options |= {"blocks": blocks, "block_steps": 60_000, "run": run, "seed": 0, "profile": "text"}
    return Job("bench", run, str(scratch / f"run-{run}"), options)
