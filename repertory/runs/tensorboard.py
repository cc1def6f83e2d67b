"""TensorBoard event files of a run: score, by task too, selection shares, loss per policy, health, against steps.

They are in the folder `tensorboard` of the run. A run that is resumed from a checkpoint tells TensorBoard to drop what
was logged after it.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from repertory.core.lifetime import Lifetime, Monitor
from repertory.core.tally import BlockTally
from repertory.errors import UsageError
from repertory.runs.scalars import BlockScalars

FOLDER = "tensorboard"


class TensorBoardMonitor(Monitor):
    """Writes scalars at the end of each block."""

    def __init__(self, folder: Path) -> None:
        try:
            from tensorboard.compat.proto.event_pb2 import Event, SessionLog
            from tensorboard.compat.proto.summary_pb2 import Summary
            from tensorboard.summary.writer.event_file_writer import EventFileWriter
        except ImportError:
            raise UsageError("TensorBoard files need TensorBoard; next: pip install 'repertory[tensorboard]'") from None
        self._event, self._session, self._summary, self._new_writer = Event, SessionLog, Summary, EventFileWriter
        self._folder = folder / FOLDER
        self._writer: Any = None
        self._scalars: BlockScalars | None = None

    def lifetime_begins(self, lifetime: Lifetime) -> None:
        """Begin where the lifetime is, at its start or at a checkpoint."""
        self._scalars = BlockScalars(lifetime)
        self._folder.mkdir(parents=True, exist_ok=True)
        self._writer = self._new_writer(str(self._folder))
        start = self._session(status=self._session.START)
        self._writer.add_event(self._event(wall_time=time.time(), step=self._scalars.steps + 1, session_log=start))

    def block_ended(self, tally: BlockTally) -> None:
        assert self._scalars is not None
        values = [self._summary.Value(tag=tag, simple_value=value) for tag, value in self._scalars.of(tally).items()]
        summary = self._summary(value=values)
        with contextlib.suppress(OSError):  # a full disk ends the run where it is saved, with a message
            self._writer.add_event(self._event(wall_time=time.time(), step=self._scalars.steps, summary=summary))

    def lifetime_ends(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(OSError):
                self._writer.close()
