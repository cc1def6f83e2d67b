"""The environment alone, under random actions: repertory's Cartpole against Gymnasium's, with the same physics."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from repertory import domain
from repertory.benchmarks.measure import Contender
from repertory.core.many_episodes import ManyEpisodes
from repertory.learners.random import RandomLearner

# Gymnasium's cart and pole (1 kg, 0.1 kg, 1 m) and its rules, so that episodes are as long as there.
TASK = 13
RULES: dict[str, Any] = {"force": 10.0, "angle_limit": 12.0, "max_steps": 500}
EPISODES = 40_000
GYMNASIUM_STEPS = 20_000


def repertory_environment() -> Contender:
    """Observations are written and actions drawn, as a learner would have it."""
    cartpole = domain("cartpole27", **RULES)
    learner: Any = RandomLearner(cartpole.observation_space, cartpole.action_space, 0)
    many, seeds = ManyEpisodes(cartpole, TASK), np.arange(EPISODES)
    many.play(learner, seeds)
    return lambda: int(many.play(learner, seeds).steps.sum())


def gymnasium_environment() -> Contender:
    """CartPole-v1 as `gymnasium.make` gives it. Its actions are drawn beforehand, so that only it is timed."""
    env = gymnasium.make("CartPole-v1")
    actions = np.random.default_rng(0).integers(2, size=GYMNASIUM_STEPS).tolist()

    def work() -> int:
        env.reset(seed=0)
        for action in actions:
            _observation, _reward, terminated, truncated, _info = env.step(action)
            if terminated or truncated:
                env.reset()
        return GYMNASIUM_STEPS

    work()
    return work
