"""One run of a sweep, as a worker runs it: on this machine (`python -m repertory.sweeps.job`) or another.

A job is plain values, so that it can be sent anywhere; its results are in its run folder.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from repertory import own_code
from repertory.core.lifetime import Monitor
from repertory.core.tally import BlockTally
from repertory.errors import RunStopped, UsageError
from repertory.runs.folder import FolderInUse, RunFolder
from repertory.runs.formats import RUN_FORMAT
from repertory.runs.live import live_spec
from repertory.runs.loggers import loggers
from repertory.runs.reading import check_format
from repertory.runs.saver import Diverged
from repertory.runs.spec import COMPONENTS, RunSpec
from repertory.runs.status import (
    DIVERGED,
    ELSEWHERE,
    FINISHED,
    INTERRUPTED,
    PAUSE,
    STOPPED,
    Status,
    StatusMonitor,
    read_status,
)

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "ARROW_NUM_THREADS"), "1"
)
"""The environment of a worker: a run has one core, and small networks gain nothing from a second."""


PATIENCE = 20.0
"""Seconds to wait for a folder: the workers of a sweep that was killed save and stop a moment later."""


@dataclass(frozen=True)
class Job:
    """A run to be run, and where."""

    condition: str
    folder: str
    spec: dict[str, Any]
    """The JSON form of its spec; see `RunSpec.to_json`."""
    tensorboard: bool = False
    wandb: str | None = None
    """The project of Weights & Biases that hears of it."""
    format: int = RUN_FORMAT
    """Of the spec: the machines of a cluster may have other versions installed."""

    @property
    def run(self) -> int:
        return int(self.spec["run"])

    @property
    def learner(self) -> str:
        return str(self.spec["learner"]["name"])

    def run_spec(self) -> RunSpec:
        check_format({"format": self.format}, RUN_FORMAT, f"the job of {self.folder}")
        for part in COMPONENTS:  # a job comes from the user's own sweep, perhaps on another machine
            if own_code.is_own_code(self.spec[part]["name"]):
                own_code.allow(self.spec[part]["name"])
        return RunSpec.from_json(self.spec)

    def status(self) -> Status | None:
        return read_status(Path(self.folder))


def run_job(job: Job, patience: float = 0.0, orphaned_from: int | None = None) -> Status:
    """Run a job to its end, or as far as it goes; what stops it is in the status, not raised.

    A folder that another process holds is waited for as long as `patience` seconds: a process on a lost machine lets
    go of it only some time later. With `orphaned_from`, the run is saved and stopped when that parent process is gone.
    """
    folder = RunFolder(Path(job.folder))
    try:
        spec = job.run_spec()
        status = StatusMonitor(folder, spec.block_steps, spec.domain.score)
        monitors: list[Monitor] = [status, *_monitors(job, spec, orphaned_from)]
    except UsageError as error:
        return Status(STOPPED, str(error))
    try:
        _run_when_free(folder, spec, monitors, patience)
    except Diverged as error:
        return status.write(DIVERGED, str(error))
    except KeyboardInterrupt:
        return status.write(INTERRUPTED)
    except FolderInUse as error:
        return Status(ELSEWHERE, str(error))
    except UsageError as error:  # the folder cannot be written, or is another run's
        return Status(STOPPED, str(error))
    except (RunStopped, MemoryError) as error:
        return status.write(STOPPED, str(error) or "out of memory")
    except Exception as error:
        traceback.print_exc()
        return status.write(STOPPED, f"{type(error).__name__}: {error}")
    return status.write(FINISHED)


def _monitors(job: Job, spec: RunSpec, orphaned_from: int | None) -> Iterator[Monitor]:
    if orphaned_from is not None:
        yield _ParentWatch(orphaned_from)
    about = {"name": f"{job.condition} {job.run}", "group": job.condition}
    yield from loggers(spec, job.folder, job.folder if job.tensorboard else None, job.wandb, **about)


def _run_when_free(folder: RunFolder, spec: RunSpec, monitors: Sequence[Monitor], patience: float) -> None:
    deadline = time.monotonic() + patience
    while not folder.holds_finished(spec.to_json()):  # somebody else may have finished it
        try:
            live_spec(spec, folder.path, monitors, _draw)
            return
        except FolderInUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(PAUSE)


def _draw(record: Any, folder: RunFolder) -> None:
    from repertory.runs.lifetime_figure import draw_lifetime  # slow to import, and only the end of a run needs it

    draw_lifetime(record, folder)


class _ParentWatch(Monitor):
    """Stops a run whose sweep has ended."""

    def __init__(self, parent: int) -> None:
        self._parent = parent
        self._looked = 0.0

    def episode_ended(self, tally: BlockTally) -> None:
        now = time.monotonic()
        if now - self._looked >= PAUSE:
            self._looked = now
            if os.getppid() != self._parent:
                signal.raise_signal(signal.SIGTERM)  # the saver saves, then stops


def main() -> None:
    """Read a job from standard input and run it; the status it ends in goes to the file named first."""
    result, parent = Path(sys.argv[1]), int(sys.argv[2])
    status = run_job(Job(**json.load(sys.stdin)), PATIENCE, orphaned_from=parent)
    result.write_text(json.dumps(asdict(status)))


if __name__ == "__main__":
    main()
