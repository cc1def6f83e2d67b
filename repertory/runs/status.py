"""How a run is doing, in a small file of its folder: what sweeps, dashboards and other machines look at.

`status.json` is rewritten every few seconds while a run is running, and once more when it ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from repertory.core.lifetime import Monitor
from repertory.core.tally import BlockTally
from repertory.runs.folder import RunFolder
from repertory.runs.reading import read_if_any

RUNNING, FINISHED, INTERRUPTED, DIVERGED, STOPPED = "running", "finished", "interrupted", "diverged", "stopped"
"""What status.json says. A run that diverged would diverge again; one that was stopped (by a full disk, an error) may
succeed next time."""
ELSEWHERE = "elsewhere"
"""What a sweep says of a run that another process has: its file tells how that one is doing."""
PAUSE = 2.0
"""Seconds between two writes."""
FILE_NAME = "status.json"


@dataclass(frozen=True)
class Status:
    """How far a run has come."""

    state: str
    message: str = ""
    blocks: float = 0.0
    """Run so far, the current one as a fraction."""
    steps_per_second: float = 0.0
    score: float | None = None
    """Of the last whole block."""
    host: str = ""
    process: int = 0
    time: float = 0.0
    """Seconds since 1970 when this was written."""


def read_status(folder: Path) -> Status | None:
    """What the run in a folder last said, if anything readable."""
    return read_if_any(Status, folder / FILE_NAME)


class StatusMonitor(Monitor):
    """Writes `status.json` as a lifetime goes by."""

    def __init__(self, folder: RunFolder, block_steps: int, score: str) -> None:
        self._folder = folder
        self._block_steps = block_steps
        self._score_kind = score
        self._score: float | None = None
        self._blocks = 0.0
        self._started: float | None = None
        """The end of the first episode: before it, kernels are compiled."""
        self._seen = 0.0
        """The end of the last episode."""
        self._steps = 0
        self._block_start_steps = 0
        self._written = 0.0

    def episode_ended(self, tally: BlockTally) -> None:
        now = self._seen = time.monotonic()
        if self._started is None:
            self._started, self._block_start_steps = now, -tally.steps
        self._steps = self._block_start_steps + tally.steps
        if now - self._written >= PAUSE:
            self._blocks = tally.block + min(tally.steps / self._block_steps, 1.0)
            self.write(RUNNING)

    def block_ended(self, tally: BlockTally) -> None:
        self._block_start_steps = self._steps
        self._blocks = tally.block + 1.0
        self._score = tally.score(self._score_kind)

    def write(self, state: str, message: str = "") -> Status:
        self._written = time.monotonic()
        elapsed = 0.0 if self._started is None else self._seen - self._started
        status = Status(
            state=state,
            message=message,
            blocks=self._blocks,
            steps_per_second=self._steps / elapsed if elapsed > 0 else 0.0,
            score=self._score,
            host=socket.gethostname(),
            process=os.getpid(),
            time=time.time(),
        )
        content = json.dumps(asdict(status))
        with contextlib.suppress(OSError):  # a full disk: what matters is said by whoever could not save
            self._folder.write(self._folder.path / FILE_NAME, lambda path: path.write_text(content))
        return status
