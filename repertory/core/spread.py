"""Policy spread of a library: how differently its policies act on sampled observations."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.core.metrics import action_spread, policy_spread
from repertory.domains.domain import Domain
from repertory.errors import UsageError
from repertory.learners.compiled_policy import CompiledPolicy
from repertory.learners.encoding import stacked

OBSERVATIONS = 1000


def spread_if_any(domain: Domain, policies: Sequence[Any], window: int = 1) -> float | None:
    """On observations that are the same whenever it is asked; the policies stay as they are.

    Of Discrete actions by their probabilities, of others by the actions that the policies rate highest. None for a
    single policy, for policies that tell neither, and for actions without bounds, which give no unit. `window` is how
    many observations the policies look back on.
    """
    counted = isinstance(domain.action_space, gymnasium.spaces.Discrete)
    asked = "action_probabilities" if counted else "actions_at_rest"
    if len(policies) < 2 or not all(hasattr(policy, asked) for policy in policies):
        return None
    is_encoded = all(isinstance(policy, CompiledPolicy) for policy in policies)
    encode = policies[0].encoded if is_encoded else None
    rng = np.random.default_rng(0)
    if counted:
        sampled = sample_observations(domain, OBSERVATIONS, window, rng, encode)
        try:
            return policy_spread(np.array([policy.action_probabilities(sampled) for policy in policies]))
        except UsageError:  # one that has them of some actions only
            return None
    ranges = action_ranges(domain.action_space)
    if ranges is None:
        return None
    sampled = sample_observations(domain, OBSERVATIONS, window, rng, encode)
    return action_spread(np.array([policy.actions_at_rest(sampled)[0] for policy in policies]), ranges)


def action_ranges(space: gymnasium.Space[Any]) -> NDArray[np.float64] | None:
    """How far apart the numbers of two actions can be; None where there is no telling, and 0 for a choice, which is the
    same or another."""
    if isinstance(space, gymnasium.spaces.Box) and space.is_bounded():
        return np.subtract(space.high, space.low, dtype=float)
    if isinstance(space, (gymnasium.spaces.MultiDiscrete, gymnasium.spaces.MultiBinary)):
        return np.zeros(space.shape)
    return None


def sample_observations(
    domain: Domain, count: int, window: int, rng: np.random.Generator, encode: Callable[[Any], Any] | None = None
) -> Any:
    """Observations to compare policies on, as `encode` makes them; for policies that look back, sliding windows of
    independent ones."""
    needed = count + window - 1
    if domain.sample_observations is not None:
        drawn: Any = domain.sample_observations(rng, needed)
    else:
        space = copy.deepcopy(domain.observation_space)  # an environment may draw from its own
        space.seed(int(rng.integers(2**31)))
        samples = [space.sample() if encode is None else encode(space.sample()) for _ in range(needed)]
        drawn = stacked(samples)
        if encode is not None or isinstance(space, gymnasium.spaces.Box):
            drawn = drawn.astype(np.float32)
    if window == 1:
        return drawn
    return np.stack([drawn[first : first + window] for first in range(count)])
