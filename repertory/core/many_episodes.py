"""Many episodes of one task in one call, for play in which nothing is chosen between episodes.

Going back to Python takes microseconds, as long as a hundred steps of random play. What is played is the loop of
`repertory.core.episode`, called from compiled code, so outcomes are the same to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from repertory.core.episode import compiled_episode, misfit, new_stage, policy_sizes
from repertory.domains.domain import Domain, TaskKernels
from repertory.errors import UsageError
from repertory.kernels.compile import kernel
from repertory.kernels.handle import pack
from repertory.learners.protocol import CompiledLearner, LearnerKernels

NO_END = np.iinfo(np.int64).max


class Outcomes(NamedTuple):
    """Of each episode, in the order in which they were played."""

    steps: NDArray[np.int64]
    total_rewards: NDArray[np.float64]


class ManyEpisodes:
    """Plays one task of a compiled domain with a compiled learner, an episode for each seed."""

    def __init__(self, domain: Domain, task: int) -> None:
        tasks = domain.compiled
        if tasks is None:
            raise UsageError(f"{domain.name} is not compiled; play its episodes one by one, with EpisodePlayer")
        if not 0 <= task < domain.n_tasks:
            raise UsageError(f"task {task} of {domain.name} does not exist; valid: 0 to {domain.n_tasks - 1}")
        self._kernels = tasks.kernels
        self._params = pack(tasks.params[task])
        self._stage = pack(new_stage(tasks))
        self._sizes = policy_sizes(domain, tasks)
        self._name = domain.name

    def play(self, learner: CompiledLearner, seeds: NDArray[np.int64], at_least: int | None = None) -> Outcomes:
        """An episode for each seed or, with `at_least`, only until that many steps have been played in all."""
        if (learner.inputs, learner.actions) != self._sizes:
            raise misfit(learner, self._sizes, self._name)
        seeds = np.ascontiguousarray(seeds, np.int64)
        outcomes = Outcomes(np.zeros(seeds.size, np.int64), np.zeros(seeds.size))
        run_episodes = compiled_episodes(self._kernels, learner.kernels)
        steps_wanted = NO_END if at_least is None else at_least
        played = run_episodes(self._params, self._stage, learner.handle, seeds, steps_wanted, *outcomes)
        return Outcomes(outcomes.steps[:played], outcomes.total_rewards[:played])


@cache
def compiled_episodes(task: TaskKernels, learner: LearnerKernels) -> Callable[..., int]:
    """The loop over episodes, compiled around that over the steps of one."""
    run_episode = compiled_episode(task, learner)

    @kernel
    def run_episodes(
        params_handle: Any,
        stage_handle: Any,
        learner_handle: Any,
        seeds: NDArray[np.int64],
        at_least: int,
        steps: NDArray[np.int64],
        total_rewards: NDArray[np.float64],
    ) -> int:
        played = 0
        for i in range(seeds.size):
            steps[i], total_rewards[i] = run_episode(params_handle, stage_handle, learner_handle, seeds[i])
            played += steps[i]
            if played >= at_least:
                return i + 1
        return seeds.size

    return run_episodes
