"""POcman with agent and object put where a test wants them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import repertory
from repertory.domains.pocman import (
    AGENT_X,
    AGENT_Y,
    OBJECT_X,
    OBJECT_Y,
    STAY,
    PocmanEnv,
)

CHEESE, SUTTON, POCMAN = range(3)
Cell = tuple[int, int]


def situation(
    reward: int,
    movement: int,
    maze: int,
    agent: Cell,
    thing: Cell,
    *,
    heading: int = STAY,
    clock: int = 0,
    profile: str = "text",
    **rules: Any,
) -> PocmanEnv:
    """A task's environment with agent and object put where we want them."""
    env = repertory.domain("pocman18", profile, **rules).env(9 * (reward > 0) + 3 * movement + maze)
    assert isinstance(env, PocmanEnv)
    env.reset(seed=0)
    env._state[:] = (*agent, *thing, heading, clock)
    return env


def agent_of(env: PocmanEnv) -> Cell:
    return int(env._state[AGENT_X]), int(env._state[AGENT_Y])


def thing_of(env: PocmanEnv) -> Cell:
    return int(env._state[OBJECT_X]), int(env._state[OBJECT_Y])


def outcomes(env: PocmanEnv, action: int = STAY, tries: int = 2000) -> dict[Cell, float]:
    """Where the object goes in one step from here, with the share of each; rewards are checked on the way."""
    before = env._state.copy()
    counts: Counter[Cell] = Counter()
    for _ in range(tries):
        env._state[:] = before
        _, reward, terminated, truncated, _ = env.step(np.int64(action))
        assert reward == (env._params.reward if thing_of(env) == agent_of(env) else 0.0)
        assert (terminated, truncated) == (False, False)
        counts[thing_of(env)] += 1
    env._state[:] = before
    return {cell: count / tries for cell, count in counts.items()}


def about(shares: dict[Cell, float]) -> Any:
    """Equal to these shares up to four standard errors of 2000 tries."""
    return pytest.approx(shares, abs=4 * np.sqrt(0.25 / 2000))
