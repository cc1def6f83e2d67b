"""Cartpole DQN with what helps one policy to learn many tasks, against the same without."""

from __future__ import annotations

from typing import Any

from repertory.benchmarks.cartpole_dqn import REPERTORY_STEPS, SETTINGS, TASK
from repertory.benchmarks.measure import Contender, build, training

OTHER_TASK = 12
WARM_UP = 5 * SETTINGS.learning_starts


def dqn_on_second_task(**changes: Any) -> Contender:
    """Training on a task, of a policy that has something of another one to keep."""
    learner = build("cartpole27", SETTINGS.replace(**changes))
    training("cartpole27", OTHER_TASK, learner, REPERTORY_STEPS, WARM_UP)
    return training("cartpole27", TASK, learner, REPERTORY_STEPS, WARM_UP)
