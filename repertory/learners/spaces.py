"""What the built-in learners can take: vectors to observe, a finite set of actions."""

from __future__ import annotations

import gymnasium
import numpy as np

from repertory.domains.spaces import TwoValued
from repertory.errors import UsageError


def observation_size(learner: str, space: gymnasium.Space) -> int:
    if not isinstance(space, gymnasium.spaces.Box) or len(space.shape) != 1:
        raise UsageError(f"{learner} observes vectors; this domain's observation space is {space}")
    return int(np.prod(space.shape))


def action_count(learner: str, space: gymnasium.Space) -> int:
    if not isinstance(space, gymnasium.spaces.Discrete) or space.start != 0:
        raise UsageError(f"{learner} takes actions 0, 1, ...; this domain's action space is {space}")
    if space.n > 256:
        raise UsageError(f"{learner} takes at most 256 actions; this domain has {space.n}")
    return int(space.n)


def value_range(space: gymnasium.Space) -> tuple[float, float]:
    """The two values of an observation's elements; for other spaces, numbers that nothing reads."""
    return (float(space.low[0]), float(space.high[0])) if isinstance(space, TwoValued) else (0.0, 1.0)
