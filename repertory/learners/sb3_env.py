"""The environment that a Stable-Baselines3 policy believes it is in: it returns what it was given."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv


class HandFed(VecEnv):
    """A batch of one environment, as `DummyVecEnv` makes it: float32 rewards, observations in the dtype of their space,
    `terminal_observation` and `TimeLimit.truncated`. The model puts its own wrappers around it.

    `DummyVecEnv` copies all that it returns as nested values of any kind, which takes a tenth of the time of a step.
    What is returned here is made anew each time.
    """

    render_mode = None

    def __init__(self, observation_space: gymnasium.Space, action_space: gymnasium.Space) -> None:
        # A space has a generator, which is the policy's own.
        super().__init__(1, copy.deepcopy(observation_space), copy.deepcopy(action_space))
        self.observation = self.observation_space.sample()
        self.reward, self.terminated, self.truncated = 0.0, False, False

    def reset(self) -> Any:
        return batch_of_one(self.observation_space, self.observation)

    def step_async(self, actions: NDArray[Any]) -> None: ...

    def step_wait(self) -> tuple[Any, NDArray[np.float32], NDArray[np.bool_], list[dict[str, Any]]]:
        is_done = self.terminated or self.truncated
        info: dict[str, Any] = {"TimeLimit.truncated": self.truncated and not self.terminated}
        if is_done:
            info["terminal_observation"] = self.observation
        return self.reset(), np.array([self.reward], np.float32), np.array([is_done]), [info]

    def close(self) -> None: ...

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [getattr(self, attr_name)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        setattr(self, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list[Any]:
        return [getattr(self, method_name)(*method_args, **method_kwargs)]

    def env_is_wrapped(self, wrapper_class: type[gymnasium.Wrapper], indices: Any = None) -> list[bool]:
        return [False]


def batch_of_one(space: gymnasium.Space, observation: Any) -> Any:
    """A copy of an observation with one more dimension; of a dictionary, of each of its parts."""
    if isinstance(space, gymnasium.spaces.Dict):
        return {name: batch_of_one(part, observation[name]) for name, part in space.spaces.items()}
    batch = np.empty((1, *(space.shape or ())), space.dtype)
    batch[0] = observation
    return batch
