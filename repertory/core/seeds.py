"""From one seed, one named source of randomness per purpose.

A purpose never draws from another's source, so changing how one part uses randomness leaves the others'
numbers as they were. The task sequence is drawn from the seed alone: all runs of an experiment share the 0-th
sequence, and run n shifts it by n. Everything else depends on the run as well.
"""

from __future__ import annotations

import numpy as np

PURPOSES = ("sequence", "select", "env", "learn", "assign", "evaluate")
"""Add new ones at the end: the place of a name decides the random numbers of every run."""
EPISODE_SEEDS = 2**31
"""Episode seeds are below this: environments of all makes take such seeds."""


def seed_sequence(seed: int, purpose: str, run: int | None = None) -> np.random.SeedSequence:
    """The root of `purpose`'s randomness, in all runs alike if `run` is None."""
    place = PURPOSES.index(purpose)
    return np.random.SeedSequence(seed, spawn_key=(place,) if run is None else (place, run))


def generator(seed: int, purpose: str, run: int | None = None) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(seed_sequence(seed, purpose, run)))


def policy_seed(seed: int, run: int, number: int) -> int:
    """An integer seed for a policy, by its number; how many there are makes no difference."""
    return int(seed_sequence(seed, "learn", run).generate_state(number + 1, np.uint32)[number])
