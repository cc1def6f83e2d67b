"""Who else hears the numbers of a run: event files of TensorBoard, a project of Weights & Biases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from repertory.core.lifetime import Monitor
from repertory.runs.spec import RunSpec


def loggers(
    spec: RunSpec, folder: str | Path | None, event_folder: str | Path | None, wandb: bool | str | None, **about: Any
) -> Iterator[Monitor]:
    """The monitors for it; `folder` is the run's, and what is said `about` the run goes to `wandb`.

    Each is imported only where it is asked for: both are slow to load.
    """
    if event_folder is not None:
        from repertory.runs.tensorboard import TensorBoardMonitor

        yield TensorBoardMonitor(Path(event_folder))
    if wandb is not None and wandb is not False:
        from repertory.runs.wandb import wandb_of

        yield wandb_of(spec, wandb, folder, **about)
