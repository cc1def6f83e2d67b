"""Task sequences: which task each block of a lifetime presents (the paper's Figure "experiment-sets")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.core.seeds import generator


def single_task(task: int, blocks: int) -> NDArray[np.int64]:
    """One task for the whole lifetime."""
    return np.full(blocks, task, np.int64)


def task_sequence(seed: int, run: int, blocks: int, n_tasks: int) -> NDArray[np.int64]:
    """The tasks of run `run`: the 0-th run's uniform draws, each moved on by `run` modulo the number of tasks.

    Over runs 0, ..., n_tasks - 1, every block therefore holds every task exactly once.
    """
    zeroth = generator(seed, "sequence").integers(n_tasks, size=blocks)
    return (zeroth + run) % n_tasks
