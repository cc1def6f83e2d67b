"""The range of the rewards that a policy has seen, and what returns it allows.

An episode may end at any step, and a terminal state is worth 0. So if every reward lies in [r_min, r_max], every
discounted return lies in [min(0, r_min), max(0, r_max)] / (1 - gamma): the range is kept with 0 in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from repertory.kernels.compile import inlined
from repertory.kernels.layout import Field

REWARD_RANGE: list[Field] = [("reward_low", np.float32, ()), ("reward_high", np.float32, ())]
"""Fields of a policy: the smallest and the largest of its rewards and 0."""
UNSEEN = {"reward_low": 0.0, "reward_high": 0.0}
"""What they are before the first reward."""


@inlined
def note_reward(policy: Any, reward: float) -> None:
    policy.reward_low = min(policy.reward_low, np.float32(reward))
    policy.reward_high = max(policy.reward_high, np.float32(reward))


@inlined
def return_limits(policy: Any) -> tuple[np.float32, np.float32]:
    """The smallest and the largest return that the rewards seen allow."""
    horizon = np.float32(1.0) / (np.float32(1.0) - policy.gamma)
    return policy.reward_low * horizon, policy.reward_high * horizon


@inlined
def return_unit(policy: Any) -> np.float32:
    """What a network outputs for a return of 1: 1, unless it learns returns as shares of the largest there can be."""
    unit = np.float32(1.0)
    if policy.normalize_returns:
        low, high = return_limits(policy)
        if max(-low, high) > np.float32(0.0):
            unit /= max(-low, high)
    return unit


def largest_return(policy: Any, gamma: float) -> float:
    """The largest size of a return that the rewards seen allow; infinite without a discount."""
    largest = max(-float(policy["reward_low"]), float(policy["reward_high"]))
    if largest == 0.0:
        return 0.0
    return largest / (1.0 - gamma) if gamma < 1.0 else float("inf")
