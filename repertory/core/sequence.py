"""Task sequences: which task each block of a lifetime presents (the paper's Figure "experiment-sets")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from repertory.core.seeds import generator

SEQUENCES = ("seed", "authors", "rounds")
"""Where the 0-th sequence comes from: drawn by the seed of the run; that of the paper's authors on Cartpole; or drawn
by the seed in rounds, in each of which every task comes once."""


def task_sequence(seed: int, run: int, blocks: int, n_tasks: int) -> NDArray[np.int64]:
    """The tasks of run `run`: the 0-th run's uniform draws, each moved on by `run` modulo the number of tasks.

    Over runs 0, ..., n_tasks - 1, every block therefore holds every task exactly once.
    """
    zeroth = generator(seed, "sequence").integers(n_tasks, size=blocks)
    return (zeroth + run) % n_tasks


def authors_sequence(run: int, blocks: int, n_tasks: int) -> NDArray[np.int64]:
    """The tasks of run `run` in the authors' experiments on Cartpole: draws of NumPy's old generator, seeded with 0.

    That generator is frozen, so that these are the very tasks their runs met, block by block, whatever the seed here.
    """
    zeroth = np.random.RandomState(0).randint(0, n_tasks, size=blocks)
    return (zeroth.astype(np.int64) + run) % n_tasks


def rounds_sequence(seed: int, run: int, blocks: int, n_tasks: int) -> NDArray[np.int64]:
    """The tasks of run `run`: in every round of `n_tasks` blocks, each task once, in a random order."""
    rng = generator(seed, "sequence")
    rounds = [rng.permutation(n_tasks) for _ in range(-(-blocks // n_tasks))]
    return (np.concatenate(rounds)[:blocks] + run) % n_tasks
