"""The ten tasks of Continual World as a ready domain, on Meta-World's arm (`pip install 'repertory[metaworld]'`).

Continual World (Wolczyk et al., 2021): a robot's arm hammers, pushes, pulls, closes and presses. Where things stand
and what the goal is are drawn anew in each episode, the goal is seen, and an episode takes 200 steps.
"""

from __future__ import annotations

import functools
import importlib
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import seeding
from numpy.typing import NDArray

from repertory.domains.domain import Domain
from repertory.errors import UsageError
from repertory.settings import Settings, setting

TASKS = (
    *("hammer", "push-wall", "faucet-close", "push-back", "stick-pull"),
    *("handle-press-side", "push", "shelf-place", "window-close", "peg-unplug-side"),
)
"""In the order of the sequence CW10."""
FEATURES = 39
"""Hand, gripper and objects, now and one step before, and the goal."""


@dataclass(frozen=True, kw_only=True)
class ContinualWorldRules(Settings):
    """What all tasks share."""

    max_steps: int = setting(
        200, "An episode ends after this many steps; Meta-World allows 500.", at_least=1, at_most=500
    )


def continual_world(rules: ContinualWorldRules) -> Domain:
    try:
        environments = importlib.import_module("metaworld.env_dict").ALL_V3_ENVIRONMENTS
    except ImportError as error:
        raise UsageError(
            f"continual-world needs Meta-World ({error}); next: pip install 'repertory[metaworld]'"
        ) from None
    return Domain(
        name="continual-world",
        task_names=TASKS,
        make_env=functools.partial(_make, environments, rules.max_steps),
        settings=rules.as_dict(),
    )


def _make(environments: Any, max_steps: int, task: int) -> gymnasium.Env:
    env = Arm(environments[f"{TASKS[task]}-v3"]())
    return gymnasium.wrappers.TimeLimit(env, max_steps)


class Arm(gymnasium.Wrapper[NDArray[np.float32], NDArray[np.float32], Any, Any]):
    """A task of Meta-World whose `reset(seed)` decides the episode, in a space that all tasks share.

    Meta-World's own reset ignores its seed (its issue 496): goals and places come from a list that is drawn once, or
    from NumPy's global generator. Here they come from the environment's generator, seeded by each reset.
    """

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (FEATURES,), np.float32)
        arm: Any = env.unwrapped
        arm._set_task_called = True  # no task of its list is set: each episode draws one
        arm._freeze_rand_vec, arm.seeded_rand_vec = False, True
        arm._partially_observable = False
        # Made when the goal was still hidden, it would clip the goal to zero in every step.
        arm.__dict__.pop("sawyer_observation_space", None)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        if seed is not None:
            arm: Any = self.env.unwrapped
            arm.np_random = seeding.np_random(seed)[0]  # not arm.seed, which seeds the action space as well
        observation, info = self.env.reset(options=options)
        return observation.astype(np.float32), info

    def step(self, action: NDArray[np.float32]) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation.astype(np.float32), float(reward), terminated, truncated, info
