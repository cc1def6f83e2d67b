"""The time a run has used, in a small file of its folder: the sum over all its sessions, if it was resumed.

`time.json` is written with every checkpoint. It is neither among the settings nor in the checkpoint: two runs that are
the same to the bit may have taken different times.
"""

from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from repertory.runs.folder import RunFolder
from repertory.runs.reading import read_if_any
from repertory.runs.status import read_status

FILE_NAME = "time.json"
MEASURED, FROM_SPEED = "measured", "from speed"


@dataclass(frozen=True)
class TimeUsed:
    """What some steps of a run took."""

    steps: int
    wall_seconds: float
    cpu_seconds: float | None
    """Of the run's process; None where it was not measured."""
    source: str = MEASURED
    """`MEASURED` by a clock, or `FROM_SPEED`: worked out from the speed of a part of the run."""

    def __post_init__(self) -> None:
        numbers = [self.steps, self.wall_seconds] + ([] if self.cpu_seconds is None else [self.cpu_seconds])
        if not all(isinstance(number, (int, float)) and math.isfinite(number) and number >= 0 for number in numbers):
            raise ValueError("a time is negative or not a number")
        if self.source not in (MEASURED, FROM_SPEED):
            raise ValueError(f"source {self.source}")

    @property
    def core_seconds(self) -> float:
        """A run has one core: where its CPU time was not measured, its wall time is an upper bound."""
        return self.wall_seconds if self.cpu_seconds is None else self.cpu_seconds


class Stopwatch:
    """Measures a session of a run and adds it to those before; what a crash loses since the last checkpoint is lost."""

    def __init__(self, folder: RunFolder, steps_lived: int) -> None:
        self._folder = folder
        self._before = read_kept(folder.path) or TimeUsed(0, 0.0, 0.0)
        self._steps_lived = steps_lived
        self._wall, self._cpu = time.monotonic(), time.process_time()

    def write(self, steps_lived: int) -> None:
        before = self._before
        used = replace(
            before,
            steps=before.steps + steps_lived - self._steps_lived,
            wall_seconds=before.wall_seconds + time.monotonic() - self._wall,
            cpu_seconds=(before.cpu_seconds or 0.0) + time.process_time() - self._cpu,
        )
        write_time(self._folder, used)


def write_time(folder: RunFolder, used: TimeUsed) -> None:
    folder.write(folder.path / FILE_NAME, lambda path: path.write_text(json.dumps(asdict(used)) + "\n"))


def read_kept(path: Path) -> TimeUsed | None:
    """What the file in a run's folder says, if anything readable."""
    return read_if_any(TimeUsed, path / FILE_NAME)


def speed(path: Path) -> float | None:
    """Steps per second of the run in a folder, as far as it was timed."""
    kept = read_kept(path)
    return kept.steps / kept.wall_seconds if kept is not None and kept.wall_seconds > 0 else None


def time_used(path: Path, steps: int) -> TimeUsed | None:
    """By the run in a folder, of so many steps; None if nothing there tells.

    Where only a part of the steps was timed, or none (older runs), the rest counts at the same speed.
    """
    kept = read_kept(path)
    if kept is not None and kept.steps >= steps:
        return kept
    if kept is not None and kept.steps > 0:
        share = steps / kept.steps
        cpu = None if kept.cpu_seconds is None else kept.cpu_seconds * share
        return TimeUsed(steps, kept.wall_seconds * share, cpu, FROM_SPEED)
    status = read_status(path)
    if status is None or not status.steps_per_second > 0:
        return None
    return TimeUsed(steps, steps / status.steps_per_second, None, FROM_SPEED)
