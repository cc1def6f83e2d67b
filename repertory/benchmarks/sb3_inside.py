"""What a Stable-Baselines3 policy costs inside a library of one, against `model.learn`.

Both learn CartPole-v1 from nothing, under the algorithm's own settings, from the same weights and the same starts of
episodes. They learn the same, bit for bit, so that whatever time one takes more is what surrounds it. It is the time of
the processor, not of the clock: a few percent are less than what another process takes away now and then.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import gymnasium

from repertory import Domain, live
from repertory.benchmarks.measure import Contender, contender_package, take_turns, torch_on_one_thread
from repertory.benchmarks.result import Measured, Side
from repertory.core.seeds import policy_seed

STEPS = 2_048
"""A rollout of PPO. Short turns, and more of them, find undisturbed moments."""
TURNS_A_REPEAT = 4
MICRO = 1e6


class SameLife(gymnasium.Wrapper[Any, Any, Any, Any]):
    """The n-th episode starts the same whatever seed it is given, and the last step of all ends one.

    Stable-Baselines3 seeds its environment once, a library seeds every episode; the one ends with a rollout, the other
    with an episode.
    """

    def __init__(self, steps: int) -> None:
        super().__init__(gymnasium.make("CartPole-v1"))
        self._resets, self._steps_left = 0, steps

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        self._resets += 1
        return self.env.reset(seed=self._resets)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._steps_left -= 1
        return observation, reward, terminated, truncated or self._steps_left == 0, info


def in_a_library(algorithm: Any, steps: int = STEPS, **arguments: Any) -> Any:
    """The model of a library's only policy, after so many steps."""
    from repertory.learners.sb3 import SB3

    domain = Domain("CartPole-v1", ("CartPole-v1",), lambda _task: SameLife(steps))
    settings = SB3(algorithm, total_timesteps=steps, **arguments)
    policy: Any = live(domain, settings, policies=1, blocks=1, block_steps=steps).policies[0]
    return policy.model


def alone(algorithm: Any, steps: int = STEPS, **arguments: Any) -> Any:
    """The model that learns by itself."""
    model = algorithm("MlpPolicy", SameLife(steps), seed=policy_seed(0, 0, 0), device="cpu", **arguments)
    return model.learn(steps)


def cost_of_a_library(name: str) -> Callable[[int], Measured]:
    """Processor seconds a step inside a library over those of `model.learn`."""

    def measure(repeats: int) -> Measured:
        torch_on_one_thread()
        algorithm = getattr(contender_package("stable_baselines3"), name)
        speeds = take_turns(
            [_turn(in_a_library, algorithm), _turn(alone, algorithm)], TURNS_A_REPEAT * repeats, time.process_time
        )
        ours, other = (
            Side(who, "us/step", tuple(MICRO / speed for speed in seen), is_cost=True)
            for who, seen in zip(("in a library", "model.learn"), speeds, strict=True)
        )
        return Measured(ours.best / other.best, ours, other, f"processor time of {STEPS:,} steps from nothing")

    return measure


def _turn(learn: Callable[[Any], Any], algorithm: Any) -> Contender:
    def work() -> int:
        learn(algorithm)
        return STEPS

    return work
