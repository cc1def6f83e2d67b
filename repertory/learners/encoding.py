"""What the built-in learners can take: observations that can be written as vectors, a finite set of actions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import gymnasium

from repertory.domains.two_valued import TwoValued
from repertory.errors import UsageError

FLAT = (gymnasium.spaces.Box, gymnasium.spaces.Discrete, gymnasium.spaces.MultiDiscrete, gymnasium.spaces.MultiBinary)
"""Spaces whose elements can be written as a vector: numbers as they are, choices one-hot."""


def observation_size(learner: str, space: gymnasium.Space) -> int:
    """Features of an observation once it is a vector."""
    if not isinstance(space, FLAT):
        raise UsageError(f"{learner} observes numbers or choices; this domain's observation space is {space}")
    return int(gymnasium.spaces.flatdim(space))


def encoder(space: gymnasium.Space) -> Callable[[Any], Any] | None:
    """What turns an observation into a vector; None where it is one."""
    if isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1:
        return None
    return functools.partial(gymnasium.spaces.flatten, space)


def action_count(learner: str, space: gymnasium.Space) -> int:
    if not isinstance(space, gymnasium.spaces.Discrete) or space.start != 0:
        raise UsageError(f"{learner} takes actions 0, 1, ...; this domain's action space is {space}")
    if space.n > 256:
        raise UsageError(f"{learner} takes at most 256 actions; this domain has {space.n}")
    return int(space.n)


def value_range(space: gymnasium.Space) -> tuple[float, float]:
    """The two values of an observation's elements; for other spaces, numbers that nothing reads."""
    return (float(space.low[0]), float(space.high[0])) if isinstance(space, TwoValued) else (0.0, 1.0)
