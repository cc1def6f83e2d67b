"""A task that needs memory: recurrent learners solve it, the others cannot.

A cue in the first observation says which of two actions will be right at the end; nothing in between or at the end
shows it. Without memory the best expected reward is one half.
"""

from __future__ import annotations

from typing import NamedTuple

import gymnasium
import numpy as np
import pytest

import repertory
from repertory.core.episode import EpisodePlayer
from repertory.domains.domain import CompiledTasks, KernelEnv, TaskKernels
from repertory.domains.two_valued import TwoValued
from repertory.kernels.compile import kernel
from repertory.kernels.streams import below

SPACES = (TwoValued(0.0, 1.0, 11, whole_rewards=True), gymnasium.spaces.Discrete(5))

RECALL_STEPS = 6


class RecallParams(NamedTuple):
    steps: int


@kernel
def recall_reset(params: RecallParams, state: np.ndarray, stream: np.ndarray) -> None:
    state[0] = below(stream, 2)
    state[1] = 0


@kernel
def recall_step(params: RecallParams, state: np.ndarray, action: int, stream: np.ndarray) -> tuple[float, bool, bool]:
    state[1] += 1
    over = state[1] == params.steps
    return (1.0 if over and action == state[0] else 0.0), over, False


@kernel
def recall_observe(params: RecallParams, state: np.ndarray, observation: np.ndarray) -> None:
    observation[:] = np.float32(0.0)
    if state[1] == 0:
        observation[state[0]] = 1.0
    observation[2] = 1.0 if state[1] == params.steps - 1 else 0.0


class RecallEnv(KernelEnv):
    observation_space, action_space = SPACES


def recall_domain() -> repertory.Domain:
    tasks = CompiledTasks(
        TaskKernels(recall_reset, recall_step, recall_observe),
        [RecallParams(RECALL_STEPS)],
        lambda: np.zeros(2, np.int64),
        observation_size=11,
    )
    return repertory.Domain("recall", ("cue",), lambda task: RecallEnv(tasks, task), tasks)


VALUE_BASED = {
    "random_first_steps": 0,
    "learning_starts": 500,
    "learning_rate": 1.0,
    "exploration_rate": 0.05,
    "target_update_interval": 500,
    "buffer_size": 10_000,
}
ACTOR_CRITIC = {"random_first_steps": 0, "learning_rate": 0.002}


@pytest.mark.parametrize(
    ("settings", "has_memory"),
    [
        (repertory.DRQN(**VALUE_BASED), True),
        (repertory.PRPO(**ACTOR_CRITIC), True),
        (repertory.DQN(**VALUE_BASED), False),
        (repertory.PPO(**ACTOR_CRITIC), False),
    ],
    ids=["drqn", "prpo", "dqn", "ppo"],
)
def test_only_recurrent_learners_solve_a_task_that_needs_memory(settings, has_memory: bool) -> None:
    domain = recall_domain()
    learner, player = settings(*SPACES, seed=1), EpisodePlayer(domain)
    rewards = [player.play(0, learner, seed).total_reward for seed in range(6000)]
    final = np.mean(rewards[-1000:])
    if has_memory:
        assert final > 0.9
    else:
        assert final < 0.6
