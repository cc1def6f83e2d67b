"""One run of a sweep, as a worker lives it: on this machine (`python -m repertory.experiments.job`) or another.

A job is plain values, so that it can be sent anywhere; what comes of it is in its run folder.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from repertory.errors import RunStopped, UsageError
from repertory.experiments.config import names_and_changes, plan_from_names
from repertory.experiments.folder import FolderInUse, RunFolder
from repertory.experiments.keeper import Diverged
from repertory.experiments.plan import Plan
from repertory.experiments.run import live_plan
from repertory.experiments.status import (
    DIVERGED,
    FINISHED,
    INTERRUPTED,
    PAUSE,
    STOPPED,
    Status,
    StatusMonitor,
    read_status,
)
from repertory.lifetime import Monitor
from repertory.record import BlockTally

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_NUM_THREADS"), "1"
)
"""The environment of a worker: a run has one core, and small networks gain nothing from a second."""


PATIENCE = 20.0
"""Seconds to wait for a folder: the workers of a sweep that was killed save and stop a moment later."""


@dataclass(frozen=True)
class Job:
    """A run to be lived."""

    condition: str
    run: int
    folder: str
    options: dict[str, Any]
    """The keys of `config.RUN_KEYS`, components by name."""
    sections: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Changes to the settings of the components."""
    tensorboard: bool = False

    @classmethod
    def of_plan(cls, condition: str, plan: Plan, folder: Path) -> Job:
        """The job of living a plan whose components are all in the catalogue."""
        options, sections = names_and_changes(plan.settings())
        return cls(condition, plan.run, str(folder), options, sections)

    def plan(self) -> Plan:
        return plan_from_names(self.options, self.sections)

    @property
    def is_finished(self) -> bool:
        return RunFolder(Path(self.folder)).is_done

    def status(self) -> Status | None:
        return read_status(Path(self.folder))


def run_job(job: Job, patience: float = 0.0, orphaned_from: int | None = None) -> Status:
    """Live a job to its end, or as far as it goes; never raises for what can befall a run.

    A folder that another process holds is waited for as long as `patience` seconds: a process on a lost machine lets
    go of it only some time later. With `orphaned_from`, the run is saved and stopped when that parent process is gone.
    """
    folder = RunFolder(Path(job.folder))
    try:
        plan = job.plan()
        status = StatusMonitor(folder, plan.block_steps, plan.domain.score)
        monitors: list[Monitor] = [status, *_monitors(job, plan, orphaned_from)]
    except UsageError as error:
        return Status(STOPPED, str(error))
    try:
        _live_when_free(folder, plan, monitors, patience)
    except Diverged as error:
        return status.write(DIVERGED, str(error))
    except KeyboardInterrupt:
        return status.write(INTERRUPTED)
    except UsageError as error:  # the folder is not ours to write to
        return Status(STOPPED, str(error))
    except (RunStopped, MemoryError) as error:
        return status.write(STOPPED, str(error) or "out of memory")
    except Exception as error:
        traceback.print_exc()
        return status.write(STOPPED, f"{type(error).__name__}: {error}")
    return status.write(FINISHED)


def _monitors(job: Job, plan: Plan, orphaned_from: int | None) -> Iterator[Monitor]:
    if orphaned_from is not None:
        yield _ParentWatch(orphaned_from)
    if job.tensorboard:
        from repertory.experiments.tensorboard import TensorBoardMonitor

        yield TensorBoardMonitor(Path(job.folder), plan.domain.score)


def _live_when_free(folder: RunFolder, plan: Plan, monitors: Sequence[Monitor], patience: float) -> None:
    deadline = time.monotonic() + patience
    while not folder.holds_finished(plan.settings()):  # somebody else may have finished it
        try:
            live_plan(plan, folder.path, monitors, _draw)
            return
        except FolderInUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)


def _draw(record: Any, folder: RunFolder) -> None:
    from repertory.report.figures import draw_lifetime  # slow to import, and only the end of a run needs it

    draw_lifetime(record, folder)


class _ParentWatch(Monitor):
    """Stops a run whose sweep is no more."""

    def __init__(self, parent: int) -> None:
        self._parent = parent
        self._looked = 0.0

    def episode_ended(self, tally: BlockTally) -> None:
        now = time.monotonic()
        if now - self._looked >= PAUSE:
            self._looked = now
            if os.getppid() != self._parent:
                signal.raise_signal(signal.SIGTERM)  # the keeper saves, then stops


def main() -> None:
    """Read a job from standard input and live it; the status it ends in goes to the file named first."""
    result, parent = Path(sys.argv[1]), int(sys.argv[2])
    status = run_job(Job(**json.load(sys.stdin)), PATIENCE, orphaned_from=parent)
    result.write_text(json.dumps(asdict(status)))


if __name__ == "__main__":
    main()
