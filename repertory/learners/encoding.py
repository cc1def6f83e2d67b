"""What the built-in learners can take: observations that can be written as vectors, a finite set of actions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from repertory.domains.two_valued import TwoValued
from repertory.errors import UsageError, shown

FLAT = (gymnasium.spaces.Box, gymnasium.spaces.Discrete, gymnasium.spaces.MultiDiscrete, gymnasium.spaces.MultiBinary)
"""Spaces whose elements can be written as a vector by themselves."""
MOST_ACTIONS = 256


def observation_size(learner: str, space: gymnasium.Space) -> int:
    """Features of an observation once it is a vector: numbers as they are, choices one-hot, the parts of a Dict or a
    Tuple one after the other."""
    if not _is_flat(space):  # a text, a graph, a sequence of any length, a kind of another package
        raise UsageError(
            f"{learner} observes numbers or choices, also in a Dict or a Tuple; {shown(space)} cannot be written as a "
            "vector; next: a wrapper that leaves what can, such as gymnasium.wrappers.FilterObservation"
        )
    return int(gymnasium.spaces.flatdim(space))


def _is_flat(space: gymnasium.Space) -> bool:
    if isinstance(space, gymnasium.spaces.Dict):
        return all(map(_is_flat, space.spaces.values()))
    if isinstance(space, gymnasium.spaces.Tuple):
        return all(map(_is_flat, space.spaces))
    return isinstance(space, FLAT)


def stacked(observations: Sequence[Any]) -> Any:
    """Observations as rows of an array; those of a Dict or a Tuple, as one array for each part."""
    first = observations[0]
    if isinstance(first, Mapping):
        return {key: stacked([observation[key] for observation in observations]) for key in first}
    if isinstance(first, tuple):
        return tuple(stacked(parts) for parts in zip(*observations, strict=True))
    return np.stack(observations)


def encoder(space: gymnasium.Space) -> Callable[[Any], Any] | None:
    """What turns an observation into a vector; None where it is one."""
    if isinstance(space, gymnasium.spaces.Box) and len(space.shape) == 1:
        return None
    return functools.partial(gymnasium.spaces.flatten, space)


def action_count(learner: str, space: gymnasium.Space) -> int:
    if isinstance(space, gymnasium.spaces.Discrete) and space.start == 0 and space.n <= MOST_ACTIONS:
        return int(space.n)
    next_step = "a wrapper that numbers its actions so, as gymnasium.wrappers.TransformAction"
    if isinstance(space, gymnasium.spaces.Box):
        next_step = "a learner for Box actions, such as repertory.learners.sb3.SB3(stable_baselines3.SAC)"
    elif isinstance(space, (gymnasium.spaces.MultiDiscrete, gymnasium.spaces.MultiBinary)):
        next_step = "a learner for them, such as repertory.learners.sb3.SB3(stable_baselines3.PPO)"
    raise UsageError(
        f"{learner} takes Discrete actions from 0, at most {MOST_ACTIONS}; this domain's are {shown(space)}; "
        f"next: {next_step}"
    )


def value_range(space: gymnasium.Space) -> tuple[float, float]:
    """The two values of an observation's elements; for other spaces, numbers that nothing reads."""
    return (float(space.low[0]), float(space.high[0])) if isinstance(space, TwoValued) else (0.0, 1.0)
