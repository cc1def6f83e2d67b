"""First transitions of made-up episodes, for the tests of task inference."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np

from repertory.agents.protocol import Opening

BOX, TWO = gymnasium.spaces.Box(-9, 9, (2,), np.float64), gymnasium.spaces.Discrete(2)


def opening_of(observations: Any, actions: Any, rewards: Any, following: Any, terminated: Any = None) -> Opening:
    ended = np.zeros(len(actions), bool) if terminated is None else np.asarray(terminated, bool)
    return Opening(
        np.asarray(observations), np.asarray(actions), np.asarray(rewards, float), np.asarray(following), ended
    )


def line_opening(rng: np.random.Generator, push: float, reward: float = 1.0, steps: int = 16) -> Opening:
    """A point that is pushed along a line, and slowed down."""
    states = rng.uniform(-1, 1, (steps, 2))
    actions = rng.integers(2, size=steps)
    following = states + np.stack([0.1 * states[:, 1], push * (2 * actions - 1) - 0.1 * states[:, 1]], axis=1)
    return opening_of(states, actions, np.full(steps, reward), following)
