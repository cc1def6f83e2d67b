"""Advantages and value targets of a rollout."""

from __future__ import annotations

import numpy as np

from repertory.kernels.compile import kernel
from repertory.kernels.views import Vector


@kernel
def generalised_advantages(
    rewards: Vector,
    values: Vector,
    final_value: np.float32,
    steps: int,
    gamma: np.float32,
    lambda_: np.float32,
    discounts_delta: bool,
    advantages: Vector,
) -> None:
    """Generalised Advantage Estimation (Schulman et al., 2016) over one stretch of an episode.

    delta_t = r_{t+1} + gamma V(s_{t+1}) - V(s_t);  A_t = delta_t + gamma lambda A_{t+1}.

    `final_value` is V of the state after the last step, 0 after a true end. Without `discounts_delta`, the gamma in
    delta is left out except before `final_value`, as in the paper's released code.
    """
    next_advantage = np.float32(0.0)
    next_value = gamma * final_value
    for t in range(steps - 1, -1, -1):
        delta = rewards[t] + next_value - values[t]
        next_advantage = delta + gamma * lambda_ * next_advantage
        advantages[t] = next_advantage
        next_value = gamma * values[t] if discounts_delta else values[t]


@kernel
def discounted_returns(
    rewards: Vector, final_value: np.float32, steps: int, gamma: np.float32, returns: Vector
) -> None:
    """R_t = r_{t+1} + gamma R_{t+1}, from `final_value` at the end."""
    following = final_value
    for t in range(steps - 1, -1, -1):
        following = rewards[t] + gamma * following
        returns[t] = following
