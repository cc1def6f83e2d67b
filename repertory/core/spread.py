"""Policy spread of a library: how differently its policies act on sampled observations."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from repertory.core.metrics import policy_spread
from repertory.domains.domain import Domain
from repertory.errors import UsageError
from repertory.learners.compiled_policy import CompiledPolicy
from repertory.learners.encoding import encoder

OBSERVATIONS = 1000


def spread_if_any(domain: Domain, policies: Sequence[Any], window: int = 1) -> float | None:
    """On observations that are the same whenever it is asked; the policies stay as they are.

    None for a single policy, and for policies that have no probabilities of actions. `window` is how many observations
    they look back on.
    """
    if len(policies) < 2 or not all(hasattr(policy, "action_probabilities") for policy in policies):
        return None
    is_encoded = all(isinstance(policy, CompiledPolicy) for policy in policies)
    sampled = sample_observations(domain, OBSERVATIONS, window, np.random.default_rng(0), is_encoded)
    try:
        return policy_spread(np.array([policy.action_probabilities(sampled) for policy in policies]))
    except UsageError:  # such as one of continuous actions
        return None


def sample_observations(
    domain: Domain, count: int, window: int, rng: np.random.Generator, is_encoded: bool = False
) -> NDArray[Any]:
    """Observations to compare policies on; for policies that look back, sliding windows of independent ones."""
    needed = count + window - 1
    if domain.sample_observations is not None:
        drawn: NDArray[Any] = domain.sample_observations(rng, needed)
    else:
        space = copy.deepcopy(domain.observation_space)  # an environment may draw from its own
        space.seed(int(rng.integers(2**31)))
        encode = encoder(space) if is_encoded else None
        samples = [space.sample() if encode is None else encode(space.sample()) for _ in range(needed)]
        drawn = np.array(samples, np.float32 if is_encoded or isinstance(space, gymnasium.spaces.Box) else None)
    if window == 1:
        return drawn
    return np.stack([drawn[first : first + window] for first in range(count)])
