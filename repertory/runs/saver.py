"""Saves a run while it is running: checkpoints, blocks, Ctrl-C, and a stop when a policy diverges."""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from repertory.core.lifetime import Lifetime, Monitor
from repertory.core.tally import BlockTally
from repertory.errors import RunStopped, UsageError
from repertory.runs.checkpoint import Checkpoint
from repertory.runs.folder import RunFolder
from repertory.runs.timing import Stopwatch

LONGEST_PAUSE = 300.0
"""Seconds between checkpoints at most; within a block if need be."""
SHORTEST_PAUSE = 20.0
"""Seconds between checkpoints at least, however cheap they are."""
COST = 0.01
"""The share of a run's time that checkpoints may take, as far as `LONGEST_PAUSE` allows."""
PAUSE_VARIABLE = "REPERTORY_CHECKPOINT_SECONDS"
"""The environment variable that sets the pause instead, for machines that may vanish at any moment; 0 is after every
block."""


class Diverged(RunStopped):
    """Weights or rewards are no longer finite; the same run would diverge again."""


class Saver(Monitor):
    """A monitor that saves a lifetime to its folder, between episodes."""

    def __init__(self, folder: RunFolder, lifetime: Lifetime, settings: dict[str, Any]) -> None:
        self._folder = folder
        self._lifetime = lifetime
        self._settings = settings
        self._stopwatch = Stopwatch(folder, lifetime.steps)
        self._saved = time.monotonic()
        self._fixed_pause = fixed_pause()
        self._pause = SHORTEST_PAUSE if self._fixed_pause is None else self._fixed_pause
        self.stop_requested = False

    def episode_ended(self, tally: BlockTally) -> None:
        if self.stop_requested:
            self.save()
            raise KeyboardInterrupt
        if time.monotonic() - self._saved >= (self._fixed_pause or LONGEST_PAUSE):
            self.save()

    def block_ended(self, tally: BlockTally) -> None:
        try:
            check_finite(self._lifetime, tally)
        except Diverged:
            self._folder.write_blocks(self._lifetime.blocks)  # no checkpoint: a run resumed from it would diverge again
            raise
        if time.monotonic() - self._saved >= self._pause:
            self.save()

    def save(self) -> None:
        """Write blocks, the time used and, if all parts of the lifetime can be saved, a checkpoint."""
        started = time.monotonic()
        with disk_faults(self._folder):
            if self._lifetime.can_be_saved:
                arrays, values = self._lifetime.state()
                values["settings"] = self._settings
                self._folder.write_checkpoint(Checkpoint(arrays, values))
            self._folder.write_blocks(self._lifetime.blocks)
            self._stopwatch.write(self._lifetime.steps)
        self._saved = time.monotonic()
        if self._fixed_pause is None:
            self._pause = min(max((self._saved - started) / COST, SHORTEST_PAUSE), LONGEST_PAUSE)

    @contextmanager
    def on_interrupt(self) -> Iterator[None]:
        """Let Ctrl-C and SIGTERM save and stop the lifetime between two episodes.

        A second one stops it at once, in the middle of whatever it does, and nothing more is saved.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def request(number: int, frame: Any) -> None:
            if self.stop_requested:
                raise KeyboardInterrupt
            self.stop_requested = True

        old = {number: signal.signal(number, request) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)


def fixed_pause() -> float | None:
    """Seconds between checkpoints, if the user has set them."""
    text = os.environ.get(PAUSE_VARIABLE)
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_PAUSE:
        raise UsageError(f"{PAUSE_VARIABLE} is '{text}'; valid: seconds, from 0 to {LONGEST_PAUSE:g}")
    return seconds


def check_finite(lifetime: Lifetime, tally: BlockTally) -> None:
    """Stop a run whose policies or rewards are no longer numbers."""
    where = f"in block {tally.block} (task {tally.task})"
    if not np.isfinite(tally.total_reward):
        raise Diverged(f"a reward {where} is not a finite number; check the environment")
    for number in np.flatnonzero(tally.plays):
        is_finite = getattr(lifetime.policies[int(number)], "is_finite", None)
        if is_finite is not None and not is_finite():
            raise Diverged(
                f"policy {number} diverged {where}: its weights are no longer finite; try a smaller learning rate"
            )


@contextmanager
def disk_faults(folder: RunFolder) -> Iterator[None]:
    """A disk that is full or gone stops a run with a message; what was saved before stays."""
    try:
        yield
    except OSError as error:
        reason = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else error.strerror or str(error)
        message = (
            f"cannot write to {folder.path}: {reason}; the last good checkpoint is intact, run the same command again"
        )
        raise RunStopped(message) from error
